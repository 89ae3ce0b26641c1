"""Peel: the k highest-scoring items, in order, by successive exponential-mechanism picks.

Proof: docs/proofs/peel.md. Exact check: tests/mechanisms/test_peel.py.
"""

from collections.abc import Sequence

import numpy as np

from privreg._types import Int64
from privreg.privacy.account import Account
from privreg.privacy.events import Pick


def peel(account: Account, events: Sequence[Pick], scores: Int64) -> list[int]:
    """Pick len(steps) distinct indices, each from those that are left.

    This has the law of adding Gumbel noise once and sorting. `scores` are integers; each step's `range` bounds how far
    the changes of any two scores can lie apart between neighbouring data sets.
    """
    left = np.arange(len(scores))
    chosen = []
    for event in events:
        at = account.pick(event, scores[left])
        chosen.append(int(left[at]))
        left = np.delete(left, at)
    return chosen
