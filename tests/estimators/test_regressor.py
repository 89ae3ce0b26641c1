"""What users of the regressors rely on: inputs of every kind, hard tables, receipts, repeatability, plain words."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from linear_data import small, table
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    NonDP,
    NotPrivateWarning,
    ParquetTable,
    PrivateLinearRegression,
    TukeyRegression,
)
from privreg.data.schema import Schema, declared_columns
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.results.release import release_of

PRIVATE = [PrivateLinearRegression, TukeyRegression, BoostedAdaSSP, SelectThenRegress]


private = pytest.mark.parametrize("regressor", PRIVATE)


every = pytest.mark.parametrize("regressor", [*PRIVATE, NonDP])


@every
def test_finds_the_model(regressor):
    X, y = table(60_000)
    model = small(regressor, epsilon=10.0).fit(X, y)
    best = 1 - 0.05**2 / np.var(y)
    assert model.score(X, y) > (0.9 if regressor is not SelectThenRegress else 0.7) * best
    assert model.coef_.shape == (3,)
    assert isinstance(model.intercept_, float)


@every
def test_all_kinds_of_table_give_the_same_model(regressor):
    X, y = table()
    level = np.random.default_rng(1).integers(0, 3, len(y))
    words = np.array(["low", "mid", "high"])[level]
    columns = {f"c{j}": X[:, j] for j in range(3)}
    frames = [
        (pd.DataFrame(columns | {"w": pd.Categorical(words, categories=["low", "mid", "high"])}), pd.Series(y)),
        (
            pl.DataFrame(columns | {"w": pl.Series(words.tolist(), dtype=pl.Enum(["low", "mid", "high"]))}),
            pl.Series(y),
        ),
        (
            pa.table(columns | {"w": pa.DictionaryArray.from_arrays(level.astype(np.int8), ["low", "mid", "high"])}),
            pa.array(y),
        ),
    ]
    coded = np.column_stack([X, *(level == i for i in (1, 2))])  # the first level is the reference
    schema = Schema(declared_columns(["c0", "c1", "c2", "w"], {"w": ["low", "mid", "high"]}))
    known = {} if regressor is NonDP else {"schema": schema}
    fits = [small(regressor, epsilon=50.0, random_state=5, **known).fit(*pair) for pair in frames]
    known = {} if regressor is NonDP else {"schema": Schema.numbers(5)}
    fits.append(small(regressor, epsilon=50.0, random_state=5, **known).fit(coded, y))
    for fitted, data in zip(fits, [frame for frame, _ in frames] + [coded], strict=True):
        assert fitted.coef_.shape == (5,)
        np.testing.assert_allclose(fitted.coef_, fits[0].coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fitted.predict(data), fits[0].predict(frames[0][0]), rtol=1e-9, atol=1e-9)


@private
def test_seeds_repeat_and_threads_do_not_matter(regressor):
    X, y = table()
    fits = [small(regressor, random_state=7, n_jobs=jobs).fit(X, y) for jobs in (1, 1, 2, 3)]
    for fitted in fits:
        np.testing.assert_array_equal(fitted.coef_, fits[0].coef_)
        assert fitted.intercept_ == fits[0].intercept_
    other = small(regressor, random_state=8).fit(X, y)
    assert (other.coef_ != fits[0].coef_).any()


@private
def test_without_a_seed_it_is_private_and_never_the_same(regressor):
    X, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPrivateWarning)
        a, b = (small(regressor).fit(X, y) for _ in range(2))
    assert a.receipt_.private
    assert (a.coef_ != b.coef_).any()
    with pytest.warns(NotPrivateWarning):
        assert not small(regressor, random_state=0).fit(X, y).receipt_.private


@private
@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 1e-6), (1.0, 1e-12), (1.0, 0.2), (20.0, 1e-5)])
@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
def test_receipt_stays_within_the_request(regressor, epsilon, delta):
    X, y = table(3000)
    receipt = small(regressor, epsilon=epsilon, delta=delta).fit(X, y).receipt_
    assert receipt.epsilon <= epsilon
    assert receipt.delta <= delta
    json.dumps(receipt.to_dict())
    if epsilon == 20.0:
        assert receipt.epsilon > 0.99 * epsilon


@private
def test_summary(regressor):
    X, y = table(6123)
    frame = pd.DataFrame(X, columns=["age", "pay", "rooms"])
    model = small(regressor, epsilon=8.0).fit(frame, y)
    text = str(model.summary())
    lines = text.splitlines()
    assert "feature" in text
    assert "coef" in text
    named = [line for line in lines if line.split() and line.split()[0] in ("age", "pay", "rooms")]
    assert len(named) == (2 if regressor is SelectThenRegress else 3)
    assert any(line.startswith("(intercept)") for line in lines)
    assert "Spent ε" in text
    assert "6123" not in text
    assert "6,123" not in text
    with pytest.raises(NotFittedError):
        small(regressor).summary()


@private
@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_parameters_are_named(regressor, options, word):
    X, y = table(50)
    with pytest.raises(ValueError, match=word):
        small(regressor, **options).fit(X, y)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (TukeyRegression(calibration="loose"), "calibration"),
        (TukeyRegression(group_size=0.5), "group_size"),
        (TukeyRegression(group_size="big"), "group_size"),
        (TukeyRegression(group_size=True), "group_size"),
        (TukeyRegression(n_records=10**11), "n_records"),
        (TukeyRegression(n_records=True), "n_records"),
        (TukeyRegression(n_records=2.5), "n_records"),
        (TukeyRegression(count_share=1.0), "count_share"),
        (BoostedAdaSSP(rounds=0), "rounds"),
        (BoostedAdaSSP(rounds=1.5), "rounds"),
        (BoostedAdaSSP(clip_x=0.0), "clip_x"),
        (BoostedAdaSSP(clip_y=math.inf), "clip_y"),
        (BoostedAdaSSP(clip_x=True), "clip_x"),
        (BoostedAdaSSP(ridge="none"), "ridge"),
        (BoostedAdaSSP(delta=1e-300), "delta"),
        (SelectThenRegress(selection="best"), "selection"),
        (SelectThenRegress(regression="best"), "regression"),
        (SelectThenRegress(k=0), "k must"),
        (SelectThenRegress(calibration="loose"), "calibration"),
        (SelectThenRegress(regression="adassp", ridge="none"), "ridge"),
    ],
)
def test_wrong_parameters_of_one_method_are_named_before_anything_is_spent(model, word):
    X, y = table(50)
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)
    assert not hasattr(model, "receipt_")


@every
@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
def test_tiny_tables(regressor, n):
    X, y = table(max(n, 1))
    model = small(regressor).fit(X[:n], y[:n])
    assert np.isfinite(model.predict(X)).all()


@every
@pytest.mark.filterwarnings("ignore::privreg.errors.NotReleasedWarning")
def test_hostile_values_change_neither_errors_nor_shapes(regressor):
    X, y = table(2000)
    X[0], X[1, 0], X[2, 1], y[3], y[4] = 1e308, np.nan, np.inf, np.nan, -1e308
    X[5] = 5e-324
    model = small(regressor).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(X[6:])).all()


@every
def test_missing_values_in_new_rows(regressor):
    X, y = table()
    model = small(regressor, epsilon=50.0).fit(X, y)
    new = X[:4].copy()
    new[1] = np.nan
    predicted = model.predict(new)
    assert np.isfinite(predicted[[0, 2, 3]]).all()
    assert np.isnan(predicted[1])


@every
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_an_array_stands_for_a_frame_of_numbers(regressor, library):
    """As scikit-learn has it: a warning, and predictions by the order of the columns."""
    X, y = table()
    frame = library(dict(zip("abc", X.T, strict=True)))
    model = small(regressor).fit(frame, y)
    expected = model.predict(frame)
    for array in (X, X.tolist()):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but .* was fitted with feature"):
            assert np.array_equal(model.predict(array), expected)
    with pytest.warns(UserWarning, match="valid feature names"):
        assert model.score(X, y) == pytest.approx(model.score(frame, y))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features as input"),
    ):
        model.predict(X[:, :2])


@every
def test_an_array_does_not_stand_for_categories(regressor):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town="Oslo", flag=True)
    model = small(regressor, categories={"town": ["Oslo", "Rome"]}).fit(frame, y)
    with pytest.raises(ValueError, match=r"column 'town' .* is a category; pass a data frame"):
        model.predict(X)
    for odd in (frame[["a"]].assign(b=True), pd.DataFrame({0: X[:, 0], 1: True})):
        model = small(regressor, categories=None).fit(odd, y)
        with pytest.raises(ValueError, match=r"column '(b|1)' .* is a category"):
            model.predict(X[:, :2])


def test_methods_that_choose_predict_after_a_fit_on_parquet(tmp_path):
    """The part that fits has an array of the chosen columns before it, whatever the levels of the file are."""
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=["Oslo", "Rome"] * 3000, y=y)
    frame.to_parquet(tmp_path / "people.parquet")
    model = small(SelectThenRegress, categories={"town": ["Oslo", "Rome"]})
    model.fit(ParquetTable(tmp_path / "people.parquet"), "y")
    assert np.isfinite(model.predict(frame.drop(columns="y"))).all()


@every
def test_other_columns_are_refused(regressor):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = small(regressor).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="features"):
        small(regressor).fit(X, y).predict(X[:, :2])


def test_in_a_pipeline_and_cross_validation():
    X, y = table(4000, 6)
    pipeline = make_pipeline(FunctionTransformer(), DPKendall(k=3, epsilon=5.0), BoostedAdaSSP(5.0, 1e-5, rounds=10))
    assert cross_val_score(pipeline, X, y, cv=3).shape == (3,)


def test_a_fit_that_dies_keeps_the_receipt_of_what_was_spent(monkeypatch):
    X, y = table()
    model = small(BoostedAdaSSP).fit(X, y)
    calls = iter(range(5))

    def dies(self, values, scale):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return values

    monkeypatch.setattr("privreg.privacy.noise.OpenDPNoise.gaussian", dies)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.receipt_.steps) == 3
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_selection_that_was_paid_stays_on_the_receipt_when_the_regression_dies(monkeypatch):
    X, y = table()

    def dies(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(TukeyRegression, "_learn", dies)
    model = small(SelectThenRegress)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert [s.mechanism for s in model.receipt_.steps] == ["exponential"] * 2
    for method in (model.summary, lambda: model.predict(X)):
        with pytest.raises(NotFittedError):
            method()


@pytest.mark.parametrize(
    "model",
    [
        SelectThenRegress(k=2, epsilon=1e-9),
        SelectThenRegress(k=2, regression="adassp", delta=1e-250),
        SelectThenRegress(k=2**15, epsilon=1.0),
    ],
)
def test_a_regression_that_cannot_be_planned_is_refused_before_the_selection_spends(model):
    X, y = table(50)
    with pytest.raises(ValueError, match=r"epsilon|delta|columns"):
        model.fit(X, y)
    assert not hasattr(model, "receipt_")


@pytest.mark.parametrize(
    "model",
    [
        SelectThenRegress(k=1, epsilon=np.float32(50)),
        TukeyRegression(epsilon=np.float32(50), delta=np.float32(1e-5), count_share=np.float32(0.1)),
        BoostedAdaSSP(epsilon=np.float64(1), delta=np.float32(1e-5), rounds=np.int64(3), clip_x=np.float32(2)),
    ],
)
def test_numpy_numbers_as_parameters(model):
    X, y = table()
    assert np.isfinite(model.fit(X, y).predict(X)).all()


def test_the_note_and_the_report_count_the_same_features():
    """A column that is left out was offered, too."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.normal(size=5000), "name": [f"person {i}" for i in range(5000)]})
    for method in (PrivateLinearRegression, BoostedAdaSSP):
        model = method(20.0, 1e-5, random_state=1).fit(X, X["age"])
        release = release_of(model)
        assert len(release.coefficients) < len(release.columns)
        assert f"{len(release.coefficients)} of {len(release.columns)} features" in release.notes[0]
