"""The median on a fixed grid: its law in closed form for every small data set over hostile values, and every neighbour.

Proof: docs/proofs/median.md. The scores are those that `noisy_median` hands to the account. A code of a run has the
run's weight times its share of the run's prior mass, so the law relative to the prior is constant on runs.
"""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Parts, assert_law, log_softmax, softmax
from privreg.engines import base, memory
from privreg.engines.base import TARGET, PreparedColumns
from privreg.kernels import values as values_module
from privreg.kernels.values import HIGHEST, LARGEST, LOWEST, MANTISSA, code_of, codes_near, value_of
from privreg.mechanisms import median
from privreg.mechanisms.median import code_at, mass_at, mass_below, noisy_median, plan_median, prepare_medians, runs
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Pick
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from public_tables import array_engine
from scripted import PickKeeper

SAME_CELL = 1 + 1e-9


HOSTILE = [0.0, -0.0, 5e-324, 1e-300, 1.0, SAME_CELL, 3.0, -7.5, 1e308, -1e308]


finite = st.one_of(st.sampled_from(HOSTILE), st.floats(-100, 100), st.floats(allow_nan=False, allow_infinity=False))


codes = st.one_of(
    st.integers(-LARGEST, LARGEST),
    st.integers(-3, 3),
    st.sampled_from([-LARGEST, LARGEST]),
    st.integers(-(HIGHEST - LOWEST + 1), HIGHEST - LOWEST).map(lambda octave: octave << MANTISSA),
)


# ---- the grid


@given(codes)
def test_grid_values_are_their_own_code(code):
    assert code_of(value_of(code)) == code
    assert value_of(-code) == -value_of(code)


@given(finite)
def test_the_code_is_that_of_the_nearest_value(value):
    """Nearest in the range of the grid, zero below it, and the ends beyond it."""
    code = code_of(value)
    assert -LARGEST <= code <= LARGEST
    assert code_of(-value) == -code
    if 2.0**LOWEST <= abs(value) <= value_of(LARGEST):
        distance = abs(Fraction(value) - Fraction(value_of(code)))
        for other in (max(code - 1, -LARGEST), min(code + 1, LARGEST)):
            assert distance <= abs(Fraction(value) - Fraction(value_of(other)))
    elif abs(value) > value_of(LARGEST):
        assert abs(code) == LARGEST
    elif abs(value) < 2.0 ** (LOWEST - 1):
        assert code == 0


def test_codes_of_extremes():
    assert [code_of(v) for v in (0.0, -0.0, 5e-324, -5e-324, 1e-308, 2.0 ** (LOWEST - 2))] == [0] * 6
    assert [code_of(v) for v in (1e308, np.inf, -1e308, -np.inf)] == [LARGEST, LARGEST, -LARGEST, -LARGEST]
    assert [code_of(v) for v in (2.0**LOWEST, -(2.0**LOWEST))] == [1, -1]
    assert value_of(1) == 2.0**LOWEST
    assert value_of(LARGEST) == 2.0**HIGHEST * (2 - 2.0**-MANTISSA)
    assert value_of(0) == 0.0


@given(finite, finite)
def test_codes_are_monotone(a, b):
    low, high = sorted((a, b))
    assert code_of(low) <= code_of(high)


@given(codes)
def test_the_prior_is_positive_whole_and_symmetric(code):
    weight = mass_at(code + 1) - mass_at(code)
    assert weight > 0
    assert weight == mass_at(-code + 1) - mass_at(-code)
    assert mass_at(-LARGEST) == 0
    assert mass_at(LARGEST + 1) < 2**53  # exact as a float, and far from overflow


@given(codes, st.data())
def test_masses_and_codes_are_inverse(code, data):
    low, high = mass_at(code), mass_at(code + 1)
    for mass in (low, high - 1, data.draw(st.integers(low, high - 1))):
        assert code_at(mass) == code


def test_the_prior_adds_up_octave_by_octave():
    """Every octave's weights by direct summation."""
    for octave in (0, 37, HIGHEST - LOWEST):
        start = 1 + (octave << MANTISSA)
        every = np.arange(start, start + 2**MANTISSA + 1)
        steps = np.diff(mass_below(every))
        assert (steps > 0).all()
        np.testing.assert_array_equal(np.diff(mass_below(np.sort(-every) + 1)), steps[::-1])


# ---- runs


def brute_force(values, reach, code):
    """Twice the utility of a grid value, from its definition."""
    own = np.array([code_of(v) for v in values])
    less, most, n = int((own < code).sum()), int((own <= code).sum()), len(values)
    return max(-max(0, 2 * less - n, n - 2 * most), -2 * reach)


