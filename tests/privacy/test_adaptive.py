"""Steps chosen on the way: what a pick costs in Gaussian DP, how it composes, and what budgets buy.

Proof: docs/proofs/adaptive.md. True hockey-stick divergences are computed in closed form.
"""

from fractions import Fraction
from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_expit, log_ndtr, ndtri_exp

from exact import gaussian_delta, log_softmax
from privreg.errors import BudgetError
from privreg.privacy.accountant import ADAPTIVE_ROUNDING, Budget, _concentrated, adaptive_budget, adaptive_cost
from privreg.privacy.events import (
    PI_OVER_8,
    Gaussian,
    GaussianMoments,
    Pick,
    pick_epsilon,
)

ROUNDING = 1e-11  # of the special functions in this test


def pick_cost(epsilon):
    """μ² that the package claims for an ε-bounded-range pick."""
    return float(Pick("p", 2**20, 2**20 / epsilon).mu_squared)


# ---- (a) one pick


def probit_of_logit(logit):
    """Φ⁻¹(1/(1 + e^(−logit))), accurate in both tails."""
    return -np.sign(logit) * ndtri_exp(log_expit(-np.abs(logit)))


def test_log_odds_bound_probits():
    """If an event's log-odds move by ε, its probit moves by at most √(π/8)·ε: every level, every ε."""
    logits = np.linspace(-60, 60, 24001)
    for epsilon in np.geomspace(1e-2, 30, 60):
        moved = probit_of_logit(logits + epsilon) - probit_of_logit(logits)
        assert moved.max() <= sqrt(pick_cost(epsilon)) + ROUNDING
    # The constant cannot be smaller.
    assert probit_of_logit(0.005) - probit_of_logit(-0.005) > 0.99999 * sqrt(pick_cost(0.01))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=7),
       st.floats(0.01, 8), st.floats(-10, 10))  # fmt: skip
def test_a_pick_is_gaussian_dp_for_one_record_and_for_two(candidates, epsilon, at):
    """True laws of the exponential mechanism before and after one record, and two: below the curve everywhere."""
    scores, first, second = np.array(candidates).T
    mu = sqrt(pick_cost(epsilon))
    laws = np.exp(
        [log_softmax(s, 1.0) for s in (scores, scores + epsilon * first, scores + epsilon * (first + second))]
    )
    for p, q, records in [(0, 1, 1), (1, 0, 1), (1, 2, 1), (0, 2, 2), (2, 0, 2)]:
        true = np.maximum(laws[p] - np.exp(at) * laws[q], 0).sum()
        assert true <= gaussian_delta(records * mu, at) + ROUNDING


def test_the_price_of_a_pick_is_rounded_outward():
    assert Fraction(31415926535897932384626433, 10**25) < PI_OVER_8 * 8
    assert Fraction(31415926535897941, 10**16) > PI_OVER_8 * 8
    for mu_squared in np.geomspace(1e-12, 1e3, 200):
        epsilon = pick_epsilon(mu_squared)
        assert Fraction(epsilon) ** 2 * PI_OVER_8 <= Fraction(mu_squared)
        assert pick_cost(epsilon) == pytest.approx(mu_squared, rel=1e-13)


# ---- (b) composition


def worst_pick(epsilon, t):
    """Two outcomes with log-ratios t and t − ε: (probability under P, log-ratio) of each."""
    q = np.expm1(epsilon - t) / np.expm1(epsilon)
    return [(q * np.exp(t), t), ((1 - q) * np.exp(t - epsilon), t - epsilon)]


def each_total(*picks):
    """All outcomes of independent picks."""
    return [(np.prod([p for p, _ in o]), sum(loss for _, loss in o)) for o in product(*picks)]


def gaussian_then(mu, threshold, below, above):
    """δ(ε) of a Gaussian whose output decides between two programs of picks. P = N(μ, 1), Q = N(0, 1)."""

    def mass(low, high, shift):  # of N(shift, 1)
        return np.exp(log_ndtr(high - shift)) - np.exp(log_ndtr(low - shift))

    def delta(epsilon):
        total = 0.0
        for program, low, high in ((below, -inf, threshold), (above, threshold, inf)):
            for p, loss in program:
                start = min(max((epsilon - loss) / mu + mu / 2, low), high)  # beyond it the log-ratio exceeds ε
                total += p * (mass(start, high, mu) - np.exp(epsilon - loss) * mass(start, high, 0.0))
        return total

    return delta


def pick_then_gaussians(first, rest):
    """δ(ε) of a pick whose outcome decides which Gaussian follows."""

    def delta(epsilon):
        return sum(p * gaussian_delta(mu, epsilon - loss) for (p, loss), mu in zip(first, rest, strict=True))

    return delta


