"""What the account for steps chosen on the way lets through, and that it is written down before the draw."""

from fractions import Fraction
from math import inf, nextafter, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import gaussian_delta
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, adaptive_cost
from privreg.privacy.events import (
    BlackBox,
    Gaussian,
    GaussianMoments,
    Laplace,
    Pick,
    ProposeTestRelease,
    pick_epsilon,
)
from privreg.privacy.noise import SeededNoise

BUDGET = Budget(1.0, 1e-6)
FINE = 2**60  # squared sensitivity


class Watcher(SeededNoise):
    """Notes what the account's receipt says at the moment of each draw."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.seen, self.scales, self.account, self.dies = [], [], None, False

    def _note(self, scale):
        self.seen.append(self.account.receipt().steps)
        self.scales.append(scale)
        if self.dies:
            raise KeyboardInterrupt

    def pick(self, scores, scale):
        self._note(scale)
        return super().pick(scores, scale)

    def gaussian(self, values, scale):
        self._note(scale)
        return super().gaussian(values, scale)


def open_account(rows=1, budget=BUDGET):
    noise = Watcher()
    noise.account = AdaptiveAccount(budget, noise, rows)
    return noise.account, noise


def largest_fitting(left, coordinates=1):
    """The Gaussian with the least noise whose μ² is at most `left`, and the next float beyond."""
    scale = sqrt(FINE / left)
    while FINE / Fraction(scale) ** 2 <= left:
        scale = nextafter(scale, 0.0)
    while FINE / Fraction(scale) ** 2 > left:
        scale = nextafter(scale, inf)
    step = Gaussian("g", FINE, scale, coordinates)
    beyond = Gaussian("g", FINE, nextafter(scale, 0.0), coordinates)
    assert step.mu_squared <= left < beyond.mu_squared
    return step, beyond


ONE = np.zeros(1, np.int64)


@pytest.mark.parametrize("rows", [1, 3])
def test_the_last_bit_of_the_budget(rows):
    account, noise = open_account(rows)
    total = adaptive_budget(BUDGET) / rows**2
    assert Fraction(account.mu_squared) <= total < Fraction(nextafter(account.mu_squared, inf))
    step, beyond = largest_fitting(total)
    with pytest.raises(RuntimeError, match="does not fit"):
        account.gaussian(beyond, ONE)
    assert account.receipt().steps == ()
    assert noise.seen == []
    account.gaussian(step, ONE)
    for tiny in (Gaussian("t", FINE, 2.0**50, 1), Pick("t", 1, 1e6)):
        with pytest.raises(RuntimeError, match="does not fit"):
            account.gaussian(tiny, ONE) if isinstance(tiny, Gaussian) else account.pick(tiny, ONE)
    assert noise.seen == [(step,)]
    assert (1 - 1e-6) * BUDGET.epsilon < account.receipt().epsilon <= BUDGET.epsilon


def test_a_second_step_may_use_what_the_first_left():
    account, _ = open_account()
    pick = Pick("p", 5, 50.0)
    account.pick(pick, np.zeros(4, np.int64))
    step, beyond = largest_fitting(adaptive_budget(BUDGET) - pick.mu_squared)
    with pytest.raises(RuntimeError, match="does not fit"):
        account.gaussian(beyond, ONE)
    account.gaussian(step, ONE)
    assert account.receipt().steps == (pick, step)
    assert account.receipt().epsilon <= BUDGET.epsilon


def test_steps_without_a_price_are_refused():
    account, noise = open_account()
    with pytest.raises(TypeError, match="no cost in Gaussian"):
        account.laplace(Laplace("l", 1, 1e9), 5)
    release = ProposeTestRelease("d", scale=1e9, rate=1e-9, steps=2, rounding=1e-12, delta=1e-9)
    with pytest.raises(TypeError, match="no cost in Gaussian"):
        account.propose_test_release(release, 3, ONE, 1.0, lambda i: [(0, 1)])
    with pytest.raises(TypeError, match="no cost in Gaussian"):
        account._spend(BlackBox("b", 1e-9, 0.0))
    assert account.receipt().steps == ()
    assert noise.seen == []


def test_coarse_noise_is_refused():
    """Discreteness may cost 2^−42 of a step's μ² in total variation: coordinates/(8σ²) ≤ 2^−42·Δ²/σ²."""
    account, _ = open_account()
    account.gaussian(Gaussian("g", 2**39, 2.0**24, 1), ONE)
    for step in (Gaussian("g", 2**39 - 1, 2.0**24, 1), Gaussian("g", 2**39, 2.0**24, 2)):
        with pytest.raises(RuntimeError, match="does not fit"):
            account.gaussian(step, np.zeros(step.coordinates, np.int64))
    none = np.zeros((2, 2), np.int64), np.zeros(2, np.int64)
    # |u|⁴ = 2^40 allows for two entries' worth of rounding; width + products·width² are four.
    with pytest.raises(RuntimeError, match="does not fit"):
        account.gaussian_moments(GaussianMoments("m", 2**20, 2.0**24, 2, products=512), *none)
    account.gaussian_moments(GaussianMoments("m", 2**21, 2.0**24, 2, products=512), *none)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_rows_cost_their_square(rows):
    account, _ = open_account(rows)
    step = Gaussian("g", 2**56, 2.0**34, 1)
    account.gaussian(step, ONE)
    assert account.receipt().epsilon == adaptive_cost(rows**2 * step.mu_squared, BUDGET.delta)
    assert account.receipt().delta == BUDGET.delta
    assert account.receipt().to_dict()["steps"][0]["cost"] == {"mu squared": rows**2 * 2.0**-12}
    # The true curve of a group: c records move the statistic c times as far.
    mu = rows * 2.0**-6
    assert gaussian_delta(mu, account.receipt().epsilon) <= BUDGET.delta * (1 + 1e-9)
    assert gaussian_delta(mu, account.receipt().epsilon * (1 - 1e-6)) > BUDGET.delta * (1 - 1e-4)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.floats(1e-3, 1.5)), min_size=1, max_size=8), st.integers(1, 3),
       st.sampled_from([0.01, 1.0, 8.0]))  # fmt: skip