def near(values):
    """Codes where the utility may change, and the ends."""
    around = {code_of(v) + d for v in values for d in (-1, 0, 1)} | {-LARGEST, 0, LARGEST, -(1 << 20), 1 << 20}
    return np.array(sorted(c for c in around if -LARGEST <= c <= LARGEST))


@settings(max_examples=300)
@given(st.lists(finite, max_size=30), st.integers(1, 6))
def test_runs_are_the_utility(values, reach):
    starts, utilities = runs(np.array(values, float), reach)
    assert starts[0] == -LARGEST
    assert (np.diff(starts) > 0).all()
    assert starts[-1] <= LARGEST
    for code in near(values):
        at = np.searchsorted(starts, code, side="right") - 1
        assert utilities[at] == brute_force(values, reach, code)


@settings(max_examples=200)
@given(st.lists(finite, max_size=40), finite, st.integers(1, 6), st.data())
def test_a_record_moves_twice_the_utility_by_at_most_one(values, record, reach, data):
    """Clipped or not, wherever the record is put, at every grid value."""
    place = data.draw(st.integers(0, len(values)))
    more = [*values[:place], record, *values[place:]]
    at = near(more)
    change = 0
    for sign, list_of_values in ((-1, values), (1, more)):
        starts, utilities = runs(np.array(list_of_values, float), reach)
        change = change + sign * utilities[np.searchsorted(starts, at, side="right") - 1]
    assert np.abs(change).max() <= 1


