"""Columns that go with a target, chosen by Kendall's rank correlation; the target may be a residual.

A residual of a released model is a function of one record and of released values, so the score moves no further than
with the target itself. Proof: docs/proofs/screening.md, docs/proofs/kendall.md. Exact check:
tests/mechanisms/test_screening.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from privreg._types import Int64
from privreg.mechanisms.peel import peel
from privreg.privacy.account import Account
from privreg.privacy.events import EarlyPick, Pick

GRID = 2**20  # scores are whole multiples of 1/GRID
# Adding a record changes |τ̂| by an amount in [−3/2, 1], so two columns' changes differ by at most 5/2; a difference of
# two such terms changes by an amount in [−5/2, 5/2]. docs/proofs/kendall.md
FIRST_RANGE = 5 * GRID // 2
LATER_RANGE = 5 * GRID


def round_scores(target: Any, redundancy: Any, chosen: int, n: Any) -> Any:
    """⌊GRID · score⌋ for every candidate, exactly: |τ̂| with the target minus the mean |τ̂| with the `chosen` features.

    `target` is |C − D| with the target and `redundancy` the sum of |C − D| over the chosen features, in integers large
    enough for GRID·t·n²/2. The score is the fraction (t·target − redundancy)/(t·(n − 1)) with t = max(chosen, 1).
    Rounding down costs no sensitivity, because the bounds on its change are whole multiples of the grid step.
    """
    t = max(chosen, 1)
    return GRID * (t * target - redundancy) // (t * np.maximum(n - 1, 1))


def plan_screening(names: Sequence[str], epsilon: float, left_after: float = 0.0) -> list[Pick]:
    """Picks that cost `epsilon` of bounded range each."""
    return [EarlyPick.of_range(name, FIRST_RANGE, epsilon, left_after, GRID, purpose="choice") for name in names]


def screening_scores(pairs: Int64, n: int) -> Int64:
    """⌊GRID·|C − D|/(n − 1)⌋ for C − D of each column with the target."""
    return round_scores(np.abs(pairs).astype(object), 0, 0, n).astype(np.int64)  # Python integers do not overflow


def screen(account: Account, events: Sequence[Pick], pairs: Int64, n: int) -> list[int]:
    """The places of len(events) columns, in the order chosen."""
    return peel(account, events, screening_scores(pairs, n))
