"""Picks on a secret sample of the records, for tables so long that scores of all records take too much time.

Who is not in the sample has no influence, so that the same noise costs less. Proof: docs/proofs/sampling.md. Exact
check: tests/mechanisms/test_sampling.py.
"""

from math import expm1, log1p, sqrt

import numpy as np

from privreg._types import Int64
from privreg.privacy.account import Account
from privreg.privacy.events import LARGE, PI_OVER_8, WORDS, SampledPicks

KEPT_ALL = WORDS  # every record is kept


def rate_for(max_rows: int, records: float) -> int:
    """`kept` such that `max_rows` of so many records are expected in the sample; both must be public."""
    if records <= max_rows:
        return KEPT_ALL
    return min(max(int(max_rows / records * KEPT_ALL), 1), KEPT_ALL)


def plan_sampled_picks(name: str, picks: int, kept: int, range: int, mu_squared: float, grid: int) -> SampledPicks:
    """The step with the least noise that costs no more than `mu_squared`."""
    pure = sqrt(mu_squared / float(4 * PI_OVER_8))
    scale = picks * range / _before_sampling(pure, kept)
    event = SampledPicks(name, range, scale, picks, kept, grid)
    while event.mu_squared > mu_squared:  # by rounding, and by the margin of `pure`
        scale *= 1 + 2e-13
        event = SampledPicks(name, range, scale, picks, kept, grid)
    return event


def _before_sampling(pure: float, kept: int) -> float:
    """E with ln(1 + q(e^E − 1)) = pure, or less where `amplified` does not go on."""
    if kept == KEPT_ALL or pure > LARGE:
        return pure
    return min(log1p(expm1(pure) / (kept / KEPT_ALL)), LARGE)


def sampled_peel(account: Account, event: SampledPicks, scores: Int64) -> list[int]:
    """step.picks distinct indices in order, each from those that are left; `scores` are those of the open sample."""
    left = np.arange(len(scores))
    chosen = []
    for _ in range(event.picks):
        at = account.sampled_pick(event, scores[left])
        chosen.append(int(left[at]))
        left = np.delete(left, at)
    return chosen
