"""What a statistician reads: the numbers of statsmodels, by its names, where estimates are exact least squares."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.exceptions import NotFittedError

from known_models import NAMES, SCALES, TARGET, constant_model, design, exact_estimates, known_model, table
from privreg import FitWarning, PrivateLinearRegression, SchemaReader, load_model
from privreg.data import labels

ROWS = [*NAMES, "(intercept)"]
IN_MODEL = ["age", "town=b", "town=c", "far", "(intercept)"]


@pytest.fixture(scope="module")
def ols():
    """Normal, not t, as ours; with the intercept last."""
    _, y = table()
    columns = pd.DataFrame(design(), columns=["(intercept)", "age", "town=b", "town=c", "far"])
    return sm.OLS(y.to_numpy(), columns[IN_MODEL]).fit(use_t=False)


@pytest.fixture(scope="module")
def model():
    return known_model()


# ---- coefficients


@pytest.mark.parametrize("name", ["params", "bse", "tvalues", "pvalues"])
def test_the_numbers_of_statsmodels(model, ols, name):
    ours, theirs = getattr(model, name), getattr(ols, name)
    assert list(ours.index) == ROWS
    assert np.isnan(ours["spare"])
    np.testing.assert_allclose(ours[IN_MODEL], theirs[IN_MODEL], rtol=1e-7, atol=1e-12)


def test_intervals(model, ols):
    for alpha in (0.05, 0.2):
        ours = model.conf_int(alpha)
        assert list(ours.columns) == ["lower", "upper"]
        np.testing.assert_allclose(ours.loc[IN_MODEL], ols.conf_int(alpha).loc[IN_MODEL], rtol=1e-7)
    assert model.conf_int().equals(model.conf_int(alpha=0.05))
    for alpha in (0, 1, -1, 2, float("nan")):
        with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
            model.conf_int(alpha)


def test_one_frame_has_it_all(model):
    frame = model.to_frame()
    assert list(frame.columns) == ["coef", "std_err", "z", "pvalue", "lower", "upper", "determined"]
    assert frame["coef"].equals(model.params)
    assert frame[["lower", "upper"]].equals(model.conf_int())
    assert frame["determined"].tolist() == [True, True, True, False, True, True]
    assert frame["z"].equals(model.tvalues.rename("z"))


def test_what_predictions_use_is_another_thing(ols):
    """coef_ is shrunk; errors follow the estimates."""
    model = known_model(shrunk=0.5)
    np.testing.assert_allclose(model.coef_[[0, 1, 2, 4]], 0.5 * ols.params[IN_MODEL[:-1]])
    assert model.coef_[3] == 0
    np.testing.assert_allclose(model.standard_error_[[0, 1, 2, 4]], ols.bse[IN_MODEL[:-1]])
    assert np.isnan(model.standard_error_[3])
    assert model.intercept_error_ == pytest.approx(ols.bse["(intercept)"])


def test_what_the_budget_does_not_determine():
    """Told apart from what is not in the model; both have no numbers."""
    doubt = exact_estimates()
    covariance = doubt.covariance.copy()
    covariance[1, 1] = 0.6**2  # of age: 1.96·0.6 > 1
    model = known_model(replace(doubt, covariance=covariance))
    words = ["not determined", "estimated", "estimated", "not in the model", "estimated", "estimated"]
    assert model.status_.tolist() == words
    assert model.determined_.tolist() == [word == "estimated" for word in words]
    assert model.to_frame().loc["age"].drop("determined").isna().all()
    assert np.isnan(model.standard_error_[0])
    assert model.coef_[0] != 0  # still predicts
    line = next(line for line in str(model.summary()).splitlines() if line.startswith("age"))
    assert line.split() == ["age", "not", "determined"]


def test_a_constant():
    model = constant_model()
    assert model.params["(intercept)"] == TARGET.centre
    assert model.params.drop("(intercept)").isna().all()
    assert model.bse.isna().all()
    assert np.isnan([model.r2_, model.r2_error_, model.residual_error_, model.residual_error_se_]).all()
    assert model.wald_test_terms().shape == (0, 3)
    assert model.correlations().shape == (0, 0)
    assert model.describe().loc["pay", "centre"] == TARGET.centre
    with pytest.raises(ValueError, match="the model is a constant"):
        model.predict(pd.DataFrame({"age": [1.0]}), interval=0.9)
    assert "R²" not in str(model.summary())


def test_nothing_before_a_fit():
    model = PrivateLinearRegression()
    for name in ("params", "status_", "r2_", "residual_error_"):
        assert not hasattr(model, name)
    for act in (model.to_frame, model.conf_int, model.describe, model.wald_test_terms, model.plot, model.summary):
        with pytest.raises(NotFittedError):
            act()


# ---- fit and tests


def test_how_well_it_fits(model, ols):
    assert model.r2_ == pytest.approx(ols.rsquared)
    assert model.r2_error_ == 0.03
    assert model.residual_error_ == pytest.approx(np.sqrt(ols.scale))
    variance = TARGET.unit**2 * exact_estimates().residual
    assert model.residual_error_se_ == pytest.approx(TARGET.unit**2 * 0.02 / (2 * np.sqrt(variance)))


def test_joint_tests(model, ols):
    """Levels of a category together; a number alone has its own test."""
    frame = model.wald_test_terms()
    assert list(frame.index) == ["town"]
    assert list(frame.columns) == ["statistic", "df", "pvalue"]
    theirs = ols.wald_test(np.eye(5)[[1, 2]], use_f=False, scalar=True)
    assert frame.loc["town", "statistic"] == pytest.approx(float(theirs.statistic))
    assert frame.loc["town", "df"] == 2
    assert frame.loc["town", "pvalue"] == pytest.approx(float(theirs.pvalue))
    assert frame.loc["town", "pvalue"] == pytest.approx(stats.chi2.sf(frame.loc["town", "statistic"], 2))


def test_joint_tests_of_a_formula():
    """The features of one product belong together, whatever their names."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "town": rng.choice(["a", "b", "c"], 20_000)})
    frame["y"] = frame["x"] * (1 + (frame["town"] == "c")) + rng.normal(size=20_000)
    model = PrivateLinearRegression(5.0, random_state=0).fit(frame, formula="y ~ x + C(town) + x:C(town)")
    tests = model.wald_test_terms()
    assert tests.index.tolist() == ["town", "x:town"]
    assert tests["df"].tolist() == [2, 2]
    assert tests.loc["x:town", "pvalue"] < 1e-6


