"""Formulas and filters in fits: what is fitted, kept, predicted and written down, and that mistakes cost nothing."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ledgers import opened
from models import write
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    FormulaError,
    ModelFileError,
    NonDP,
    PrivateLinearRegression,
    Schema,
    SchemaError,
    SchemaReader,
    SubLasso,
    TukeyRegression,
    load_model,
)
from privreg.data.files import open_file
from privreg.estimators.select_then_regress import SelectThenRegress

N = 3000
FORMULA = "log(pay) ~ age + I(age**2) + C(town) + flag:age"
WHERE = "age >= 18 and town != 'Cork'"
ESTIMATORS = {
    "PrivateLinearRegression": lambda **o: PrivateLinearRegression(8.0, **o),
    "TukeyRegression": lambda **o: TukeyRegression(60.0, **o),
    "BoostedAdaSSP": lambda **o: BoostedAdaSSP(8.0, rounds=3, **o),
    "SelectThenRegress": lambda **o: SelectThenRegress("kendall", "adassp", 2, 8.0, **o),
    "DPKendall": lambda **o: DPKendall(2, 8.0, 1e-6, **o),
    "SubLasso": lambda **o: SubLasso(2, 8.0, 1e-6, **o),
}
every = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())
regressors = pytest.mark.parametrize("make", list(ESTIMATORS.values())[:4], ids=list(ESTIMATORS)[:4])


def make_frame(seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(12, 80, N).astype(float),
            "town": rng.choice(["Ayr", "Bath", "Cork"], N, p=[0.5, 0.3, 0.2]),
            "flag": rng.random(N) < 0.5,
            "id": rng.integers(0, N // 2, N),
            "note": [f"note {i}" for i in range(N)],
        }
    )
    frame["pay"] = np.exp(0.02 * frame["age"] + 0.5 * (frame["town"] == "Bath") + rng.normal(0, 0.1, N))
    return frame


FRAME = make_frame()


def flagship(**options):
    return PrivateLinearRegression(8.0, **options)


def fitted(make=flagship, frame=FRAME, formula=FORMULA, where=WHERE, groups=None, **options):
    options = {"random_state": 1} | options
    return make(**options).fit(frame, formula=formula, where=where, groups=groups)


@pytest.fixture(scope="module")
def model():
    return fitted()


# ---------------------------------------------------------------- every estimator


@every
def test_a_formula_is_fitted_and_kept(make):
    found = fitted(make)
    schema = found.schema_
    assert schema.formula.text == FORMULA
    assert schema.where == WHERE
    assert found.target_name_ == "log(pay)"
    assert list(found.feature_names_in_) == ["age", "town", "flag"]
    assert found.n_features_in_ == 3
    assert [feature.name for feature in schema.features] == ["age", "I(age**2)", "town=Bath", "flag=True:age"]
    assert "Cork" not in schema.columns[1].levels  # its records were not looked at


@regressors
def test_predictions_do_not_depend_on_other_columns_or_their_order(make):
    found = fitted(make)
    expected = found.predict(FRAME)
    assert np.isfinite(expected).all()
    for frame in (
        FRAME[["flag", "town", "age"]],
        FRAME[["pay", "town", "flag", "id", "age"]].assign(more=3, **{"log(pay)": "x", "I(age**2)": 9.0}),
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
    ):
        assert found.predict(frame).tobytes() == expected.tobytes()


@every
def test_the_named_target_of_any_table_is_the_same(make):
    """pandas, polars and arrow, with the target as a column or beside them: the same bits."""
    columns = ["age", "flag", "town"]
    found = [
        make(random_state=3).fit(table, "pay", where="pay < 4")
        for table in (FRAME[[*columns, "pay"]], pl.from_pandas(FRAME[["pay", *columns]]),
                      pa.Table.from_pandas(FRAME[[*columns, "pay"]]))
    ]  # fmt: skip
    assert {str(one.receipt_.to_dict()) for one in found} == {str(found[0].receipt_.to_dict())}
    assert all(one.schema_ == found[0].schema_ for one in found)
    assert found[0].target_name_ == "pay"
    assert list(found[0].feature_names_in_) == columns
    beside = make(random_state=3).fit(FRAME[columns], FRAME["pay"])
    named = make(random_state=3).fit(FRAME[[*columns, "pay"]], "pay")
    assert str(beside.receipt_.to_dict()) == str(named.receipt_.to_dict())


@every
def test_check_tells_what_fit_would_do(make):
    options = {"formula": FORMULA, "where": WHERE}
    found = make().check(FRAME, **options)
    assert found.formula == FORMULA
    assert found.where == WHERE
    assert found.target == "log(pay)"
    assert found.columns == {"age": "number", "town": "determined by the fit", "flag": "yes or no"}
    assert f"Formula: {FORMULA}" in str(found)
    assert f"Only records where {WHERE} would be used." in str(found)
    for wrong in ("pay ~ agee", "pay ~ age - 1", "pay ~ scale(age)"):
        with pytest.raises(FormulaError) as checked:
            make().check(FRAME, formula=wrong)
        with pytest.raises(FormulaError) as fitted_:
            make().fit(FRAME, formula=wrong)
        assert str(checked.value) == str(fitted_.value)


MISTAKES = {
    "no column": ({"formula": "pay ~ agee"}, "no column 'agee'; did you mean 'age'?"),
    "no column in where": ({"formula": "pay ~ age", "where": "agee > 3"}, "where: no column 'agee'"),
    "no condition": ({"formula": "pay ~ age", "where": "age + 1"}, "is not a condition"),
    "where without a formula": ({"y": "pay", "where": "age + 1"}, "is not a condition"),
    "no text": ({"formula": 3}, "formula must be text, got int"),
    "where is no text": ({"y": "pay", "where": True}, "where must be text, got bool"),
    "two targets": (
        {"y": "pay", "formula": "pay ~ age"},
        "the formula has the target on its left side; do not pass y as well",
    ),
    "people in the formula": ({"formula": "pay ~ id", "groups": "id"}, "'id' identifies people, so it cannot be in"),
    "people in the target": ({"formula": "log(id) ~ .", "groups": "id"}, "'id' identifies people, so it"),
    "no such people": ({"formula": "pay ~ age", "groups": "idd"}, "it has no column 'idd'"),
    "no such target": ({"y": "pya"}, "it has no column 'pya'"),
    "no such people beside y": ({"y": "pay", "groups": "idd"}, "it has no column 'idd'"),
    "no intercept": ({"formula": "pay ~ 0 + age"}, "without an intercept"),
    "no target": ({}, "requires y to be passed"),
    "base of a boolean": ({"formula": "pay ~ C(flag, base='x')"}, "'x' is not a level of column 'flag'"),
    "both ways": ({"formula": "pay ~ C(age) + log(age)"}, "used both as a category and as a number"),
    "monster": ({"formula": "pay ~ (age + town + flag + note)**9"}, "more than 1,000 terms"),
    "list": ({"formula": "pay ~ age", "where": "pairs == 'a'"}, "column 'pairs' is of type"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_costs_nothing(case, tmp_path):
    options, words = MISTAKES[case]
    ledger = opened(tmp_path, 100, "1e-3", "d")
    frame = pl.from_pandas(FRAME).with_columns(pairs=pl.Series([[1, 2]] * N)) if case == "list" else FRAME
    model = PrivateLinearRegression(1.0, ledger=ledger, dataset="d")
    options = dict(options)
    given = (options.pop("y"),) if "y" in options else ()
    for attempt in (model.fit, model.check):
        with pytest.raises(ValueError) as raised:  # noqa: PT011
            attempt(frame, *given, **options)
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)
    assert ledger.history() == []
    assert not hasattr(model, "receipt_")


@pytest.mark.parametrize("options", [{"formula": "x0 ~ x1"}, {"y": "x0"}, {"y": np.zeros(9), "where": "x1 > 0"}])
@pytest.mark.parametrize("X", [np.zeros((9, 2)), [[1, 2]] * 9])
def test_arrays_have_no_names(options, X):
    with pytest.raises(SchemaError, match=r"X has no column names, which a formula, .* needs; pass a data frame"):
        PrivateLinearRegression(1.0).fit(X, **options)


def test_an_array_cannot_be_predicted_by_a_formula(model):
    with pytest.raises(ValueError, match=r"pass a data frame|X has no column"):
        model.predict(np.zeros((3, 3)))
    with pytest.raises(SchemaError, match="X has no column 'flag', which the model was fitted on"):
        model.predict(FRAME[["age", "town"]])


def test_the_ledger_has_the_formula_and_the_filter(tmp_path):
    ledger = opened(tmp_path, 100, "1e-3", "d")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(random_state=None, ledger=ledger, dataset="d")
        long = "pay ~ age + " + " + ".join(f"I(age**{i})" for i in range(2, 100))
        PrivateLinearRegression(1.0, ledger=ledger, dataset="d").fit(FRAME, formula=long)
        PrivateLinearRegression(1.0, ledger=ledger, dataset="d").fit(FRAME[["age", "pay"]], "pay", where="age > 20")
    first, second, third = (entry.what for entry in ledger.history("d"))
    assert first == f"fit {FORMULA} where {WHERE}: PrivateLinearRegression"
    assert second.startswith("fit pay ~ age + I(age**2)")
    assert third == "fit pay where age > 20: PrivateLinearRegression"


# ---------------------------------------------------------------- people


def test_people_may_be_named_or_given():
    named = fitted(groups="id")
    for groups in (FRAME["id"], FRAME["id"].to_numpy(), FRAME["id"].tolist()):
        assert fitted(groups=groups).coef_.tobytes() == named.coef_.tobytes()
    assert "person" in named.receipt_.unit
    assert list(fitted(formula="pay ~ . - note", groups="id").feature_names_in_) == ["age", "town", "flag"]


def test_people_may_be_in_the_filter():
    """Those of whose rows only some are left have these."""
    few = fitted(where="id < 300 and age > 40", groups="id")
    some = FRAME[(FRAME["id"] < 300) & (FRAME["age"] > 40)].reset_index(drop=True)
    alone = fitted(frame=some, where=None, groups="id")
    assert few.coef_.tobytes() == alone.coef_.tobytes()
    plain = PrivateLinearRegression(8.0, random_state=1)
    columns = FRAME[["age", "flag", "id", "pay"]]
    few = plain.fit(columns, "pay", "id", where="id < 300 and pay < 3")
    assert list(few.feature_names_in_) == ["age", "flag"]
    alone = PrivateLinearRegression(8.0, random_state=1).fit(
        columns[(columns["id"] < 300) & (columns["pay"] < 3)].reset_index(drop=True), "pay", "id"
    )
    assert few.coef_.tobytes() == alone.coef_.tobytes()


@every
def test_the_rows_that_a_filter_leaves_out_do_not_matter(make):
    """Whatever they hold: the fit is that of the others alone, to the bit."""
    kept = (FRAME["age"] >= 18) & (FRAME["town"] != "Cork")
    alone = fitted(make, FRAME[kept].reset_index(drop=True), where=None)
    odd = FRAME.copy()
    odd.loc[~kept, ["pay", "id"]] = [np.inf, -1]
    odd.loc[FRAME["town"] == "Cork", "age"] = 1e300
    for frame in (FRAME, odd):
        found = fitted(make, frame)
        assert str(found.receipt_.to_dict()) == str(alone.receipt_.to_dict())
        assert replace(found.schema_, where="") == alone.schema_


@every
def test_a_filter_that_leaves_nothing(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing was released
        found = fitted(make, where="age > 1000")
        none = fitted(make, FRAME[:0], where=None)
    assert str(found.receipt_.to_dict()) == str(none.receipt_.to_dict())


# ---------------------------------------------------------------- missing values


def test_missing_values_and_values_outside_a_domain_are_dropped():
    odd = FRAME.copy()
    odd.loc[:99, "age"] = np.nan
    odd.loc[100:199, "pay"] = -1.0
    found = fitted(frame=odd, where=None)
    alone = fitted(frame=odd[200:].reset_index(drop=True), where=None, schema=found.schema_)
    again = fitted(frame=odd, where=None, schema=found.schema_)
    assert again.coef_.tobytes() == alone.coef_.tobytes()
    assert np.isnan(found.predict(odd)[:100]).all()
    assert np.isfinite(found.predict(odd)[100:]).all()


def test_missing_values_are_filled_in():
    odd = FRAME.copy()
    odd.loc[:699, "age"] = np.nan
    odd.loc[500:1100, "town"] = None
    odd.loc[2000:, "pay"] = np.nan  # a record without a target is always left out
    found = fitted(frame=odd, formula="log(pay) ~ age + log(age - 20) + C(town)", where=None, missing="fill")
    predictions = found.predict(odd)
    assert np.isfinite(predictions).all()
    assert "town=(missing)" in [feature.name for feature in found.schema_.features]
    centre = next(column.centre for column in found.schema_ if column.name == "age")
    assert 12 < centre < 80
    as_filled = odd.assign(age=odd["age"].fillna(centre))
    np.testing.assert_array_equal(found.predict(as_filled), predictions)
    low = odd[:1].assign(age=3.0, town="Ayr")  # log(−17): as if age were at its centre
    shape = found.predict(odd[:1].assign(age=centre, town="Ayr"))
    row = next(f.row for f in found.schema_.rows if f.name == "age")
    np.testing.assert_allclose(found.predict(low), shape + found.coef_[row] * (3 - centre), rtol=1e-9)
    assert not any(column.centre is not None for column in found.schema_ if column.name == "pay")


@pytest.mark.parametrize("formula", ["y ~ log(x)*missing(x)", "y ~ I(log(x)*missing(x))", "y ~ I(log(x)*(x > 1))"])
def test_the_first_record_fills_nothing_in(formula):
    """What a missing value counts as is released, and not what a record happens to have."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(1, 2, 2000), "y": rng.normal(size=2000)})
    found = PrivateLinearRegression(8.0, random_state=1, missing="fill").fit(frame, formula=formula)
    new = pd.DataFrame({"x": [np.nan, -3.0, 2.0, -3.0]})
    other = new.assign(x=[5.0, -3.0, 2.0, -3.0])
    assert found.predict(new)[1:].tobytes() == found.predict(other)[1:].tobytes()
    assert found.predict(new[1:])[0:].tobytes() == found.predict(new)[1:].tobytes()


