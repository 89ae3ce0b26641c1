"""Picks after which budget is left: what they cost, that the account keeps it, and what receipts count.

Proof: docs/proofs/early.md. True hockey-stick divergences are computed in closed form.
"""

from fractions import Fraction
from itertools import product
from math import exp, expm1, log, log1p, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact import gaussian_delta
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, adaptive_cost
from privreg.privacy.events import EarlyPick, Gaussian, Pick, adaptive_sum, event_from_dict, pick_epsilon
from privreg.privacy.noise import SeededNoise
from privreg.privacy.receipt import ADAPTIVE, Receipt

ROUNDING = 1e-13
RANGE = 2**20


def early(epsilon, left_after):
    return EarlyPick("p", RANGE, RANGE / epsilon, left_after=left_after)


def worst_pick(epsilon, part):
    """Two outcomes with log-ratios t and t − ε, t = part·ε: (probability under P, log-ratio) of each."""
    t = part * epsilon
    q = np.expm1(epsilon - t) / np.expm1(epsilon)
    return [(q * np.exp(t), t), ((1 - q) * np.exp(t - epsilon), t - epsilon)]


def curve(mu_squared, at):
    return np.array([gaussian_delta(sqrt(mu_squared), float(x)) for x in at])


def before_a_gaussian(outcomes, mu_squared, at):
    """δ at ε = at of a step with these outcomes, then a Gaussian."""
    return sum(p * curve(mu_squared, at - loss) for p, loss in outcomes)


def points(mu_squared, epsilon):
    """Where two curves are compared: from the middle to far tails, and finely around the middle."""
    return np.concatenate([np.linspace(-7, 7, 71) * sqrt(mu_squared), np.linspace(-2, 2, 41) * epsilon])


SIZES = [(v, ratio * sqrt(v)) for v in (1e-3, 0.03, 0.5, 4.0) for ratio in (0.2, 0.7, 1.2, sqrt(2))]
PARTS = (0.1, 0.35, 0.5, 0.65, 0.9)


def largest_excess(cost_of):
    """Of the true δ of a pick and a Gaussian that uses all that is left, beyond what is claimed."""
    return max(
        (before_a_gaussian(worst_pick(epsilon, part), v, at) - curve(v + cost_of(epsilon, v), at)).max()
        for (v, epsilon), part in product(SIZES, PARTS)
        if epsilon <= 1
        for at in [points(v, epsilon)]
    )


def test_true_divergence_of_a_pick_before_a_gaussian():
    assert largest_excess(lambda e, v: float(early(e, v * (1 + 1e-12)).mu_squared)) <= ROUNDING
    assert largest_excess(lambda e, _: e**2 / 4) > 1e-5  # its part of many small ones is not enough


@pytest.mark.parametrize(("v", "epsilon"), [(1e-3, 0.04), (0.5, 0.9)])
def test_tails_with_many_digits(v, epsilon):
    cost = early(epsilon, v).mu_squared
    with mpmath.workdps(40):

        def delta(mu_squared, at):
            mu = mpmath.sqrt(mu_squared)
            return mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)

        whole = mpmath.mpf(v) + mpmath.mpf(cost.numerator) / cost.denominator
        for part, deviations in product((0.2, 0.5, 0.8), (-12, -6, 6, 9, 12)):
            at, t, e = deviations * mpmath.sqrt(v), part * mpmath.mpf(epsilon), mpmath.mpf(epsilon)
            q = mpmath.expm1(e - t) / mpmath.expm1(e)
            p = q * mpmath.exp(t)
            true = p * delta(v, at - t) + (1 - p) * delta(v, at - t + e)
            assert 0 < true < delta(whole, at)


def test_inequality_of_the_proof():
    def left(z):
        return log(expm1(z) / z) + z / expm1(z) - 1

    def right(z):
        return log1p(z**2 / 8 * exp(z**2 / 20))

    z, steps = 0.5, 0
    while z < 20:
        room = right(z) - left(z)
        z, before = z + min(2 * room / z, 0.5), z
        assert room > 1e-6
        assert left(z) < right(before)  # and both grow in between
        steps += 1
    assert steps < 10_000


def after(plan, at, left, second, rest):
    """δ at ε = at of what follows: another pick and a Gaussian, a Gaussian of all that is left, or nothing."""
    if plan == "nothing":
        return np.maximum(-np.expm1(at), 0.0)
    return curve(left, at) if plan == "gaussian" else before_a_gaussian(second, rest, at)


@pytest.mark.parametrize("total", [0.01, 0.6])
def test_two_early_picks_and_an_end_that_depends_on_them(total):
    for share, part in product((0.05, 0.2), (0.3, 0.5)):
        first = pick_epsilon(share * total, (1 - share) * total)
        left = total - float(early(first, (1 - share) * total).mu_squared)
        second = pick_epsilon(share * total, left - share * total)
        rest = left - float(early(second, left - share * total).mu_squared)
        at = points(total, first)
        for plans in product(("pick", "gaussian", "nothing"), repeat=2):
            ends = zip(plans, worst_pick(first, part), strict=True)
            true = sum(p * after(plan, at - t, left, worst_pick(second, part), rest) for plan, (p, t) in ends)
            assert (true <= curve(total, at) + ROUNDING).all()


