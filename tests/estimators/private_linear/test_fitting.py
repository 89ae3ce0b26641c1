"""Parts of the fit, one at a time."""

import numpy as np
import pandas as pd
import pytest

from privreg import PrivateLinearRegression
from privreg.data.features import Feature
from privreg.data.tables import Table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.schedule import make_schedule
from privreg.estimators.private_linear.state import Setting
from privreg.estimators.private_linear.target import find_shift, finds_centre
from privreg.mechanisms.spread import Spread
from told import account

N = 60


def setting_of(mu_squared):
    """Records whose target is 1, and a schedule for a constant."""
    table = Table([Feature("x", 0)], N, np.zeros((N, 1)), {})
    engine = MemoryEngine(table, np.ones(N), 1)
    return Setting(account(5.0), engine, mu_squared, N, N, 1.0, make_schedule(1.0, 1, None), 2**32, False)


@pytest.mark.parametrize(("mu_squared", "reliable"), [(0.02, False), (2.0, True)])
@pytest.mark.parametrize("sure", [True, False])
def test_a_guessed_clip_about_an_unreliable_median_moves_nothing(mu_squared, reliable, sure):
    """The noise is nothing, so that the sum stands out by far: all records lie beyond the clip."""
    setting = setting_of(mu_squared)
    spread = Spread(0.5, 0.5, sure, np.zeros(1), np.zeros(1), 1.0)
    assert finds_centre(setting) == reliable
    shift = find_shift(setting, 0.0, spread, 0.5, 0.32)
    assert (shift > 0) == (sure or reliable)
    assert [event.name for event in setting.account.receipt().events] == ["mean of the target"]


def test_columns_are_chosen_when_all_are_levels():
    """No median is asked for, and none is paid for."""
    rng = np.random.default_rng(4)
    table = {f"c{i}": rng.choice(list("abc"), 6000).astype(object) for i in range(5)}
    target = (table["c3"] == "a") * 2.0 + rng.normal(size=6000)
    levels = {name: ["a", "b", "c"] for name in table}
    model = PrivateLinearRegression(3.0, 1e-3, k=2, categories=levels, random_state=1).fit(pd.DataFrame(table), target)
    assert "c3" in "".join(model.selected_features_)
    steps = [step.name for step in model.receipt_.steps]
    assert not any(name.startswith("median of column") for name in steps)
    assert {"balance of the target", "balance of the residuals", "choose feature 2"} <= set(steps)


def test_a_column_of_another_size_than_all_others_keeps_its_own():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 20)) * [1, *[1000] * 19]
    y = 2 * X[:, 0] + 0.0005 * X[:, 1] + rng.normal(size=5000)
    for seed in range(4):
        model = PrivateLinearRegression(1.0, 1e-6, random_state=seed).fit(X, y)
        low, high = model.linear_range_[0]
        assert 2 < high - low < 16
        assert model.params.iloc[0] == pytest.approx(2, abs=0.3)


def test_medians_of_all_columns_come_before_a_choice_by_sides():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3000, 8)) + 5
    model = PrivateLinearRegression(3.0, 1e-3, k=2, random_state=1).fit(X, X[:, 4] + rng.normal(size=3000))
    assert model.selected_features_[0] == 4
    steps = [step.name for step in model.receipt_.steps]
    at = steps.index("choose feature 1")
    assert steps[at - 9 : at - 1] == [f"median of column {j}" for j in range(8)]
    assert steps[at - 1] == "balance of the target"
    assert sum(name.startswith("spread of column") for name in steps) == 2
