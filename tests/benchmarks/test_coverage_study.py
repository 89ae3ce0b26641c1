"""The study of intervals: it computes the estimand exactly, and gives intervals the coverage that they deserve."""

import csv
import json
from dataclasses import dataclass, replace
from math import nan, sqrt

import numpy as np
import pandas as pd
import pytest

import coverage_study
import coverage_tables
from coverage_designs import DESIGNS, Simulated, simulate
from coverage_measures import coefficients, design_of, least_squares, predictions, quality
from privreg import PrivateLinearRegression, Schema
from privreg.results.release import TOGETHER

MEDIAN = 0.6745  # of the absolute value of a normal variable


@dataclass
class Told:
    """A model that tells what it is told to."""

    linear_range_: np.ndarray
    target: tuple[float, float] | None
    intervals: np.ndarray
    r2_: float = 0.0
    r2_error_: float = 0.0
    residual_error_: float = 1.0
    epsilon: float = 1.0
    delta: float = 1e-6
    warnings_: tuple[str, ...] = ()

    @property
    def schema_(self):
        return Schema.numbers(len(self.linear_range_))

    def prediction_range(self):
        return self.target

    def conf_int(self):
        return pd.DataFrame(self.intervals, columns=["lower", "upper"])

    def predict(self, X, *, interval=None):
        middle = X[:, 0]
        if interval is None:
            return middle
        assert interval == 0.95
        return pd.DataFrame({"prediction": middle, "lower": middle - 1, "upper": middle + 1})


@pytest.fixture
def table(rng):
    X = rng.normal(size=(400, 4)) * [1, 1e-3, 1e4, 1] + [0, 5, 1e5, -3]
    return X, X @ [1, 200, 1e-4, 0] + rng.standard_t(3, size=400)


def numpy_slopes(X, y):
    """Slopes and intercept by numpy, of columns that have been brought to one scale."""
    scales = X.std(axis=0)
    slopes = np.linalg.lstsq(np.column_stack([(X - X.mean(axis=0)) / scales, np.ones(len(X))]), y)[0][:-1] / scales
    return slopes, y.mean() - X.mean(axis=0) @ slopes


def model_of(X, y, intervals, **told):
    ranges = np.quantile(X, [0.1, 0.8], axis=0).T
    ranges[3] = nan  # not in the model
    return Told(ranges, tuple(np.quantile(y, [0.05, 0.9])), np.asarray(intervals, float), **told)


# ---- the estimand


def test_least_squares_is_that_of_numpy_and_statsmodels(table):
    import statsmodels.api as sm

    X, y = table
    found = least_squares(X, y)
    slopes, intercept = numpy_slopes(X, y)
    assert found.slopes == pytest.approx(slopes)
    assert found.intercept == pytest.approx(intercept)
    scaled = sm.OLS(y, sm.add_constant((X - X.mean(axis=0)) / X.std(axis=0))).fit(cov_type="HC1")
    assert found.errors == pytest.approx(scaled.bse[1:] / X.std(axis=0))
    assert found.r2 == pytest.approx(scaled.rsquared)
    assert found.residual_error == pytest.approx(sqrt(scaled.mse_resid))


def test_what_a_table_does_not_determine_has_no_value(table):
    X, y = table
    doubled = np.column_stack([X, X[:, 0] + X[:, 2], np.full(400, 7.0)])
    found = least_squares(doubled, y)
    assert np.isnan(found.slopes).tolist() == [True, False, True, False, True, True]
    exact = least_squares(X, y)
    assert found.slopes[[1, 3]] == pytest.approx(exact.slopes[[1, 3]])
    assert found.r2 == pytest.approx(exact.r2)


def test_the_estimand_is_least_squares_on_the_clipped_columns_of_the_model(table):
    X, y = table
    model = model_of(X, y, np.zeros((5, 2)))
    design = design_of(model, X, y)
    assert design.rows == [0, 1, 2]
    clipped = [np.clip(X[:, j], *model.linear_range_[j]) for j in range(3)]
    slopes, intercept = numpy_slopes(np.column_stack(clipped), np.clip(y, *model.target))
    assert design.clipped().slopes == pytest.approx(slopes)
    assert design.clipped().intercept == pytest.approx(intercept)
    assert design.plain().slopes == pytest.approx(numpy_slopes(X[:, :3], y)[0])