def test_errors_that_allow_no_test():
    """A singular covariance is no error; one without meaning has no p-value."""
    estimates = exact_estimates()
    singular = known_model(replace(estimates, covariance=np.ones((5, 5))))
    assert np.isfinite(singular.wald_test_terms().loc["town", "statistic"])
    absurd = known_model(replace(estimates, covariance=np.full((5, 5), 1e308)))
    absurd.wald_test_terms()
    absurd.to_frame()


# ---- the columns


def test_the_columns(model):
    X, y = table()
    frame = model.describe()
    assert list(frame.index) == ["age", "town=a", "town=b", "town=c", "spare", "far", "pay"]
    assert list(frame.columns) == ["centre", "low", "high", "mean", "std", "share"]
    for name, scale, values in (("age", SCALES[0], X["age"]), ("far", SCALES[3], X["far"])):
        ends = [scale.centre, scale.centre - scale.limit, scale.centre + scale.limit]
        np.testing.assert_allclose(frame.loc[name], [*ends, values.mean(), values.std(ddof=0), np.nan])
    assert frame.loc[["town=a", "town=b", "town=c"], "share"].tolist() == [150 / 400, 120 / 400, 130 / 400]
    assert frame.loc["spare"].isna().all()
    assert frame.loc["pay", "mean"] == pytest.approx(y.mean())
    assert frame.loc["pay", "std"] == pytest.approx(y.std(ddof=0), rel=0.01)
    assert frame.loc["pay", ["low", "high"]].tolist() == [-85.0, 115.0]


