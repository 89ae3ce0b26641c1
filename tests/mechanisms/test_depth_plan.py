"""The Tukey mechanism's plan: what it costs, and how many models it needs."""

from fractions import Fraction

import pytest

from privreg import TukeyRegression
from privreg.errors import BudgetError
from privreg.mechanisms.depth import (
    PAPER,
    STRICT,
    can_pass,
    plan_draw,
    should_pass,
)
from privreg.privacy.accountant import Budget


@pytest.mark.parametrize("calibration", [STRICT, PAPER], ids=lambda c: c.name)
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 500.0])
def test_the_plan_costs_what_it_may(calibration, epsilon):
    step = plan_draw("draw", Fraction(epsilon), 1e-6, 6, calibration)
    assert step.epsilon <= epsilon
    if epsilon < 100:
        assert step.epsilon > epsilon * 0.999
    assert step.cost() == {"epsilon": pytest.approx(float(step.epsilon)), "delta": 1e-6}
    by_hand = 1 / step.scale + calibration.steps * step.rate + step.rounding
    assert float(step.epsilon) == pytest.approx(by_hand, rel=1e-12)


def test_no_budget_for_rounding_errors():
    with pytest.raises(BudgetError, match="epsilon"):
        plan_draw("draw", Fraction(1e-7), 1e-6, 1000, STRICT)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_about_550_over_epsilon_models_are_needed_for_five_features(epsilon):
    """What the docstring of TukeyRegression says, at its default δ."""
    step = TukeyRegression(epsilon, 1e-6)._plan(Budget(epsilon, 1e-6), 5)[-1]
    assert not should_pass(int(500 / epsilon), 6, step, STRICT)
    assert should_pass(int(600 / epsilon), 6, step, STRICT)


def test_more_points_pass_more_easily():
    step = plan_draw("draw", Fraction(1), 1e-6, 6, STRICT)
    verdicts = [should_pass(m, 6, step, STRICT) for m in (50, 200, 400, 800, 1600, 3200)]
    assert verdicts == sorted(verdicts)
    assert not verdicts[0]
    assert verdicts[-1]
    assert can_pass(800, step, STRICT)
    assert not can_pass(20, step, STRICT)
    assert not can_pass(0, step, STRICT)
