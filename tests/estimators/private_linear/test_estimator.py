"""What users of `PrivateLinearRegression` rely on."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from privreg import PrivateLinearRegression
from privreg.estimators.private_linear import schedule
from privreg.estimators.private_linear.plan_trials import made_up
from privreg.estimators.private_linear.schedule import make_schedule
from scripted import HOSTILE


def table(n=20_000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** np.arange(-2, d - 2) + 1000
    return X, 7 + X @ (1 / 10.0 ** np.arange(-2, d - 2)) + rng.normal(size=n)


def seeded(**options):
    return PrivateLinearRegression(**({"random_state": 3, "n_jobs": 1} | options))


def test_finds_coefficients_in_original_units():
    X, y = table(200_000)
    model = seeded().fit(X, y)
    truth = 1 / 10.0 ** np.arange(-2, 4)
    np.testing.assert_allclose(model.coef_, truth, rtol=0.05)
    assert model.score(X, y) > 0.98 * (1 - 1 / y.var())
    assert model.selected_features_ == list(range(6))
    assert model.warnings_ == []


def test_is_linear_in_its_range():
    X, y = table()
    model = seeded().fit(X, y)
    low, high = model.linear_range_.T
    assert (low < X.mean(axis=0)).all()
    assert (high > X.mean(axis=0)).all()
    inside = ((low <= X) & (high >= X)).all(axis=1)
    assert inside.mean() > 0.9
    predicted = model.predict(X[inside])
    centre, limit = model.model_.target.centre, model.model_.target.limit
    free = np.abs(predicted - centre) < limit * 0.999
    straight = X[inside] @ model.coef_ + model.intercept_
    np.testing.assert_allclose(predicted[free], straight[free], rtol=1e-9)
    far = model.predict(np.full((1, 6), 1e308))
    assert abs(far[0] - centre) <= limit * (1 + 1e-12)


def test_a_seed_gives_one_answer_whatever_the_threads():
    X, y = table(30_000, 12)
    for options in ({"epsilon": 1.0}, {"epsilon": 0.02}, {"k": 4}):
        one, two = (seeded(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
        assert one.summary() == two.summary()
        assert (one.predict(X) == two.predict(X)).all()
        assert (clone(one).fit(X, y).coef_ == one.coef_).all()


def test_k_limits_the_number_of_features():
    X, y = table(20_000, 8)
    for k in (1, 3, 8, 100):
        model = seeded(k=k).fit(X, y)
        assert len(model.selected_features_) == min(k, 8)
        assert np.count_nonzero(model.coef_) == min(k, 8)
        assert np.isnan(model.standard_error_).sum() == 8 - min(k, 8)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 40))
    y = 3 * X[:, 17] - 2 * X[:, 5] + rng.normal(size=5000)
    model = seeded(k=2, epsilon=3.0).fit(pd.DataFrame(X, columns=[f"c{j}" for j in range(40)]), y)
    assert model.selected_features_ == ["c17", "c5"]


def test_columns_that_the_data_cannot_carry_are_left_out():
    X, y = table(2000, 60)
    model = seeded(epsilon=0.5).fit(X, y)
    assert 3 <= len(model.selected_features_) < 30
    assert sum(step.name.startswith("choose feature") for step in model.receipt_.steps) == len(model.selected_features_)


@pytest.mark.parametrize("d", [5, 50])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 30, 100, 300, 1000])
def test_few_records(n, d):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 50 if n else np.empty(0)
    for epsilon in (0.1, 1.0, 10.0):
        model = PrivateLinearRegression(epsilon).fit(X, y)
        assert np.isfinite(model.predict(rng.normal(size=(5, d)))).all()
        assert np.isfinite([*model.coef_, model.intercept_]).all()
        assert model.receipt_.epsilon <= epsilon
        text = str(model.summary())
        assert ("Warning:" in text) == bool(model.warnings_)
        if not len(model.selected_features_):  # terms whose scale is a guess predict, but have no coefficient
            assert ("left out of the coefficients" if model.model_.terms else "The model is a constant") in text
        if n <= 10 and epsilon <= 1:
            assert not len(model.selected_features_)
            assert "centre of the target" in text


SKEWED = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "one in ten": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "below its median": lambda rng, n: 20 - rng.gamma(0.5, size=n),
}


@pytest.mark.parametrize("target", SKEWED)
def test_a_constant_is_a_mean(target, monkeypatch):
    """Half of seeded fits lie within a tenth of a deviation of the mean; the medians are 0.31, 0.33 and 0.39 away."""
    monkeypatch.setattr(schedule, "SMALLEST_SIZE", np.inf)
    rng = np.random.default_rng(0)
    y, X = SKEWED[target](rng, 12_000), np.zeros((12_000, 1))
    models = [seeded(epsilon=0.03, random_state=seed).fit(X, y) for seed in range(31)]
    assert np.median([abs(model.intercept_ - y.mean()) for model in models]) < 0.1 * y.std()
    assert all(model.receipt_.steps[-1].name == "mean of the target" for model in models)


def test_noise_is_called_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3000, 20)), rng.normal(size=3000)
    texts = [seeded(epsilon=0.3, random_state=seed).fit(X, y).warnings_ for seed in range(20)]
    assert sum(any("noise" in t for t in text) for text in texts) >= 16
    y = X @ np.ones(20) + y
    texts = [seeded(epsilon=3.0, random_state=seed).fit(X, y).warnings_ for seed in range(20)]
    assert all(text == [] for text in texts)


def test_what_is_lost_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 3))
    nearly_all_equal = (rng.random(5000) < 0.002).astype(float)
    for y in (nearly_all_equal, 1e12 + X[:, 0]):
        model = seeded(epsilon=0.5).fit(X, y)
        assert model.selected_features_ == []
        assert "too little data at this budget to find the target's scale" in str(model.summary())
        assert [step.name for step in model.receipt_.steps][-2:] == ["spread of the target again", "mean of the target"]
        assert model.receipt_.epsilon == pytest.approx(0.5)
        assert model.predict(X).mean() == pytest.approx(y.mean(), rel=1e-4, abs=0.01)
    model = seeded().fit(X + np.array([0, 1e12, 0]), X.sum(axis=1))
    assert model.selected_features_ == [0, 2]
    (told,) = model.warnings_
    assert told.startswith("x1: too little data at this budget to find its scale, or it hardly varies; left out")


LABELS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "log-normal": lambda rng, n: rng.lognormal(size=n),
    "0/1": lambda rng, n: rng.integers(2, size=n).astype(float),
    "heavy-tailed": lambda rng, n: rng.standard_t(2, size=n),
}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("d", [5, 50])
@pytest.mark.parametrize("epsilon", [math.log(3), 0.3, 0.1])
def test_pure_noise_does_no_harm(label, d, epsilon):
    scores = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(3000, d)), LABELS[label](rng, 3000)
        model = seeded(epsilon=epsilon, delta=1e-5, random_state=seed).fit(X[:1000], y[:1000])
        scores.append(model.score(X[1000:], y[1000:]))
    # A skewed label at the smallest budget gives a constant between its median and its mean: -0.09 is the median.
    assert np.median(scores) > (-0.08 if (label, epsilon) == ("log-normal", 0.1) else -0.05)


def test_hard_columns():
    """Constant, tiny, huge, nearly constant, dependent and atomic columns in one table."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=20_000)
    X = np.column_stack(
        [z, np.full(20_000, 3.0), z * 1e-9, z * 1e12, 1e6 + 10 * z, z, np.round(z), rng.standard_cauchy(20_000), z > 0]
    )
    y = z + rng.normal(size=20_000) / 10
    model = seeded().fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.isfinite(model.coef_).all()
    alone = seeded().fit(X[:, [4]], y)  # a spread of a hundred-thousandth of the value
    assert alone.score(X[:, [4]], y) > 0.9


