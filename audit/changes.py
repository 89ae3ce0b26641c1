"""How far a statistic changed between neighbouring tables, beside what its step declares: exactly, on integers."""

from fractions import Fraction
from itertools import pairwise
from math import exp, prod
from typing import Any

import numpy as np

from audit.recording import Call
from privreg.kernels.volumes import GRID
from privreg.privacy.events import (
    Gaussian,
    GaussianMoments,
    Laplace,
    LevelCounts,
    Pick,
    ProposeTestRelease,
    SampledPicks,
)

# Four logarithms of integers below 2^92 are each within 2^-47 of the truth.
_LOG_ERROR = 2.0**-44
_TOO_FAR = 10**100


def changed(before: Call, after: Call, rows: int = 1) -> float:
    """The change as a part of what so many records may do together: above 1 if it is more than declared.

    For Gaussian noise this is the root of the part of μ². Where densities are compared, what logarithms may be wrong by
    counts as a change.
    """
    step, one, two = before.step, before.statistic, after.statistic
    if isinstance(step, Pick):
        low, high = _changes_of_density(one, two, step) if isinstance(one, tuple) else _changes(one, two)
        return _part(high - low, step.range * rows)
    if isinstance(step, SampledPicks):  # given the sample, which is not released, and has the same coins on both
        low, high = (0, 0) if isinstance(one, int) else _changes(one, two)
        return _part(high - low, step.range * rows)
    if isinstance(step, Laplace):
        return _part(abs(two - one), step.sensitivity * rows)
    if isinstance(step, Gaussian):
        return _part(_squares(two, one), step.sensitivity_squared * rows**2) ** 0.5
    if isinstance(step, GaussianMoments):
        return _part(_cost_of_moments(step, one, two), step.mu_squared * rows**2) ** 0.5
    if isinstance(step, LevelCounts):
        moved = _squares(two[1], one[1]) + sum(d**2 for d in moved_values(before, after).values())
        return _part(moved, step.columns * step.grid**2 * rows**2) ** 0.5
    assert isinstance(step, ProposeTestRelease)
    nested = max(_moved_depth(one, two, step, rows), _moved_depth(two, one, step, rows))
    delta = max(_part_of_delta(one, two, step, rows), _part_of_delta(two, one, step, rows))
    return max(_part(abs(two[0] - one[0]), rows), nested, delta)


def _part(value: Any, allowed: Any) -> float:
    """value/allowed, rounded so that it is above 1 if and only if value > allowed."""
    part = float(Fraction(value) / Fraction(allowed))
    return max(part, 1 + 2.0**-50) if value > allowed else min(part, 1.0)


def _squares(one: Any, two: Any) -> int:
    if one.shape != two.shape:
        return _TOO_FAR
    return sum((int(a) - int(b)) ** 2 for a, b in zip(one.ravel(), two.ravel(), strict=True))


def _cost_of_moments(step: GaussianMoments, one: Any, two: Any) -> Fraction:
    """What a change of the products, above the diagonal and on it, and of the gradient costs together."""
    if one[0].shape != two[0].shape:
        return Fraction(_TOO_FAR)
    above = np.triu_indices(step.width, 1)
    cost = _squares(two[0][above], one[0][above]) / Fraction(step.off_scale) ** 2
    cost += _squares(np.diagonal(two[0]), np.diagonal(one[0])) / Fraction(step.diagonal_scale) ** 2
    return cost + _squares(two[1], one[1]) / Fraction(step.scale) ** 2


def moved_values(before: Call, after: Call) -> dict[tuple[str, str], int]:
    """How far the counts of values moved, by column and value, for those that did.

    One that is no candidate on one of the tables has there at most one record less than a candidate needs.
    """
    step = before.step
    assert isinstance(step, LevelCounts)
    below = (step.least - 1) * step.grid
    one, two = (
        {key: int(count) for key, count in zip(c.statistic[2], c.statistic[0], strict=True)} for c in (before, after)
    )
    moved = {key: two.get(key, below) - one.get(key, below) for key in {**one, **two}}
    return {key: change for key, change in moved.items() if change}


def _changes(one: Any, two: Any) -> tuple[int, int]:
    if one.shape != two.shape:
        return 0, _TOO_FAR
    change = [int(b) - int(a) for a, b in zip(one, two, strict=True)]
    return min(change, default=0), max(change, default=0)


