"""The histogram of distances: one record is in one bin at most, bins begin where they say, and reading never fails.

Proof: docs/proofs/spread.md.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exact import Parts
from privreg.kernels.values import BINS, FIRST_BIN, LARGEST, code_of, count_distances, value_of, winsorise
from privreg.mechanisms.spread import (
    GRID,
    LIKELY,
    PLAUSIBLE,
    SURE,
    noisy_histogram,
    plan_histogram,
    pooled,
    read_both,
    read_spread,
)
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from scripted import Keeper

HOSTILE = [0.0, -0.0, 5e-324, -1e-308, 2.0**-45, 1.0, 1 + 1e-9, -7.5, 1e30, 1.7e308, -1.7e308]
finite = st.one_of(st.sampled_from(HOSTILE), st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False))
centres = st.one_of(
    st.integers(-LARGEST, LARGEST).map(value_of), st.sampled_from([0.0, 1.0, value_of(LARGEST), -value_of(LARGEST)])
)
STEP = plan_histogram("h", 0.02)
ROOMY = Budget(5.0, 1e-6)


def released(values, centre):
    """The integers that get noise, and its scale."""
    keeper = Keeper(keep=np.copy)
    values = values if isinstance(values, Parts) else np.array(values, float)
    histogram = noisy_histogram(AdaptiveAccount(ROOMY, keeper), STEP, values, centre)
    ((integers, scale),) = keeper.calls
    np.testing.assert_array_equal(histogram, integers / GRID)
    return integers.astype(object), scale


@settings(max_examples=200)
@given(st.lists(finite, max_size=20), finite, centres, st.data())
def test_a_record_moves_one_bin_by_one(values, record, centre, data):
    """Wherever it stands; none if it is in the centre's cell."""
    place = data.draw(st.integers(0, len(values)))
    before, scale = released(values, centre)
    after, _ = released([*values[:place], record, *values[place:]], centre)
    change = after - before
    assert sum(change != 0) == (code_of(record) != code_of(centre))
    assert set(change) <= {0, GRID}
    assert (change**2).sum() <= STEP.sensitivity_squared == GRID**2
    assert scale == STEP.scale
    assert len(change) == STEP.coordinates == BINS


@given(st.lists(finite, max_size=20), st.lists(st.integers(0, 20), max_size=5), centres)
def test_parts_of_the_records_do_not_matter(values, cuts, centre):
    assert released(Parts(values, cuts), centre)[0].tolist() == released(values, centre)[0].tolist()


def test_the_cost_is_what_was_asked_for():
    for mu_squared in np.geomspace(1e-10, 10, 50):
        step = plan_histogram("h", mu_squared)
        assert float(step.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert step.mu_squared == GRID**2 / Fraction(step.scale) ** 2


def bin_of(distance):
    """By rational numbers: the largest b with 2^(b + FIRST_BIN) ≤ distance², within the bins."""
    square, b = Fraction(distance) ** 2, 0
    while b + 1 < BINS and Fraction(2) ** (b + 1 + FIRST_BIN) <= square:
        b += 1
    return b


@given(finite, centres)
def test_bins_begin_where_they_say(value, centre):
    bins = count_distances(np.array([value]), centre)
    if code_of(value) == code_of(centre):
        assert bins.sum() == 0
    else:
        with np.errstate(over="ignore"):
            distance = np.float64(value) - centre
        assert np.flatnonzero(bins).tolist() == [bin_of(distance) if np.isfinite(distance) else BINS - 1]


def test_the_edge_of_a_bin_is_exact():
    """The least float at or beyond 2^((b + FIRST_BIN)/2) is in bin b, and the one before it is not."""
    for b in range(20, BINS):
        square = Fraction(2) ** (b + FIRST_BIN)
        edge = 2.0 ** ((b + FIRST_BIN) / 2)
        while Fraction(edge) ** 2 >= square:
            edge = np.nextafter(edge, 0)
        assert np.flatnonzero(count_distances(np.array([edge]), 0.0)).tolist() == [b - 1]
        edge = np.nextafter(edge, np.inf)
        assert np.flatnonzero(count_distances(np.array([-edge]), 0.0)).tolist() == [b]


def test_distances_beyond_all_bins():
    assert count_distances(np.array([1e308, -1e308]), 1.0)[-1] == 2
    assert count_distances(np.array([-1e308]), -value_of(LARGEST)).sum() == 0  # beyond the grid is its last cell
    assert count_distances(np.array([1.7e308]), -1.7e308)[-1] == 1  # the difference overflows
    assert count_distances(np.array([value_of(2)]), value_of(1))[0] == 1


# ---- reading

counts = st.one_of(st.floats(-(2.0**35), 2.0**35), st.floats(-50, 50), st.just(0.0)).map(
    lambda c: round(c * GRID) / GRID
)
histograms = st.one_of(
    hnp.arrays(float, BINS, elements=counts),
    hnp.arrays(float, BINS, elements=counts, fill=st.just(0.0)),
    st.tuples(st.integers(0, BINS - 1), counts).map(lambda t: np.where(np.arange(BINS) == t[0], t[1], 0.0)),
    counts.map(lambda c: np.full(BINS, c)),
)


@settings(max_examples=200)
@given(histograms, st.floats(1e-3, 1e9), st.floats(1, 1e9), st.floats(1.0, 1e3))
def test_reading_never_fails(histogram, sigma, records, most):
    """Warnings are errors here, so that no overflow or invalid value goes unnoticed."""
    spread = read_spread(histogram, sigma, records, most)
    assert 0 < spread.limit < np.inf
    assert 0 < spread.unit < np.inf
    assert spread.limit <= most * spread.unit * (1 + 1e-12)
    again = read_spread(histogram.copy(), sigma, records, most)
    assert (again.limit, again.unit, again.sure) == (spread.limit, spread.unit, spread.sure)
    assert (spread.weights >= 0).all()
    assert spread.weights.sum() <= 1 + 1e-9
    assert 0 <= spread.mean_square < np.inf
    for level in (0.0, 0.5, 0.98, 1.0):
        assert 0 < spread.distance(level) <= spread.limit
    assert isinstance(spread.sure, bool)
    out = np.zeros(4, np.int16)  # what is read can be used on any value
    winsorise(np.array([0.0, 1.7e308, -1.7e308, 5e-324]), 1e17, spread.limit, out)
    assert (np.abs(out.astype(int)) <= 32767).all()


def read(values, sigma=3.0, most=8.0, seed=0, centre=0.0):
    noise = np.random.default_rng(seed).normal(size=BINS) * sigma
    return read_spread(count_distances(np.asarray(values, float), centre) + noise, sigma, len(values), most)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 3.7, 1e15])