def test_shares_that_reading_did_not_release():
    """Of declared levels: the mean of the 0/1 column."""
    model = known_model()
    columns = [replace(column, counts=None) for column in model.schema_]
    model._remember(replace(model.schema_, columns=tuple(columns)))
    X, _ = table()
    shares = model.describe()["share"]
    assert np.isnan(shares["town=a"])
    assert shares["town=b"] == pytest.approx((X["town"] == "b").mean())


def test_correlations(model):
    frame = model.correlations()
    names = ["age", "town=b", "town=c", "far"]
    assert list(frame.index) == list(frame.columns) == names
    np.testing.assert_allclose(frame, np.corrcoef(design()[:, 1:].T), atol=1e-9)
    assert np.diag(frame).tolist() == [1, 1, 1, 1]


def test_noise_cannot_carry_correlations_beyond_their_range():
    estimates = exact_estimates()
    products = estimates.products.copy()
    products[1, 2] = products[2, 1] = 5.0
    products[3, 3] = 0.0
    model = known_model(replace(estimates, products=products))
    frame = model.correlations()
    assert frame.loc["age", "town=b"] == 1.0
    assert frame["town=c"].isna().all()


# ---- predictions


def test_prediction_intervals(model, ols):
    """Those of statsmodels: the residuals' variance and that of the estimates."""
    X, _ = table()
    new = X.iloc[5:15]
    for level in (0.95, 0.5):
        frame = model.predict(new, interval=level)
        assert list(frame.columns) == ["prediction", "lower", "upper"]
        assert list(frame.index) == list(new.index)
        columns = pd.DataFrame(design(), columns=["(intercept)", "age", "town=b", "town=c", "far"]).iloc[5:15]
        theirs = ols.get_prediction(columns[IN_MODEL]).summary_frame(alpha=1 - level)
        ends = theirs[["mean", "obs_ci_lower", "obs_ci_upper"]]
        np.testing.assert_allclose(frame, ends, rtol=1e-7)
    assert (frame["prediction"].to_numpy() == model.predict(new)).all()
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(ValueError, match="interval must be between 0 and 1"):
            model.predict(new, interval=level)


def test_rows_beyond_a_range_are_as_uncertain_as_those_at_its_end(model):
    X, _ = table()
    new = X.iloc[[0, 0, 0]].assign(age=[148.0, 1e9, np.nan])
    ends = model.predict(new, interval=0.9).to_numpy()
    assert (ends[0] == ends[1]).all()
    assert np.isnan(ends[2]).all()


def test_intervals_of_a_target_that_is_undone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 1, 5000)})
    for function, undo, target in (("log", np.exp, np.exp(frame["x"])), ("sqrt", np.square, frame["x"] ** 2)):
        frame["y"] = target
        model = PrivateLinearRegression(5.0, random_state=0).fit(frame, formula=f"{function}(y) ~ x")
        ends, back = (model.predict(frame[:50], interval=0.99, inverse=way) for way in (False, True))
        least = np.maximum(ends["lower"], 0) if function == "sqrt" else ends["lower"]
        np.testing.assert_allclose(back["prediction"], undo(ends["prediction"]))
        np.testing.assert_allclose(back["lower"], undo(least))
        np.testing.assert_allclose(back["upper"], undo(ends["upper"]))
        assert (back["lower"] <= back["prediction"]).all()
        assert (back["prediction"] <= back["upper"]).all()


def test_intervals_of_a_dask_frame():
    import dask.dataframe as dd

    X, _ = table()
    model = known_model()
    lazy = model.predict(dd.from_pandas(X, npartitions=3), interval=0.9)
    pd.testing.assert_frame_equal(lazy.compute(), model.predict(X, interval=0.9))
    assert list(lazy.columns) == ["prediction", "lower", "upper"]


# ---- around it


