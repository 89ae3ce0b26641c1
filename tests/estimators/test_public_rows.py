"""`fit(..., public=rows)`: what public rows change, what may be wrong with them, and what is said about them."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import validate
from sklearn.base import clone

from ledgers import opened
from models import SCHEMA
from privreg import ParquetTable, PrivateLinearRegression, SchemaError, SchemaReader, load_model, open_file
from privreg.data.schema import CATEGORY, NUMBER, Column, Schema
from privreg.estimators.private_linear.estimator import TOO_FEW_PUBLIC
from privreg.report.deployment import Context, deployment_record, to_register
from privreg.report.model import report_page
from privreg.results.release import public_note, release_of

pytestmark = pytest.mark.filterwarnings("ignore::privreg.errors.NotPrivateWarning", "ignore::privreg.errors.FitWarning")
N = 1500


def make(rng, n):
    frame = pd.DataFrame(
        {"a": rng.normal(3, 2, n), "b": rng.exponential(size=n), "town": rng.choice(["x", "y", "z"], n)}
    )
    frame["pay"] = frame.a - 2 * frame.b + 3 * (frame.town == "x") + rng.normal(size=n)
    return frame


TABLE, PUBLIC = make(np.random.default_rng(0), N), make(np.random.default_rng(1), 300)
NUMBERS, NUMBERS_PUBLIC = TABLE[["a", "b"]].to_numpy(), PUBLIC[["a", "b"]].to_numpy()
TARGET = TABLE.pay.to_numpy()


def estimator(**options):
    return PrivateLinearRegression(2.0, 1e-5, random_state=1, n_jobs=1, **options)


def fitted(public, table=TABLE, **options):
    return estimator(**options).fit(table, "pay", public=public)


def state(model):
    return json.dumps([model._saved(), model.receipt_.to_dict()], sort_keys=True)


def test_none_is_as_if_the_argument_were_not_there():
    assert state(fitted(None)) == state(estimator().fit(TABLE, "pay"))
    assert fitted(None).n_public_rows_ == 0


def test_nothing_is_spent_on_columns_and_all_of_the_budget_on_the_rest():
    without, model = fitted(None), fitted(PUBLIC)
    names = [step.name for step in model.receipt_.steps]
    assert not any(name.startswith(("median of column", "spread of column")) for name in names)
    assert any(name.startswith("median of column") for name in [step.name for step in without.receipt_.steps])
    assert model.receipt_.epsilon == pytest.approx(without.receipt_.epsilon)
    assert model.receipt_.epsilon <= 2.0
    assert model.receipt_.budget == without.receipt_.budget
    assert model.n_public_rows_ == 300
    assert model.coef_ == pytest.approx([1, -2, -3, -3], abs=0.7) or model.coef_ == pytest.approx(
        [1, -2, 3, 0], abs=0.7
    )


def test_scales_are_those_of_the_public_rows():
    """Limits are symmetric about the public median, whatever the private rows are."""
    model = estimator().fit(NUMBERS, TARGET, public=NUMBERS_PUBLIC)
    middle = model.linear_range_.mean(axis=1)
    assert middle == pytest.approx(np.quantile(NUMBERS_PUBLIC, 0.5, axis=0, method="lower"), rel=1e-4)
    other = estimator().fit(NUMBERS * 7 + 5, TARGET, public=NUMBERS_PUBLIC)
    assert np.array_equal(other.linear_range_, model.linear_range_)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(60)))
def test_the_order_of_public_rows_does_not_matter(order):
    one = estimator().fit(NUMBERS, TARGET, public=NUMBERS_PUBLIC[:60])
    other = estimator().fit(NUMBERS, TARGET, public=NUMBERS_PUBLIC[:60][order])
    assert state(one) == state(other)


def _csv(frame, folder):
    frame.to_csv(folder / "public.csv", index=False)
    return open_file(folder / "public.csv")


def _parquet(frame, folder):
    frame.to_parquet(folder / "public.parquet")
    return ParquetTable(folder / "public.parquet")


def _dask(frame, _):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


KINDS = {
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame),
    "csv": _csv,
    "parquet": _parquet,
    "dask": _dask,
    "other order": lambda frame, _: frame[frame.columns[::-1]],
    "no target": lambda frame, _: frame.drop(columns="pay"),
    "objects": lambda frame, _: frame.astype(object),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_every_kind_of_table_gives_the_same_model(kind, tmp_path):
    assert state(fitted(kind(PUBLIC, tmp_path))) == state(fitted(PUBLIC))


@pytest.mark.parametrize("kind", [_parquet, _csv, _dask])
def test_private_tables_of_other_kinds(kind, tmp_path):
    assert fitted(PUBLIC, kind(TABLE, tmp_path)).n_public_rows_ == 300


def test_lists():
    model = estimator().fit(NUMBERS.tolist(), TARGET, public=NUMBERS_PUBLIC.tolist())
    assert state(model) == state(estimator().fit(NUMBERS, TARGET, public=NUMBERS_PUBLIC))


# ---- what is wrong with names and types, before anything is spent

WRONG = {
    "missing": (PUBLIC.drop(columns="b"), "the public rows have no column 'b', which the table has"),
    "extra": (PUBLIC.assign(shoe=1.0), "the public rows have a column 'shoe', which the table does not have"),
    "array": (NUMBERS_PUBLIC, "the public rows have no column names, but the table has"),
    "time": (PUBLIC.assign(a=pd.Timestamp("2020-01-01")), "column 'a' is of type .* in the public rows"),
    "lists": (pa.table({**PUBLIC[["b", "town"]], "a": [[1.0]] * 300}), "column 'a' of the public rows is of type"),
    "one column": (PUBLIC.a, "got 1D array instead: public"),
    "text": (np.array([["a", "b"]]), "public has the numpy type str_"),
    "no columns": (PUBLIC[[]], "public has 0 feature"),
    "twice": (pd.concat([PUBLIC, PUBLIC[["a"]]], axis=1), "'a'"),
}


@pytest.mark.parametrize(("public", "text"), WRONG.values(), ids=WRONG.keys())
def test_wrong_columns_are_refused_before_anything_is_spent(public, text, tmp_path):
    ledger = opened(tmp_path, "5", "1e-4")
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people")
    for call in (model.fit, model.check):
        with pytest.raises(SchemaError, match=text):
            call(TABLE, "pay", public=public)
    assert ledger.status("people")[0].entries == 0


@pytest.mark.parametrize(
    ("public", "text"),
    [(NUMBERS_PUBLIC[:, :1], "the public rows have 1 columns, but the table has 2"), (PUBLIC, "must be an array")],
)
def test_an_array_needs_an_array_of_its_width(public, text):
    with pytest.raises(SchemaError, match=text):
        estimator().fit(NUMBERS, TARGET, public=public)


def test_the_table_itself_is_not_public():
    with pytest.raises(ValueError, match="the private table itself"):
        estimator().fit(TABLE, "pay", public=TABLE)


def test_the_file_of_the_table_is_not_public(tmp_path):
    _csv(TABLE, tmp_path)
    os.link(tmp_path / "public.csv", tmp_path / "linked.csv")
    _parquet(TABLE, tmp_path)
    for one, other in [("public.csv", "public.csv"), ("public.csv", "linked.csv"), ("public.parquet", ".")]:
        for data, public in [(one, other), (other, one)]:
            with pytest.raises(ValueError, match="public has files of the private table"):
                estimator().fit(open_file(tmp_path / data), "pay", public=open_file(tmp_path / public))
    many = ParquetTable([tmp_path / "public.parquet"])
    with pytest.raises(ValueError, match="public has files of the private table"):
        estimator().check(open_file(tmp_path), "pay", public=many)


@pytest.mark.parametrize("kind", [str, Path])
def test_the_name_of_a_file_is_not_a_table(kind):
    with pytest.raises(ValueError, match=r"public must be a table, not the name of a file: pass privreg\.open_file"):
        estimator().fit(TABLE, "pay", public=kind("open.csv"))


def test_a_file_that_went_away_costs_nothing(tmp_path):
    ledger, rows = opened(tmp_path, "5", "1e-4"), _csv(PUBLIC, tmp_path)
    Path(tmp_path / "public.csv").unlink()
    with pytest.raises(OSError, match=r"public\.csv"):
        PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people").fit(TABLE, "pay", public=rows)
    assert ledger.status("people")[0].entries == 0


SCHEMA_OF_TABLE = Schema((Column("a", NUMBER), Column("b", NUMBER), Column("town", CATEGORY, levels=("x", "y", "z"))))
GAPS = PUBLIC.assign(a=PUBLIC.a.where(np.arange(300) < 19))
FEW = {
    "empty": (PUBLIC.head(0), {}, {}, "0 rows,"),
    "one": (PUBLIC.head(1), {}, {}, "1 row,"),
    "nearly enough": (PUBLIC.head(19), {}, {}, "19 rows,"),
    "filtered": (PUBLIC, {}, {"where": "a > 1000"}, "0 rows that meet the filter,"),
    "incomplete": (GAPS, {"schema": SCHEMA_OF_TABLE}, {}, "19 rows that are complete,"),
}


@pytest.mark.parametrize(("public", "options", "rules", "text"), FEW.values(), ids=FEW.keys())
def test_too_few_rows_cost_nothing(public, options, rules, text, tmp_path):
    ledger = opened(tmp_path, "5", "1e-4")
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people", **options)
    with pytest.raises(SchemaError, match=rf"public \(--public\) has {text} and fewer than 20 are not used; pass more"):
        model.fit(TABLE, "pay", public=public, **rules)
    assert ledger.status("people")[0].entries == 0


def test_twenty_rows_are_enough():
    assert fitted(PUBLIC.head(20), schema=SCHEMA_OF_TABLE).n_public_rows_ == 20


# ---- values: none of them raises

HOSTILE = {
    "nan": PUBLIC.assign(a=np.nan),
    "infinite": PUBLIC.assign(a=np.inf),
    "huge": PUBLIC.assign(a=np.where(np.arange(300) % 2, 1e308, -1e308)),
    "tiny": PUBLIC.assign(a=5e-324),
    "text for numbers": PUBLIC.assign(a="many"),
    "numbers as text": PUBLIC.assign(a=PUBLIC.a.map(str)),
    "unheard of": PUBLIC.assign(town="elsewhere"),
    "numbers for text": PUBLIC.assign(town=1.5),
    "constant": PUBLIC.assign(a=4.0, b=0.0),
    "one value each": PUBLIC.assign(a=1.0, b=2.0, town="x"),
    "objects": PUBLIC.assign(a=pd.Series([object(), {}, [], None, 1.0, "2"] * 50)),
}


@pytest.mark.parametrize("public", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("missing", ["drop", "fill"])
def test_no_value_raises(public, missing):
    model = fitted(public, missing=missing)
    assert np.isfinite(model.predict(TABLE)).all()
    assert np.isfinite(model.coef_).all()
    assert model.receipt_.epsilon <= 2.0


@pytest.mark.parametrize("name", ["nan", "infinite", "text for numbers"])
def test_too_few_complete_rows_are_not_used(name):
    model = fitted(HOSTILE[name])
    assert TOO_FEW_PUBLIC in model.warnings_
    assert model.n_public_rows_ == 0
    assert model.coef_.tolist() == fitted(None).coef_.tolist()


def test_numbers_as_text_are_numbers():
    assert fitted(HOSTILE["numbers as text"]).coef_.tolist() == fitted(PUBLIC).coef_.tolist()


def test_a_column_that_does_not_vary_is_left_out():
    model = fitted(HOSTILE["constant"])
    assert "a, b: the public rows hardly vary there and do not tell their scales; left out." in model.warnings_
    assert model.coef_[:2].tolist() == [0, 0]
    assert model.coef_[2:].any()


def test_nothing_is_spent_on_columns_if_public_rows_vary_in_none():
    """The model is a constant, whose mean has all that is left."""
    model = estimator().fit(NUMBERS, TARGET, public=np.ones((300, 2)))
    names = [step.name for step in model.receipt_.steps]
    assert names[-3:] == ["median of the target", "spread of the target", "mean of the target"]
    assert not any(name.startswith(("choose", "phase")) for name in names)
    assert model.intercept_ == pytest.approx(TARGET.mean(), abs=0.05)
    assert not model.coef_.any()
    assert model.receipt_.epsilon == pytest.approx(estimator().fit(NUMBERS, TARGET).receipt_.epsilon, rel=1e-3)
    assert model.receipt_.epsilon <= 2.0
    assert "The model is a constant: no column can be used." in model.warnings_
    assert any("the public rows hardly vary there" in text for text in model.warnings_)


def test_a_level_that_public_rows_lack_is_kept():
    """How many records have it was found out with the levels."""
    model = fitted(PUBLIC[PUBLIC.town != "x"])
    assert model.n_public_rows_ == (PUBLIC.town != "x").sum()
    effects = dict(zip(model._names, model.coef_, strict=True))
    found = effects.get("town=x", 0.0) - effects.get("town=y", 0.0)
    assert found == pytest.approx(3, abs=1)


def test_a_level_that_public_rows_lack_is_left_out_if_nothing_is_known_about_it():
    town = Column("town", CATEGORY, levels=("y", "x", "z"))
    schema = Schema((Column("a", NUMBER), Column("b", NUMBER), town))
    assert fitted(PUBLIC, schema=schema).coef_.all()
    model = fitted(PUBLIC[PUBLIC.town != "x"], schema=schema)
    assert "town=x: hardly any public row has this value, or nearly all do; left out." in model.warnings_
    assert "too few records" not in " ".join(model.warnings_)


@pytest.mark.parametrize("name", ["same", "elsewhere"])
def test_public_rows_from_elsewhere_do_no_more_than_widen_intervals(name):
    public = NUMBERS_PUBLIC if name == "same" else NUMBERS_PUBLIC * [0.5, 2] + [1, 0.5]
    model = PrivateLinearRegression(3.0, 1e-5, random_state=1).fit(NUMBERS, NUMBERS @ [1, -2], public=public)
    assert model.score(NUMBERS, NUMBERS @ [1, -2]) > 0.7


@pytest.mark.parametrize(("epsilon", "least"), [(0.3, 0.9), (1.0, 0.95)])
def test_public_rows_that_go_together_otherwise_do_little_harm(epsilon, least):
    """Columns that are nearly the same in public rows, and independent in private ones."""
    rng = np.random.default_rng(0)
    X, common = rng.normal(size=(5000, 8)), rng.normal(size=(500, 1))
    public = np.sqrt(0.95) * common + np.sqrt(0.05) * rng.normal(size=(500, 8))
    signal = X @ rng.normal(size=8)
    y = signal + 2 * rng.normal(size=5000)
    fits = [PrivateLinearRegression(epsilon, 1e-5, random_state=s).fit(X, y, public=public) for s in range(9)]
    assert np.median([fit.score(X, signal) for fit in fits]) > least


# ---- together with everything else that a fit takes


def test_people():
    groups = np.arange(N) // 3
    model = estimator(rows_per_person=2).fit(TABLE, "pay", groups, public=PUBLIC)
    assert model.receipt_.protects_people
    assert model.n_public_rows_ == 300


def test_people_and_target_in_the_public_table_are_not_used():
    table = TABLE.assign(who=np.arange(N) // 3)
    one = estimator().fit(table, "pay", "who", public=PUBLIC.assign(who="nobody", pay="secret"))
    assert state(one) == state(estimator().fit(table, "pay", "who", public=PUBLIC.drop(columns="pay")))


def test_named_series_of_people_and_target_may_be_in_the_public_table():
    people = pd.Series(np.arange(N) // 3, name="who")
    rows = PUBLIC.assign(who="nobody")
    one = estimator().fit(TABLE.drop(columns="pay"), TABLE.pay, people, public=rows)
    assert state(one) == state(estimator().fit(TABLE.assign(who=people), "pay", "who", public=rows))
    for target, groups in ((TABLE.pay, people.to_numpy()), (TABLE.pay.to_numpy(), people)):
        with pytest.raises(SchemaError, match=r"the public rows have a column '(who|pay)', which the table does not"):
            estimator().check(TABLE.drop(columns="pay"), target, groups, public=rows)


def test_k_chooses_among_all_columns():
    model = fitted(PUBLIC, k=1)
    assert len(model.selected_features_) == 1
    assert [step.name for step in model.receipt_.steps if step.name.startswith("choose")] == ["choose feature 1"]


def test_columns_are_chosen_in_two_rounds():
    rng = np.random.default_rng(2)
    X, public = rng.normal(size=(1200, 40)), rng.normal(size=(200, 40))
    model = PrivateLinearRegression(1.0, 1e-5, random_state=1).fit(X, X[:, 0] * 2, public=public)
    assert 1 < len(model.selected_features_) < 40
    assert model.selected_features_[0] == 0


def test_formula_and_filter():
    """The filter holds for public rows, too, and only what the formula needs has to be there."""
    formula, where = "pay ~ a * C(town) + log(b)", "b < 1"
    public = PUBLIC.drop(columns="pay").assign(shoe=1)
    model = estimator().fit(TABLE, formula=formula, where=where, public=public)
    assert model.n_public_rows_ == (PUBLIC.b < 1).sum()
    with pytest.raises(SchemaError, match="the public rows have no column 'b'"):
        estimator().fit(TABLE, formula=formula, public=PUBLIC.drop(columns="b"))


def test_the_filter_may_need_a_column_of_its_own():
    table = TABLE.assign(year=2020)
    with pytest.raises(SchemaError, match="the public rows have no column 'year', which the filter needs"):
        estimator().fit(table[["a", "pay", "year"]], formula="pay ~ a", where="year > 2000", public=PUBLIC)
    with pytest.raises(SchemaError, match="the public rows have no column 'pay', which the filter needs"):
        estimator().fit(TABLE, "pay", where="pay > 0", public=PUBLIC.drop(columns="pay"))
    public = PUBLIC.assign(year=np.arange(1900, 2200))
    model = estimator().fit(table, formula="pay ~ a", where="year > 2000", public=public)
    assert model.n_public_rows_ == 199


def test_filled_values():
    public = PUBLIC.assign(a=PUBLIC.a.where(np.arange(300) % 2 == 0))
    assert fitted(public).n_public_rows_ == 150
    assert fitted(public, missing="fill").n_public_rows_ == 300


def test_ranges():
    model = fitted(PUBLIC, ranges={"a": (0, 4)})
    assert model.linear_range_[0].tolist() == pytest.approx([2 * model.linear_range_[0].mean() - 4, 4], abs=4)
    assert np.diff(model.linear_range_[0]) <= 8


def test_schema():
    reader = SchemaReader(1.0, 1e-5, random_state=1).fit(TABLE, "pay")
    model = fitted(PUBLIC, schema=reader.schema_)
    assert model.n_public_rows_ == 300


def test_ledger(tmp_path):
    ledger = opened(tmp_path, "5", "1e-4")
    PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people").fit(TABLE, "pay", public=PUBLIC)
    assert ledger.status("people")[0].entries == 1


def test_wide_limits_and_samples():
    model = fitted(PUBLIC, limits="wide", k=2, max_rows_for_selection=300)
    assert "on a sample" in " ".join(step.name for step in model.receipt_.steps)


def test_check_says_it():
    told = estimator().check(TABLE, "pay", public=PUBLIC)
    assert told.public
    assert told.to_dict()["public"]
    assert "would come from the public rows, at no cost, if at least 20 of them are complete." in str(told)
    assert "public rows" not in str(estimator().check(TABLE, "pay"))


def test_clones_are_fitted_without_public_rows():
    """They belong to a fit, not to the estimator."""
    model = fitted(PUBLIC)
    assert "public" not in model.get_params()
    assert clone(model).fit(TABLE, "pay").n_public_rows_ == 0
    assert model.fit(TABLE, "pay").n_public_rows_ == 0


# ---- what is said about them


def test_everything_that_is_shown_says_it():
    model = fitted(PUBLIC)
    note = public_note(300)
    assert note.startswith("Centres, spreads and correlations of columns come from 300 public rows")
    assert note in str(model.summary())
    page = report_page(release_of(model), Context())
    assert note in page
    assert "300 rows were passed as public" in page
    assert "300 public rows" in json.dumps(deployment_record(release_of(model), Context()))
    assert release_of(model).to_dict()["public_rows"] == 300
    assert "public rows" not in str(fitted(None).summary())


def test_a_constant_says_it_if_public_rows_made_it_one():
    told = estimator().fit(NUMBERS, TARGET, public=np.ones((300, 2)))
    assert told.n_public_rows_ == 300
    assert public_note(300) in str(told.summary())


@pytest.mark.parametrize("target", [TARGET[:30], np.zeros(N)], ids=["few records", "no spread"])
def test_a_constant_for_which_public_rows_were_not_asked_does_not_say_it(target):
    model = estimator().fit(NUMBERS[: target.size], target, public=NUMBERS_PUBLIC)
    assert model.prediction_range() is None
    assert model.n_public_rows_ == 0
    assert "public" not in str(model.summary())
    assert TOO_FEW_PUBLIC not in model.warnings_


def test_what_is_registered_says_it():
    """Without the part of the record that is privreg's own."""
    for public in (PUBLIC, None):
        record = to_register(deployment_record(release_of(fitted(public)), Context()))["deployment"]
        told = record["implementation"]
        expected = public is not None
        assert (public_note(300) in record["dp_variant"]["unprotected_quantities"]) == expected
        assert ("from 300 public rows" in told["preprocessing_and_hyperparameter_tuning"]) == expected
        assert ("from the noisy results and the public rows only" in told["post_processing"]) == expected
        assert ("from the noisy results only" in told["post_processing"]) != expected


def test_model_file(tmp_path):
    for public in (PUBLIC, None):
        model = fitted(public)
        model.save(tmp_path / "model.json")
        content = json.loads((tmp_path / "model.json").read_text())
        validate(content, SCHEMA)
        assert ("public_rows" in content["model"]) == (public is not None)
        back = load_model(tmp_path / "model.json")
        assert back.n_public_rows_ == model.n_public_rows_
        assert back.summary() == model.summary()
        assert release_of(back) == release_of(model)