def _changes_of_density(one: Any, two: Any, step: Pick) -> tuple[Any, Any]:
    """Smallest and largest change of scale·ln(density), over all integers that can come out."""
    if _ends(one) is None or _ends(one) != _ends(two):
        return 0, _TOO_FAR
    starts = [np.array([low for low, _ in bounds]) for _, bounds in (one, two)]
    density = [
        scores - step.scale * np.log([float(high - low) for low, high in bounds]) for scores, bounds in (one, two)
    ]
    at = np.union1d(*starts)
    levels = [d[np.searchsorted(s, at, side="right") - 1] for d, s in zip(density, starts, strict=True)]
    change, error = levels[1] - levels[0], step.scale * _LOG_ERROR
    return Fraction(float(change.min()) - error), Fraction(float(change.max()) + error)


def _ends(statistic: Any) -> tuple[int, int] | None:
    """Where the stretches begin and end, if they leave nothing out between."""
    bounds = statistic[1]
    whole = all(a[1] == b[0] for a, b in pairwise(bounds))
    return (bounds[0][0], bounds[-1][1]) if whole else None


# ---- propose, test, release


def _moved_depth(one: Any, two: Any, step: ProposeTestRelease, rows: int) -> float:
    """Above 1 if the depth of any place moved by more than `rows`: boxes are not nested, or weights too far apart.

    Box i holds the places of depth ≥ t + i. With one point replaced, box i + 1 of one set lies inside box i of the
    other, and its volume is no larger.
    """
    (_, scores, _, boxes), (_, other_scores, _, other_boxes) = one, two
    rate = int(step.rate * GRID)
    for i in range(rows, len(boxes)):
        if i - rows >= len(other_boxes):
            return 2.0
        inside = zip(boxes[i], other_boxes[i - rows], strict=True)
        if not all(low <= a and b <= high for (a, b), (low, high) in inside):
            return 2.0
        if i > rows and scores[i] > other_scores[i - rows] + rows * rate:
            return 2.0
    return 0.0


def _part_of_delta(one: Any, two: Any, step: ProposeTestRelease, rows: int) -> float:
    """δ between the draws on both sets, times the chance that the test passes, as a part of what is declared.

    Of several points replaced, what is declared for one adds up by group privacy.

    Both laws are constant where the boxes of one set are cut by those of the other, so that the sum is exact but for
    the weights of the boxes, which are rounded to float64.
    """
    distance, *_ = one
    (mine, boxes), (other, other_boxes) = _density(one), _density(two)
    if not boxes:
        return 0.0
    # What the i-th box of one set and the j-th of the other have in common; nothing beyond the last.
    common = [[_common(a, b) for b in other_boxes] + [0] for a in boxes] + [[0] * (len(other_boxes) + 1)]
    volume = [_common(box, box) for box in boxes] + [0]
    factor, total = Fraction(exp(rows * step.steps * step.rate)), Fraction()
    for i in range(len(boxes)):
        total += mine[i] * (volume[i] - volume[i + 1] - (common[i][0] - common[i + 1][0]))
        for j in range(len(other_boxes)):
            cell = common[i][j] - common[i + 1][j] - common[i][j + 1] + common[i + 1][j + 1]
            total += max(mine[i] - factor * other[j], Fraction()) * cell
    allowed = step.delta * sum(exp(j * (1 / step.scale + step.steps * step.rate)) for j in range(rows))
    return float(total * Fraction(passes(step, distance)) / Fraction(allowed)) * (1 - 1e-9)


def _density(statistic: Any) -> tuple[list[Fraction], list[Any]]:
    """In each shell: a point of the i-th box, and of no later one, may come from all boxes so far."""
    _, scores, grid, boxes = statistic
    if not boxes:
        return [], []
    weights = np.exp((scores - scores.max()) / grid)
    parts = [Fraction(float(w)) / _common(box, box) for w, box in zip(weights / weights.sum(), boxes, strict=True)]
    return [sum(parts[: i + 1], Fraction()) for i in range(len(parts))], boxes


def _common(one: Any, two: Any) -> int:
    return prod(max(min(b, d) - max(a, c), 0) for (a, b), (c, d) in zip(one, two, strict=True))


def passes(step: ProposeTestRelease, distance: int) -> float:
    """The chance that discrete Laplace noise takes the distance to the threshold."""
    missing, p = step.threshold - distance, exp(-1 / step.scale)
    return p**missing / (1 + p) if missing > 0 else 1 - p ** (1 - missing) / (1 + p)
