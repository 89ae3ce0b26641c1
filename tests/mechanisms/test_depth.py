"""The Tukey mechanism's core, checked exactly on small sets of points: docs/proofs/tukey.md, sections 2 to 6.

Output laws are computed in closed form on the cells between the coordinates of both neighbouring sets. The same harness
must reject the mistakes of published code: a draw charged η instead of 2η, test noise of scale ε instead of 1/ε, and a
depth from one shell with a point from the next.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import mpmath
import numpy as np
import pytest

from exact import assert_law
from privreg.kernels.volumes import GRID, log_volumes
from privreg.mechanisms.depth import (
    LATTICE,
    PAPER,
    STRICT,
    Calibration,
    distance_to_unsafety,
    draw_deep,
    plan_draw,
)
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import ProposeTestRelease
from privreg.privacy.noise import OpenDPNoise, SeededNoise


def step_with(eta, delta=0.01, scale=1.0, calibration=STRICT):
    return ProposeTestRelease("draw", scale, round(eta * GRID) / GRID, calibration.steps, 1e-6, delta)


def depth_at(points, y):
    """Approximate Tukey depth straight from its definition, for places y (places × dimensions)."""
    above = (points[None] >= y[:, None]).sum(axis=1)
    below = (points[None] <= y[:, None]).sum(axis=1)
    return np.minimum(above, below).min(axis=1)


class Cells:
    """The cells between all coordinates of some sets of points: their centres and volumes."""

    def __init__(self, *sets):
        edges = [np.unique(np.concatenate([s[:, j] for s in sets])) for j in range(sets[0].shape[1])]
        self.centres = np.array(list(product(*[(e[1:] + e[:-1]) / 2 for e in edges])))
        self.volumes = np.array([np.prod(v) for v in product(*[np.diff(e) for e in edges])])

    def law(self, points, eta, t):
        """Probability of each cell under the density e^(η·depth) on depth ≥ t."""
        depth = depth_at(points, self.centres)
        weight = np.where(depth >= t, np.exp(eta * (depth - t)), 0.0) * self.volumes
        return weight / weight.sum()

    def volume(self, points, p):
        return self.volumes[depth_at(points, self.centres) >= p].sum()


def excess(p, q, epsilon):
    """The smallest δ at which p and q are (ε, δ)-indistinguishable."""
    return max(np.maximum(p - exp(epsilon) * q, 0).sum(), np.maximum(q - exp(epsilon) * p, 0).sum())


def neighbours(rng, dimension, most=30):
    """A set of points with adversarial gaps, and the same with one point replaced."""
    m = int(rng.integers(14, most + 1))
    kind = rng.integers(4)
    if kind == 0:
        points = rng.normal(size=(m, dimension))
    elif kind == 1:  # gaps that grow geometrically from the middle
        points = np.sort(rng.choice([-1, 1], size=(m, dimension)) * 4.0 ** rng.uniform(-6, 6, (m, dimension)), axis=0)
    elif kind == 2:  # a tight centre, and some far away
        points = rng.normal(size=(m, dimension)) * np.where(rng.random(m) < 0.3, 1e4, 1.0)[:, None]
    else:  # ties
        points = np.round(rng.normal(size=(m, dimension)) * 3)
    other = points.copy()
    at = rng.integers(m)
    other[at] = rng.choice([points[rng.integers(m)], np.full(dimension, 1e6), rng.normal(size=dimension), -points[at]])
    return points, other


def true_bound(cells, points, eta, t):
    """e^(η(t+2))·V(t−2)/w(t+1), straight from its definition."""
    depth = depth_at(points, cells.centres)
    inner = (np.exp(eta * (depth - t - 1)) * cells.volumes)[depth >= t + 1].sum()
    return exp(eta) * cells.volume(points, t - 2) / inner if inner > 0 else np.inf


def deep_neighbours(rng, dimension, count):
    """Neighbours where the bound is defined: t ≥ 3, and volume at t + 1."""
    quarter = Calibration("test", "one record", Fraction(1, 4), Fraction(1, 2), steps=2, outer=2, inner=1, lead=1)
    found = 0
    while found < count:
        points, other = neighbours(rng, dimension)
        t = quarter.t(len(points))
        if log_volumes(np.sort(points.T, axis=1))[t + 1] > -(2**61):
            found += 1
            yield points, other, t, quarter


@pytest.mark.parametrize(("dimension", "count"), [(1, 1500), (2, 600)])
def test_safe_sets_are_indistinguishable_at_twice_eta(rng, dimension, count):
    """Exactly: the true δ at 2η never exceeds the safety bound, and the distance is ≥ 0 just when the bound holds."""
    worst = 0.0
    for points, other, t, calibration in deep_neighbours(rng, dimension, count):
        eta = float(rng.choice([0.05, 0.2, 0.7, 1.5]))
        cells = Cells(points, other)
        bound = true_bound(cells, points, eta, t)
        p, q = cells.law(points, eta, t), cells.law(other, eta, t)
        assert excess(p, q, 2 * eta) <= bound * (1 + 1e-9)
        if bound < 1:
            worst = max(worst, excess(p, q, 2 * eta) / bound)
            volumes = log_volumes(np.sort(points.T, axis=1))
            for delta, safe in [(bound * (1 + 1e-4), True), (bound * (1 - 1e-4), False)]:
                if delta < 1:
                    h = distance_to_unsafety(volumes, len(points), dimension, step_with(eta, delta), calibration)
                    assert (h >= 0) == safe
    assert worst > 0, "no set came near: the check is slack"


def test_weights_at_cost_eta_are_rejected():
    """The published cost η is too small for a replaced point: here e^η alone is exceeded by more than the bound."""
    # The right half is wider, so it holds most of the weight. Moving a point from the left end to the right end lowers
    # the depth of the left half, and raises that of the right half and with it the normaliser.
    points = np.concatenate([np.arange(-20.0, 0), 5 * np.arange(20.0)])[:, None]
    other = points.copy()
    other[0] = 1e3
    eta, t = 1.0, STRICT.t(40)
    cells = Cells(points, other)
    bound = true_bound(cells, points, eta, t)
    p, q = cells.law(points, eta, t), cells.law(other, eta, t)
    assert excess(p, q, 2 * eta) <= bound < 1e-3
    assert excess(p, q, eta) > 20 * bound


def paper_bound(cells, points, eta, t, h=0):
    """e^(η(t+h+1))·V(t−h−1)/w(t+h−1)·8e^η: what the published lemma and code require to be at most δ."""
    depth = depth_at(points, cells.centres)
    inner = (np.exp(eta * (depth - t - h + 1)) * cells.volumes)[depth >= t + h - 1].sum()
    return exp(2 * eta) * cells.volume(points, t - h - 1) / inner * 8 * exp(eta)


def test_the_published_inequality_is_the_one_used(rng):
    """The paper calibration's distance is h exactly where the lemma's inequality, from its definition, changes."""
    checked = 0
    while checked < 100:
        points, _ = neighbours(rng, int(rng.integers(1, 3)))
        m, d = points.shape
        t, eta, volumes = PAPER.t(m), float(rng.choice([0.5, 1.5, 3.0])), log_volumes(np.sort(points.T, axis=1))
        for h in range(t - 1):
            if volumes[t + h - 1] < -(2**61):
                continue
            bound = paper_bound(Cells(points), points, eta, t, h)
            if bound < 0.9:
                checked += 1
                loose, tight = (
                    distance_to_unsafety(volumes, m, d, step_with(eta, bound * f, calibration=PAPER), PAPER)
                    for f in (1 + 1e-4, 1 - 1e-4)
                )
                assert loose >= h > tight


@pytest.mark.parametrize("m", [400, 20_000])
def test_computed_safety_implies_true_safety(rng, m):
    """At a δ just below the true bound the computed verdict must be unsafe: the margin covers every rounding."""
    points = rng.standard_t(3, size=(m, 3))
    columns, t, step = np.sort(points.T, axis=1), STRICT.t(m), step_with(0.01)
    volume = [mpmath.mpf(0)] * (m // 2 + 2)
    for p in range(max(t - 2, 1), m // 2 + 1):
        volume[p] = mpmath.fprod(mpmath.mpf(c[m - p]) - mpmath.mpf(c[p - 1]) for c in columns)
    eta, weight, total = mpmath.mpf(step.rate), mpmath.mpf(0), mpmath.mpf(1)
    for p in range(t + 1, m // 2 + 1):
        weight += total * (volume[p] - volume[p + 1])
        total *= mpmath.exp(eta)
    bound = mpmath.exp(eta) * volume[t - 2] / weight
    volumes = log_volumes(columns)

    def distance(factor):
        exact = replace(step, delta=float(bound * factor))
        return distance_to_unsafety(volumes, m, 3, exact, STRICT)

    assert bound < 0.9
    assert distance(1 - 1e-9) == -1
    assert distance(1 + 1e-7 * m + 1e-5) >= 0, "the margin is much larger than the proof needs"


def spread(points, other, delta, eta, calibration):
    d = points.shape[1]
    return [
        distance_to_unsafety(log_volumes(np.sort(s.T, axis=1)), len(s), d, step_with(eta, delta), calibration)
        for s in (points, other)
    ]


@pytest.mark.parametrize("calibration", [STRICT, PAPER], ids=lambda c: c.name)
def test_distance_moves_by_at_most_one(rng, calibration):
    """On thousands of neighbours, exactly: strict for one point replaced, paper for one added at the same t."""
    seen = set()
    for _ in range(4000):
        dimension = int(rng.integers(1, 5))
        m = int(rng.integers(8, 120)) * 4 + 1
        points = rng.standard_t(rng.choice([1, 2, 30]), size=(m, dimension))
        if rng.random() < 0.3:
            points = np.round(points * 5)
        if rng.random() < 0.3:
            points *= 10.0 ** rng.integers(-300, 290, dimension)
        new = rng.choice([points[0], -points[1], points.max(axis=0) * 2, np.zeros(dimension)])
        if calibration is STRICT:
            other = points.copy()
            other[rng.integers(m)] = new
        else:
            other = np.vstack([points, new])
        h, moved = spread(points, other, 10.0 ** -rng.uniform(1, 9), rng.choice([0.1, 0.5, 2.0]), calibration)
        assert abs(h - moved) <= 1
        seen.add((h, moved))
    assert any(h != moved for h, moved in seen), "the check is slack"
    assert len({h for h, _ in seen}) > 10


def pass_probability(distance, scale, threshold):
    """P[distance + Z ≥ threshold], P[Z = z] ∝ exp(−|z|/scale)."""
    r, k = exp(-1 / scale), threshold - distance
    return r**k / (1 + r) if k > 0 else 1 - r ** (1 - k) / (1 + r)


@pytest.mark.parametrize("epsilon", [0.05, 0.33, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 0.01, 0.4, 0.9])
def test_the_test_is_private_and_stops_unsafe_sets(epsilon, delta):
    def is_right(scale, threshold):
        chances = [pass_probability(h, scale, threshold) for h in range(-1, threshold + 50)]
        pairs = [(a, b) for a, b in pairwise(chances) if a > 1e-300]
        ratios = [log(b / a) for a, b in pairs] + [log((1 - a) / (1 - b)) for a, b in pairs if b < 1 - 1e-9]
        return chances[0] <= delta and max(ratios) <= epsilon * (1 + 1e-6)

    step = plan_draw("draw", Fraction(epsilon) / STRICT.test_share, delta, 3, STRICT)
    assert step.scale == pytest.approx(1 / epsilon)
    assert is_right(step.scale, step.threshold)
    if epsilon != 1 and delta <= 0.01:  # the published mistake: noise of scale ε instead of 1/ε, same threshold
        assert not is_right(epsilon, step.threshold)


def test_test_and_draw_together(rng):
    """Both laws of the whole output, failure included: (ε₁ + 2η, δ), with one and the same δ for test and draw."""
    failures = passes = 0
    for dimension in (1, 2):
        for points, other, t, calibration in deep_neighbours(rng, dimension, 300):
            eta, delta = float(rng.choice([0.7, 1.5, 3.0])), float(rng.choice([0.02, 0.1, 0.3]))
            step = step_with(eta, delta, scale=1 / 1.5)
            cells = Cells(points, other)
            laws = []
            for s in (points, other):
                h = distance_to_unsafety(log_volumes(np.sort(s.T, axis=1)), len(s), dimension, step, calibration)
                chance = pass_probability(h, step.scale, step.threshold)
                if log_volumes(np.sort(s.T, axis=1))[max(t, 1)] < -(2**61):
                    laws.append(np.append(np.zeros(len(cells.volumes)), 1.0))
                else:
                    laws.append(np.append(chance * cells.law(s, eta, t), 1 - chance))
                failures, passes = failures + (h < 0), passes + (h >= 0)
            assert excess(*laws, float(step.epsilon)) <= delta * (1 + 1e-9)
    assert failures > 50
    assert passes > 50


class Capture(SeededNoise):
    """Passes every test, and keeps the scores and boxes that the draw would use."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))

    def laplace(self, value, scale):
        return 10**9

    def pick(self, scores, scale):
        self.scores, self.scale = scores, scale
        return self.at

    def uniform(self, low, high):
        self.box.append((low, high))
        return low