def test_reads_a_normal_sample(rng, scale):
    spread = read(rng.normal(size=200_000) * scale)
    assert spread.sure
    assert spread.unit / scale == pytest.approx(1, abs=0.06)
    assert 3 < spread.limit / scale <= 8 * 1.06


def test_reads_heavy_tails(rng):
    """A few records far out must not set the unit, and the limit stays within the allowed multiple of it."""
    values = np.append(rng.normal(size=100_000), np.full(30, 1e9))
    spread = read(values, most=8.0)
    assert 0.8 < spread.unit < 1.5
    assert 3 < spread.limit <= 8 * spread.unit * (1 + 1e-12)
    cauchy = rng.standard_cauchy(size=100_000)
    narrow, wide = read(cauchy, most=4.0), read(cauchy, most=40.0)
    assert wide.limit > narrow.limit
    assert wide.unit > narrow.unit
    winsorised = np.clip(cauchy, -wide.limit, wide.limit).std()
    assert wide.unit == pytest.approx(winsorised, rel=0.3)


def test_reads_a_two_valued_column():
    """Zeros are in the centre's cell, ones in one bin."""
    spread = read(np.repeat([0.0, 1.0], [9000, 1000]), most=8.0)
    assert 1 <= spread.limit <= 2  # not cut off, and at most a bin of noise too far
    assert spread.unit == pytest.approx(0.316, rel=0.5)


def test_noise_alone_is_not_taken_for_records():
    assert not read_spread(np.zeros(BINS), 3.0, 100.0, 8.0).sure
    sure = [read([], seed=seed).sure for seed in range(100)]
    assert sum(sure) <= 5


def test_which_windows_are_kept():
    """All that are sure; if there is none, the best, which is believed from a lower threshold on."""
    sigma, bins = 3.0, np.arange(BINS)

    def kept(**heights):
        histogram = sum(np.where(bins == int(at[1:]), height * sigma, 0.0) for at, height in heights.items())
        spread = read_spread(histogram, sigma, 1000.0, 1e3)
        return np.flatnonzero(spread.weights).tolist(), spread.sure

    assert SURE > PLAUSIBLE > LIKELY
    assert kept(b90=SURE + 0.1, b120=SURE + 0.2) == ([90, 120], True)
    assert kept(b90=SURE - 0.1, b120=SURE + 0.1) == ([120], True)
    assert kept(b90=SURE - 0.1, b120=PLAUSIBLE - 0.1) == ([90], True)
    assert kept(b90=PLAUSIBLE + 0.1) == ([90], True)
    assert kept(b90=PLAUSIBLE - 0.1) == ([90], False)
    # Neighbours of a sure window are kept while they are likely.
    assert kept(b90=SURE + 0.1, b91=LIKELY + 0.1, b92=LIKELY + 0.1, b94=LIKELY + 0.1) == ([90, 91, 92], True)
    assert kept(b90=SURE + 2, b91=LIKELY - 0.1) == ([90], True)