# ---------------------------------------------------------------- the scale of the target


@regressors
def test_predictions_can_be_undone(make):
    found = fitted(make)
    np.testing.assert_allclose(found.predict(FRAME, inverse=True), np.exp(found.predict(FRAME)), rtol=1e-14)


def test_what_cannot_be_undone_is_refused():
    for formula, words in (("log(pay + 1) ~ age", "it cannot undo log"), ("I(pay > 2) ~ age", "it cannot undo I")):
        found = fitted(formula=formula)
        with pytest.raises(ValueError, match=words):
            found.predict(FRAME, inverse=True)
    found = PrivateLinearRegression(8.0, random_state=1).fit(FRAME[["age", "pay"]], "pay")
    with pytest.raises(ValueError, match="inverse undoes a function of the target"):
        found.predict(FRAME, inverse=True)


# ---------------------------------------------------------------- schemas


def test_a_schema_serves_many_formulas():
    schema = SchemaReader(8.0, random_state=1).fit(FRAME).schema_
    for formula in (FORMULA, "pay ~ age", "pay ~ town*flag", "pay ~ C(town, base='Cork')", "age ~ log(pay) + C(flag)"):
        found = fitted(formula=formula, schema=schema)
        assert not any(event.purpose == "reading" for event in found.receipt_.steps)
        assert found.schema_.formula.text == formula
        again = fitted(formula=formula, schema=found.schema_)
        assert again.coef_.tobytes() == found.coef_.tobytes()
    with pytest.raises(SchemaError, match=r"the schema has no levels for C\(age\); fit without a schema to find them"):
        fitted(formula="pay ~ C(age)", schema=schema)
    with pytest.raises(SchemaError, match="'Rome' is not a level of column 'town'"):
        fitted(formula="pay ~ C(town, base='Rome')", schema=schema)
    with pytest.raises(SchemaError, match="the schema has no column 'note'"):
        fitted(formula="pay ~ note", schema=fitted().schema_)


