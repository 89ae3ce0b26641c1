"""Peel: the k highest-scoring items, in order, by successive exponential-mechanism picks.

Proof: docs/proofs/peel.md, docs/proofs/sampling.md. Exact check: tests/mechanisms/test_peel.py,
tests/mechanisms/test_sampling.py.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from privreg._types import Int64
from privreg.privacy.account import Account
from privreg.privacy.events import Pick, SampledPicks


def peel(account: Account, events: Sequence[Pick] | SampledPicks, scores: Int64) -> list[int]:
    """Pick distinct indices, each from those that are left: one an event, or all picks of a sample that is open.

    This has the law of adding Gumbel noise once and sorting. `scores` are integers; an event's `range` bounds how far
    the changes of any two scores can lie apart between neighbouring data sets.
    """
    if isinstance(events, SampledPicks):
        draws = [partial(account.sampled_pick, events)] * events.picks
    else:
        draws = [partial(account.pick, event) for event in events]
    left = np.arange(len(scores))
    chosen = []
    for draw in draws:
        at = draw(scores[left])
        chosen.append(int(left[at]))
        left = np.delete(left, at)
    return chosen