@pytest.mark.parametrize("seed", [3, 6])
def test_no_privacy_is_least_squares(seed):
    """Without noise to speak of, long tails must not be fitted by the few records in them (the seeds show it)."""
    X, y = made_up(24_000, 3, 0.1, np.random.default_rng([0, 0, seed]))
    train, test = slice(0, 20_000), slice(20_000, None)
    model = seeded(epsilon=1e5, random_state=1).fit(X[train], y[train])
    exact = LinearRegression().fit(X[train], y[train])
    assert model.score(X[test], y[test]) > exact.score(X[test], y[test]) - 0.005


@pytest.mark.parametrize("value", [*HOSTILE, np.nan, np.inf])
def test_one_hostile_record_is_no_event(value):
    """No error, no warning (they are errors here), hardly another model."""
    X, y = table(20_000, 4)
    X[7], y[7] = value, value
    assert seeded().fit(X, y).score(X[8:], y[8:]) > 0.75  # without noise 0.8


@pytest.mark.parametrize("label", [0.0, 5.0, -1e300, 1e-300])
def test_constant_labels(label):
    X, _ = table(2000, 3)
    model = seeded().fit(X, np.full(2000, label))
    assert np.isfinite(model.predict(X)).all()
    if label in (0.0, 5.0):
        assert np.abs(model.predict(X) - label).max() < 0.1