@given(st.lists(finite, max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_codes_near_holds_what_it_promises(values, low, high):
    values = np.array(values, float)
    own = np.sort(np.array([code_of(v) for v in values], np.int64))
    below, distinct, counts = codes_near(values, min(low, values.size), min(high, values.size))
    expanded = np.repeat(distinct, counts)
    np.testing.assert_array_equal(expanded, own[below : below + expanded.size])  # one stretch, without gaps
    assert below <= low
    assert below + expanded.size >= min(high, values.size)


@given(st.lists(finite, max_size=40), st.lists(st.integers(0, 40), max_size=6), st.integers(1, 6))
def test_parts_of_the_records_do_not_matter(values, cuts, reach):
    for part, whole in zip(runs(Parts(values, cuts), reach), runs(np.array(values, float), reach), strict=True):
        assert part.dtype == whole.dtype == np.int64
        np.testing.assert_array_equal(part, whole)


def drawn_from(step, values):
    """Scores, and the stretches that they are of."""
    keeper = PickKeeper()
    noisy_median(keeper, step, values)
    return keeper.scores.tolist(), [keeper.bounds(i) for i in range(len(keeper.scores))]


@pytest.mark.parametrize(("size", "jobs"), [(1, 1), (1, 3), (7, 2), (64, 2), (64, 3), (8192, 1)])
@pytest.mark.parametrize("epsilon", [0.5, 30.0])
def test_medians_do_not_depend_on_blocks_or_threads(size, jobs, epsilon, rng, monkeypatch):
    """One by one, or after two passes for all columns; for steps other than the prepared one, too."""
    X, y = rng.standard_cauchy(size=(300, 4)) * [1, 1e-6, 1e9, 1], rng.normal(size=300)
    X[:, 1], X[::11, 3] = rng.choice(HOSTILE, 300), np.nan
    whole = np.isfinite(X).all(axis=1)
    step, other = plan_median("m", epsilon), plan_median("m", 3.0)
    monkeypatch.setattr(base, "ROWS", size)
    monkeypatch.setattr(memory, "_ENTRIES", size)
    records = array_engine(X, y, jobs)
    assert drawn_from(step, records.column(TARGET)) == drawn_from(step, y[whole])
    expected = [[drawn_from(s, X[whole, j].copy()) for s in (step, other)] for j in range(4)]
    assert [[drawn_from(s, records.column(j)) for s in (step, other)] for j in range(4)] == expected
    passes, totals = [], records.totals
    monkeypatch.setattr(records, "totals", lambda tasks: passes.append(len(tasks)) or totals(tasks))
    columns = PreparedColumns(records, [2, 0, 3, 1])
    prepare_medians(columns, step)
    assert [drawn_from(step, column) for column in columns] == [expected[j][0] for j in (2, 0, 3, 1)]
    assert passes == [4, 4]
    assert [drawn_from(other, column) for column in columns] == [expected[j][1] for j in (2, 0, 3, 1)]


def log_law(values, step, at):
    """Log-probability of each code of `at`, less the logarithm of its prior mass."""
    keeper = PickKeeper()
    noisy_median(keeper, step, np.array(values, float))
    bounds = [keeper.bounds(i) for i in range(len(keeper.scores))]
    assert [b[0] for b in bounds] == [0, *(b[1] for b in bounds[:-1])]  # the runs share out the whole prior
    assert bounds[-1][1] == mass_at(LARGEST + 1)
    lows = np.array([low for low, _ in bounds])
    run = np.searchsorted(lows, mass_below(at), side="right") - 1
    masses = np.array([high - low for low, high in bounds], float)
    return (log_softmax(keeper.scores, keeper.step.scale) - np.log(masses))[run]


POINTS = [0.0, 5e-324, 1.0, SAME_CELL, 3.0, -1e308, 1e308]


def spreads(step, points=POINTS, most=4):
    """Largest spread of log-ratios over all data sets of up to `most` records and all records added."""
    at = near(points)
    laws = {
        chosen: log_law([points[i] for i in chosen], step, at)
        for size in range(most + 2)
        for chosen in combinations_with_replacement(range(len(points)), size)
    }
    return max(
        np.ptp(laws[tuple(sorted((*chosen, record)))] - law)
        for chosen, law in laws.items()
        if len(chosen) <= most
        for record in range(len(points))
    )


@pytest.mark.parametrize("reach", [60, 0.01])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_every_small_data_set_and_neighbour(epsilon, reach, monkeypatch):
    """Within ε and close to it; also where utilities are cut off from one record on."""
    monkeypatch.setattr(median, "REACH", reach)
    step = plan_median("m", epsilon)
    claimed = float(step.pure)
    assert claimed == pytest.approx(epsilon, rel=1e-12)
    assert 0.99 * claimed < spreads(step) <= claimed + 1e-9


def test_noise_for_half_the_range_is_caught():
    step = plan_median("m", 1.0)
    half = Pick("m", step.range // 2, step.scale / 2, step.grid)
    assert spreads(half, most=3) > 1.9 * float(half.pure)


@settings(max_examples=40)
@given(st.lists(finite, min_size=200, max_size=400), finite, st.sampled_from([0.5, 20.0]))
def test_larger_data_sets(values, record, epsilon):
    """Beyond the size from which picks are made by blocks, in windows that cut off most records, too."""
    step = plan_median("m", epsilon)
    at = near([*values, record])
    assert np.ptp(log_law([*values, record], step, at) - log_law(values, step, at)) <= float(step.pure) + 1e-9


def test_private_medians_follow_the_law():
    """1500 private draws; chi-square at level 1e-7 over the runs."""
    data = [1.0, 2.0, 2.0, 3.0, 10.0]
    step = plan_median("m", 1.0)
    budget = Budget(6.0, 1e-6)
    keeper = PickKeeper()
    noisy_median(keeper, step, np.array(data))
    starts, _ = runs(np.array(data), 60)
    counts = np.zeros(len(starts))
    for _ in range(1500):
        value = noisy_median(AdaptiveAccount(budget, OpenDPNoise()), step, np.array(data))
        counts[np.searchsorted(starts, code_of(value), side="right") - 1] += 1
    law = softmax(keeper.scores, step.scale)
    assert law.max() < 0.9
    assert_law(counts, law)


# ---- accuracy


def seeded(values, epsilon=0.5, seed=0):
    account = AdaptiveAccount(Budget(20.0, 1e-6), SeededNoise(np.random.default_rng(seed)))
    return noisy_median(account, plan_median("m", epsilon), np.asarray(values, float))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e6, -1e12])
def test_finds_the_median_of_skewed_data(rng, scale):
    data = rng.lognormal(sigma=2, size=3000) * scale
    for seed in range(5):
        below = (data < seeded(data, seed=seed)).mean()
        assert 0.47 < below < 0.53


@pytest.mark.parametrize("atom", [0.0, 3.0, -1024.0])
def test_finds_an_atom_exactly(rng, atom):
    data = np.where(rng.random(1000) < 0.6, atom, rng.normal(size=1000) * 1e5)
    assert all(seeded(data, seed=seed) == atom for seed in range(5))


def test_no_records_and_one_value():
    assert np.isfinite(seeded([]))
    assert seeded([5.0] * 500) == 5.0
    assert abs(seeded([1e308] * 500)) == value_of(LARGEST)


def test_looking_near_the_middle_only_changes_nothing(rng):
    """Runs from a few cells around the middle, against all runs with the same cut."""
    data = rng.normal(size=500)
    wanted = runs(data, 500)
    for reach in (3, 30):
        starts, utilities = runs(data, reach)
        at = near(data)
        full = np.maximum(wanted[1], -2 * reach)[np.searchsorted(wanted[0], at, side="right") - 1]
        np.testing.assert_array_equal(utilities[np.searchsorted(starts, at, side="right") - 1], full)
    assert values_module._CELLS * 2**values_module._CELL > 2 * LARGEST