def test_a_model_from_a_file_has_it_all(tmp_path, model):
    model.save(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    X, _ = table()
    for name in ("params", "bse", "tvalues", "pvalues", "status_", "determined_"):
        pd.testing.assert_series_equal(getattr(back, name), getattr(model, name))
    for name in ("to_frame", "conf_int", "wald_test_terms", "describe", "correlations"):
        pd.testing.assert_frame_equal(getattr(back, name)(), getattr(model, name)())
    pd.testing.assert_frame_equal(back.predict(X, interval=0.8), model.predict(X, interval=0.8))
    assert (back.r2_, back.residual_error_) == (model.r2_, model.residual_error_)
    back.report(tmp_path / "report.html")
    assert "A private model of pay" in (tmp_path / "report.html").read_text()


def test_without_pandas_arrays_in_the_same_order(model, monkeypatch):
    X, _ = table()
    frame, ends, labelled = model.to_frame(), model.predict(X, interval=0.9), model.correlations()
    tests, described = model.wald_test_terms(), model.describe()
    monkeypatch.setattr(labels, "_has_pandas", lambda: False)
    np.testing.assert_array_equal(model.params, frame["coef"])
    np.testing.assert_array_equal(model.to_frame(), frame.astype(float))
    np.testing.assert_array_equal(model.predict(X, interval=0.9), ends)
    np.testing.assert_array_equal(model.correlations(), labelled)
    np.testing.assert_array_equal(model.wald_test_terms(), tests)
    np.testing.assert_array_equal(model.describe(), described)


def test_pandas_is_not_needed():
    """Nor loaded before a table is asked for."""
    script = """
import sys
import numpy as np
sys.modules["pandas"] = None
from privreg import PrivateLinearRegression
X = np.random.default_rng(0).normal(size=(5000, 2))
model = PrivateLinearRegression(3.0).fit(X, X[:, 0])
import importlib.util
print(type(model.params).__name__, model.conf_int().shape, model.predict(X[:4], interval=0.9).shape)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert found.stdout.split() == ["ndarray", "(3,", "2)", "(4,", "3)"]


def test_warnings_are_raised_when_the_fit_is_complete():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = PrivateLinearRegression(0.1)
    with pytest.warns(FitWarning) as told:
        model.fit(X, X[:, 0])
    assert [str(one.message) for one in told] == model.warnings_ != []
    assert {one.filename for one in told} == {__file__}
    again = PrivateLinearRegression(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        with pytest.raises(FitWarning):
            again.fit(X, X[:, 0])
    assert np.isfinite(again.predict(X)).all()
    assert again.receipt_.steps
    frame = pd.DataFrame({"name": [f"person {i}" for i in range(500)]})
    with pytest.warns(FitWarning, match="left out"):
        SchemaReader(5.0).fit(frame)


def test_the_chart(model):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    doubt = exact_estimates()
    covariance = doubt.covariance.copy()
    covariance[2, 2] = 1.0
    undetermined = known_model(replace(doubt, covariance=covariance))
    _, ax = pyplot.subplots()
    assert undetermined.plot(ax) is ax
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["per standard deviation", "age", "far", "against the reference level", "town=c (vs a)"]
    at = {names[int(y)]: x for line in ax.lines if line.get_marker() == "o" for x, y in [line.get_xydata()[0]]}
    X, _ = table()
    assert at["age"] == pytest.approx(model.params["age"] * X["age"].std(ddof=0))
    assert at["town=c (vs a)"] == pytest.approx(model.params["town=c"])
    assert sum(not name.startswith(("per ", "against ")) for name in names) == len(at) == 3
    own = model.plot()
    assert len([line for line in own.lines if line.get_marker() == "o" and line.get_markersize() == 7]) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not [line for line in constant_model().plot().lines if line.get_marker() == "o"]
    pyplot.close("all")


@pytest.mark.parametrize("value", ["x", None, 0.0, 1.0, float("nan")])
def test_a_level_that_is_no_probability(value):
    model = known_model()
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        model.conf_int(value)
    if value is not None:
        with pytest.raises(ValueError, match="interval must be between 0 and 1"):
            model.predict(table(), interval=value)