def test_wrong_parameters_are_named():
    X, y = table(50)
    for options, name in (
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1e-9}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"k": 0}, "k "),
        ({"k": "many"}, "k "),
        ({"k": 2.5}, "k "),
        ({"k": True}, "k "),
        ({"rows_per_person": 1.5}, "rows_per_person"),
        ({"rows_per_person": 10**8}, "rows_per_person"),
    ):
        model = PrivateLinearRegression(**options)
        with pytest.raises(ValueError, match=name):
            model.fit(X, y, groups=np.arange(50))
        assert not hasattr(model, "receipt_")


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 50.0, 1e6])
@pytest.mark.parametrize("delta", [1e-100, 1e-12, 0.5])
def test_extreme_budgets(epsilon, delta):
    X, y = table(500, 3)
    model = PrivateLinearRegression(epsilon, delta).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert 0 < model.receipt_.epsilon <= epsilon
    assert model.receipt_.delta <= delta
    if epsilon >= 50:
        assert seeded(epsilon=epsilon, delta=delta).fit(X, y).score(X, y) > 0.5


def test_the_schedule_spends_everything():
    for size in (0.1, 49.9, 50, 80, 300, 1e4, 1e8):
        for available, wanted in ((0, None), (1, None), (20, None), (20, 5), (5000, None), (5000, 2000)):
            schedule = make_schedule(size, available, wanted)
            assert schedule.total == pytest.approx(1, abs=1e-12)
            assert schedule.columns <= min(available, wanted or available, 1000)
            assert (schedule.selection > 0) == (0 < schedule.columns < available)
    X, y = table(3000, 10)
    for epsilon in (0.01, 0.3, 3.0):
        receipt = seeded(epsilon=epsilon).fit(X, y).receipt_
        assert receipt.epsilon == pytest.approx(epsilon, rel=1e-6)


# ---- uncertainty


@pytest.mark.parametrize("n", [2000, 20_000])
def test_intervals_cover(n):
    """The full study is benchmarks/coverage_study.py; here 160 tables of 5 coefficients, seeded."""
    hits, widths = [], []
    for seed in range(160):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 5)) @ np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(range(5), range(5)))).T
        truth = rng.normal(size=5)
        y = X @ truth + 2 * rng.normal(size=n)
        low, high = np.asarray(seeded(random_state=seed).fit(X, y).conf_int())[:-1].T
        hits += ((low <= truth) & (truth <= high)).tolist()
        exact = 2 * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))  # standard errors of least squares
        widths += ((high - low) / (2 * 1.96 * exact)).tolist()
    assert np.mean(hits) >= 0.95
    assert 1 < np.median(widths) < (6 if n == 2000 else 2)