@given(st.floats(1e-9, 3), st.floats(1e-9, 3))
def test_an_epsilon_costs_what_was_asked_for(mu_squared, left_after):
    epsilon = pick_epsilon(mu_squared, left_after)
    assert epsilon >= pick_epsilon(mu_squared) * (1 - 1e-12)  # never less than without anything left
    cost = float(early(epsilon, left_after).mu_squared)
    assert cost <= mu_squared
    if epsilon**2 < min(1, 2 * left_after) * (1 - 1e-9) or epsilon > 1 + 1e-9:  # not held at an end of what is proved
        assert cost == pytest.approx(mu_squared, rel=1e-12)


def test_dear_picks_cost_as_much_as_any():
    for epsilon, left_after in ((1.001, 9.0), (0.5, 0.1249)):
        assert early(epsilon, left_after).mu_squared == Pick("p", RANGE, RANGE / epsilon).mu_squared
    assert early(0.5, 0.1251).mu_squared < 0.76 * Pick("p", RANGE, RANGE / 0.5).mu_squared
    assert early(1.0, 1e6).mu_squared == pytest.approx(0.25 * (1 + 1 / 16), rel=1e-6)


BUDGET = Budget(1.0, 1e-6)
NONE = np.zeros(3, np.int64)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_account_keeps_what_has_to_be_left(rows):
    account = AdaptiveAccount(BUDGET, SeededNoise(np.random.default_rng(0)), rows)
    whole = adaptive_budget(BUDGET) / rows**2
    epsilon = pick_epsilon(float(whole) / 20, float(whole) / 2)
    left = float(whole) / 2
    for _ in range(20):  # what is left sets the cost, and the cost what is left
        left = float(whole - early(epsilon, left).mu_squared)
    fits, beyond = early(epsilon, left * (1 - 1e-15)), early(epsilon, left * (1 + 1e-15))
    assert fits.mu_squared + fits.unspent <= whole < beyond.mu_squared + beyond.unspent
    with pytest.raises(RuntimeError, match="does not fit"):
        account.pick(beyond, NONE)
    assert account.receipt().steps == ()
    account.pick(fits, NONE)
    with pytest.raises(RuntimeError, match="does not fit"):
        account.pick(fits, NONE)  # so much is no longer left
    account.gaussian(Gaussian("g", 2**60, sqrt(2**60 / left) * (1 + 1e-12), 1), NONE[:1])  # but it may be spent
    assert (1 - 1e-6) * BUDGET.epsilon < account.receipt().epsilon <= BUDGET.epsilon


def test_receipts_count_what_has_to_be_left():
    pick, later = early(0.1, 0.05), Gaussian("g", 2**60, 2.0**33, 1)
    assert adaptive_sum([pick]) == pick.mu_squared + Fraction(0.05)
    assert adaptive_sum([pick, later]) == max(pick.mu_squared + later.mu_squared, pick.mu_squared + Fraction(0.05))
    assert adaptive_sum([later, pick]) == later.mu_squared + pick.mu_squared + Fraction(0.05)
    assert adaptive_sum([]) == 0
    receipt = Receipt((pick,), BUDGET, True, composition=ADAPTIVE)
    assert receipt.epsilon == adaptive_cost(adaptive_sum([pick]), BUDGET.delta)
    (entry,) = receipt.to_dict()["steps"]
    assert event_from_dict(entry) == pick
    assert entry["cost"] == {"mu squared": pytest.approx(float(pick.mu_squared))}
    # What the receipt shows covers a pick after which nothing came.
    for part, at in product(PARTS, np.linspace(-0.1, 0.1, 41)):
        true = sum(p * max(-np.expm1(at - loss), 0.0) for p, loss in worst_pick(0.1, part))
        assert true <= gaussian_delta(receipt.mu, at) + ROUNDING


def test_a_plan_has_no_early_picks():
    """Its total is a sum of costs, which would not count what has to be left."""
    step = EarlyPick.of_range("pick", 10, 0.1, 0.5, 1)
    with pytest.raises(ValueError, match="in a plan no step can be made early"):
        Receipt((step,), Budget(1.0, 1e-6), True, "one record", 1, "planned")


def test_half_of_what_a_pick_alone_costs_is_saved_on_small_ones():
    """What the flagship plans: an ε from a part of the budget, with nearly all of it left."""
    assert pick_epsilon(1e-4, 1e-2) == pytest.approx(2e-2 * (1 - 1.25e-3), rel=1e-4)
    assert pick_epsilon(1e-4) == pytest.approx(1e-2 / sqrt(np.pi / 8), rel=1e-9)
