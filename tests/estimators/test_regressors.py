"""What users of the regressors rely on: inputs of every kind, hard tables, receipts, repeatability, plain words."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from privreg import (
    BoostedAdaSSP,
    DPKendall,
    NonDP,
    NotPrivateWarning,
    NotReleasedWarning,
    ParquetTable,
    PrivateLinearRegression,
    TukeyRegression,
)
from privreg.estimators.select_then_regress import SelectThenRegress

PRIVATE = [PrivateLinearRegression, TukeyRegression, BoostedAdaSSP, SelectThenRegress]
private = pytest.mark.parametrize("regressor", PRIVATE)
every = pytest.mark.parametrize("regressor", [*PRIVATE, NonDP])


def table(n=6000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, d))
    return X, X @ np.linspace(0.2, 0.8, d) + 0.1 + 0.05 * rng.normal(size=n)


def small(regressor, **options):
    """A regressor that is quick and releases something on a few thousand records."""
    if regressor is NonDP:
        return NonDP(**{k: v for k, v in options.items() if k == "categories"})
    options = {"epsilon": 3.0, "delta": 1e-5, "n_jobs": 1} | options
    if regressor is BoostedAdaSSP:
        options = {"rounds": 10} | options
    if regressor is SelectThenRegress:
        options = {"k": 2} | options
    return regressor(**options)


@every
def test_finds_the_model(regressor):
    X, y = table(60_000)
    model = small(regressor, epsilon=10.0).fit(X, y)
    best = 1 - 0.05**2 / np.var(y)
    assert model.score(X, y) > (0.9 if regressor is not SelectThenRegress else 0.7) * best
    assert model.coef_.shape == (3,)
    assert isinstance(model.intercept_, float)


@pytest.mark.parametrize("calibration", ["strict", "paper"])
def test_tukey_is_near_least_squares_on_many_records(calibration):
    X, y = table(40_000)
    model = TukeyRegression(epsilon=2.0, delta=1e-5, calibration=calibration).fit(X, y)
    exact = LinearRegression().fit(X, y)
    assert model.released_
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.02)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=0.02)


def test_adassp_approaches_least_squares_on_clipped_rows():
    """With a huge budget and many rounds it solves the clipped problem."""
    X, y = table(5000)
    model = BoostedAdaSSP(epsilon=1e6, delta=1e-5, rounds=20).fit(X, y)
    clipped = np.column_stack([X, np.ones(len(y))])
    clipped /= np.linalg.norm(clipped, axis=1)[:, None]
    exact = np.linalg.lstsq(clipped, y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], exact, atol=2e-3)
    np.testing.assert_allclose(model.predict(X), clipped @ [*model.coef_, model.intercept_], rtol=1e-12)


@pytest.mark.parametrize(("clip_x", "clip_y"), [(2.0, 1.0), (1.0, 0.5), (8.0, 5.0)])
def test_adassp_clip_norms_change_units_only_where_nothing_is_clipped(clip_x, clip_y):
    """Rows of norm below clip_x are left as they are, so the fit is then that of least squares."""
    X, y = table(5000)
    model = BoostedAdaSSP(epsilon=1e6, delta=1e-5, rounds=20, clip_x=clip_x, clip_y=clip_y).fit(X, y)
    factor = np.minimum(1, clip_x / np.sqrt(1 + (X**2).sum(axis=1)))[:, None]
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]) * factor, y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], exact, atol=5e-3)


def test_adassp_ridges():
    X, y = table(3000)
    fits = {
        ridge: BoostedAdaSSP(delta=1e-5, ridge=ridge, random_state=3).fit(X, y) for ridge in ("adassp", "reference")
    }
    assert fits["adassp"].receipt_.to_dict() == fits["reference"].receipt_.to_dict(), "equally private"
    assert not np.allclose(fits["adassp"].coef_, fits["reference"].coef_)
    model, sigma = BoostedAdaSSP(), 2.0
    matrix = np.diag([100.0, 50.0])
    ridge = math.sqrt(2 * math.log(8 / 0.05)) * sigma - (8 - math.sqrt(2 * math.log(20)))
    np.testing.assert_allclose(model._invert(matrix, sigma, 8.0, 1.0), np.diag(1 / (np.array([100, 50]) + ridge)))
    np.testing.assert_allclose(model._invert(matrix, sigma, 1e3, 1.0), np.diag([0.01, 0.02]))
    reference = BoostedAdaSSP(ridge="reference")
    np.testing.assert_allclose(reference._invert(matrix, sigma, 8.0, 1.0), np.diag([1 / 108, 1 / 58]))


def test_adassp_survives_a_noisy_matrix_that_is_not_positive_definite():
    values = np.diag([-5.0, 1.0])
    inverse = BoostedAdaSSP()._invert(values, 0.1, 0.0, 0.1)
    assert np.linalg.eigvalsh(inverse).min() > 0


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
    one_hot = np.column_stack([X, *(level == i for i in range(3))])
    fits = [small(regressor, epsilon=50.0, random_state=5).fit(*pair) for pair in [*frames, (one_hot, y)]]
    for fitted, data in zip(fits, [frame for frame, _ in frames] + [one_hot], strict=True):
        assert fitted.coef_.shape == (6,)
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


def test_receipt_of_tukey_names_its_unit():
    X, y = table()
    strict = small(TukeyRegression).fit(X, y).receipt_
    paper = small(TukeyRegression, calibration="paper").fit(X, y).receipt_
    assert strict.unit == "one record"
    assert "for adding or removing one record" in str(strict)
    assert "for adding or removing one model in the draw" in str(paper)
    assert "no guarantee for one record" in str(paper)
    assert [s.mechanism for s in strict.steps] == ["laplace", "propose-test-release"]
    assert [s.steps for s in (strict.steps[1], paper.steps[1])] == [2, 1]
    count = strict.steps[0]
    assert float(count.pure) == pytest.approx(0.05 * 3.0)


def test_receipt_with_many_rounds_is_short_to_read():
    X, y = table(500)
    receipt = BoostedAdaSSP(delta=1e-5, rounds=100).fit(X, y).receipt_
    assert len(receipt.steps) == 102
    text = str(receipt)
    assert len(text.splitlines()) < 12
    assert "boosting round 1 … 100" in text
    assert len(receipt.to_dict()["steps"]) == 102


def test_a_known_number_of_records_saves_the_count():
    X, y = table()
    model = small(TukeyRegression, n_records=5600, group_size=8).fit(X, y)
    assert model.n_models_ == 700
    assert [s.mechanism for s in model.receipt_.steps] == ["propose-test-release"]
    assert model.receipt_.epsilon > 0.99 * 3.0


def test_when_the_test_fails():
    X, y = table(200)
    with pytest.warns(NotReleasedWarning, match="larger epsilon"):
        model = TukeyRegression().fit(X, y)
    assert model.released_ is False
    np.testing.assert_array_equal(model.predict(X), np.zeros(200))
    assert "No model was released" in model.summary()
    for help in ("More records", "fewer features", "larger epsilon"):
        assert help in model.summary()
    assert clone(model).get_params() == model.get_params()


def test_when_models_differ_too_much_the_test_fails():
    """Enough groups, but their models span hundreds of orders of magnitude: no middle is stable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = rng.choice([-1, 1], 4000) * 10.0 ** rng.uniform(-150, 150, 4000)
    with pytest.warns(NotReleasedWarning):
        model = TukeyRegression(epsilon=1.0, delta=1e-6, group_size=5).fit(X, y)
    assert not model.released_
    assert model.receipt_.epsilon > 0.99, "the test was made, so it was paid for"


