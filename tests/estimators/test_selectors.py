"""What users of both selectors rely on: inputs of every kind, hard tables, receipts, repeatability."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from privreg import DPKendall, NotPrivateWarning, SubLasso

SELECTORS = [DPKendall, SubLasso]
both = pytest.mark.parametrize("selector", SELECTORS)


def table(n=400, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 30 * X[:, 2] - 20 * X[:, 5] + rng.normal(size=n)


def reference_dp_kendall(X, y, k):
    """Equation (1) of the paper without noise, with scipy's correlations, for data without ties."""
    tau = lambda a, b: abs(scipy.stats.kendalltau(a, b).statistic)  # noqa: E731
    chosen = []
    for _ in range(k):
        left = [j for j in range(X.shape[1]) if j not in chosen]
        scores = [tau(X[:, j], y) - (np.mean([tau(X[:, j], X[:, c]) for c in chosen]) if chosen else 0) for j in left]
        chosen.append(left[int(np.argmax(scores))])
    return chosen


def test_dp_kendall_with_a_huge_budget_is_equation_one():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        base = rng.normal(size=(300, 3))
        X = np.column_stack([base, base @ rng.normal(size=(3, 5)) + rng.normal(size=(300, 5))])
        y = base.sum(axis=1) + rng.normal(size=300)
        assert DPKendall(k=6, epsilon=1e9).fit(X, y).ranking_.tolist() == reference_dp_kendall(X, y, 6)


@both
def test_finds_the_signal(selector):
    X, y = table(5000)
    fitted = selector(k=2, epsilon=20.0, random_state=0).fit(X, y)
    assert sorted(fitted.ranking_) == [2, 5]
    np.testing.assert_array_equal(fitted.get_support(indices=True), [2, 5])
    np.testing.assert_array_equal(fitted.transform(X), X[:, [2, 5]])


@both
def test_all_kinds_of_table_give_the_same_choice(selector):
    X, y = table()
    level = np.random.default_rng(1).integers(0, 3, len(y))
    names = [f"c{j}" for j in range(8)]
    words = np.array(["low", "mid", "high"])[level]
    columns = dict(zip(names, X.T, strict=True))
    frames = [
        (
            pd.DataFrame(columns | {"w": pd.Categorical(words, categories=["low", "mid", "high"])}),
            pd.Series(y),
        ),
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
    declared = {"w": ["low", "mid", "high"]}
    fits = [selector(k=4, random_state=5, categories=declared).fit(*pair) for pair in frames]
    fits.append(selector(k=4, random_state=5).fit(coded, y))
    for fitted in fits:
        assert fitted.ranking_.tolist() == fits[0].ranking_.tolist()
    encoded = [*names, "w=mid", "w=high"]
    assert fits[0].selected_features_ == [encoded[j] for j in fits[0].ranking_]
    assert fits[3].selected_features_ == fits[3].ranking_.tolist()
    for fitted, (frame, _) in zip(fits, frames, strict=False):
        np.testing.assert_array_equal(fitted.transform(frame), coded[:, fitted.get_support()])
        assert list(fitted.get_feature_names_out()) == [encoded[j] for j in sorted(fitted.ranking_)]


@both
def test_declared_categories(selector):
    X, y = table()
    frame = pd.DataFrame({"a": X[:, 2], "town": np.where(X[:, 5] > 0, "north", "south"), "b": X[:, 0]})
    with pytest.raises(ValueError, match="delta must be positive to find out what is in town"):
        selector(k=2).fit(frame, y)
    fitted = selector(k=2, categories={"town": ["north", "south", "west"]}, epsilon=1e6, random_state=0).fit(frame, y)
    assert set(fitted.selected_features_) == {"a", "town=south"}
    np.testing.assert_array_equal(fitted.transform(frame), np.column_stack([frame["a"], frame["town"] == "south"]))


@both
@pytest.mark.parametrize("k", [3, 4, 100])
def test_enough_k_for_all_columns_costs_nothing(selector, k):
    X, y = table()
    fitted = selector(k=k, epsilon=0.1).fit(X[:, :3], y)
    assert fitted.ranking_.tolist() == [0, 1, 2]
    assert fitted.receipt_.epsilon == 0.0
    assert fitted.receipt_.steps == ()


@both
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.05, 0.0), (0.7, 1e-6), (3.0, 1e-12)])
def test_receipt_stays_within_the_request(selector, epsilon, delta):
    X, y = table(100, 30)
    receipt = selector(k=20, epsilon=epsilon, delta=delta).fit(X, y).receipt_
    assert 0.999 * epsilon < receipt.epsilon <= epsilon
    assert receipt.delta <= delta
    assert receipt.private
    assert receipt.unit == "one record"
    assert [s.mechanism for s in receipt.steps][-20:] == ["exponential"] * 20
    if delta == 1e-6:  # concentrated composition leaves each of many picks more than ε/k
        assert max(s.cost()["epsilon"] for s in receipt.steps[-20:]) > epsilon / 20


