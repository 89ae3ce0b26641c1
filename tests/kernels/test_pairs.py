"""C − D is exact: against brute force, against closed forms at sizes brute force cannot reach, and against scipy."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.kendall import kendall_scores
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import rank_column


def brute(x, y):
    sx = np.sign(np.subtract.outer(np.unique(x, return_inverse=True)[1], np.unique(x, return_inverse=True)[1]))
    sy = np.sign(np.subtract.outer(np.unique(y, return_inverse=True)[1], np.unique(y, return_inverse=True)[1]))
    return int((sx * sy).sum() // 2)


def count(x, y):
    return int(concordance(rank_column(x), [rank_column(y)])[0])


def column(kind, n, rng):
    return {
        "distinct": lambda: rng.normal(size=n),
        "constant": lambda: np.full(n, 3.0),
        "binary": lambda: rng.integers(0, 2, n) * 1.0,
        "few": lambda: rng.integers(0, 5, n) * 1.0,
        "hundreds": lambda: rng.integers(0, 300, n) * 1.0,
        "many": lambda: rng.integers(0, max(n // 2, 1), n) * 1.0,
    }[kind]()


KINDS = st.sampled_from(["distinct", "constant", "binary", "few", "hundreds", "many"])


@settings(max_examples=500)
@given(KINDS, KINDS, st.integers(0, 900), st.integers(0, 2**32))
def test_equals_brute_force(first, second, n, seed):
    rng = np.random.default_rng(seed)
    x, y = column(first, n, rng), column(second, n, rng)
    assert count(x, y) == count(y, x) == brute(x, y)


def sorted_with_ties(n, size_x, size_y):
    """x = ⌊i/size_x⌋, y = ⌊i/size_y⌋: no pair is discordant, and ties are counted by group sizes."""

    def tied(size):
        groups = np.bincount(np.arange(n) // size)
        return int((groups * (groups - 1) // 2).sum())

    i = np.arange(n)
    both = np.unique(i // size_x + (i // size_y) * 1j, return_counts=True)[1]
    concordant = n * (n - 1) // 2 - tied(size_x) - tied(size_y) + int((both * (both - 1) // 2).sum())
    return i // size_x * 1.0, i // size_y * 1.0, concordant


@pytest.mark.parametrize("n", [2**19 - 1, 2**19, 2**19 + 1, 2**20 + 12345, 3 * 2**19])
def test_around_the_sizes_where_the_tree_grows(n, rng):
    """Beyond 2^19 ranks the tree has further levels; a shuffle of the records must not matter."""
    x, y, concordant = sorted_with_ties(n, 1, 1)
    shuffle = rng.permutation(n)
    assert count(x[shuffle], y[shuffle]) == concordant
    assert count(x[shuffle], -y[shuffle]) == -concordant


@pytest.mark.parametrize(("size_x", "size_y"), [(1, 7), (7, 1), (3, 5), (1000, 1), (1, 100_000), (4, 5000)])
def test_large_with_ties(size_x, size_y, rng):
    x, y, concordant = sorted_with_ties(1_200_000, size_x, size_y)
    shuffle = rng.permutation(x.size)
    assert count(x[shuffle], -y[shuffle]) == -concordant


def test_ten_million_records_do_not_overflow():
    n = 10**7
    i = np.arange(n, dtype=np.float64)
    assert count(i, -i) == -(n * (n - 1) // 2)
    # y = i with its two halves exchanged: exactly the (n/2)² pairs across the halves are discordant.
    swapped = np.concatenate([i[n // 2 :], i[: n // 2]])
    assert count(i, swapped) == n * (n - 1) // 2 - 2 * (n // 2) ** 2


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_threads_do_not_change_the_counts(jobs, rng):
    x = rng.normal(size=3000)
    columns = [rank_column(column(kind, 3000, rng)) for kind in ["distinct", "binary", "few", "many", "constant"] * 4]
    np.testing.assert_array_equal(
        concordance(rank_column(x), columns, jobs), [concordance(rank_column(x), [c])[0] for c in columns]
    )


def test_scores_are_scipys_without_ties(rng):
    X, y = rng.normal(size=(500, 6)), rng.normal(size=500)
    expected = [scipy.stats.kendalltau(X[:, j], y).statistic * 500 / 2 for j in range(6)]
    np.testing.assert_allclose(kendall_scores(X, y), expected, rtol=1e-12)


def test_scores_under_ties_are_the_mean_over_random_tie_breaking(rng):
    """The paper's jitter, averaged: 2000 tie-breakings put the mean within 6 standard errors."""
    x, y = rng.integers(0, 3, 60) * 1.0, rng.integers(0, 4, 60) * 1.0
    jittered = [
        kendall_scores((x + 1e-6 * rng.random(60)).reshape(-1, 1), y + 1e-6 * rng.random(60), n_jobs=1)[0]
        for _ in range(2000)
    ]
    error = np.std(jittered) / np.sqrt(2000)
    assert abs(np.mean(jittered) - kendall_scores(x.reshape(-1, 1), y)[0]) < 6 * error


def test_scores_of_tiny_tables():
    assert kendall_scores(np.empty((0, 2)), np.empty(0)).tolist() == [0, 0]
    assert kendall_scores([[1.0, 2.0]], [3.0]).tolist() == [0, 0]
    assert kendall_scores([[1.0, 2.0], [2.0, 1.0]], [3.0, 4.0]).tolist() == [1, -1]