def test_errors_shrink_with_data_and_budget():
    def error(n, epsilon):
        X, y = table(n, 4)
        return np.median([seeded(epsilon=epsilon, random_state=s).fit(X, y).standard_error_ for s in range(5)], axis=0)

    assert (error(4000, 1.0) > error(40_000, 1.0)).all()
    assert (error(4000, 1.0) > error(4000, 10.0)).all()


# ---- real data


@pytest.mark.parametrize(
    ("name", "epsilon", "least"),
    [
        ("361072_cpu_act", math.log(3), 0.65),
        ("361089_california", math.log(3), 0.65),
        ("361089_california", 0.1, 0.6),
        ("361074_elevators", 0.3, 0.7),
        ("361093_analcatdata_supreme", 0.1, -0.12),
    ],
)
def test_useful_where_the_paper_is_not(real_data, name, epsilon, least):
    """Medians of five splits, seeded; the whole table is results/flagship/."""
    frame = pd.read_parquet(real_data / f"{name}.parquet")
    y = frame.pop("target").to_numpy(float)
    scores = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        model = seeded(epsilon=epsilon, delta=1e-5, random_state=seed).fit(frame.iloc[train], y[train])
        scores.append(model.score(frame.iloc[test], y[test]))
    assert np.median(scores) > least


def towns(seed, rows=6000):
    rng = np.random.default_rng(seed)
    town = rng.integers(3, size=rows)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, rows),
            "town": pd.Categorical.from_codes(town, ["a", "b", "c"]),
            "ok": rng.random(rows) < 0.3,
        }
    )
    return X, 2 * X.age + np.array([0.0, 20.0, -12.0])[town] + 7 * X.ok + rng.normal(0, 10, rows)


def test_levels_are_differences_from_their_reference():
    truth = {"town=b": 20, "town=c": -12, "ok=True": 7}
    inside = []
    for seed in range(20):
        X, y = towns(seed)
        model = PrivateLinearRegression(1.0, 1e-6, categories={"town": ["a", "b", "c"]}, random_state=seed).fit(X, y)
        assert model._names == ["age", *truth]
        found = dict(zip(truth, zip(model.coef_[1:], model.standard_error_[1:], strict=True), strict=True))
        inside += [abs(found[name][0] - truth[name]) < 1.96 * found[name][1] for name in truth]
        # A coefficient is what a level makes to a prediction, beside its reference.
        row = pd.DataFrame({"age": [50.0] * 2, "town": ["a", "c"], "ok": [True, True]})
        first, second = model.predict(row)
        assert second - first == pytest.approx(found["town=c"][0], rel=1e-9)
    assert sum(inside) >= 54  # of 60; the seeds are fixed
    assert "Reference levels: town = a, ok = False." in str(model.summary())


def test_the_reference_of_levels_that_were_found_is_the_most_common_one():
    X, y = towns(0)
    X["town"] = X["town"].astype(object).where(X.index % 4 != 0, "c")
    model = PrivateLinearRegression(3.0, random_state=0).fit(X, y)
    town = model.schema_.columns[1]
    assert town.found
    assert town.levels[0] == "c"
    assert set(model._names) == {"age", "town=a", "town=b", "ok=True"}
    assert "Reference levels: town = c, ok = False." in str(model.summary())


def test_names_of_categories_may_have_an_equals_sign():
    X, y = towns(0)
    X = pd.DataFrame({"a=b": X.town, "a=c": X.ok, "a": X.age})
    model = PrivateLinearRegression(3.0, random_state=0, categories={"a=b": ["a", "b", "c"]}).fit(X, y)
    assert model._names == ["a=b=b", "a=b=c", "a=c=True", "a"]
    assert [(f.category, f.level) for f in model._features] == [("a=b", "b"), ("a=b", "c"), ("a=c", True), (None, None)]


