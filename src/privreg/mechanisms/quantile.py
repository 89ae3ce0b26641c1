"""A quantile among public candidates, by the exponential mechanism.

Proof: docs/proofs/quantile.md. Exact check: tests/mechanisms/test_quantile.py.
"""

from math import floor
from typing import Literal, Unpack

import numpy as np

from privreg._types import Float64, Int64
from privreg.privacy.account import Account
from privreg.privacy.events import About, Pick

LEVELS = 2**20  # the level q is a whole multiple of 1/LEVELS
GRID = 2 * LEVELS


def plan_quantile(name: str, level: float, epsilon: float, **about: Unpack[About]) -> tuple[Pick, int]:
    """The event that costs `epsilon` of bounded range, and the level in units of 1/LEVELS."""
    q = min(max(floor(level * LEVELS), 1), LEVELS - 1)
    worst = max(2 * (LEVELS - q), q) + max(2 * q, LEVELS - q)  # largest fall and largest rise of a score
    return Pick(name, worst, worst / epsilon, GRID, **about), q


def count_at(values: Float64, candidates: Float64) -> Int64:
    """#{x < v} and #{x ≤ v} for each candidate v, and the number of all values behind them. Candidates are in order."""
    return np.array([_counts(values, candidates, "right"), _counts(values, candidates, "left")])


def scores(counts: Int64, q: int) -> Int64:
    """−max(0, #{x<v} − qn, (qn − #{x≤v})/2) for each candidate: too many below is twice as bad as too few."""
    below, up_to, n = counts[0, :-1], counts[1, :-1], counts[0, -1]
    return -np.maximum(np.maximum(2 * (LEVELS * below - q * n), q * n - LEVELS * up_to), 0)


def noisy_quantile(account: Account, event: Pick, q: int, counts: Int64) -> int:
    """Which of the candidates is picked for the level q."""
    return account.pick(event, scores(counts, q))


def _counts(values: Float64, candidates: Float64, side: Literal["left", "right"]) -> Int64:
    place = np.searchsorted(candidates, values, side=side)  # the first candidate that x is below, or not above
    return np.cumsum(np.bincount(place, minlength=candidates.size + 1))
