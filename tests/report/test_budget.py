"""The report of one fit: where the budget went."""

from dataclasses import replace

import pytest

from privreg import _format as words
from privreg.privacy.accountant import Budget
from privreg.privacy.budget_use import budget_use, in_tenths
from privreg.privacy.events import BlackBox, Gaussian, Laplace, LevelCounts, Pick
from privreg.privacy.receipt import ADAPTIVE, PLANNED, Receipt
from reports import section


def test_shares_add_up(flagship, constant, people, wide, paper):
    for release in (flagship, constant, people, wide, *paper.values()):
        groups = budget_use(release.receipt).groups
        assert sum(group.tenths for group in groups) == 1000
        assert sum(group.share for group in groups) == pytest.approx(1, abs=1e-12)
        assert sum(group.events for group in groups) == len(release.receipt.steps)
        assert "Other" not in [group.purpose for group in groups]
        assert all(abs(10 * group.share - group.tenths / 100) < 0.01 for group in groups)


def test_adaptive_steps_are_counted_in_mu_squared(flagship, people):
    for release, rows in ((flagship, 1), (people, 2)):
        spent = budget_use(release.receipt)
        assert spent.currency == "μ²"
        groups = {group.purpose: group for group in spent.groups}
        assert list(groups) == ["Counting", "Reading", "Target", "Columns", "Coefficients", "Errors"]
        own = [
            float(rows**2 * s.mu_squared)
            for s in release.receipt.steps
            if s.name.startswith(("median of c", "spread of c"))
        ]
        assert groups["Columns"].cost == pytest.approx(sum(own))
        assert groups["Columns"].events == len(own) == 8
        every = [float(rows**2 * s.mu_squared) for s in release.receipt.steps]
        assert groups["Columns"].share == pytest.approx(sum(own) / sum(every))


def test_planned_steps_are_counted_in_epsilon(paper):
    spent = budget_use(paper["K-Tukey"].receipt)
    assert spent.currency == "ε"
    assert {g.purpose: g.tenths for g in spent.groups} == {"Choosing": 50, "Counting": 50, "Coefficients": 900}
    mixed = budget_use(paper["K-BAS"].receipt)
    assert {g.purpose: g.tenths for g in mixed.groups} == {"Choosing": 50, "Coefficients": 950}
    assert sum(g.cost for g in mixed.groups) == pytest.approx(paper["K-BAS"].receipt.epsilon)
    assert "in proportion to their ρ" in mixed.explanation


def test_parts_of_the_budget_are_counted_in_their_epsilon():
    read = LevelCounts.costing("levels", 1e-4, 3, 2, 1, 1e-10, 2**28, purpose="reading")
    before = Receipt((read,), Budget(0.1, 1e-7), True, "one person", 2, ADAPTIVE)
    plan = (Laplace("count", 1, 20.0, purpose="count"), Pick("choose", 1, 10.0, purpose="choice"))
    receipt = Receipt(plan, Budget(1.0, 1e-6), True, "one person", 2, PLANNED, before)
    spent = budget_use(receipt)
    assert spent.currency == "ε"
    assert [group.purpose for group in spent.groups] == ["Reading", "Counting", "Choosing"]
    assert [group.cost for group in spent.groups] == pytest.approx([before.epsilon, 0.1, 0.2])
    assert sum(group.cost for group in spent.groups) == pytest.approx(receipt.epsilon)


def test_plans_for_people_share_the_epsilon_of_one_record():
    plan = (Laplace("count", 1, 20.0, purpose="count"), Gaussian.costing("sum", 1e-3, 2**28, purpose="coefficients"))
    receipt = Receipt(plan, Budget(3.0, 1e-6), True, "one person", 3)
    assert [group.cost for group in budget_use(receipt).groups] == pytest.approx([0.05, receipt.epsilon / 3 - 0.05])


def test_steps_whose_epsilons_exceed_the_total_are_counted_in_rho():
    picks = tuple(Pick(f"choose feature {i}", 1, 10.0, purpose="choice") for i in range(100))
    steps = (*picks, Gaussian("products of features", 1, 10.0, 1, purpose="coefficients"))
    receipt = Receipt(steps, Budget(9.0, 1e-6), True)
    spent = budget_use(receipt)
    assert spent.currency == "ρ"
    assert [g.cost for g in spent.groups] == pytest.approx([100 * 0.1**2 / 8, 0.005])


def test_tenths():
    assert in_tenths([1 / 3, 1 / 3, 1 / 3]) == [334, 333, 333]
    assert in_tenths([0.0004, 0.9996]) == [0, 1000]
    assert in_tenths([0.0, 0.0]) == [0, 0]


def test_one_bar_and_every_step(flagship):
    total, bar, steps = section(flagship, "The budget")
    assert total == "The steps of this fit spent ε = 1, δ = 1e-6, all of it."
    assert sum(share.tenths for share in bar.shares) == 1000
    assert sum(share.steps for share in bar.shares) == len(flagship.receipt.steps)
    assert steps.title == f"Every step, in order ({len(flagship.receipt.steps)})"
    explanation, steps = steps.blocks
    assert "μ²" in explanation
    assert len(steps.rows) == len(flagship.receipt.steps)
    for row, step in zip(steps.rows, flagship.receipt.steps, strict=True):
        assert row[1].text == step.mechanism
        assert row[2].order == step.scale / step.grid
        assert row[2].text == words.number(step.scale / step.grid, 4)
        assert row[3].text == f"μ² = {words.number(float(step.mu_squared), 4)}"
    assert [row[0].text for row in steps.rows[:2]] == ["count all records", "kinds of the columns"]
    names = [row[0].text for row in steps.rows]
    assert "spread of income" in names  # not "column 2"
    assert names.index("count the records") == 2  # after reading


def test_more_than_the_budget(flagship):
    receipt = replace(flagship.receipt, budget=Budget(0.9, 1e-6))
    total = section(replace(flagship, receipt=receipt), "The budget")[0]
    assert total.endswith(" of 0.9, δ = 1e-6. That is MORE than the budget.")


def test_other_receipts(flagship):
    nothing = replace(flagship, receipt=Receipt((), Budget(1.0, 1e-6), True))
    assert section(nothing, "The budget") == ["Nothing was released from the data, so nothing was spent."]
    box = Receipt((BlackBox("something else", 0.5, 1e-7),), Budget(1.0, 1e-6), True)
    _, steps = section(replace(flagship, receipt=box), "The budget")[-1].blocks
    assert [entry.text for entry in steps.rows[0]] == ["something else", "black box", "–", "ε = 0.5, δ = 1e-7"]
    assert [g.purpose for g in budget_use(box).groups] == ["Other"]