@pytest.mark.parametrize("octaves", [-20, 1, 30])
def test_reading_moves_with_the_data(rng, octaves):
    """Twice as large values give twice as large an answer."""
    values = rng.normal(size=50_000)
    plain = read_spread(count_distances(values, 0.0), 1e-3, 50_000.0, 8.0)
    moved = read_spread(count_distances(values * 2.0**octaves, 0.0), 1e-3, 50_000.0, 8.0)
    # Values below the smallest of the grid are in the centre's cell: they hardly matter.
    assert moved.limit == pytest.approx(plain.limit * 2.0**octaves, rel=1e-12)
    assert moved.unit == pytest.approx(plain.unit * 2.0**octaves, rel=1e-3)


@given(hnp.arrays(float, 5, elements=finite), centres, st.floats(2.0**-45, 2.0**60))
def test_winsorising_is_clipping_then_rounding(values, centre, limit):
    out = np.zeros(5, np.int16)
    winsorise(values, centre, limit, out)
    for value, got in zip(values, out.tolist(), strict=True):
        exact = min(max((Fraction(value) - Fraction(centre)) / Fraction(limit), -1), 1) * 32767
        assert abs(got - exact) <= Fraction(1, 2) + Fraction(1, 10**6)
        alone = np.zeros(1, np.int16)
        winsorise(np.array([value]), centre, limit, alone)
        assert alone[0] == got


@given(hnp.arrays(float, (2, BINS), elements=st.floats(-1e6, 1e6)), st.floats(0.1, 1e3), st.floats(0.1, 1e3))
def test_two_histograms_are_read_as_one(histograms, first, second):
    """Weighted by how little noise they have; and what both say is said with less noise."""
    one, other = (read_spread(h, s, 1000.0, 6.0) for h, s in zip(histograms, (first, second), strict=True))
    both = read_both(one, other, 1000.0, 6.0)
    mean = np.average(histograms, axis=0, weights=[first**-2.0, second**-2.0])
    np.testing.assert_allclose(both.counts, mean, rtol=1e-9, atol=1e-6)
    assert both.noise == pytest.approx((first**-2.0 + second**-2.0) ** -0.5)
    again = read_spread(both.counts, both.noise, 1000.0, 6.0)
    assert (again.limit, again.unit, again.sure) == (both.limit, both.unit, both.sure)


def test_two_looks_are_surer_than_one():
    histogram = np.zeros(BINS)
    histogram[100] = 40.0
    one = read_spread(histogram, 10.0, 100.0, 6.0)
    assert not one.sure
    both = read_both(one, one, 100.0, 6.0)
    assert both.sure
    assert both.limit == one.limit


@pytest.mark.parametrize("alike", [True, False])
def test_columns_are_read_together_as_far_as_they_are_alike(rng, alike):
    shape = np.zeros(BINS)
    shape[90:96] = 400, 900, 1500, 2000, 900, 40
    truth = np.array([np.roll(shape, 0 if alike else 12 * j) for j in range(8)])
    noisy = truth + rng.normal(0, 50, truth.shape)
    found, noise = pooled(noisy, 50.0)
    before, after = ((noisy - truth) ** 2).mean(), ((found - truth) ** 2).mean()
    if alike:
        assert after < 0.4 * before
        assert noise < 35
    else:
        held = truth > 800
        assert found[held] == pytest.approx(noisy[held], rel=0.05)
        assert 45 < noise <= 50


def test_few_columns_are_read_alone(rng):
    noisy = rng.normal(0, 50, (5, BINS))
    found, noise = pooled(noisy, 50.0)
    assert found is noisy
    assert noise == 50.0


@given(hnp.arrays(np.int64, st.tuples(st.integers(6, 9), st.just(BINS)), elements=st.integers(-(2**62), 2**62)))
@settings(max_examples=50)
def test_reading_together_never_fails(histograms):
    with np.errstate(all="raise"):
        found, noise = pooled(histograms / GRID, 1000.0)
    assert np.isfinite(found).all()
    assert 0 < noise <= 1000.0
    for histogram in found:
        spread = read_spread(histogram, noise, 100.0, 4.0)
        assert 0 < spread.unit <= spread.limit < np.inf


def test_a_long_tail_that_stands_out_only_together_is_kept():
    """A core, and beyond it eight bins of 1.3 deviations each, which no window of up to six bins would show."""
    histogram = np.zeros(BINS)
    histogram[80:84] = 1000.0
    core = read_spread(histogram, 50.0, 5000.0, 100.0)
    histogram[84:92] = 65.0
    tail = read_spread(histogram, 50.0, 5000.0, 100.0)
    assert core.limit == 2.0 ** ((FIRST_BIN + 84) / 2)
    assert tail.limit == 2.0 ** ((FIRST_BIN + 92) / 2)
    histogram[84:92] = 50.0  # 2.8 deviations together
    assert read_spread(histogram, 50.0, 5000.0, 100.0).limit == core.limit


def test_a_tail_may_be_as_long_as_there_are_bins():
    histogram = np.full(BINS, 65.0)
    histogram[80:84] = 1000.0
    assert read_spread(histogram, 50.0, 20_000.0, 1e60).limit == 2.0 ** ((FIRST_BIN + BINS) / 2)
