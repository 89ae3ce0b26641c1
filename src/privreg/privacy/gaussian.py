"""The curve of Gaussian differential privacy, δ(μ, ε) = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), and its inverses.

δ is rounded up, so that an ε found from it is never too small and a μ never too large. Proof: docs/proofs/gdp.md. Exact
check: tests/privacy/test_accountant.py.
"""

from fractions import Fraction
from math import erfc, exp, expm1, log, log1p, pi, sqrt

PRECISION = 1e-12  # to which an inverse is found


def delta_at(mu: float, epsilon: float) -> float:
    """δ, rounded up by more than the error of the two logarithms."""
    first = log_normal(-epsilon / mu + mu / 2)
    second = epsilon + log_normal(-epsilon / mu - mu / 2)
    error = 1e-13 * (1 + abs(first) + epsilon)
    return exp(first + error) * (error - expm1(min(second - first, 0.0)))


def epsilon_at(mu: float, delta: float | Fraction, high: float) -> float:
    """The smallest ε with this δ, if there is one below `high`."""
    low = 0.0
    while high - low > PRECISION * high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if delta_at(mu, middle) <= delta else (middle, high)
    return high


def mu_at(epsilon: float, delta: float) -> float:
    """The largest μ with this ε and δ."""
    low, high = 0.0, 1.0
    while delta_at(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = low + (high - low) / 2
        low, high = (middle, high) if delta_at(middle, epsilon) <= delta else (low, middle)
    return low


def plain_epsilon(mu: float, delta: float) -> float:
    """A larger ε without the curve: that of anything that is μ²/2-zCDP."""
    return mu**2 / 2 + mu * sqrt(2 * max(-log(delta), 0.0))


def normal_above(x: float) -> float:
    """Not below Φ(x), by more than the error of its logarithm. Below −37 it stays at about 1e-299."""
    logarithm = log_normal(max(x, -37.0))
    return min(exp(logarithm + 1e-13 * (1 + abs(logarithm))), 1.0)


def log_normal(x: float) -> float:
    """ln Φ(x), off by less than 1e-14·(1 + |ln Φ(x)|). scipy's takes long to load, and a ledger answers at once."""
    if x > 0:
        return log1p(-erfc(x / sqrt(2)) / 2)
    if x > -30:
        return log(erfc(-x / sqrt(2)) / 2)
    term = tail = 1.0  # beyond, where erfc underflows in the end, the asymptotic series
    for k in range(1, 9):
        term *= -(2 * k - 1) / x / x
        tail += term
    return -x * x / 2 - log(-x * sqrt(2 * pi)) + log(tail)