def test_no_sequence_of_requests_exceeds_the_budget(requests, rows, epsilon):
    """Each asks for a part of what is left, or more than that; every prefix is a receipt of an interrupted fit."""
    budget = Budget(epsilon, 1e-6)
    account, noise = open_account(rows, budget)
    assert (account.receipt().epsilon, account.receipt().delta) == (0.0, 0.0)
    for is_pick, part in requests:
        share = account.mu_squared * part
        if share < 1e-12:
            break
        step = Pick("p", 2**20, 2**20 / pick_epsilon(share)) if is_pick else Gaussian("g", FINE, sqrt(FINE / share), 1)
        made = len(noise.seen)
        try:
            account.pick(step, np.zeros(3, np.int64)) if is_pick else account.gaussian(step, ONE)
        except RuntimeError:
            assert part > 1 - 1e-9
            assert len(noise.seen) == made
        assert account.receipt().epsilon <= epsilon
    spent = sum((s.mu_squared for s in account.receipt().steps), Fraction())
    assert rows**2 * spent <= adaptive_budget(budget)


MOMENTS = GaussianMoments("s", 2**30, 2.0**36, 2, products=400)
DRAWS = {
    "pick": lambda a: a.pick(Pick("s", 1, 100.0), np.zeros(3, np.int64)),
    "pick within": lambda a: a.pick_within(Pick("s", 1, 100.0), np.zeros(600, np.int64), lambda i: (i, i + 1)),
    "gaussian": lambda a: a.gaussian(Gaussian("s", FINE, 2.0**36, 1), ONE),
    "moments": lambda a: a.gaussian_moments(MOMENTS, np.zeros((2, 2), np.int64), np.zeros(2, np.int64)),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("dies", [False, True])
def test_spending_is_written_down_before_the_draw(draw, dies):
    account, noise = open_account()
    noise.dies = dies
    before = account.mu_squared
    if dies:
        with pytest.raises(KeyboardInterrupt):
            DRAWS[draw](account)
    else:
        DRAWS[draw](account)
    (step,) = account.receipt().steps
    assert all(seen == (step,) for seen in noise.seen)
    assert len(noise.seen) >= 1
    assert account.receipt().epsilon == adaptive_cost(step.mu_squared, BUDGET.delta)
    assert Fraction(account.mu_squared) <= Fraction(np.nextafter(before, 1)) - step.mu_squared  # both are rounded


def test_shapes_that_were_not_planned_are_refused():
    account, noise = open_account()
    for width, length in ((3, 2), (2, 3)):
        with pytest.raises(ValueError, match="width 2"):
            account.gaussian_moments(MOMENTS, np.zeros((width, width), np.int64), np.zeros(length, np.int64))
    with pytest.raises(ValueError, match="1 coordinates"):
        account.gaussian(Gaussian("g", FINE, 2.0**36, 1), np.zeros(2, np.int64))
    assert noise.seen == []