def test_a_table_whose_columns_are_all_left_out_gives_a_constant():
    """Also if there are records enough for a model."""
    y = np.random.default_rng(0).normal(5, 1, 3000)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(3000)], "same": "x"})
    model = seeded(epsilon=3.0).fit(frame, y)
    assert model.selected_features_ == []
    assert model.coef_.tolist() == [0.0, 0.0]
    assert model.predict(frame[:1])[0] == pytest.approx(5, abs=0.1)
    assert "The model is a constant: no column can be used." in str(model.summary())
    assert "id: no value is common enough to be found at this budget; left out." in model.warnings_
    assert "same: only one value could be found at this budget; left out." in model.warnings_
    assert model.receipt_.epsilon == pytest.approx(3.0, rel=1e-3)


@pytest.mark.parametrize("limits", ["narrow", "wide"])
def test_how_good_the_model_is(limits):
    """Without noise to speak of: R² and residual error of the predictions, on the records of the fit."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 4))
    y = X @ [3, -1, 0, 0.5] + 2 * rng.normal(size=20_000) + 7
    model = seeded(epsilon=1e4, limits=limits).fit(X, y)
    assert model.r2_ == pytest.approx(model.score(X, y), abs=0.005)
    assert abs(model.r2_ - model.score(X, y)) < 3 * model.r2_error_
    assert model.residual_error_ == pytest.approx(2, rel=0.02)


def test_wide_limits_are_closer_to_plain_least_squares():
    rng = np.random.default_rng(5)
    X = np.exp(rng.normal(size=(30_000, 3)))
    y = X @ [1, 2, -1] + 5 * rng.normal(size=30_000)
    exact = LinearRegression().fit(X, y).coef_
    narrow, wide = (seeded(epsilon=3.0, limits=limits).fit(X, y) for limits in ("narrow", "wide"))
    errors = [np.abs(np.asarray(model.params)[:-1] - exact).max() for model in (narrow, wide)]
    assert errors[1] < 0.5 * errors[0]
    assert (wide.linear_range_[:, 1] > narrow.linear_range_[:, 1]).all()
    low, high = np.asarray(wide.conf_int())[:-1].T
    assert ((low <= exact) & (exact <= high)).all()


def test_limits_are_checked():
    with pytest.raises(ValueError, match='limits must be "narrow" or "wide"'):
        seeded(limits="broad").fit(*table(100, 2))


def clipped_least_squares(model, X, y):
    """What estimates are said to estimate, the intercept last."""
    low, high = model.linear_range_.T
    columns = np.column_stack([np.clip(X, low, high), np.ones(len(X))])
    return np.linalg.lstsq(columns, np.clip(y, *model.prediction_range()), rcond=None)[0]


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_a_long_tailed_column_has_the_slope_of_the_clipped_table(epsilon):
    """Much of the target lies beyond its range: records there must not count for less than others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    X[:, 2] = np.exp(1.2 * X[:, 2])
    y = X @ [1, 0, 0.5] + rng.normal(size=20_000)
    models = [seeded(epsilon=epsilon, random_state=seed).fit(X, y) for seed in range(6)]
    errors = [np.asarray(model.params) - clipped_least_squares(model, X, y) for model in models]
    far = [np.abs(error / model.bse).max() > 3 for model, error in zip(models, errors, strict=True)]
    assert sum(far) <= 1


def test_r2_of_a_long_tailed_target():
    """With next to no noise, what extreme records explain is not cut off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    X[:, 1] = np.exp(1.2 * X[:, 1])
    y = X @ [1, 0.5] + rng.normal(size=20_000)
    model = seeded(epsilon=30.0).fit(X, y)
    assert abs(model.r2_ - model.score(X, np.clip(y, *model.prediction_range()))) < 2 * model.r2_error_