@private
def test_summary(regressor):
    X, y = table(6123)
    frame = pd.DataFrame(X, columns=["age", "pay", "rooms"])
    model = small(regressor, epsilon=8.0).fit(frame, y)
    text = model.summary()
    lines = text.splitlines()
    assert "feature" in text
    assert "coefficient" in text
    named = [line for line in lines if line.split() and line.split()[0] in ("age", "pay", "rooms")]
    assert len(named) == (2 if regressor is SelectThenRegress else 3)
    assert any(line.startswith("(intercept)") for line in lines)
    assert "total: ε" in text
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
    with pytest.raises(ValueError, match=r"column 'town' .* is a category: pass a data frame"):
        model.predict(X)
    for odd in (frame[["a"]].assign(b=True), pd.DataFrame({0: X[:, 0], 1: True})):
        model = small(regressor, categories=None).fit(odd, y)
        with pytest.raises(ValueError, match=r"column 'b' .* is a category|other feature columns or declared levels"):
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


class TestNonDP:
    def test_is_least_squares(self):
        X, y = table(500)
        model, exact = NonDP().fit(X, y), LinearRegression().fit(X, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-10)
        assert model.intercept_ == pytest.approx(exact.intercept_, rel=1e-10)

    def test_badly_scaled_columns(self):
        """Columns from 1e-9 to 1e9 with large offsets: the fit must be that of the same columns well scaled."""
        rng = np.random.default_rng(2)
        Z = rng.normal(size=(3000, 4))
        y = Z @ [1.0, -2.0, 0.5, 3.0] + rng.normal(size=3000)
        X = Z * [1e-9, 1e9, 1.0, 1e5] + [1e-7, 3e9, 100.0, -2e6]
        np.testing.assert_allclose(NonDP().fit(X, y).predict(X), LinearRegression().fit(Z, y).predict(Z), atol=1e-6)

    def test_house_16H(self, real_data):
        """Where scikit-learn's cut-off loses columns (R² 0.14), it must be as good as full-precision least squares."""
        frame = pd.read_parquet(real_data / "361079_house_16H.parquet")
        y = frame.pop("target").to_numpy()
        X = frame.to_numpy(float)
        scores, full, plain = [], [], []
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            test, train = order[: len(y) // 10], order[len(y) // 10 :]
            scale = X[train].std(axis=0)
            a = np.column_stack([(X - X[train].mean(axis=0)) / scale, np.ones(len(y))])
            theta = np.linalg.lstsq(a[train], y[train], rcond=None)[0]
            total = ((y[test] - y[test].mean()) ** 2).sum()
            full.append(1 - ((y[test] - a[test] @ theta) ** 2).sum() / total)
            scores.append(NonDP().fit(X[train], y[train]).score(X[test], y[test]))
            plain.append(LinearRegression().fit(X[train], y[train]).score(X[test], y[test]))
        np.testing.assert_allclose(scores, full, atol=1e-6)
        assert np.median(scores) > np.median(plain) + 0.05

    @pytest.mark.parametrize("constant", [0.1, 1 / 3, 7.0, 1e300])
    @pytest.mark.parametrize("n", [1000, 3000])
    def test_a_constant_column_gets_no_coefficient(self, constant, n):
        """Even if its mean is not exactly the constant in floating point, and the target is far from 0."""
        rng = np.random.default_rng(4)
        X = np.column_stack([rng.normal(size=n), np.full(n, constant)])
        y = 2 * X[:, 0] + 1000 + rng.normal(size=n)
        model = NonDP().fit(X, y)
        assert model.coef_[1] == 0
        assert model.predict([[0.0, constant + 1]])[0] == pytest.approx(1000, abs=1)

    def test_dependent_columns_and_chunks(self, monkeypatch):
        rng = np.random.default_rng(3)
        level = rng.integers(0, 4, 2000)
        X = np.column_stack([rng.normal(size=2000), *(level == i for i in range(4))]).astype(float)
        X = np.column_stack([X, X[:, 0] * 2, np.zeros(2000), np.full(2000, 7.0)])
        y = X[:, 0] + level + rng.normal(size=2000)
        expected = LinearRegression().fit(X, y).predict(X)
        for chunk in (10, 1000, 10**9):
            monkeypatch.setattr("privreg.estimators.non_dp._CHUNK", chunk)
            model = NonDP().fit(X, y)
            np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8)
            assert np.abs(model.coef_).max() < 100