def test_a_category_may_be_computed_with_under_an_old_schema():
    """Numbers as text, once read as levels."""
    frame = FRAME.assign(code=pd.Series(np.random.default_rng(1).choice(["1", "2", "3"], N), dtype=object))
    schema = fitted(frame=frame, formula="pay ~ C(code)").schema_
    assert schema.columns[0].has_levels
    found = fitted(frame=frame, formula="pay ~ I(code*2)", schema=schema)
    assert [feature.name for feature in found.schema_.features] == ["I(code*2)"]
    assert np.isfinite(found.predict(frame)).all()


def test_a_computed_column_of_an_old_schema_is_no_column_of_the_table():
    schema = fitted(formula="pay ~ age + log(age)").schema_
    frame = FRAME.assign(**{"log(age)": 3.0})
    with pytest.raises(SchemaError, match=r"the schema has no column 'log\(age\)'"):
        fitted(frame=frame, formula="pay ~ `log(age)`", schema=schema)


def test_levels_of_types_and_ranges():
    frame = FRAME.assign(town=pd.Categorical(FRAME["town"], ["Bath", "Cork", "Ayr", "Rome"]))
    found = fitted(frame=frame, formula="pay ~ town + log(age)", categories="dtype", ranges={"age": (20, 30)})
    assert next(c for c in found.schema_ if c.has_levels).levels == ("Bath", "Cork", "Ayr", "Rome")
    a, b = found.predict(frame[:1].assign(age=1000.0)), found.predict(frame[:1].assign(age=30.0))
    assert a == b  # values beyond are clipped, before anything is computed
    with pytest.raises(SchemaError, match="a range was declared for 'note', but the table has no such feature"):
        fitted(ranges={"note": (0, 1)})
    with pytest.raises(SchemaError, match="has declared levels, so the formula cannot compute with it"):
        fitted(categories={"age": [1, 2]})
    for formula in ("town ~ age", "pay ~ I(town + 1)", "pay ~ town + log(town)"):
        for table in (frame, pl.from_pandas(frame), pl.from_pandas(FRAME.assign(town=frame["town"]))):
            with pytest.raises(SchemaError, match="column 'town' is a category, so the formula cannot compute with it"):
                fitted(frame=table, formula=formula)


