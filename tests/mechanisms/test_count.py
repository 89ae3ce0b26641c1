"""The private counts: what they cost, exactly, and that the lower estimate undershoots as promised, in closed form."""

from fractions import Fraction
from math import ceil, exp, log, sqrt

import numpy as np
import pytest

from privreg.mechanisms.count import FAILURE, GRID, lower_count, noisy_count, plan_noisy_count
from privreg.privacy.account import AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import Budget, scale_for
from privreg.privacy.events import Laplace
from privreg.privacy.noise import SeededNoise
from scripted import Keeper

EPSILONS = [0.01, 0.05 * log(3), 1.0, 7.5]


def step(epsilon):
    return Laplace("count", 1, scale_for(1, Fraction(epsilon)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_law_of_neighbouring_counts(epsilon):
    z = np.arange(-200, 200)
    scale = step(epsilon).scale
    ratio = np.abs(z) / scale - np.abs(z - 1) / scale  # log-ratio of the noise laws around n and n + 1
    assert np.abs(ratio).max() <= epsilon * (1 + 1e-12)
    assert np.abs(ratio).max() > 0.999 * epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("failure", [FAILURE, 0.01])
def test_exact_probability_of_an_overestimate(epsilon, failure):
    """P[noise > c] = e^(−(c+1)/s)/(1 + e^(−1/s)) for the discrete Laplace law."""

    class NoNoise(SeededNoise):
        def laplace(self, value, scale):
            return value

    account = PlannedAccount([step(epsilon)], Budget(epsilon), NoNoise(np.random.default_rng(0)))
    c = -lower_count(account, step(epsilon), 0, failure)
    s = step(epsilon).scale
    assert c == ceil(s * log(1 / (2 * failure)))
    above = exp(-(c + 1) / s) / (1 + exp(-1 / s))
    assert above <= failure
    assert above > failure * exp(-2 / s) / 2


# ---- the count with Gaussian noise


@pytest.mark.parametrize("n", [0, 1, 20, 10**6, 2**31])
def test_a_record_moves_the_gaussian_count_by_its_claim(n):
    """Exactly GRID steps, for noise of GRID/μ steps."""
    keeper = Keeper()
    step = plan_noisy_count("count", 0.01)
    for size in (n, n + 1):
        assert noisy_count(AdaptiveAccount(Budget(5.0, 1e-6), keeper), step, size) == size
    ((before,), scale), ((after,), other) = keeper.calls
    assert (after - before) ** 2 == step.sensitivity_squared == GRID**2
    assert scale == other == step.scale
    assert Fraction(after - before) ** 2 / Fraction(scale) ** 2 == step.mu_squared
    assert step.coordinates == 1


def test_the_gaussian_count_costs_what_was_asked_for():
    for mu_squared in np.geomspace(1e-10, 10, 50):
        assert float(plan_noisy_count("count", mu_squared).mu_squared) == pytest.approx(mu_squared, rel=1e-14)


def test_the_noise_of_the_gaussian_count(rng):
    """Standard deviation 1/μ in records; its standard error here is 1.6 %."""
    step = plan_noisy_count("count", 0.04)
    budget = Budget(5.0, 1e-6)
    drawn = [noisy_count(AdaptiveAccount(budget, SeededNoise(rng)), step, 1000) for _ in range(2000)]
    assert np.std(drawn) == pytest.approx(1 / sqrt(0.04), rel=0.1)
    assert np.mean(drawn) == pytest.approx(1000, abs=0.6)