def programs():
    """(total μ², δ(ε)) of steps whose parameters depend on earlier outputs; every path spends the same or less."""
    for share, total in product((0.1, 0.5, 0.9), (0.01, 0.3, 2.0)):
        mu, left = sqrt(share * total), (1 - share) * total
        for position, threshold in product((0.2, 0.5, 0.8), (-0.5, 0.5 * mu, 1.5)):
            one = pick_epsilon(left)
            three = [pick_epsilon(left * part) for part in (0.6, 0.3, 0.1)]
            single = worst_pick(one, position * one)
            several = each_total(*(worst_pick(e, position * e) for e in three))
            yield total, gaussian_then(mu, threshold, several, single)
            yield total, gaussian_then(mu, threshold, [(1.0, 0.0)], single)
            yield total, gaussian_then(mu, threshold, several, [(1.0, 0.0)])
        epsilon = pick_epsilon(share * total)
        for position in (0.1, 0.5, 0.7):
            first = worst_pick(epsilon, position * epsilon)
            yield total, pick_then_gaussians(first, [sqrt(left), sqrt(left)])
            yield total, pick_then_gaussians(first, [sqrt(left), sqrt(left / 7)])
            yield total, pick_then_gaussians(first, [sqrt(left / 7), sqrt(left)])


DELTAS = (0.2, 1e-2, 1e-4, 1e-7)


def excess(constant):
    """The largest true δ at the ε that is claimed for δ, relative to δ, if a pick cost constant·ε²."""
    worst, costs = 0.0, {}
    for total, true in programs():
        claimed = total * constant / (np.pi / 8)  # what these programs would be charged; Gaussians are a part of it
        for delta in DELTAS:
            if (claimed, delta) not in costs:
                costs[claimed, delta] = adaptive_cost(Fraction(claimed), delta)
            worst = max(worst, true(costs[claimed, delta]) / delta)
    return worst


def test_true_divergence_of_adaptive_programs():
    assert 0.9 < excess(np.pi / 8) <= 1 + 1e-7


def only_picks(constant):
    """The same for one to five equal picks without a Gaussian: how far the claim at ε′ = 0 … is exceeded."""
    worst = 0.0
    for parts, epsilon, position in product((1, 2, 5), (0.1, 0.5, 2.0), (0.3, 0.5)):
        program = each_total(*[worst_pick(epsilon, position * epsilon)] * parts)
        for delta in np.geomspace(1e-6, 0.3, 16):
            at = adaptive_cost(Fraction(parts * constant * epsilon**2), delta)
            true = sum(p * max(-np.expm1(at - loss), 0.0) for p, loss in program)
            worst = max(worst, true / delta)
    return worst


def test_the_constant_of_concentrated_dp_would_not_do():
    """ρ = ε²/8 is the right price in zCDP. As μ² it is far too low, and so is the μ² = 2ρ that has the same ρ."""
    assert only_picks(np.pi / 8) <= 1 + 1e-7
    assert only_picks(1 / 4) > 1.1
    assert only_picks(1 / 8) > 1.4


# ---- budgets

EPSILONS, SMALL_DELTAS = (1e-6, 1e-3, 0.1, 1.0, 3.0, 20.0), (1e-12, 1e-6, 1e-3)


@pytest.mark.parametrize("delta", SMALL_DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_budget_is_used_and_not_exceeded(epsilon, delta):
    mu_squared = adaptive_budget(Budget(epsilon, delta))
    assert (1 - 1e-6) * epsilon < adaptive_cost(mu_squared, delta) <= epsilon
    # Where e^ε makes discreteness too dear, the zCDP bound is used, which needs no allowance for it.
    discreteness = (1 + np.exp(epsilon)) * float(mu_squared * ADAPTIVE_ROUNDING)
    by_curve = adaptive_cost(mu_squared, delta) < _concentrated(mu_squared / 2, Fraction(delta)) * (1 - 1e-9)
    assert by_curve == (discreteness < delta)
    assert gaussian_delta(sqrt(mu_squared), epsilon) + (discreteness if by_curve else 0) <= delta * (1 + 1e-9)


def test_a_pick_costs_no_more_in_concentrated_dp():
    """So that ρ = μ²/2 holds for every step, which the bound without the curve rests on."""
    for step in (Pick("p", 3, 7.0), Gaussian("g", 2**60, 2.0**33, 4), GaussianMoments("m", 2**30, 2.0**33, 3, 400)):
        assert step.rho <= step.mu_squared / 2


def test_more_of_either_buys_more():
    table = np.array([[float(adaptive_budget(Budget(e, d))) for d in SMALL_DELTAS] for e in EPSILONS])
    assert (np.diff(table, axis=0) > 0).all()
    assert (np.diff(table, axis=1) > 0).all()


def test_cost_grows_with_what_is_spent():
    costs = [adaptive_cost(Fraction(m), 1e-6) for m in np.geomspace(1e-6, 50, 60)]
    assert (np.diff(costs) > 0).all()
    assert adaptive_cost(Fraction(), 1e-6) == 0


def test_delta_zero_buys_nothing():
    with pytest.raises(BudgetError):
        adaptive_budget(Budget(1.0, 0.0))
