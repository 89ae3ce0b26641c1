"""The quantile among candidates: its law in closed form for every small data set and neighbour.

Proof: docs/proofs/quantile.md.
"""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact import assert_law, log_softmax, softmax
from privreg.mechanisms.quantile import GRID, LEVELS, count_at, noisy_quantile, plan_quantile, scores
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Pick
from privreg.privacy.noise import OpenDPNoise, SeededNoise

CANDIDATES = np.array([1.0, 2.0, 4.0])
POINTS = [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 1e308, 5e-324]
QS = [0.0, 1e-9, 0.05, 0.3, 1 / 3, 0.5, 0.62, 2 / 3, 0.75, 0.95, 0.98, 1 - 1e-9, 1.0]
finite = st.one_of(st.sampled_from(POINTS), st.floats(allow_nan=False, allow_infinity=False))


def brute_force(values, candidates, q):
    """−max(0, #{x<v} − qn, (qn − #{x≤v})/2) in units of 1/GRID, in rational numbers."""
    level, n = Fraction(q, LEVELS), len(values)
    result = []
    for v in candidates:
        less, most = sum(x < v for x in values), sum(x <= v for x in values)
        result.append(-max(Fraction(), less - level * n, (level * n - most) / 2) * GRID)
    return result


def scores_of(values, candidates, q):
    return scores(count_at(np.array(values, float), candidates), q)


@given(st.lists(finite, max_size=12), st.lists(finite, min_size=1, max_size=6), st.integers(1, LEVELS - 1))
def test_scores_are_exact(values, candidates, q):
    candidates = np.sort(candidates)
    assert scores_of(values, candidates, q).tolist() == brute_force(values, candidates, q)


@given(st.lists(st.lists(finite, max_size=9), min_size=1, max_size=5), st.lists(finite, min_size=1, max_size=6))
def test_counts_of_parts_add_up(parts, candidates):
    candidates = np.sort(candidates)
    counts = [count_at(np.array(part, float), candidates) for part in parts]
    whole = count_at(np.array([value for part in parts for value in part], float), candidates)
    assert all(c.dtype == np.int64 for c in counts)
    np.testing.assert_array_equal(sum(counts), whole)


def spread(step, q, most=5):
    """Largest spread of the log-ratios over all data sets of up to `most` records and all records added."""
    laws = {
        chosen: log_softmax(scores_of([POINTS[i] for i in chosen], CANDIDATES, q), step.scale)
        for size in range(most + 2)
        for chosen in combinations_with_replacement(range(len(POINTS)), size)
    }
    return max(
        np.ptp(laws[tuple(sorted((*chosen, record)))] - law)
        for chosen, law in laws.items()
        if len(chosen) <= most
        for record in range(len(POINTS))
    )


def spread_when_many(step, q):
    """The same for so many records between two candidates that no score is cut off at 0."""
    values = np.full(2 * LEVELS // min(q, LEVELS - q), 1.5)
    law = log_softmax(scores_of(values, CANDIDATES, q), step.scale)
    more = [log_softmax(scores_of(np.append(values, p), CANDIDATES, q), step.scale) for p in POINTS]
    return max(np.ptp(m - law) for m in more)


@pytest.mark.parametrize("level", QS)
def test_every_small_data_set_and_neighbour(level):
    """Within ε, and close to it; at levels near 0 and 1 it takes 1/q records to come close."""
    epsilon = 1.0
    step, q = plan_quantile("q", level, epsilon)
    assert 0 < q < LEVELS
    assert abs(q / LEVELS - level) <= 1 / LEVELS
    assert float(step.pure) == pytest.approx(epsilon, rel=1e-12)
    small, many = spread(step, q), spread_when_many(step, q)
    assert max(small, many) <= float(step.pure) + 1e-9
    assert many > 0.99 * epsilon
    if 0.3 <= level <= 0.7:
        assert small > 0.8 * epsilon


def test_noise_for_half_the_range_is_caught():
    for level in (0.05, 0.5, 0.95):
        step, q = plan_quantile("q", level, 1.0)
        half = Pick("q", step.range // 2, step.scale / 2, step.grid)
        assert spread_when_many(half, q) > 1.9 * float(half.pure)


@given(st.lists(finite, max_size=60), finite, st.lists(finite, min_size=1, max_size=8), st.floats(0, 1), st.data())
def test_a_record_moves_scores_within_the_planned_range(values, record, candidates, level, data):
    """Wherever the record is put."""
    place = data.draw(st.integers(0, len(values)))
    more = [*values[:place], record, *values[place:]]
    candidates = np.sort(candidates)
    step, q = plan_quantile("q", level, 0.7)
    change = scores_of(more, candidates, q) - scores_of(values, candidates, q)
    assert np.ptp(change) <= step.range
    assert change.min() >= -max(2 * (LEVELS - q), q)
    assert change.max() <= max(2 * q, LEVELS - q)


def test_private_draws_follow_the_law():
    """2000 draws; chi-square at level 1e-7."""
    values, budget = np.array([0.5, 1.5, 1.5, 3.0, 9.0]), Budget(8.0, 1e-6)
    step, q = plan_quantile("q", 0.6, 1.5)
    counts = np.zeros(3)
    for _ in range(2000):
        counts[noisy_quantile(AdaptiveAccount(budget, OpenDPNoise()), step, q, count_at(values, CANDIDATES))] += 1
    law = softmax(scores_of(values, CANDIDATES, q), step.scale)
    assert law.min() > 0.01
    assert_law(counts, law)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.98])
def test_finds_the_quantile(rng, level):
    data, candidates = rng.exponential(size=5000), np.geomspace(1e-3, 100, 60)
    step, q = plan_quantile("q", level, 2.0)
    account = AdaptiveAccount(Budget(20.0, 1e-6), SeededNoise(rng))
    found = candidates[noisy_quantile(account, step, q, count_at(data, candidates))]
    at = np.searchsorted(candidates, np.quantile(data, level))
    assert candidates[at - 2] < found < candidates[at + 2]
