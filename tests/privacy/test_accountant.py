"""Costs are upper bounds, tight where they claim to be, and a calibrated plan never exceeds what was asked for."""

from fractions import Fraction
from math import inf, log, nextafter, sqrt

import mpmath
import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privreg.errors import BudgetError
from privreg.privacy.accountant import (
    Budget,
    _add_alike,
    _concentrated,
    calibrate,
    check,
    cost,
    even_picks,
    scale_for,
    total,
)
from privreg.privacy.events import BlackBox, Gaussian, Laplace, Pick, ProposeTestRelease, round_down, round_up
from privreg.privacy.gaussian import delta_at, log_normal


def gaussian_delta(mu, epsilon):
    """The exact curve, evaluated independently of dp-accounting."""
    return stats.norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * stats.norm.cdf(-epsilon / mu - mu / 2)


def test_pure_steps_add_exactly():
    steps = [Pick("a", 1, 10.0), Laplace("b", 2, 8.0), Pick("c", 3, 8.0)]
    assert sum(s.pure for s in steps) == Fraction(1, 10) + Fraction(1, 4) + Fraction(3, 8)
    assert cost(steps, 0.0) == round_up(Fraction(29, 40))
    assert steps[0].rho == Fraction(1, 800)
    assert steps[1].rho == Fraction(1, 32)


def test_many_small_picks_are_cheaper_concentrated():
    picks = [Pick("p", 1, 100.0)] * 400
    assert cost(picks, 0.0) == 4.0
    rho = 400 * 0.01**2 / 8
    # Within the textbook conversion, and not below what a Gaussian of the same ρ costs.
    assert cost(picks, 1e-6) < rho + 2 * sqrt(rho * log(1e6))
    assert gaussian_delta(sqrt(2 * rho), cost(picks, 1e-6)) < 1e-6


def test_one_pick_stays_pure_at_any_delta():
    assert cost([Pick("p", 1, 1.0)], 1e-6) == 1.0


@settings(max_examples=40)
@given(st.floats(0.02, 3), st.floats(-9, -3), st.integers(1, 4))
def test_gaussians_are_exact(mu, log_delta, parts):
    """Against the closed-form curve: never below it, and above it by little more than the price of discreteness."""
    delta, scale = 10**log_delta, 2.0**30
    sensitivity = int((mu * scale) ** 2 / parts)
    steps = [Gaussian("g", sensitivity, scale, 50)] * parts
    exact_mu = sqrt(parts * sensitivity) / scale
    epsilon = cost(steps, delta)
    if epsilon < 1e-9:
        return
    assert gaussian_delta(exact_mu, epsilon) <= delta * (1 + 1e-7)
    discreteness = float(sum(s.rounding_distance for s in steps)) * (1 + np.exp(epsilon))
    assert gaussian_delta(exact_mu, epsilon * (1 - 1e-7) - 1e-9) > delta - 1.001 * discreteness


def test_gaussians_agree_with_the_privacy_loss_distribution_of_dp_accounting():
    fine = [Gaussian("g", 2**40, 3.0 * 2**20, 1)] * 5
    reference = pld.privacy_loss_distribution.from_gaussian_mechanism(
        3.0, value_discretization_interval=1e-4
    ).self_compose(5)
    assert cost(fine, 1e-6) == pytest.approx(reference.get_epsilon_for_delta(1e-6), rel=1e-3)
    # On a coarse grid the distance to the continuous Gaussian is too large to pay for: the zCDP bound takes over.
    assert cost([Gaussian("g", 1, 3.0, 1)], 1e-6) > 1.01 * cost([Gaussian("g", 2**40, 3.0 * 2**20, 1)], 1e-6)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0, 5.0, 30.0])
def test_distance_between_discrete_and_rounded_gaussian(sigma):
    """The 1/(8σ²) a coordinate of docs/proofs/accounting.md, by direct summation; and it is not far off."""
    z = np.arange(-60 * int(sigma + 1), 60 * int(sigma + 1) + 1)
    discrete = np.exp(-(z**2) / (2 * sigma**2))
    discrete /= discrete.sum()
    rounded = stats.norm.cdf((z + 0.5) / sigma) - stats.norm.cdf((z - 0.5) / sigma)
    distance = np.abs(discrete - rounded).sum() / 2
    bound = float(Gaussian("g", 1, sigma, 1).rounding_distance)
    assert distance <= bound
    assert distance > bound / 8


@settings(max_examples=200)
@given(st.floats(1e-3, 6), st.floats(0, 1), st.floats(1.001, 200))
def test_bounded_range_is_concentrated(epsilon, position, alpha):
    """Rényi divergence of the worst pair of ε-bounded-range laws stays below α·ε²/8.

    Two outcomes with log-ratios t and t − ε are extreme; t runs over [0, ε].
    """
    t = position * epsilon
    q = np.clip(np.expm1(epsilon - t) / np.expm1(epsilon), 1e-300, 1 - 1e-16)  # probability of the first outcome
    assert abs(q * np.exp(t) + (1 - q) * np.exp(t - epsilon) - 1) < 1e-9
    divergence = np.logaddexp(alpha * t + np.log(q), alpha * (t - epsilon) + np.log1p(-q)) / (alpha - 1)
    assert divergence <= alpha * float(Pick("p", 1, 1 / epsilon).rho) * (1 + 1e-9) + 1e-12


