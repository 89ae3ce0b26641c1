"""Many columns that are alike are used together: when, how well it predicts, and what is told of it."""

import json

import numpy as np
import pandas as pd
import pytest

from privreg import PrivateLinearRegression, load_model, open_file
from privreg.estimators.private_linear.inference import NOT_DETERMINED
from privreg.results.release import TOGETHER

N, D = 6000, 220


def alike(n=N, d=D, seed=0):
    """Answers from 1 to 5 that go together, and a target that all of them tell a little of."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 3))
    answers = 3 + common @ rng.normal(size=(3, d)) * 0.6 + 0.7 * rng.normal(size=(n, d))
    X = pd.DataFrame(np.clip(np.round(answers), 1, 5), columns=[f"item{j}" for j in range(d)])
    return X, pd.Series(50 + 10 * (common @ [1, 0.5, -0.3]) + 8 * rng.normal(size=n), name="pay")


X, Y = alike()
HELD_OUT = slice(4800, None)


def fitted(data=X, target=Y, epsilon=0.2, seed=1, **options):
    return PrivateLinearRegression(epsilon, 1e-6, random_state=seed, n_jobs=1, **options).fit(data, target)


@pytest.fixture(scope="module")
def model():
    return fitted(X[: HELD_OUT.start], Y[: HELD_OUT.start])


def steps(model):
    return [step.name for step in model.receipt_.steps]


def test_it_predicts_better_than_a_few_columns(model):
    """Medians over five seeds: the table explains about 0.64, as many chosen columns as the data can carry less."""
    test = X[HELD_OUT], Y[HELD_OUT]
    train = X[: HELD_OUT.start], Y[: HELD_OUT.start]
    joint = [fitted(*train, seed=seed).score(*test) for seed in range(5)]
    few = [fitted(*train, seed=seed, k=D).score(*test) for seed in range(5)]
    assert np.median(joint) > 0.5
    assert min(joint) > max(few) + 0.03
    assert model.score(*test) == joint[1]


def test_all_columns_predict_and_none_is_determined(model):
    assert model.warnings_[-1:] == [TOGETHER]
    assert model.selected_features_ == list(X.columns)
    assert (model.coef_ != 0).all()
    assert set(model.status_[:-1]) == {NOT_DETERMINED}
    assert model.params[:-1].isna().all()
    assert model.pvalues[:-1].isna().all()
    assert model.params["(intercept)"] == pytest.approx(Y.mean(), abs=5)  # least squares on no column: the mean
    low, high = model.linear_range_.T
    assert (low < 2).all()
    assert (high > 4).all()
    middle = np.full((1, D), 3.0)
    linear = float(model.intercept_ + middle[0] @ model.coef_)
    assert model.predict(pd.DataFrame(middle, columns=X.columns))[0] == pytest.approx(linear)


def test_what_else_is_told_holds_together(model):
    assert abs(model.r2_ - model.score(X[HELD_OUT], Y[HELD_OUT])) < 4 * model.r2_error_
    ends = model.predict(X[HELD_OUT], interval=0.95)
    inside = (ends["lower"] <= Y[HELD_OUT]) & (Y[HELD_OUT] <= ends["upper"])
    assert 0.85 < inside.mean() <= 1
    assert model.describe().loc["pay", "mean"] == pytest.approx(Y.mean(), abs=5)
    assert model.correlations().empty
    assert model.wald_test_terms().empty
    assert "weighted sums of all of them" in str(model.summary())
    assert f"({D} columns together)" in str(model.summary())
    assert model.describe().loc["item3", "low"] == model.linear_range_[3, 0]


def test_the_report_and_the_plot_can_be_made(model, tmp_path):
    model.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert f"({D} columns together)" in text
    assert "(mean of the target)" in text
    assert "The intercept is the prediction where" not in text
    assert model.plot() is not None


def test_a_saved_model_predicts_the_same(model, tmp_path):
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.status_.equals(model.status_)
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 4


def test_when_columns_are_used_together(model):
    assert any(name.startswith("round 1: weights of all columns") for name in steps(model))
    assert len([name for name in steps(model) if name.startswith("spread of column")]) == 1  # the one that stands alone
    for options in ({"k": 5}, {"epsilon": 3.0}):  # few are asked for, or most can be carried one by one
        assert not any("all columns" in name for name in steps(fitted(**options)))
    public = PrivateLinearRegression(0.2, 1e-6, random_state=1).fit(X, Y, public=alike(100, seed=5)[0])
    assert not any("all columns" in name for name in steps(public))


def test_columns_of_many_sizes_are_not_alike():
    """A look that finds so costs little, and the rest of the budget goes to chosen columns."""
    other = fitted(X * 10.0 ** (np.arange(D) % 9))
    assert "spread of all columns" in steps(other)
    assert not any(name.startswith("round") for name in steps(other))
    assert len(other.selected_features_) < 12
    assert TOGETHER not in other.warnings_


def test_levels_join_with_the_scale_that_is_known_of_them():
    region = pd.Series(np.where(np.arange(N) % 3 == 0, "north", "south"))
    shifted = Y + 20.0 * (region == "north")
    model = fitted(X.assign(region=region), shifted, categories={"region": ["south", "north"]})
    assert model.warnings_[-1:] == [TOGETHER]
    assert model.coef_[-1] > 0
    assert set(model.status_[:-1]) == {NOT_DETERMINED}


def test_single_columns_stand_out_where_data_allow():
    """One column tells nearly all. From S = 300 on two columns are chosen by ranks before all are used together."""
    X, _ = alike(4000, 320)
    target = X["item7"] + 0.1 * np.random.default_rng(1).normal(size=4000)
    model = fitted(X, target, epsilon=0.35)
    assert "choose feature 2" in steps(model)
    assert any(name.startswith("round 5") for name in steps(model))
    assert model.score(X, target) > 0.8
    assert np.abs(model.coef_).argmax() == 7


def test_the_same_bits_from_a_file_and_by_any_number_of_threads(model, tmp_path):
    table = X[: HELD_OUT.start].assign(pay=Y)
    table.to_parquet(tmp_path / "items.parquet")
    for data, jobs in ((open_file(tmp_path / "items.parquet"), 2), (table, 2)):
        again = PrivateLinearRegression(0.2, 1e-6, random_state=1, n_jobs=jobs).fit(data, "pay")
        np.testing.assert_array_equal(again.coef_, model.coef_)


def test_hostile_values_change_nothing_that_is_shown():
    hostile = X.copy()
    hostile.iloc[:40] = np.resize([1e308, -1e308, 5e-324, -0.0, 0.0], (40, D))
    target = Y.copy()
    target.iloc[:3] = [1e308, -1e308, 5e-324]
    assert fitted(hostile, target).warnings_[-1:] == [TOGETHER]