# ---------------------------------------------------------------- model files


@regressors
def test_a_model_file_predicts_the_same_bits(make, tmp_path):
    frame = FRAME.assign(**{"in": FRAME["age"] / 7, "a  b": FRAME["age"] % 5, "True": FRAME["pay"] - 1})
    formula = "log(pay) ~ age + C(town) + flag:age + `in` + I(`a  b`**2) + log1p(abs(`True`)) + I(town == 'Ba  th')"
    found = fitted(make, frame, formula)
    found.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.schema_.formula.text == " ".join(formula.split())
    assert loaded.schema_.formula.terms == found.schema_.formula.terms
    assert loaded.schema_.where == WHERE
    assert loaded.predict(frame).tobytes() == found.predict(frame).tobytes()
    assert loaded.predict(frame, inverse=True).tobytes() == found.predict(frame, inverse=True).tobytes()
    assert list(loaded.feature_names_in_) == list(found.feature_names_in_)
    assert list(map(str, loaded.schema_.features)) == list(map(str, found.schema_.features))


def computed(record):
    return next(column for column in record["columns"] if column["computed"])


HOSTILE = {
    "code": lambda r: computed(r).update(name="__import__('os').system('touch hacked')"),
    "code in a target": lambda r: r["formula"].update(target="__import__('os').system('touch hacked')"),
    "no expression": lambda r: computed(r).update(name="I(age"),
    "unknown column": lambda r: computed(r).update(name="I(agee**2)"),
    "no column": lambda r: computed(r).update(name="1 + 1"),
    "other name": lambda r: computed(r).update(name="I(age**3)"),
    "itself": lambda r: computed(r).update(name="`I(age**2)`"),
    "not computed": lambda r: computed(r).update(computed=False, name="other"),
    "computed with levels": lambda r: computed(r).update(kind="category", levels=["a"]),
    "raw called computed": lambda r: r["columns"][0].update(computed=True),
    "no flag": lambda r: computed(r).update(computed="yes"),
    "unknown term": lambda r: r["formula"]["terms"].append(["nobody"]),
    "empty term": lambda r: r["formula"]["terms"].append([]),
    "terms are text": lambda r: r["formula"].update(terms="age"),
    "a term is text": lambda r: r["formula"].update(terms=["age"]),
    "a factor is a number": lambda r: r["formula"].update(terms=[[3]]),
    "target of nobody": lambda r: r["formula"].update(target="nobody"),
    "target of a computed column": lambda r: r["formula"].update(target="`I(age**2)`"),
    "target is a monster": lambda r: r["formula"].update(target="pay*9**9**9**9"),
    "target is empty": lambda r: r["formula"].update(target=""),
    "no formula": lambda r: r.update(formula=None),
    "formula is text": lambda r: r.update(formula="pay ~ age"),
    "more fields": lambda r: r["formula"].update(more=1),
    "where is a number": lambda r: r.update(where=3),
    "column twice": lambda r: r["columns"].append(r["columns"][0]),
    "computed twice": lambda r: r["columns"].append(computed(r)),
    "depth": lambda r: computed(r).update(name="(" * 5000 + "age" + ")" * 5000),
}


