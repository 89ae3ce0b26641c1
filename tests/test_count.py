"""The private count: its law's ratio is within ε and reaches it, and it undershoots as promised, in closed form."""

from fractions import Fraction
from math import ceil, exp, log

import numpy as np
import pytest

from privreg.mechanisms.count import FAILURE, lower_count
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget, scale_for
from privreg.privacy.noise import SeededNoise
from privreg.privacy.steps import Laplace

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