@both
def test_a_seed_repeats_and_is_marked(selector):
    X, y = table(200, 12)
    with pytest.warns(NotPrivateWarning):
        first = selector(k=4, epsilon=0.5, random_state=11, n_jobs=1).fit(X, y)
    with pytest.warns(NotPrivateWarning):
        again = selector(k=4, epsilon=0.5, random_state=11, n_jobs=4).fit(X, y)
    assert first.ranking_.tolist() == again.ranking_.tolist()
    assert not first.receipt_.private
    assert "NOT PRIVATE" in str(first.receipt_)


@both
def test_without_a_seed_choices_vary(selector):
    """At ε = 0.01 each of 56 ordered pairs is about equally likely: 30 equal draws have probability below 1e-40."""
    X, y = table(50)
    assert len({tuple(selector(k=2, epsilon=0.01).fit(X, y).ranking_) for _ in range(30)}) > 1


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "abc"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"k": "auto"}, "k must be"),
    ],
)
def test_wrong_parameters_are_named(selector, options, message):
    with pytest.raises(ValueError, match=message):
        selector(**options).fit(*table(20))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_size": 0}, "group_size"),
        ({"group_size": "n"}, "group_size"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": "x"}, "alpha"),
        ({"count_share": 1.0}, "count_share"),
    ],
)
def test_wrong_parameters_of_sub_lasso(options, message):
    with pytest.raises(ValueError, match=message):
        SubLasso(**options).fit(*table(20))


HARD = {
    "no records": lambda X, y: (X[:0], y[:0]),
    "one record": lambda X, y: (X[:1], y[:1]),
    "two records": lambda X, y: (X[:2], y[:2]),
    "constant columns": lambda X, y: (np.ones_like(X), y),
    "constant label": lambda X, y: (X, np.ones_like(y)),
    "duplicate columns": lambda X, y: (X[:, [0] * 8], y),
    "all missing column": lambda X, y: (np.column_stack([X[:, :7], np.full(len(X), np.nan)]), y),
    "infinities": lambda X, y: (np.where(X > 2, np.inf, X), np.where(y < -40, -np.inf, y)),
    "huge": lambda X, y: (X * 1e307, y * 1e306),
    "tiny": lambda X, y: (X * 5e-320, y * 1e-320),
    "mixed scales": lambda X, y: (X * 10.0 ** np.arange(-160, 160, 40), y),
    "integers": lambda X, y: ((X * 10).astype(np.int64), (y * 10).astype(np.int32)),
    "booleans": lambda X, y: (X > 0, y > 0),
    "largest integers": lambda X, y: (np.where(X > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min), y),
}


@both
@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_hard_tables_give_a_result_and_no_warning(selector, case, k):
    X, y = HARD[case](*table(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = selector(k=k).fit(X, y)
        assert sorted(set(fitted.ranking_)) == sorted(fitted.ranking_)
        assert len(fitted.ranking_) == k
        assert fitted.transform(X).shape == (len(X), k)


@both
def test_one_feature(selector):
    X, y = table(30, 6)
    assert selector(k=1).fit(X[:, :1], y).ranking_.tolist() == [0]


def test_a_constant_column_scores_lowest():
    """The paper's own score gives a constant column the highest one."""
    X, y = table(300)
    X[:, 1] = 7.0
    assert 1 not in DPKendall(k=2, epsilon=1e6).fit(X, y).ranking_


@both
def test_a_million_records(selector):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 4))
    X[:, 3] = rng.integers(0, 2, len(X))
    y = 50 * X[:, 0] + X[:, 1]
    assert selector(k=1, epsilon=1.0).fit(X, y).ranking_.tolist() == [0]