def test_the_price_of_discreteness_is_paid():
    """δ_μ(ε) + (1 + e^ε)·β stays within δ, on a grid where β is often a large part of it."""
    curve_used = 0
    for mu in (0.05, 0.3, 1.0, 2.5):
        for log_delta in (-8, -6, -4, -2):
            for log_scale in range(6, 25, 2):
                delta, scale = 10.0**log_delta, 2.0**log_scale
                step = Gaussian("g", int((mu * scale) ** 2) + 1, scale, 7)
                epsilon = cost([step], delta)
                if epsilon < _concentrated(step.rho, Fraction(delta)) * (1 - 1e-9):
                    curve_used += 1
                    exact = gaussian_delta(sqrt(step.sensitivity_squared) / scale, epsilon)
                    assert exact + (1 + np.exp(epsilon)) * float(step.rounding_distance) <= delta
    assert curve_used > 80


@settings(max_examples=100)
@given(st.floats(1e-4, 6), st.floats(0, 12))
def test_the_gaussian_curve_is_rounded_up(mu, ratio):
    """Against 50 digits of mpmath."""
    epsilon = ratio * mu
    with mpmath.workdps(50):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        true = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
        assert true <= delta_at(mu, epsilon) <= true * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-13")


@settings(max_examples=300)
@given(st.floats(-300, 40) | st.floats(-31, -29) | st.floats(-1e-3, 1e-3) | st.floats(-1e100, -300))
def test_the_logarithm_of_the_normal_distribution(x):
    """Far within the error that the curve allows for it, from the middle to the ends of float64."""
    with mpmath.workdps(60):
        at = mpmath.mpf(x)
        if x > -300:
            true = mpmath.log(mpmath.ncdf(at))
        else:  # mpmath would take ages; the next term is below 1e-20
            tail = sum((-1) ** k * mpmath.fac2(2 * k - 1) / at ** (2 * k) for k in range(5))
            true = -at * at / 2 - mpmath.log(-at * mpmath.sqrt(2 * mpmath.pi)) + mpmath.log(tail)
        assert abs(log_normal(x) - true) < mpmath.mpf("1e-14") * (1 + abs(true))


@pytest.mark.parametrize("delta", [5e-324, 1e-320, 1e-310, 5.5e-309, 1e-300, 1e-201, 1e-199, 1e-100])
@pytest.mark.parametrize("epsilon", [1e-99, 1e-6, 0.1, 100.0])
def test_tiny_deltas_buy_nothing_but_cost_nothing(epsilon, delta):
    budget = Budget(epsilon, delta)
    steps = even_picks(["p"] * 20, [5] * 20, budget)
    assert 0.999 * epsilon < total(steps, budget)[0] <= epsilon
    # Each pick has its even share, or what concentrated composition can give: never a free lunch.
    assert float(steps[0].pure) < max(epsilon / 20 * (1 + 1e-9), 2 * sqrt(epsilon / 20), 1e-3)
    assert cost([Pick("p", 1, 1.0)] * 5, delta) > 0.5
    assert cost([Gaussian("g", 100, 1.0, 1)], delta) > 1
    if delta < 1e-160:  # beyond, the total variation distance of these picks is below δ, and ε = 0 is true
        assert cost([Pick("p", 1, 1e153)] * 20, delta) > 0


def test_black_boxes_add():
    steps = [BlackBox("a", 0.25, 1e-7), BlackBox("b", 0.5, 2e-7), Laplace("c", 1, 4.0)]
    assert cost(steps, 4e-7) == 1.0
    assert cost(steps, 2.9e-7) == inf
    assert cost([], 0.0) == 0.0
    assert cost([Gaussian("g", 1, 1.0, 1)], 0.0) == inf


def test_a_mixture_uses_the_best_of_both():
    gaussian = Gaussian("g", 2**40, 5.0 * 2**20, 10)
    big_pick, small_picks = Pick("p", 1, 2.0), [Pick("q", 1, 1000.0)] * 500
    alone = cost([gaussian], 1e-6)
    assert cost([gaussian, big_pick], 1e-6) <= alone + 0.5 + 1e-12
    assert cost([gaussian, *small_picks], 1e-6) < alone + 0.1


EPSILONS = st.floats(1e-4, 50)


@settings(max_examples=60)
@given(EPSILONS, st.sampled_from([0.0, 1e-9, 1e-5]), st.integers(1, 40))
def test_shared_picks_never_exceed_the_request(epsilon, delta, k):
    budget = Budget(epsilon, delta)
    steps = even_picks(["p"] * k, [5] + [10] * (k - 1), budget)
    spent, at = total(steps, budget)
    assert spent <= epsilon
    assert at in (0.0, delta)
    assert spent > 0.9999 * epsilon
    assert float(steps[0].pure) >= epsilon / k * (1 - 1e-9)
    check(steps, budget)


