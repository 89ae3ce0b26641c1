"""Receipts for units of several records, and receipts in two parts: totals that add up to no more than was asked."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, nextafter

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.errors import BudgetError
from privreg.privacy.account import AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import (
    Budget,
    calibrate,
    cost,
    even_picks,
    for_each_record,
    group_total,
    less_delta,
    reserved_delta,
    rest_of,
    split_budget,
)
from privreg.privacy.events import BlackBox, Gaussian, Laplace, LevelCounts, Pick
from privreg.privacy.noise import SeededNoise
from privreg.privacy.receipt import ADAPTIVE, ONE_PERSON, PLANNED, Receipt

NONE = np.zeros(0, np.int64)
budgets = st.builds(Budget, st.floats(1e-3, 40), st.sampled_from([0.0, 1e-12, 1e-6, 1e-3]))


def seeded():
    return SeededNoise(np.random.default_rng(0))


# ---- group privacy


@settings(max_examples=200)
@given(budgets, st.integers(1, 50))
def test_what_each_record_may_cost(budget, rows):
    """Rounded down, and not far below the formula."""
    each = for_each_record(budget, rows)
    assert rows * Fraction(each.epsilon) <= Fraction(budget.epsilon)
    with mpmath.workdps(50):
        epsilon, delta = mpmath.mpf(each.epsilon), mpmath.mpf(each.delta)
        together = delta * sum(mpmath.exp(i * epsilon) for i in range(rows))
        assert together <= budget.delta
        assert together >= budget.delta * (1 - mpmath.mpf("1e-11"))
    assert each.epsilon == pytest.approx(budget.epsilon / rows, rel=1e-15)


@pytest.mark.parametrize(("epsilon", "delta", "rows"), [(0.3, 1e-3, 2), (0.1, 1e-4, 6), (1.0, 1e-6, 4)])
def test_group_privacy_is_reached_by_a_chain_of_tables(epsilon, delta, rows):
    """Laws of one outcome, a_i = e^ε·a_(i + 1) + δ: each table is (ε, δ)-close to the next, in both directions."""
    chances = [0.0]
    for _ in range(rows):
        chances.append(exp(epsilon) * chances[-1] + delta)
    for rarer, likelier in pairwise(chances):
        for p, q in ((rarer, likelier), (likelier, rarer)):
            assert max(p - exp(epsilon) * q, 0) + max(1 - p - exp(epsilon) * (1 - q), 0) <= delta * (1 + 1e-12)
    true = chances[-1]  # at rε, because the first has chance 0
    together = Receipt((BlackBox("b", epsilon, delta),), Budget(2 * rows * epsilon, 0.5), True, rows=rows)
    assert together.epsilon == pytest.approx(rows * epsilon)
    bound = group_total(together.own, Budget(rows * epsilon * (1 + 1e-9), true * (1 + 1e-6)), rows)[1]
    assert true <= bound <= true * (1 + 1e-5)
    assert rows * delta < 0.9 * true  # so r·δ would be too little


def test_a_budget_for_no_records():
    with pytest.raises(ValueError, match="rows"):
        for_each_record(Budget(1.0), 0)
    assert for_each_record(Budget(2000.0, 1e-6), 2) == Budget(1000.0, 0.0)  # e^ε is no float
    assert for_each_record(Budget(1.0, 1e-6), 1) == Budget(1.0, 1e-6)


PLANS = {
    "picks": lambda b: even_picks(["p"] * 5, [5] * 5, b),
    "sums": lambda b: calibrate(lambda x: [Gaussian("g", 2**40, x * 2**20, 30), Laplace("l", 1, 3 * x)], b),
    "box": lambda b: [BlackBox("b", b.epsilon, b.delta)],
    "count": lambda b: [Laplace("l", 1, float(1 / b.epsilon) * (1 + 1e-9))],
}


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 20), st.sampled_from([1e-9, 1e-5]), st.integers(2, 12), st.sampled_from(list(PLANS)))
def test_a_plan_for_each_record_keeps_to_the_budget_for_all(epsilon, delta, rows, name):
    budget = Budget(epsilon, delta)
    each = for_each_record(budget, rows)
    plan = PLANS[name](each)
    account = PlannedAccount(plan, budget, seeded(), rows)
    receipt = replace(account.receipt(f"{ONE_PERSON}, at most {rows} rows"), own=tuple(plan))
    assert receipt.rows == rows
    assert receipt.epsilon <= epsilon
    assert receipt.delta <= delta
    assert receipt.epsilon > 0.99 * epsilon
    # Recomputed: ε of one record times r, and its δ times 1 + e^ε + …
    single = cost(plan, 0.0)
    used = 0.0 if single <= each.epsilon else each.delta
    single = single if not used else cost(plan, each.delta)
    assert receipt.epsilon >= rows * single * (1 - 1e-15)
    if used:
        grouped = used * sum(exp(i * single) for i in range(rows))
        assert receipt.delta >= min(grouped, delta) * (1 - 1e-12)
    else:
        assert receipt.delta == 0
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt


def test_a_plan_for_one_record_does_not_fit_two():
    plan = [Laplace("l", 1, 1.0)]
    PlannedAccount(plan, Budget(1.0), seeded())
    with pytest.raises(BudgetError):
        PlannedAccount(plan, Budget(1.0), seeded(), rows=2)
    PlannedAccount(plan, Budget(2.0), seeded(), rows=2)


def test_a_receipt_that_cost_more_says_so():
    over = Receipt((Laplace("l", 1, 1.0), BlackBox("b", 0.5, 1e-6)), Budget(2.0, 1e-3), True, rows=3)
    assert over.epsilon == 4.5
    assert over.delta > 1e-6
    assert Receipt((BlackBox("b", 0.1, 0.5),), Budget(1.0, 1e-6), True, rows=3).epsilon == inf


def test_concentrated_and_gaussian_costs_of_a_group():
    one = Receipt((Gaussian.costing("g", 0.01, 2**28),), Budget(1.0, 1e-6), True)
    three = replace(one, rows=3)
    assert three.rho == pytest.approx(9 * one.rho)
    assert three.mu == pytest.approx(3 * one.mu)
    assert three.to_dp_event().events[0].noise_multiplier == pytest.approx(
        one.to_dp_event().events[0].noise_multiplier / 3
    )
    assert three.cost(three.events[0]) == one.cost(one.events[0])


def test_old_records_are_read():
    new = Receipt((Laplace("l", 1, 2.0),), Budget(1.0), True)
    record = new.to_dict()
    assert (record["rows"], record["composition"], "before" in record) == (1, PLANNED, False)
    assert Receipt.from_dict(record | {"rows": None}) == new
    for wrong in ({"rows": 0}, {"rows": -1}, {"composition": "magic"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Receipt.from_dict(record | wrong)


# ---- two parts


@settings(max_examples=200)
@given(budgets, st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000)))
def test_parts_add_up_to_no_more(budget, part):
    first, second = split_budget(budget, part)
    assert Fraction(first.epsilon) + Fraction(second.epsilon) <= Fraction(budget.epsilon)
    assert Fraction(first.delta) + Fraction(second.delta) <= Fraction(budget.delta)
    assert Fraction(first.epsilon) <= Fraction(budget.epsilon) * part < Fraction(nextafter(first.epsilon, inf))
    assert first.epsilon + second.epsilon == pytest.approx(budget.epsilon)
    assert rest_of(budget, first) == second


def test_parts_that_are_none():
    for part in (Fraction(0), Fraction(1), Fraction(2), Fraction(-1, 2)):
        with pytest.raises(ValueError, match="part"):
            split_budget(Budget(1.0), part)


BUDGET = Budget(2.0, 1e-6)


def in_parts(budget=BUDGET, rows=1, spend=0.9):
    """Reading by an account of its own, then a plan with the rest."""
    first, second = split_budget(budget, Fraction(1, 10))
    reading = AdaptiveAccount(first, seeded(), rows, reserved_delta(first))
    share = spend * reading.mu_squared
    reading.level_counts(
        LevelCounts.costing("levels", share, 3, rows, 1, reading.extra_delta, 2**28, purpose="reading"), NONE, NONE
    )
    plan = PLANS["sums"](for_each_record(second, rows))
    fit = PlannedAccount(plan, second, seeded(), rows)
    fit.gaussian(plan[0], np.zeros(30, np.int64))
    fit.laplace(plan[1], 5)
    return reading.receipt(), fit.receipt(), budget


@pytest.mark.parametrize("rows", [1, 3])
def test_a_receipt_in_two_parts(rows):
    reading, fit, budget = in_parts(rows=rows)
    whole = fit.after(reading, budget)
    assert whole.events == whole.steps == (*reading.events, *fit.events)
    assert (whole.budget, whole.composition, whole.before.composition) == (budget, PLANNED, ADAPTIVE)
    assert whole.parts == (reading, fit)
    assert whole.epsilon == pytest.approx(reading.epsilon + fit.epsilon)
    assert whole.delta == pytest.approx(reading.delta + fit.delta)
    assert reading.epsilon + fit.epsilon <= whole.epsilon <= budget.epsilon
    assert 0.98 * budget.epsilon < whole.epsilon
    assert whole.delta <= budget.delta
    assert whole.extra_delta == reading.extra_delta > 0
    assert whole.cost(reading.events[0]) == reading.cost(reading.events[0])
    record = json.loads(json.dumps(whole.to_dict()))
    assert [step["purpose"] for step in record["steps"]] == ["reading", "other", "other"]
    assert record["before"]["steps"] == 1
    assert Receipt.from_dict(record) == whole
    assert "levels" in str(whole)
    assert len(whole.to_dp_event().events) == 3
    assert whole.mu is None  # Laplace noise has none
    assert whole.rho == pytest.approx(reading.rho + fit.rho)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 10), st.sampled_from([1e-9, 1e-6]), st.integers(1, 4), st.floats(0.1, 1))
def test_two_parts_never_exceed_the_request(epsilon, delta, rows, spend):
    budget = Budget(epsilon, delta)
    reading, fit, _ = in_parts(budget, rows, spend)
    whole = fit.after(reading, budget)
    assert whole.epsilon <= epsilon
    assert whole.delta <= delta


def test_parts_that_do_not_go_together():
    reading, fit, budget = in_parts()
    with pytest.raises(ValueError, match="together exceed the budget"):
        fit.after(reading, Budget(1.9, 1e-6))
    with pytest.raises(ValueError, match="same unit"):
        fit.after(replace(reading, unit="one person"), budget)
    with pytest.raises(ValueError, match="same unit"):
        fit.after(replace(reading, rows=2), budget)
    with pytest.raises(ValueError, match="no earlier part of its own"):
        fit.after(replace(fit.after(reading, budget), budget=Budget(0.2, 1e-7)), budget)
    private = replace(reading, private=True)
    assert not fit.after(private, budget).private
    too_much = replace(fit.after(reading, budget), own=(BlackBox("b", 0.1, 0.5),))
    assert too_much.epsilon == inf


def test_what_is_reserved():
    for budget in (Budget(1.0, 1e-6), Budget(1.0, 0.0), Budget(1.0, 5e-324)):
        assert 0 <= Fraction(reserved_delta(budget)) <= Fraction(budget.delta) / 1000
    less = less_delta(Budget(1.0, 1e-6), 1e-9)
    assert Fraction(less.delta) <= Fraction(1e-6) - Fraction(1e-9)
    assert 1 - 2e-11 < less.epsilon < 1
    assert less_delta(Budget(1.0, 1e-6), 0.0) == Budget(1.0, 1e-6)
    assert Pick("p", 1, 2.0).extra_delta == 0
