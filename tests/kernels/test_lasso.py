"""The batched Lasso is optimal to rounding, equals scikit-learn's where that converges, and votes as documented."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.linear_model import Lasso

from privreg.kernels.lasso import count_votes, solve


def optimality_gap(X, y, w, alpha):
    """Largest violation of the optimality conditions, relative to what rounding can resolve."""
    n = len(y)
    A = np.column_stack([X, np.ones(n)])
    gradient = A.T @ (y - A @ w) / n
    scale = np.linalg.norm(A, axis=0) * np.linalg.norm(y) / n + alpha
    used = w != 0
    inside = np.abs(gradient[used] - alpha * np.sign(w[used])) / scale[used]
    outside = (np.abs(gradient[~used]) - alpha) / scale[~used]
    return max(inside.max(initial=0), outside.max(initial=0))


@pytest.mark.parametrize(("n", "d"), [(5, 30), (12, 5), (30, 30), (60, 30), (1, 4), (40, 1)])
def test_equals_scikit_learn(n, d, rng):
    for _ in range(40):
        X = rng.normal(size=(n, d))
        y = 3 * X[:, 0] + 2 * X[:, -1] + rng.normal(size=n) + 5
        A = np.column_stack([X, np.ones(n)])
        reference = Lasso(alpha=1.0, fit_intercept=False, tol=1e-10, max_iter=10**6).fit(A, y)
        np.testing.assert_allclose(solve(X, y, 1.0), reference.coef_, atol=1e-5 if n == 5 else 1e-6)


def test_equals_scikit_learn_to_1e_6_where_that_is_accurate(rng):
    """Five rows and thirty columns need a smaller duality gap than 1e-10 for six digits; then all six agree."""
    for _ in range(40):
        X = rng.normal(size=(5, 30))
        y = 3 * X[:, 0] + rng.normal(size=5) + 5
        A = np.column_stack([X, np.ones(5)])
        reference = Lasso(alpha=1.0, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(A, y)
        np.testing.assert_allclose(solve(X, y, 1.0), reference.coef_, atol=1e-6)


@settings(max_examples=300)
@given(
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from(["scaled", "binary", "copies"]),
)
def test_optimal_on_badly_scaled_and_dependent_columns(seed, n, d, kind):
    rng = np.random.default_rng(seed)
    X = {
        "scaled": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 7, d),
        "binary": lambda: rng.integers(0, 2, (n, d)) * 10.0 ** rng.integers(-2, 4, d),
        "copies": lambda: np.repeat(rng.integers(0, 3, (n, (d + 1) // 2)) * 1.0, 2, axis=1),
    }[kind]()
    y = rng.normal(size=n) * 10.0 ** rng.integers(-3, 7)
    assert optimality_gap(X, y, solve(X, y, 1.0), 1.0) < 1e-11


@settings(max_examples=300)
@given(st.integers(0, 2**32), st.integers(2, 20), st.integers(2, 12), st.sampled_from(["far", "powers", "near copies"]))
def test_nearly_dependent_columns(seed, n, d, kind):
    """Never worse than rounding allows where columns are almost multiples of each other: timestamps, powers, copies."""
    rng = np.random.default_rng(seed)
    base = rng.random((n, 1))
    X = {
        "far": lambda: 10.0 ** rng.integers(3, 9) + rng.random((n, d)),
        "powers": lambda: (1 + base * 10.0 ** -rng.integers(0, 4)) ** np.arange(1, d + 1),
        "near copies": lambda: base + 10.0 ** -rng.integers(4, 10) * rng.normal(size=(n, d)),
    }[kind]()
    y = rng.normal(size=n) * 100
    w = solve(X, y, 1.0)
    assert np.isfinite(w).all()
    assert optimality_gap(X, y, w, 1.0) < 1e-6

    def objective(w):
        return ((y - X @ w[:d] - w[d]) ** 2).sum() / (2 * n) + np.abs(w).sum()

    assert objective(w) <= objective(np.zeros(d + 1)) * (1 + 1e-9)


def test_the_case_that_once_went_wrong():
    X = 1e6 + np.array([[0.72, 0.045, 0.173], [0.32, 0.467, 0.569], [0.562, 0.543, 0.566], [0.417, 0.279, 0.518]])
    y = np.array([127.0, -87.0, 36.0, -187.0])
    assert optimality_gap(X, y, solve(X, y, 1.0), 1.0) < 1e-6


EXTREME = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e308, -1e308, 1.7e308, 5e-324, 1e-200, 1e200])


@given(hnp.arrays(np.float64, (4, 3), elements=EXTREME), hnp.arrays(np.float64, 4, elements=EXTREME))
def test_extreme_values_never_break_it(X, y):
    votes = count_votes(X, y, np.array([0, 4]), 2, 1.0)
    assert votes.sum() <= 2
    assert votes.min() >= 0
    assert votes.max() <= 1


def test_votes_go_to_the_largest_nonzero_coefficients():
    X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]])
    y = X @ [100.0, -200.0, 0.01]
    w = solve(X, y, 1.0)
    np.testing.assert_allclose(w, [97, -197, 0, 0], atol=1e-9)  # each loses nα/‖x‖² = 6/2
    both = np.concatenate([X, X]), np.concatenate([y, y]), np.array([0, 6, 12])
    assert count_votes(*both, 1, 1.0).tolist() == [0, 2, 0]
    assert count_votes(*both, 2, 1.0).tolist() == [2, 2, 0]
    assert count_votes(*both, 3, 1.0).tolist() == [2, 2, 0]  # a zero coefficient is no vote


def test_the_intercept_takes_a_coefficient_but_no_vote():
    X, y = np.array([[0.0], [0.0], [1e-9]]), np.full(3, 50.0)
    assert solve(X, y, 1.0)[-1] == pytest.approx(49)
    assert count_votes(X, y, np.array([0, 3]), 1, 1.0).tolist() == [0]


def test_no_penalty_is_least_squares(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(30)]), y, rcond=None)[0]
    np.testing.assert_allclose(solve(X, y, 0.0), expected, atol=1e-10)
