"""How far a statistic moved between neighbouring tables, beside what its step declares: exactly, on integers."""

from fractions import Fraction
from typing import Any

import numpy as np

from audit.tape import Call
from privreg.kernels.volumes import GRID
from privreg.privacy.steps import Gaussian, GaussianMatrix, Laplace, Pick, ProposeTestRelease

# Four logarithms of integers below 2^92 are each within 2^-47 of the truth.
_LOG_ERROR = 2.0**-44


def moved(before: Call, after: Call) -> float:
    """The move as a part of what one record may do: above 1 if and only if it is more than declared.

    For Gaussian noise this is the root of the part of μ², so that several records may do as many times as much.
    """
    step, one, two = before.step, before.statistic, after.statistic
    if isinstance(step, Pick):
        low, high = _changes_of_density(one, two, step) if isinstance(one, tuple) else _changes(one, two)
        return _part(high - low, step.range)
    if isinstance(step, Laplace):
        return _part(abs(two - one), step.sensitivity)
    if isinstance(step, Gaussian):
        return _part(_squares(two, one), step.sensitivity_squared) ** 0.5
    if isinstance(step, GaussianMatrix):
        above = np.triu_indices(step.width, 1)
        cost = _squares(np.diagonal(two), np.diagonal(one)) / Fraction(step.scale) ** 2
        cost += _squares(two[above], one[above]) / Fraction(step.off_scale) ** 2
        return _part(cost, step.mu_squared) ** 0.5
    assert isinstance(step, ProposeTestRelease)
    return max(_part(abs(two[0] - one[0]), 1), _moved_depth(one, two, step), _moved_depth(two, one, step))


def _part(value: Any, allowed: Any) -> float:
    """value/allowed, rounded so that it is above 1 if and only if value > allowed."""
    part = float(Fraction(value) / Fraction(allowed))
    return max(part, 1 + 2.0**-50) if value > allowed else min(part, 1.0)


def _squares(one: Any, two: Any) -> int:
    if one.shape != two.shape:
        return 10**100
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), two.ravel(), strict=True))


def _changes(one: Any, two: Any) -> tuple[int, int]:
    if one.shape != two.shape:
        return 0, 10**100
    change = [int(b) - int(a) for a, b in zip(one, two, strict=True)]
    return min(change, default=0), max(change, default=0)


def _changes_of_density(one: Any, two: Any, step: Pick) -> tuple[Fraction, Fraction]:
    """Smallest and largest change of scale·ln(density), over all integers that can come out."""
    starts = [np.array([low for low, _ in bounds]) for _, bounds in (one, two)]
    density = [
        scores - step.scale * np.log([float(high - low) for low, high in bounds]) for scores, bounds in (one, two)
    ]
    at = np.union1d(*starts)
    levels = [d[np.searchsorted(s, at, side="right") - 1] for d, s in zip(density, starts, strict=True)]
    change, error = levels[1] - levels[0], step.scale * _LOG_ERROR
    return Fraction(float(change.min()) - error), Fraction(float(change.max()) + error)


def _moved_depth(one: Any, two: Any, step: ProposeTestRelease) -> float:
    """Above 1 if the depth of any place moved by more than one: boxes are not nested, or weights too far apart.

    Box i holds the places of depth ≥ t + i. With one point replaced, box i + 1 of one set lies inside box i of the
    other, and its volume is no larger.
    """
    (_, scores, _, boxes), (_, other_scores, _, other_boxes) = one, two
    rate = int(step.rate * GRID)
    for i in range(1, len(boxes)):
        if i - 1 >= len(other_boxes):
            return 2.0
        inside = zip(boxes[i], other_boxes[i - 1], strict=True)
        if not all(low <= a and b <= high for (a, b), (low, high) in inside):
            return 2.0
        if i > 1 and scores[i] > other_scores[i - 1] + rate:
            return 2.0
    return 0.0
