"""Budgets that are allowed but promise little, and what they mean in words."""

from math import isfinite
from numbers import Real
from typing import Any

from privreg._format import number, odds_factor, one_in

LARGE_EPSILON = 10.0
LARGE_DELTA = 1e-4


def weak_points(epsilon: Any, delta: Any) -> list[str]:
    """A sentence for each part of a budget that is so large that it protects hardly anybody."""
    told = []
    if _exceeds(epsilon, LARGE_EPSILON):
        told.append(
            f"ε = {number(epsilon, 6)} is weak protection: the release may change the odds of a guess about any "
            f"record by a factor of up to {odds_factor(float(epsilon))} (ε is usually between 0.1 and 3)."
        )
    if _exceeds(delta, LARGE_DELTA):
        told.append(
            f"δ = {number(delta, 6)} is weak protection: for each record, the guarantee may fail altogether with a "
            f"probability of {one_in(float(delta))} (δ should be far below 1 / number of records)."
        )
    return told


def _exceeds(value: Any, limit: float) -> bool:
    """What is no number is left to others to refuse."""
    return isinstance(value, Real) and isfinite(value) and float(value) > limit
