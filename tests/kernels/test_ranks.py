"""Dense ranks by radix sort equal numpy's on every kind of column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privreg.kernels.ranks import rank_column, rank_columns

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


def assert_ranked(values):
    ranks = rank_column(values)
    levels, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(ranks.rank, inverse)
    assert ranks.distinct == levels.size
    if levels.size < values.size:
        np.testing.assert_array_equal(ranks.starts, np.concatenate([[0], np.cumsum(counts)]))
    else:
        assert ranks.starts.size == 0


@given(hnp.arrays(np.float64, st.integers(0, 60), elements=FINITE))
def test_any_floats(values):
    assert_ranked(values)


@given(hnp.arrays(np.float64, st.integers(0, 60), elements=st.sampled_from([-1.5, -0.0, 0.0, 5e-324, 2.0, 1e308])))
def test_ties_and_extremes(values):
    assert_ranked(values)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(2, 3000), st.sampled_from([1e-300, 1.0, 1e12, 1e300]))
def test_long_runs_of_equal_leading_bits(seed, n, base):
    """An outlier stretches the key range so that the other values share their leading 32 bits."""
    rng = np.random.default_rng(seed)
    values = base * (1 + 1e-15 * rng.integers(-50, 50, n))
    if n % 2:
        values = base + np.spacing(base) * rng.permutation(n)  # all distinct
    values[rng.integers(n)] = -1.7e308
    assert_ranked(values)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 2000), st.integers(0, 2**64 - 1), st.integers(0, 63))
def test_few_bits_vary(seed, n, mask, zeros):
    """Bits that are the same everywhere, at the low end or scattered, are left out of the sort or told from ties."""
    bits = np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64) & np.uint64(mask >> zeros << zeros)
    values = bits.view(np.float64)
    assert_ranked(values[np.isfinite(values)])


def test_values_that_collide_in_the_hash_table(rng):
    unhash = pow(0x9E3779B97F4A7C15, -1, 2**64)
    levels = np.array([k * unhash % 2**64 for k in range(300)], np.uint64).view(np.float64)
    assert_ranked(rng.choice(levels[np.isfinite(levels)], 30_000))


def test_ranks_sent_to_parts_of_a_long_column(rng):
    assert_ranked(rng.integers(-(10**6), 10**6, 2**21 + 1) / 7)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_two_values_in_either_order(first):
    assert_ranked(np.array([first, first, 1 - first, first, 1 - first]))
    assert_ranked(np.array([first] * 5))


def test_columns_do_not_depend_on_the_number_of_threads(rng):
    class Columns(list):
        n_records = 5000

        def block(self, first, last, out):
            return self[first:last]

    columns = Columns([rng.normal(size=5000), rng.integers(0, 9, 5000) * 1.0, rng.integers(0, 2, 5000) * 1.0] * 3)
    one, three = rank_columns(columns, 1), rank_columns(columns, 3)
    for a, b, values in zip(one, three, columns, strict=True):
        np.testing.assert_array_equal(a.rank, b.rank)
        np.testing.assert_array_equal(a.starts, b.starts)
        assert_ranked(values)