@pytest.mark.parametrize("edit", HOSTILE)
def test_a_model_file_with_a_strange_formula_is_refused_and_never_run(edit, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.json"
    model.save(path)
    record = json.loads(path.read_text())
    HOSTILE[edit](record["schema"])
    write(path, record)
    with pytest.raises(ModelFileError):
        load_model(path)
    with pytest.raises(ValueError):  # noqa: PT011
        Schema.from_dict(record["schema"])
    assert [each.name for each in tmp_path.iterdir()] == ["m.json"]


def test_the_words_of_a_formula_in_a_file_are_only_shown(model, tmp_path):
    model.save(tmp_path / "m.json")
    record = json.loads((tmp_path / "m.json").read_text())
    record["schema"]["formula"]["text"] = "__import__('os')"
    write(tmp_path / "m.json", record)
    assert load_model(tmp_path / "m.json").predict(FRAME).tobytes() == model.predict(FRAME).tobytes()


# ---------------------------------------------------------------- tables with odd names


def test_columns_whose_names_are_no_text():
    frame = FRAME[["age", "flag", "pay"]].set_axis([0, 1, 2], axis=1)
    named = FRAME[["age", "flag", "pay"]].set_axis(["0", "1", "2"], axis=1)
    for options in ({"formula": "log(`2`) ~ `0`*`1`"}, {"y": "2"}):
        found = PrivateLinearRegression(8.0, random_state=1).fit(frame, **options)
        same = PrivateLinearRegression(8.0, random_state=1).fit(named, **options)
        assert found.coef_.tobytes() == same.coef_.tobytes()
        assert found.predict(frame).tobytes() == same.predict(named).tobytes()


def test_a_target_is_called_by_its_name(tmp_path):
    frame = FRAME.rename(columns={"pay": "my pay"})
    found = fitted(frame=frame, formula="`my pay` ~ age")
    assert found.target_name_ == "my pay"
    assert found.predict(frame, inverse=True).tobytes() == found.predict(frame).tobytes()
    found.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").predict(frame).tobytes() == found.predict(frame).tobytes()
    assert fitted(frame=frame, formula="log(`my pay`) ~ age").target_name_ == "log(`my pay`)"


def test_selectors_transform_by_formula():
    found = fitted(ESTIMATORS["DPKendall"], formula="log(pay) ~ age*C(town) + flag", where=None)
    chosen = found.transform(FRAME)
    assert chosen.shape == (N, 2)
    assert list(found.get_feature_names_out()) == [name for name in found._names if name in found.selected_features_]
    assert found.transform(FRAME[::-1])[::-1].tobytes() == chosen.tobytes()


def test_columns_called_like_functions_and_features():
    frame = FRAME[["pay", "age", "flag"]].set_axis(["log", "I(age**2)", "C"], axis=1)
    found = fitted(frame=frame, formula="log(log) ~ `I(age**2)` + C + log(`I(age**2)`)", where="C or !C")
    assert found.feature_names_in_.tolist() == ["I(age**2)", "C"]
    same = fitted(formula="log(pay) ~ age + flag + log(age)", where="flag or !flag")
    assert found.coef_.tobytes() == same.coef_.tobytes()


def test_nonprivate_fits_take_names_and_filters():
    one = NonDP().fit(FRAME[["age", "flag", "pay"]], "pay", where="pay < 3 and age > 20")
    some = FRAME[(FRAME["pay"] < 3) & (FRAME["age"] > 20)]
    other = NonDP().fit(some[["age", "flag"]], some["pay"])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-12)
    assert list(one.feature_names_in_) == ["age", "flag"]
    assert one.predict(FRAME).shape == (N,)


def test_a_fixed_plan_finds_decimal_commas_too(tmp_path):
    """Columns that a formula computes with are numbers by decree, but a file does not say how they are written."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000).round(2)
    lines = [f"{a};{2 * a:.2f}".replace(".", ",") for a in x]
    (tmp_path / "t.csv").write_text("\n".join(["x;y", *lines]))
    model = BoostedAdaSSP(20.0, 1e-3, random_state=0)
    model.fit(open_file(tmp_path / "t.csv"), formula="I(y + 0) ~ I(x + 0)")
    assert [column.mark for column in model.schema_ if column.computed is None] == [",", ","]
    assert model.coef_[0] > 1  # rows are shrunk; without values it would be 0
