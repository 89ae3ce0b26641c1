"""A quantile among public candidates, by the exponential mechanism.

Proof: docs/proofs/quantile.md. Exact check: tests/test_quantile.py.
"""

from math import floor
from typing import Literal

import numpy as np

from privreg.kernels.ranks import Float64, Int64
from privreg.privacy.account import Account
from privreg.privacy.steps import Pick

LEVELS = 2**20  # the level q is a whole multiple of 1/LEVELS
GRID = 2 * LEVELS


def plan_quantile(name: str, level: float, epsilon: float) -> tuple[Pick, int]:
    """The step that costs `epsilon` of bounded range, and the level in units of 1/LEVELS."""
    q = min(max(floor(level * LEVELS), 1), LEVELS - 1)
    worst = max(2 * (LEVELS - q), q) + max(2 * q, LEVELS - q)  # largest fall and largest rise of a score
    return Pick(name, worst, worst / epsilon, GRID), q


def scores(values: Float64, candidates: Float64, q: int) -> Int64:
    """−max(0, #{x<v} − qn, (qn − #{x≤v})/2) for each candidate: too many below is twice as bad as too few."""
    n = values.size
    below = _counts(values, candidates, "left")
    up_to = _counts(values, candidates, "right")
    return -np.maximum(np.maximum(2 * (LEVELS * below - q * n), q * n - LEVELS * up_to), 0)


def noisy_quantile(account: Account, step: Pick, q: int, values: Float64, candidates: Float64) -> float:
    """The candidate picked for the level q. Candidates must be in order."""
    return float(candidates[account.pick(step, scores(values, candidates, q))])


def _counts(values: Float64, candidates: Float64, side: Literal["left", "right"]) -> Int64:
    """#{x < v} ("left") or #{x ≤ v} ("right") for each candidate v."""
    other: Literal["left", "right"] = "right" if side == "left" else "left"
    place = np.searchsorted(candidates, values, side=other)  # the first candidate that x is below (or not above)
    return np.cumsum(np.bincount(place, minlength=candidates.size + 1))[: candidates.size]
