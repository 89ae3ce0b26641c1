"""The paper's theory: population Kendall correlation of a Gaussian linear model, and recovery of every group."""

import numpy as np
import pytest

from privreg.kendall import kendall_scores
from theorem import recovery_rate


@pytest.mark.parametrize(
    ("beta", "sigma", "noise"),
    [([1.0], [1.0], 1.0), ([1.0, -2.0, 0.5], [1.0, 0.3, 4.0], 0.7), ([3.0, 0.0], [1.0, 1.0], 2.0)],
)
def test_population_correlation(beta, sigma, noise):
    """τ(X_j, Y) = (2/π)·arctan(β_j σ_j / √(Σ_{i≠j} β_i² σ_i² + σ_e²)), up to sampling error.

    The estimate has standard deviation below 2/(3√n); 6 of them fail with probability below 1e-8.
    """
    n = 200_000
    rng = np.random.default_rng(5)
    beta, sigma = np.array(beta), np.array(sigma)
    X = rng.normal(size=(n, len(beta))) * sigma + 10
    y = X @ beta + noise * rng.normal(size=n)
    signal = beta * sigma
    others = np.sqrt((signal**2).sum() - signal**2 + noise**2)
    expected = 2 / np.pi * np.arctan(signal / others)
    assert np.abs(kendall_scores(X, y) * 2 / n - expected).max() < 6 * 2 / (3 * np.sqrt(n))


def test_one_feature_of_every_group_once_n_is_large_enough():
    """Five groups of three copies and five columns of noise at ε = 1, over 100 seeded runs (benchmarks/theorem.py)."""
    assert recovery_rate(4000, k=5, epsilon=1.0, runs=100) >= 0.95
    assert recovery_rate(200, k=5, epsilon=1.0, runs=100) < 0.5