@settings(max_examples=30)
@given(EPSILONS, st.sampled_from([1e-9, 1e-5]))
def test_calibrated_gaussians_never_exceed_the_request(epsilon, delta):
    budget = Budget(epsilon, delta)
    steps = calibrate(lambda x: [Gaussian("g", 2**40, x * 2**20, 30), Laplace("l", 1, 3 * x)], budget)
    spent, _ = total(steps, budget)
    assert 0.9999 * epsilon < spent <= epsilon


def test_a_plan_over_budget_is_refused():
    with pytest.raises(BudgetError, match=r"cost epsilon=1.5 .* budget of epsilon=1"):
        check([Laplace("l", 3, 2.0)], Budget(1.0))
    barely = Laplace("l", 1, nextafter(1.0, 0.0))
    with pytest.raises(BudgetError):
        check([barely], Budget(1.0))
    with pytest.raises(BudgetError, match="no noise is large enough"):
        calibrate(lambda x: [Gaussian("g", 1, x, 1)], Budget(1.0, 0.0))


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_rounding_is_outward(value):
    assert Fraction(round_down(value)) <= value <= Fraction(round_up(value))
    assert nextafter(round_down(value), inf) >= round_up(value)


@given(st.integers(1, 10**9), st.fractions(min_value=Fraction(1, 10**6), max_value=100))
def test_scales_are_the_smallest_that_fit(sensitivity, epsilon):
    scale = scale_for(sensitivity, epsilon)
    assert Fraction(sensitivity) / Fraction(scale) <= epsilon
    assert Fraction(sensitivity) / Fraction(nextafter(scale, 0.0)) > epsilon


@pytest.mark.parametrize("bad", [0, -1.0, 1e-308, inf, float("nan"), "1", None, True])
def test_epsilon_must_be_a_positive_number(bad):
    with pytest.raises(ValueError, match="epsilon"):
        Budget(bad)


def test_budgets_take_any_real_number():
    assert Budget(np.float32(0.5), np.int64(0)) == Budget(Fraction(1, 2)) == Budget(0.5, 0.0)
    assert cost([Laplace("l", 1, 2.0)], Budget(np.float32(0.5)).delta) == 0.5


@pytest.mark.parametrize("bad", [-1e-9, 1.0, 2, float("nan"), "0", None, False])
def test_delta_must_lie_in_the_unit_interval(bad):
    with pytest.raises(ValueError, match="delta"):
        Budget(1.0, bad)


@pytest.mark.parametrize("scale", [0.0, -1.0, inf, float("nan")])
def test_steps_refuse_impossible_noise(scale):
    for make in (
        lambda: Pick("p", 1, scale),
        lambda: Laplace("l", 1, scale),
        lambda: Gaussian("g", 1, scale, 1),
    ):
        with pytest.raises(ValueError, match="scale"):
            make()
    with pytest.raises(ValueError, match="epsilon"):
        BlackBox("b", -1.0, 0.0)
    with pytest.raises(ValueError, match="delta"):
        BlackBox("b", 1.0, 1.0)


def test_propose_test_release_is_added_like_a_black_box():
    step = ProposeTestRelease("draw", scale=4.0, rate=0.25, steps=2, rounding=0.125, delta=1e-6)
    assert step.epsilon == Fraction(7, 8)
    assert cost([step], 0.9e-6) == inf
    assert cost([step], 1e-6) == 0.875
    assert cost([step, Laplace("count", 1, 8.0)], 1e-6) == 1.0
    assert cost([step, step], 2e-6) == 1.75
    # δ that the step leaves over serves the others: twenty picks are then cheaper in zCDP.
    picks = [Pick("p", 1, 10.0)] * 100
    assert cost([step, *picks], 1e-6) == 10.875
    assert 0.875 < cost([step, *picks], 2e-6) < 10


@pytest.mark.parametrize("field", ["scale", "rate", "rounding"])
@pytest.mark.parametrize("value", [0.0, -1.0, inf, float("nan")])
def test_propose_test_release_refuses_nonsense(field, value):
    numbers = {"scale": 1.0, "rate": 1.0, "steps": 2, "rounding": 0.1, "delta": 0.1}
    with pytest.raises(ValueError, match=field):
        ProposeTestRelease("draw", **numbers | {field: value})


def test_many_equal_gaussians_cost_what_they_cost_one_by_one():
    steps = [Gaussian(f"round {i}", 4, 100.0, 3) for i in range(50)] + [Gaussian("other", 9, 700.0, 2)]
    rho, mu_squared, rounding = _add_alike(steps)
    assert rho == mu_squared / 2 == sum((s.rho for s in steps), Fraction())
    assert rounding == sum((s.rounding_distance for s in steps), Fraction())