@both
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, -1e308, 5e-324, 0.0])
def test_one_record_changes_nothing_that_shows(selector, value):
    """Same messages, same attributes, same receipt, whatever one more record holds."""
    X, y = table(50, 6)
    receipts = []
    for Z, z in ((X, y), (np.vstack([X, np.full(6, value)]), np.append(y, value))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = selector(k=2).fit(Z, z)
        receipts.append((str(fitted.receipt_), sorted(vars(fitted)), repr(fitted)))
    assert receipts[0] == receipts[1]


@both
def test_a_fit_that_dies_leaves_its_receipt(selector, monkeypatch):
    """And nothing of an earlier fit."""
    from privreg.privacy.noise import OpenDPNoise

    X, y = table()
    fitted = selector(k=2, epsilon=0.25).fit(X, y)
    draws = []

    def dies(self, scores, scale):
        draws.append(scale)
        if len(draws) == 2:
            raise MemoryError
        return 0

    monkeypatch.setattr(OpenDPNoise, "pick", dies)
    with pytest.raises(MemoryError):
        fitted.set_params(epsilon=1.0).fit(X, y)
    assert fitted.receipt_.epsilon == pytest.approx(1.0)
    assert not hasattr(fitted, "ranking_")
    assert not hasattr(fitted, "n_models_")
    with pytest.raises(NotFittedError):
        fitted.transform(X)


def test_models_are_forgotten_when_nothing_is_spent():
    X, y = table()
    fitted = SubLasso(k=2).fit(X, y)
    assert fitted.n_models_ >= 1
    assert not hasattr(fitted.set_params(k=8).fit(X, y), "n_models_")


@both
def test_n_jobs_is_checked_before_anything_is_spent(selector):
    with pytest.raises(ValueError, match="n_jobs"):
        selector(n_jobs=0).fit(*table())
    assert selector(k=2, n_jobs=None).fit(*table()).receipt_.private


@both
def test_pandas_with_numbers_as_column_names(selector):
    X, y = table()
    fitted = selector(k=2, epsilon=50.0, random_state=0).fit(pd.DataFrame(X), y)
    assert sorted(fitted.ranking_) == [2, 5]
    np.testing.assert_array_equal(fitted.transform(pd.DataFrame(X)), X[:, [2, 5]])
    with pytest.raises(ValueError, match="input_features"):
        selector(k=2).fit(pd.DataFrame(X).add_prefix("c"), y).get_feature_names_out(["wrong"])


def test_scores_do_not_overflow():
    """The largest possible score at the largest supported size, in round 20."""
    from privreg.kernels.ranks import MAX_RECORDS as n
    from privreg.mechanisms.screening import GRID, round_scores

    label = np.array([n * (n - 1) // 2], object)
    scores = round_scores(label, 19 * label // 2, 19, n)
    assert scores.tolist() == [GRID * n // 4]
    assert scores.astype(np.int64).tolist() == scores.tolist()


@both
def test_in_a_pipeline_with_names(selector):
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    pipeline = make_pipeline(
        selector(k=2, epsilon=50.0, random_state=0).set_output(transform="pandas"), LinearRegression()
    )
    pipeline.fit(frame, y)
    assert pipeline.score(frame, y) > 0.9
    assert list(pipeline[0].transform(frame).columns) == ["c2", "c5"]


@both
def test_transform_takes_an_array_for_a_frame_of_numbers(selector):
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    fitted = selector(k=2).fit(frame, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert np.array_equal(fitted.transform(X), fitted.transform(frame))
    mixed = selector(k=2).fit(frame.assign(flag=y > 0), y)
    with pytest.raises(ValueError, match=r"column 'flag' .* is a category"):
        mixed.transform(X)


@both
def test_transform_wants_the_same_columns(selector):
    X, y = table()
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(["u"] * 400, categories=["u", "v"]), "c": X[:, 1]})
    fitted = selector(k=3, categories="dtype").fit(frame, y)
    assert list(fitted.get_feature_names_out()) == ["a", "b=v", "c"]
    other = frame.assign(b=pd.Categorical(["w"] * 400, categories=["u", "w"]))
    assert not fitted.transform(other)[:, 1].any()  # an unseen level counts as the reference
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame.rename(columns={"a": "z"}))


def test_real_tables_rank_as_scipy_does(real_data):
    """Numeric columns of three of the paper's data sets, ties and all: C − D from scipy's τ-b and its tie counts."""
    from privreg.kendall import kendall_scores

    for name in ("361072_cpu_act", "361094_visualizing_soil", "361093_analcatdata_supreme"):
        data = pd.read_parquet(real_data / f"{name}.parquet").select_dtypes("number")
        y = data.pop("target").to_numpy(float)
        n = len(y)
        ties = lambda v: sum(c * (c - 1) // 2 for c in np.unique(v, return_counts=True)[1].tolist())  # noqa: E731
        for column, ours in zip(data, kendall_scores(data, y), strict=True):
            x = data[column].to_numpy(float)
            untied = np.sqrt((n * (n - 1) // 2 - ties(x)) * (n * (n - 1) // 2 - ties(y)))
            expected = scipy.stats.kendalltau(x, y).statistic * untied / (n - 1)
            assert ours == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_real_table_with_categories(real_data):
    """Diamonds: size decides the price, and having chosen one of its four measures another one is redundant."""
    data = pd.read_parquet(real_data / "361096_diamonds.parquet")
    y = data.pop("target")
    first, second, *_ = DPKendall(k=5, epsilon=10.0, categories="dtype").fit(data, y).selected_features_
    assert first in {"carat", "x", "y", "z"}
    assert second not in {"carat", "x", "y", "z"}