def test_levels_are_those_of_the_fit(rng):
    """A frame with a category, a rare level and missing values: columns are what the fitted schema makes of them."""
    n = 4000
    town = rng.choice(["north", "south", "east", "rare"], size=n, p=[0.5, 0.3, 0.199, 0.001])
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "town": pd.Categorical(town)})
    y = frame["age"].to_numpy() / 10 + 3 * (town == "south") + rng.normal(size=n)
    frame.loc[:9, "age"] = nan
    model = PrivateLinearRegression(3.0, random_state=0, n_jobs=1).fit(frame, y)
    design = design_of(model, frame, y)
    assert {"age", "town=south"} <= {model._names[row] for row in design.rows}
    assert len(design.y) == n - 10
    for row, column in zip(design.rows, design.X.T, strict=True):
        level = model._features[row].category and model._features[row].level
        values = frame["age"] if level is None else (town == level)
        assert (column == np.asarray(values, float)[10:]).all()


# ---- what intervals deserve


def test_intervals_get_the_coverage_that_they_deserve(table):
    X, y = table
    exact = design_of(model_of(X, y, np.zeros((5, 2))), X, y).clipped()
    width = 2 * 1.959964 * exact.errors[:3]
    right = exact.slopes[:, None] + np.outer(width, [-1, 1])  # twice as wide as those of least squares
    wrong = right.copy()
    wrong[1] += 10 * width[1]
    rest = [[nan, nan], [exact.intercept - 1, exact.intercept + 1]]

    found = quality(model_of(X, y, [*right, *rest], r2_=exact.r2 + 0.01, r2_error_=0.006), X, y)
    assert (found["estimand"], found["not determined"], found["intercept"], found["R²"]) == (1, 0, 1, 1)
    assert found["width"] == pytest.approx(2)
    assert found["R² error"] == pytest.approx(0.01)
    assert (found["columns"], found["few columns"]) == (3, 0)
    found = quality(model_of(X, y, [*wrong, *rest], r2_=exact.r2 - 0.01, r2_error_=0.004), X, y)
    assert (found["estimand"], found["R²"]) == (pytest.approx(2 / 3), 0)
    assert coefficients(model_of(X, y, [*wrong, *rest]), X, y)["estimand"] == pytest.approx(2 / 3)
    wrong[0] = nan
    found = quality(model_of(X, y, [*wrong, *rest]), X, y)
    assert (found["estimand"], found["not determined"]) == (pytest.approx(1 / 2), pytest.approx(1 / 3))


def test_columns_that_are_used_together_are_measured_by_what_the_model_tells(table):
    X, y = table
    told = np.vstack([np.full((4, 2), nan), [y.mean() - 1, y.mean() + 1]])
    bad = float(1 - ((y - X[:, 0]) ** 2).mean() / y.var())  # what it predicts is its first column
    alike = Told(np.tile([-1e9, 1e9], (4, 1)), (-1e9, 1e9), told, bad, 1e-9, warnings_=(TOGETHER,))
    found = quality(alike, X, y)
    assert (found["R²"], found["intercept"], found["not determined"]) == (1, 1, 1)
    assert found["residual error"] == pytest.approx(abs(np.log(np.sqrt(((y - X[:, 0]) ** 2).mean()))))
    chosen = replace(alike, warnings_=())
    assert quality(chosen, X, y)["R²"] == 0  # least squares in all columns explains nearly all


def test_the_truth_is_that_of_a_model_with_all_columns(table):
    X, y = table
    truth, told = np.array([1, 200, 1e-4, 0]), [[0, 2], [199, 199.5], [nan, nan], [nan, nan], [0, 0]]
    assert "truth" not in quality(model_of(X, y, told), X, y, truth)
    whole = Told(np.tile([-1e9, 1e9], (4, 1)), (-1e9, 1e9), np.array(told))
    assert quality(whole, X, y, truth)["truth"] == 0.5


def test_intervals_that_are_too_narrow_are_found_out(rng):
    """Of intervals of ±0.6745 standard errors around a normal estimate, half hold: over 400 tables within 10 %."""
    held = []
    for _ in range(400):
        X, noise = rng.normal(size=(60, 4)), rng.normal(size=60)
        ranges, target = np.tile([-9.0, 9.0], (4, 1)), (-99.0, 99.0)
        design = design_of(Told(ranges, target, np.zeros((5, 2))), X, noise)
        centres = design.clipped().slopes + rng.normal(size=4)
        told = np.vstack([centres[:, None] + [-MEDIAN, MEDIAN], [0, 0]])
        held.append(coefficients(Told(ranges, target, told), X, noise)["estimand"])
    assert np.mean(held) == pytest.approx(0.5, abs=0.05)