def drawn_law(points, step, calibration, cells):
    """The law of `draw_deep` on the cells, from the scores and boxes that it hands to the noise."""
    noise = Capture()
    total = 0.0
    i, boxes = 0, []
    while i == 0 or i < noise.scores.size:
        noise.at, noise.box = i, []
        draw_deep(PlannedAccount([step], Budget(1e3, 0.9), noise), step, points, calibration)
        boxes.append(np.array([[float(Fraction(x, LATTICE)) for x in side] for side in noise.box]))
        i += 1
    weights = np.exp((noise.scores - noise.scores.max()) / noise.scale)
    weights /= weights.sum()
    for weight, box in zip(weights, boxes, strict=True):
        inside = ((cells.centres > box[:, 0]) & (cells.centres < box[:, 1])).all(axis=1)
        total = total + weight * np.where(inside, cells.volumes, 0) / np.prod(box[:, 1] - box[:, 0])
    return total


@pytest.mark.parametrize("calibration", [STRICT, PAPER], ids=lambda c: c.name)
@pytest.mark.parametrize("dimension", [1, 2])
def test_the_draw_has_exactly_the_law_of_the_density(rng, calibration, dimension):
    for _ in range(25):
        points, _ = neighbours(rng, dimension)
        t = calibration.t(len(points))
        if log_volumes(np.sort(points.T, axis=1))[max(t, 1)] < -(2**61):
            continue
        eta = float(rng.choice([0.05, 0.5, 2.0]))
        cells = Cells(points)
        law = drawn_law(points, step_with(eta, 0.1, calibration=calibration), calibration, cells)
        np.testing.assert_allclose(law, cells.law(points, eta, max(t, 1)), rtol=1e-6, atol=1e-12)


