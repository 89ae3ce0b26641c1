"""Picks on a secret sample of the records, for tables so long that scores of all records take too much time.

Who is not in the sample has no influence, so that the same noise costs less. Proof: docs/proofs/sampling.md. Exact
check: tests/mechanisms/test_sampling.py.
"""

from dataclasses import replace
from math import expm1, log1p, sqrt
from typing import Unpack

from privreg.privacy.events import LARGE, PI_OVER_8, WORDS, About, SampledPicks

KEPT_ALL = WORDS  # every record is kept


def rate_for(max_rows: int, records: float) -> int:
    """`kept` such that `max_rows` of so many records are expected in the sample; both must be public."""
    if records <= max_rows:
        return KEPT_ALL
    return min(max(int(max_rows / records * KEPT_ALL), 1), KEPT_ALL)


def plan_sampled_picks(
    name: str, picks: int, kept: int, range: int, mu_squared: float, grid: int, **about: Unpack[About]
) -> SampledPicks:
    """The event with the least noise that costs no more than `mu_squared`."""
    pure = sqrt(mu_squared / float(4 * PI_OVER_8))
    scale = picks * range / _before_sampling(pure, kept)
    event = SampledPicks(name, range, scale, picks, kept, grid, **about)
    while event.mu_squared > mu_squared:  # by rounding, and by the margin of `pure`
        event = replace(event, scale=event.scale * (1 + 2e-13))
    return event


def _before_sampling(pure: float, kept: int) -> float:
    """E with ln(1 + q(e^E − 1)) = pure, or less where `amplified` does not go on."""
    if kept == KEPT_ALL or pure > LARGE:
        return pure
    return min(log1p(expm1(pure) / (kept / KEPT_ALL)), LARGE)
