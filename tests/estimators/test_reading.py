"""Reading a table: what is settled beforehand, and what is decided from noisy counts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg import (
    BoostedAdaSSP,
    DPKendall,
    PrivateLinearRegression,
    Schema,
    SchemaError,
    SchemaReader,
    SubLasso,
    open_file,
)
from privreg.data.cells import CLASSES, COMMA, DATE, EITHER_COMMA, EITHER_POINT, MISSING, POINT, TEXT, TRUTH, WHOLE
from privreg.data.raw import ColumnType
from privreg.data.schema import Column
from privreg.engines.base import Types
from privreg.estimators.reading import (
    ADAPTIVE,
    CONSTANT,
    EMPTY,
    FIXED,
    HALF_EMPTY,
    MOST_LEVELS,
    NO_COMMON,
    TOO_FEW,
    TRUTHS,
    read,
)
from privreg.estimators.schema_reader import ALONE
from privreg.estimators.settled import NO_USE, settle
from privreg.privacy.noise import SeededNoise
from told import Told, account, opened

N = 1000


def settled(X, **declared):
    return opened(X, **declared)[0].columns


def test_types_settle_what_they_say():
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "real": [1.5, np.nan],
            "flag": [True, False],
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "span": pd.to_timedelta([1, 2], unit="D"),
            "text": ["a", "b"],
            "object": [1, "b"],
            "category": pd.Categorical(["a", "b"]),
        }
    )
    assert settled(frame) == {
        "whole": Column("whole", "number"),
        "real": Column("real", "number"),
        "flag": Column("flag", "boolean", levels=(False, True), reference=0),
        "when": Column("when", "date"),
        "span": Column("span", "number", left_out=NO_USE),
        "text": None,
        "object": None,
        "category": None,
    }


def test_levels_of_a_type_are_public_only_if_it_is_said():
    levels = ["b", "a", "unused"]
    kinds = {
        "pandas": pd.DataFrame({"c": pd.Categorical(["a", "b"], levels)}),
        "arrow": pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(levels))}),
    }
    for frame in kinds.values():
        assert settled(frame) == {"c": None}
        public, _ = opened(frame, categories="dtype")
        assert public.columns == {"c": Column("c", "category", levels=tuple(levels), reference=0, typed=True)}
        assert public.schema.warnings == (
            "Levels of c were taken from the column's type: they are not protected and may come from single records.",
        )
    enum = pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Enum(levels))})
    assert settled(enum) == {"c": Column("c", "category", levels=tuple(levels), reference=0)}
    assert opened(enum)[0].notes == ()
    with pytest.raises(SchemaError, match="the type of column 'c' does not list the levels of the whole column"):
        settled(pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical)}), categories="dtype")


def test_declarations_come_before_types():
    frame = pd.DataFrame({"code": [1, 2], "c": pd.Categorical(["a", "b"]), "age": ["1", "2"], "flag": [True, False]})
    declared = settled(frame, categories={"code": [2, 1, 7], "c": ["b"], "flag": [True]}, ranges={"age": (0, 120)})
    assert declared == {
        "code": Column("code", "category", levels=(2, 1, 7), reference=0),
        "c": Column("c", "category", levels=("b",), reference=0),
        "age": Column("age", "number", range=(0.0, 120.0)),  # who knows a range knows that they are numbers
        "flag": Column("flag", "category", levels=(True,), reference=0),
    }


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"categories": "dtypes"}, 'categories must be "dtype" or a dict of levels by column'),
        ({"categories": {"nobody": ["a"]}}, "categories were declared for 'nobody', but the table has no such feature"),
        ({"ranges": {"nobody": (0, 1)}}, "a range was declared for 'nobody', but the table has no such feature"),
        ({"categories": {"text": []}}, "column 'text' is a category without levels"),
        ({"categories": {"text": "ab"}}, "the levels of column 'text' must be a list"),
        ({"categories": {"text": ["a", 1]}}, "the levels of column 'text' must be all text or all numbers"),
        ({"categories": {"text": ["a", "a"]}}, "a level of column 'text' is declared twice"),
        ({"categories": {"age": ["a"]}}, "column 'age' holds numbers, so the text 'a' cannot be one of its levels"),
        ({"categories": {"age": [1]}, "ranges": {"age": (0, 1)}}, "column 'age' has declared levels"),
        ({"ranges": {"age": (1, 1)}}, "the range of column 'age' must be two finite numbers, the lower one first"),
        ({"ranges": {"age": (0, np.inf)}}, "the range of column 'age' must be two finite numbers"),
        ({"ranges": {"age": 3}}, "the range of column 'age' must be two numbers"),
    ],
)
@pytest.mark.parametrize("make", [PrivateLinearRegression, BoostedAdaSSP, SchemaReader])
def test_wrong_declarations_are_named_before_anything_is_spent(make, declared, message):
    frame, told = pd.DataFrame({"age": [1.0, 2.0], "text": ["a", "b"]}), []
    model = make(progress=told.append, random_state=1, **declared)
    with pytest.raises(ValueError, match=message):
        model.fit(frame, [1.0, 2.0])
    assert not told
    assert not hasattr(model, "receipt_")


@pytest.mark.parametrize("make", [DPKendall, SubLasso])
def test_without_delta_there_is_no_discovery(make):
    frame = pd.DataFrame({"age": [1.0, 2.0], "town": ["a", "b"], "job": ["c", "d"]})
    selector = make(2, random_state=1)
    assert selector.delta == 0
    with pytest.raises(
        ValueError, match="delta must be positive to find out what is in town, job; otherwise declare levels"
    ):
        selector.fit(frame, [1.0, 2.0])
    assert not hasattr(selector, "receipt_")
    with pytest.raises(ValueError, match="delta must be positive to find out what is in the columns"):
        make(2, missing="fill", random_state=1).fit(frame[["age"]], [1.0, 2.0])
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=400), "town": rng.choice(["a", "b"], 400), "x": rng.normal(size=400)})
    declared = make(2, 10.0, categories={"town": ["a", "b"]}, random_state=1).fit(frame, frame["age"])
    assert declared.receipt_.delta == 0
    assert declared.selected_features_[0] == "age"


# ---- decisions


def counts(missing=0, whole=0, point=0, comma=0, date=0, truth=0, text=0, either_point=0, either_comma=0):
    found = np.zeros(CLASSES)
    found[[MISSING, WHOLE, POINT, COMMA, DATE, TRUTH, TEXT]] = missing, whole, point, comma, date, truth, text
    found[[EITHER_POINT, EITHER_COMMA]] = either_point, either_comma
    return found


def told_kind(told, named=False, levels=None, semicolons=False):
    """The column that is made of these noisy counts of its classes, in a table of N records."""
    public, source = opened(pd.DataFrame({"c": pd.Series(["a"] * N, dtype=object)}))
    public = replace(public, semicolons=semicolons)
    if named:
        public = replace(public, named=frozenset(["c"]))
    instead = {1: told} | ({} if levels is None else {2: levels})
    (column,) = read(account(100.0, noise=Told(instead)), source, public, ALONE)
    return column


@pytest.mark.parametrize(
    ("told", "kind", "mark"),
    [
        (counts(whole=N), "number", "."),
        (counts(point=N), "number", "."),
        (counts(comma=N), "number", ","),
        (counts(whole=600, point=250, comma=150), "number", "."),
        (counts(whole=600, point=130, comma=270), "number", ","),  # 140 more, of a noise of 33 each
        (counts(whole=600, point=180, comma=220), "number", "."),  # which may be noise
        (counts(whole=600, point=200, comma=200), "number", "."),
        (counts(either_comma=N), "number", "."),  # thousands
        (counts(either_comma=600, whole=400), "number", "."),
        (counts(either_comma=600, whole=200, comma=200), "number", ","),
        (counts(either_comma=600, whole=260, comma=140), "number", "."),  # of these a mistake would make a thousandth
        (counts(either_point=N), "number", "."),  # decimals
        (counts(either_point=700, comma=300), "number", ","),  # 1.234 beside 1.234,50
        (counts(either_point=400, either_comma=400, text=200), "number", "."),
        (counts(date=N), "date", "."),
        (counts(truth=N), "boolean", "."),
        (counts(text=N), "category", "."),
        (counts(whole=500, text=500), "category", "."),  # neither has nearly all
        (counts(whole=280, point=270, date=450), "category", "."),
        (counts(whole=800, text=200), "number", "."),
        (counts(whole=250, text=250, date=250, truth=250), "category", "."),
        (counts(), "number", "."),  # a tie of nothing
        (counts(missing=-50, whole=N + 90, text=-40), "number", "."),
        # of few values: what noise of 33 added to some classes it took from others
        (counts(missing=750, whole=230, comma=-60, point=-60, date=70, truth=70, text=70), "number", "."),
    ],
)
def test_the_kind_that_most_values_have(told, kind, mark):
    column = told_kind(told)
    assert (column.kind, column.mark) == (kind, mark)
    assert column.found == (kind == "category")
    if kind == "boolean":
        assert (column.levels, column.reference) == (TRUTHS, 0)


@pytest.mark.parametrize(
    ("told", "mark"),
    [
        (counts(either_comma=N), ","),  # three decimals, of a program that writes decimal commas
        (counts(either_comma=700, whole=300), "."),  # thousands: three decimals would be everywhere
        (counts(either_point=N), "."),
        (counts(either_point=500, either_comma=500), "."),
        (counts(either_comma=500, point=500), "."),
        (counts(either_point=500, comma=500), ","),
        (counts(whole=N), "."),
    ],
)
def test_decimal_marks_between_semicolons(told, mark):
    column = told_kind(told, semicolons=True)
    assert (column.kind, column.mark) == ("number", mark)


def test_numbers_that_were_declared_have_a_mark_too(tmp_path):
    (tmp_path / "x.csv").write_text("a;y\n" + "1,5;2,5\n" * 3000)
    reader = SchemaReader(2.0, 1e-6, ranges={"a": (0, 9)}, random_state=0).fit(open_file(tmp_path / "x.csv"))
    assert [column.mark for column in reader.schema_] == [",", ","]
    assert [column.left_out for column in reader.schema_] == ["", ""]


@pytest.mark.parametrize(
    ("told", "reason", "missing"),
    [
        (counts(missing=N), EMPTY, N),
        (counts(missing=950, point=50), EMPTY, 950),
        (counts(missing=500, point=500), HALF_EMPTY, 500),
        (counts(missing=300, point=700), "", 300),
        (counts(missing=-30, point=1000), "", 0),
        (counts(missing=430, whole=300, point=270), HALF_EMPTY, 430),
        (counts(missing=20, point=850, text=130), "", 150),  # what is not of the kind is missing
        (counts(point=600, whole=60, comma=340), "", 340),  # numbers with the other mark are, too
    ],
)
def test_columns_with_too_few_values_are_left_out(told, reason, missing):
    column = told_kind(told)
    assert (column.kind, column.left_out) == ("number", reason)
    assert column.n_missing == pytest.approx(missing, abs=1)
    named = told_kind(told, named=True)
    assert named == replace(column, left_out="")  # who names a column gets it


def test_levels_by_their_noisy_counts_and_ties_by_name():
    frame = pd.DataFrame({"c": ["b"] * 300 + ["a"] * 300 + ["d"] * 150 + ["c"] * 250})
    public, source = opened(frame)
    (column,) = read(account(noise=Told({2: [280, 300, 250, 170]})), source, public, ALONE)  # of a, b, c, d
    assert column.levels == ("b", "a", "c", "d")
    assert column.counts == (300, 280, 250, 170)
    assert column.reference == 0
    (column,) = read(account(noise=Told({2: [300, 300, 250, 150]})), source, public, ALONE)
    assert column.levels == ("a", "b", "c", "d")
    (column,) = read(account(noise=Told({2: [1e6, -1e6, 250, 0]})), source, public, ALONE)
    assert column.levels == ("a", "c")
    assert [(f.name, f.share) for f in Schema((column,), 1000.0).features] == [("c=c", 0.25)]
    assert [f.share for f in Schema((replace(column, reference=1),), 1000.0).features] == [1.0]


def test_no_more_levels_than_the_public_cap():
    many = MOST_LEVELS + 10
    frame = pd.DataFrame({"c": [f"v{i:03}" for i in range(many) for _ in range(100 + i)]})
    public, source = opened(frame)
    (column,) = read(account(1000.0), source, public, ALONE)
    assert len(column.levels) == MOST_LEVELS
    assert column.levels == tuple(f"v{i:03}" for i in range(many - 1, 9, -1))
    assert column.other  # the ten that are left
    assert column.n_other == pytest.approx(sum(100 + i for i in range(10)), abs=2)


def test_other_and_missing_values_have_features_if_they_are_common():
    values = ["a"] * 500 + ["b"] * 200 + [f"rare {i}" for i in range(200)] + [None] * 100
    public, source = opened(pd.DataFrame({"c": values}), missing="fill")
    (column,) = schema = read(account(100.0), source, public, ALONE)
    assert (column.levels, column.other, column.missing) == (("a", "b"), True, True)
    assert (column.n_other, column.n_missing) == (pytest.approx(200, abs=2), 100)
    assert [f.name for f in schema.rows] == ["c=b", "c=(other)", "c=(missing)"]
    assert [f.code for f in schema.rows] == [1, column.other_code, column.missing_code]
    public, source = opened(pd.DataFrame({"c": values}))
    (column,) = schema = read(account(100.0), source, public, ALONE)
    assert (column.other, column.missing) == (True, False)  # records without a value are left out
    assert [f.name for f in schema.rows] == ["c=b", "c=(other)"]
    few = ["a"] * 700 + ["b"] * 260 + [f"rare {i}" for i in range(20)] + [None] * 20
    public, source = opened(pd.DataFrame({"c": few}), missing="fill")
    (column,) = read(account(100.0), source, public, ALONE)
    assert (column.other, column.missing) == (False, False)


def test_columns_that_say_nothing():
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(N)], "same": ["x"] * N, "almost": ["x"] * (N - 3) + ["y"] * 3})
    public, source = opened(frame)
    schema = read(account(1.0), source, public, ALONE)
    assert schema.left_out == {NO_COMMON: ["id"], CONSTANT: ["same", "almost"]}
    assert schema.features == []
    assert [f.name for f in schema.rows] == ["id", "same", "almost"]
    declared, source = opened(frame[["same"]], categories={"same": ["x"]})  # a declared one is what it is declared as
    (column,) = read(account(100.0), source, declared, ALONE)
    assert column.left_out == ""


# ---- whole tables


def everything(n=6000):
    rng = np.random.default_rng(1)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "town": rng.choice(["Ayr", "Bath", "Cork", None], n, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(18, 80, n).astype(str),
            "pay": [f"{v:.2f}".replace(".", ",") for v in rng.normal(50, 9, n)],
            "id": [f"p{i}" for i in range(n)],
            "member": rng.choice(["yes", "no"], n, p=[0.6, 0.4]),
            "when": days.strftime("%Y-%m-%d"),
            "half": np.where(rng.random(n) < 0.5, "", "x"),
            "grade": pd.Categorical(rng.choice(["low", "high"], n, p=[0.7, 0.3])),
            "height": np.where(rng.random(n) < 0.1, np.nan, rng.normal(170, 9, n)),
            "flag": rng.random(n) < 0.25,
            "same": "x",
        }
    )


@pytest.mark.parametrize("epsilon", [1e4, 1e5])
@pytest.mark.parametrize("shares", [ADAPTIVE, FIXED, ALONE])
def test_with_a_huge_budget_the_schema_is_the_exact_one(epsilon, shares):
    frame = everything()
    public, source = opened(frame, missing="fill")
    spent = account(epsilon, noise=SeededNoise(np.random.default_rng(3)))
    schema = read(spent, source, public, shares)
    known = {column.name: column for column in schema}
    assert schema.records == pytest.approx(len(frame), abs=1)
    assert {name: c.kind for name, c in known.items()} == {
        "town": "category",
        "age": "number",
        "pay": "number",
        "id": "category",
        "member": "boolean",
        "when": "date",
        "half": "category",
        "grade": "category",
        "height": "number",
        "flag": "boolean",
        "same": "category",
    }
    assert known["pay"].mark == ","
    assert schema.left_out == {NO_COMMON: ["id"], HALF_EMPTY: ["half"], CONSTANT: ["same"]}
    for name in ("town", "grade", "member"):
        exact = frame[name].value_counts()
        if name == "member":
            exact = exact[["no", "yes"]]
        assert known[name].levels == tuple(exact.index)
        np.testing.assert_allclose(known[name].counts, exact, atol=1)
    np.testing.assert_allclose(known["flag"].counts, frame["flag"].value_counts().sort_index(), atol=1)
    assert known["flag"].levels == (False, True)
    for name, exact in (
        ("age", frame["age"].astype(float).median()),
        ("pay", frame["pay"].str.replace(",", ".").astype(float).median()),
        ("height", frame["height"].median()),
        ("when", (pd.to_datetime(frame["when"]) - pd.Timestamp(0)).dt.days.median()),
    ):
        assert known[name].centre == pytest.approx(exact, rel=0.01), name
    assert [f.name for f in schema.features] == [
        *("town=Bath", "town=Cork", "age", "pay", "member=yes", "when", "grade=high", "height", "flag=True"),
    ]
    assert spent.mu_squared >= 0


def test_a_missing_number_counts_as_a_centre_within_its_range():
    frame = pd.DataFrame({"x": np.append(np.full(900, 50.0), np.full(100, np.nan))})
    for ranges, centre in ((None, 50), ({"x": (0, 10)}, 10), ({"x": (60, 90)}, 60)):
        public, source = opened(frame, missing="fill", ranges=ranges)
        schema = read(account(1000.0), source, public, ALONE)
        assert schema.fill
        assert schema.columns[0].centre == pytest.approx(centre, rel=0.01)


def test_centres_are_named_by_the_rows_that_they_are_about():
    """Column names may hold anything, so no event has one in its own."""
    frame = everything()[["town", "age", "grade", "height"]].rename(columns={"height": "\x1b[31mheight"})
    public, source = opened(frame, missing="fill")
    spent = account(1000.0)
    schema = read(spent, source, public, ALONE)
    centres = [event for event in spent.receipt().events if event.name.startswith("centre")]
    rows = {f.name: f.row for f in schema.rows}
    assert [(e.name, e.column) for e in centres] == [
        (f"centre of column {rows[name]}", rows[name]) for name in ("age", "\x1b[31mheight")
    ]


def test_too_few_records_find_nothing_in_columns_of_text():
    frame = everything(200).assign(number=1.0)
    public, source = opened(frame, missing="fill")
    spent = account(0.05)
    schema = read(spent, source, public, ADAPTIVE)
    assert [event.name for event in spent.receipt().events] == ["count all records", "counts of levels"]
    assert schema.left_out == {TOO_FEW: public.to_find}
    assert not schema.fill
    assert [f.name for f in schema.features] == ["height", "flag=True", "number"]
    assert len(schema.rows) == len(frame.columns)


def test_an_empty_table_and_an_empty_column():
    frame = everything(10)[:0]
    for shares in (ADAPTIVE, FIXED, ALONE):
        public, source = opened(frame)
        assert [c.name for c in read(account(), source, public, shares)] == list(frame.columns)
    public, source = opened(pd.DataFrame({"none": [None] * N, "nan": [np.nan] * N, "x": ["1", "2"] * (N // 2)}))
    schema = read(account(100.0), source, public, ALONE)
    assert schema.left_out == {EMPTY: ["none", "nan"]}


@given(
    epsilon=st.floats(1e-3, 1e3),
    delta=st.floats(1e-12, 1e-2),
    rows=st.integers(1, 50),
    n=st.integers(0, 3000),
    fill=st.booleans(),
    shares=st.sampled_from([ADAPTIVE, FIXED, ALONE]),
    seed=st.integers(0, 99),
)
def test_shares_never_exceed_the_account(epsilon, delta, rows, n, fill, shares, seed):
    """Whatever the counts say, the account admits every step, and the total is within the budget."""
    frame = _RAGGED.iloc[:n]
    public, source = opened(frame, missing="fill" if fill else "drop")
    noise = SeededNoise(np.random.default_rng(seed))
    spent = account(epsilon, delta, noise, rows, delta / 20)
    schema = read(spent, source, public, shares, rows)
    receipt = spent.receipt()
    assert receipt.epsilon <= epsilon
    assert receipt.delta <= delta
    assert receipt.extra_delta <= delta / 20
    assert {event.purpose for event in receipt.events} <= {"count", "reading"}
    assert [c.name for c in schema] == list(frame.columns)
    assert Schema.from_dict(schema.to_dict()) == schema


_RAGGED = everything(3000)


def test_types_are_all_that_is_needed_to_settle():
    types = Types({"a": ColumnType("text", "text"), "b": ColumnType("number", "number")}, lambda _: None)
    public = settle(types)
    assert public.to_find == ["a"]
    assert public.columns["b"] == Column("b", "number")