def test_prediction_intervals(table):
    X, _ = table
    y = X[:, 0] + np.where(np.arange(400) < 100, 2.0, 0.5)
    assert predictions(model_of(X, y, np.zeros((5, 2))), X, y) == {"predictions": 0.75}


def test_a_constant_has_no_coverage(table):
    X, y = table
    model = Told(np.full((4, 2), nan), None, np.full((5, 2), nan))
    assert quality(model, X, y) == {"columns": 0}
    assert coefficients(model, X, y) == {}
    assert predictions(model, X, y) == {}


# ---- tables


def test_columns_that_others_determine_are_left_out(rng):
    n = 200
    region = rng.integers(3, size=n)
    frame = pd.DataFrame({
        "a": rng.normal(size=n),
        "b": rng.normal(size=n),
        "region": pd.Categorical(region.astype(str), categories=["0", "1", "2", "3"]),
    })  # fmt: skip
    frame["sum"] = 3 * frame["a"] - frame["b"] + 1e6
    frame["half"] = pd.Categorical((region > 0).astype(str))  # known from the region
    frame["constant"] = 4
    frame["last"] = rng.normal(size=n)
    assert list(coverage_study.independent(frame)) == ["a", "b", "region", "last"]


@pytest.mark.parametrize("design", DESIGNS)
def test_simulated_tables_have_the_coefficients_that_they_say(design):
    """On 200,000 records least squares comes within six standard errors; half of the variance is explained."""
    X, y, truth = simulate(Simulated(design, 200_000), 1)
    assert X.shape == (200_000, Simulated(design, 1).columns)
    found = least_squares(X, y)
    assert (np.abs(found.slopes - truth) < 6 * found.errors).all()
    assert found.r2 == pytest.approx(0.5, abs=0.02)
    assert (simulate(Simulated(design, 100), 1)[0] != simulate(Simulated(design, 100), 2)[0]).any()


def make_folder(folder, rng):
    folder.mkdir()
    n = 2500
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n)})
    frame["target"] = frame["a"] - frame["b"] + rng.normal(size=n)
    frame.to_parquet(folder / "1_plain.parquet")
    frame["town"] = pd.Categorical(rng.choice(["north", "south"], size=n))
    frame["target"] += 2 * (frame["town"] == "south")
    frame.to_parquet(folder / "2_towns_PARTIAL.parquet")


@pytest.mark.parametrize("arrays", [False, True])
def test_a_quick_run(arrays, tmp_path, rng, monkeypatch, capsys):
    monkeypatch.setattr(coverage_study, "SIMULATED", (Simulated("independent", 1000),))
    make_folder(tmp_path / "data", rng)
    options = ["--quick", "--jobs", "1", "--out", str(tmp_path / "out"), *(["--as-arrays"] if arrays else [])]
    coverage_study.main([str(tmp_path / "data"), *options])
    assert "[9/9]" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (found["seeds"], found["tables as"]) == (2, "arrays" if arrays else "data frames")
    for here in found["epsilon"].values():
        assert (here["tables"], here["complete"]) == (2, 1)
        for name in coverage_tables.SHOWN:
            assert name in here["measures"], name
    assert set(found["simulated"]) == {"independent, n = 1,000"}
    rows = list(csv.DictReader((tmp_path / "out" / "tables.csv").read_text().splitlines()))
    assert len(rows) == 9
    assert {row["columns"] for row in rows if row["table"] == "towns" and row["epsilon"] == "3"} == {"3"}
    assert (tmp_path / "out" / "chart.svg").read_text().count("<use ") >= 6
    monkeypatch.setattr(coverage_tables, "SUMMARY", tmp_path / "out" / "summary.json")
    coverage_tables._summary.cache_clear()
    assert "1 complete / all 2 tables" in coverage_tables.real()
    assert "independent, n = 1,000" in coverage_tables.simulated()
    assert coverage_tables.line().startswith("Intervals: on 2 public tables at ε = 1")
    coverage_tables._summary.cache_clear()