def test_a_point_of_the_next_shell_is_rejected(rng):
    """The published sampler takes the depth's weight from one region and the point from the next one inward."""
    points = np.sort(rng.normal(size=(24, 1)), axis=0)
    cells, eta, t = Cells(points), 0.3, 6
    depth = depth_at(points, cells.centres)
    law = cells.law(points, eta, t)
    shells = np.array([law[depth == p].sum() for p in range(t, 13)])
    shifted = np.zeros_like(law)
    for p, mass in zip(range(t, 13), shells, strict=True):
        inner = depth == min(p + 1, 12)
        shifted[inner] += mass * cells.volumes[inner] / cells.volumes[inner].sum()
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(shifted, law, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "noise", [OpenDPNoise, lambda: SeededNoise(np.random.default_rng(3))], ids=["opendp", "seeded"]
)
def test_samples_follow_the_density(rng, noise):
    points = np.column_stack([rng.normal(size=22), rng.standard_cauchy(size=22)])
    eta, t = 0.4, STRICT.t(22)
    step, cells = step_with(eta, 0.5, scale=0.01), Cells(points)
    distance = distance_to_unsafety(log_volumes(np.sort(points.T, axis=1)), 22, 2, step, STRICT)
    assert distance < 0, "this set must be let through by hand"

    class LetThrough:
        def __init__(self, inner):
            self.private, self.pick, self.uniform = True, inner.pick, inner.uniform

        def laplace(self, value, scale):
            return 10**9

    inner, counts = noise(), np.zeros(len(cells.volumes), int)
    edges = [np.unique(points[:, j]) for j in range(2)]
    for _ in range(4000):
        drawn = draw_deep(PlannedAccount([step], Budget(1e3, 0.9), LetThrough(inner)), step, points, STRICT)
        at = [int(np.searchsorted(e, x, side="right")) - 1 for e, x in zip(edges, drawn, strict=True)]
        counts[at[0] * (len(edges[1]) - 1) + at[1]] += 1
    assert_law(counts, cells.law(points, eta, t))


def test_nothing_is_drawn_without_volume():
    points = np.zeros((100, 2))
    account = PlannedAccount([step := step_with(0.5, 0.1)], Budget(1e3, 0.5), Capture())
    assert draw_deep(account, step, points, STRICT) is None
    assert len(account.receipt().steps) == 1, "the test was made, so it was paid for"


def test_a_draw_lies_on_the_public_lattice_inside_its_box(rng):
    points = rng.normal(size=(60, 3))
    step = step_with(1.0, 0.1)

    class Passes(OpenDPNoise):
        def laplace(self, value, scale):
            return 10**9

    for _ in range(20):
        drawn = draw_deep(PlannedAccount([step], Budget(1e3, 0.5), Passes()), step, points, STRICT)
        assert depth_at(points, drawn[None])[0] >= STRICT.t(60)
