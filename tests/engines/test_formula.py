"""Formulas and filters on tables in every form: the same bits. And a record's features are its own."""

import datetime as dt
import tempfile
import warnings
from decimal import Decimal
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_files import write_groups
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    ParquetTable,
    PrivateLinearRegression,
    SchemaError,
    SchemaReader,
    load_model,
)
from privreg.data.expressions import read_condition
from privreg.data.files import open_file
from privreg.data.formula import read_formula
from privreg.data.schema import CATEGORY, NUMBER, Column, Schema
from privreg.data.tables import read_table
from privreg.engines import parquet as parquet_engine
from privreg.engines.base import OpenOptions
from privreg.engines.registry import kind_of
from public_tables import records_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Dask's threads
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N = 1500
TEXTS = ["town", "kind"]
FORMULA = "log(pay) ~ age*C(town) + log(rate - 1) + I((kind == 'x')*age) + flag:kind"
WHERE = "(age >= 18 or missing(age)) and town != 'Cork' & !(who in [3, 4]) and when > '2001-02-03' and pay < 60"


def make_frame():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(10, 80, N).astype(float),
            "town": rng.choice(["Ayr", "Bath", "Cork", " Bath"], N),
            "kind": rng.choice(["x", "y", None], N, p=[0.5, 0.4, 0.1]),
            "rate": rng.normal(3, 1, N).round(3),
            "flag": rng.random(N) < 0.5,
            "when": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 9999, N), unit="h"),
            "who": rng.integers(0, N // 3, N),
            "pay": np.exp(rng.normal(2, 1, N)).round(4),
        }
    )
    frame.loc[::17, "age"] = np.nan
    frame.loc[::29, "pay"] = -1.0
    return frame.astype(dict.fromkeys(TEXTS, object))


FRAME = make_frame()
KINDS = {"age": pa.float64(), "town": pa.string(), "kind": pa.string(), "rate": pa.float64(), "flag": pa.bool_(),
         "when": pa.timestamp("us"), "who": pa.int64(), "pay": pa.float64()}  # fmt: skip


def arrow(frame=FRAME):
    return pa.Table.from_pandas(frame, pa.schema(list(KINDS.items())), preserve_index=False)


def in_groups(folder, sizes):
    return ParquetTable(write_groups(folder / "groups.parquet", arrow(), sizes))


def as_csv(folder):
    FRAME.to_csv(folder / "d.csv", index=False)
    return open_file(folder / "d.csv")


FORMS = {
    "pandas": lambda _: FRAME,
    "categories": lambda _: FRAME.astype(dict.fromkeys(TEXTS, "category")),
    "polars": lambda _: pl.from_arrow(arrow()),
    "arrow": lambda _: pa.concat_tables([arrow().slice(0, 7), arrow().slice(7)]),
    "parquet": lambda folder: in_groups(folder, [N]),
    "row groups": lambda folder: in_groups(folder, [1, 600, 0, 7, N - 608]),
    "dask": lambda _: dd.from_pandas(FRAME, npartitions=4, sort=False),
    "unknown categories": lambda _: dd.from_pandas(FRAME, npartitions=3, sort=False).astype(
        dict.fromkeys(TEXTS, "category")
    ),
    "csv": as_csv,
}


@pytest.fixture(params=list(FORMS))
def table(request, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    return request.param, FORMS[request.param](tmp_path)


ESTIMATORS = {
    "flagship": lambda **o: PrivateLinearRegression(8.0, random_state=5, **o),
    "adassp": lambda **o: BoostedAdaSSP(8.0, rounds=3, random_state=5, **o),
    "kendall": lambda **o: DPKendall(2, 8.0, 1e-6, random_state=5, **o),
}
WAYS = {"alone": {}, "people": {"groups": "who"}, "filled": {"missing": "fill"}}


def outcome(make, table, way, formula=FORMULA, where=WHERE):
    options = dict(WAYS[way])
    groups = options.pop("groups", None)
    found = ESTIMATORS[make](**options).fit(table, formula=formula, where=where, groups=groups)
    learnt = found.coef_.tobytes() if hasattr(found, "coef_") else found.ranking_.tobytes()
    return learnt, found.schema_.to_dict(), found.receipt_.to_dict(), found.warnings_


@pytest.fixture(scope="module")
def expected():
    return {(make, way): outcome(make, FRAME, way) for make in ESTIMATORS for way in WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_every_form_gives_the_same_bits(table, way, expected):
    name, X = table
    if name == "unknown categories" and way != "alone":
        pytest.skip("as dask")
    for make in ["flagship"] if name in ("csv", "dask", "unknown categories") else ESTIMATORS:
        found, same = outcome(make, X, way), expected[make, way]
        if name == "csv":  # where types are found out, more is spent
            assert [c["kind"] for c in found[1]["columns"]] == [c["kind"] for c in same[1]["columns"]]
            assert found[1]["where"] == same[1]["where"]
        else:
            assert found == same


def test_a_named_target_with_a_filter_gives_the_same_bits(table):
    name, X = table
    if name == "csv":
        pytest.skip("types are found out")
    columns, where = ["age", "flag", "rate", "town", "pay", "who"], "pay > 1 and who > 20 and town != 'Ayr'"
    some = X.select(columns) if isinstance(X, ParquetTable | pa.Table) else X[columns]
    found = ESTIMATORS["flagship"]().fit(some, "pay", "who", where=where)
    same = ESTIMATORS["flagship"]().fit(FRAME[columns], "pay", "who", where=where)
    assert found.coef_.tobytes() == same.coef_.tobytes()
    assert found.schema_ == same.schema_
    assert list(found.feature_names_in_) == ["age", "flag", "rate", "town"]


def test_a_schema_is_read_under_a_filter_everywhere(table):
    name, X = table
    if name == "csv":
        pytest.skip("types are found out")
    found = SchemaReader(8.0, random_state=2).fit(X, groups="who", where="who > 30 and town != 'Cork'").schema_
    same = SchemaReader(8.0, random_state=2).fit(FRAME, groups="who", where="who > 30 and town != 'Cork'").schema_
    assert found == same
    assert "Cork" not in next(column for column in found if column.name == "town").levels


def test_predictions_are_the_same_everywhere(table, tmp_path):
    _, X = table
    model = ESTIMATORS["flagship"]().fit(FRAME, formula=FORMULA, where=WHERE)
    model.save(tmp_path / "m.json")
    expected = model.predict(FRAME)
    for each in (model, load_model(tmp_path / "m.json")):
        for inverse in (False, True):
            found = each.predict(X, inverse=inverse)
            found = found.compute().to_numpy() if hasattr(found, "compute") else found
            wanted = each.predict(FRAME, inverse=inverse)
            np.testing.assert_array_equal(found, wanted)
    assert np.isnan(expected).sum() == (FRAME["age"].isna() | (FRAME["rate"] <= 1) | FRAME["kind"].isna()).sum()


def test_the_order_of_rows_does_not_change_what_is_summed():
    shuffled = FRAME.sample(frac=1, random_state=1).reset_index(drop=True)
    for make in ("flagship", "adassp"):
        assert outcome(make, shuffled, "alone")[1:] == outcome(make, FRAME, "alone")[1:]
    some, all_ = outcome("flagship", shuffled, "filled"), outcome("flagship", FRAME, "filled")
    assert some == all_


def schema(formula, **kinds):
    columns = tuple(
        Column(name, CATEGORY, levels=tuple(kind), reference=0) if isinstance(kind, list) else Column(name, NUMBER)
        for name, kind in kinds.items()
    )
    return Schema(columns).with_formula(read_formula(formula, list(kinds)))


SCHEMA = schema(FORMULA, age=0, town=["Ayr", "Bath", "Cork"], kind=["x", "y"], rate=0, flag=["no", "yes"], pay=0)


def test_the_records_are_the_same_in_every_form(table):
    """What engines compute with, of a schema that is given."""
    _, X = table
    condition = read_condition(WHERE)

    def records(table):
        kind = kind_of(table)
        types = kind.types(table, None, None).offering(SCHEMA.formula.columns)
        return sorted(records_of(kind.open(table, None, types, OpenOptions(1, where=condition)).open(SCHEMA)))

    assert records(X) == records(FRAME)
    assert 200 < len(records(FRAME)) < N


def test_a_product_that_is_too_large_is_a_missing_value_in_every_form(tmp_path):
    """Proofs of mechanisms need finite values."""
    frame = pd.DataFrame({"age": [1e200, 2.0, -1e200], "rate": [1e200, 3.0, 1e200], "pay": [1.0, 2.0, 3.0]})
    products = schema("pay ~ age:rate", age=0, rate=0, pay=0)
    file = ParquetTable(write_groups(tmp_path / "p.parquet", pa.Table.from_pandas(frame), [2, 1]))
    for X in (frame, pl.from_pandas(frame), file):
        kind = kind_of(X)
        types = kind.types(X, None, None).offering(products.formula.columns)
        engine = kind.open(X, None, types, OpenOptions(1)).open(products)
        assert engine.n_records == 1
        assert records_of(engine) == [(6.0, 2.0)]


def test_a_filter_on_a_column_of_no_use_is_refused_before_a_row_is_read(tmp_path):
    span = pa.array([5] * N, pa.duration("s"))
    pairs = arrow().append_column("pairs", pa.array([[1, 2]] * N)).append_column("span", span)
    pairs_file = ParquetTable(write_groups(tmp_path / "p.parquet", pairs, [N]))
    for X in (pairs, pl.from_arrow(pairs), pairs_file):
        for name in ("pairs", "span"):
            for where in (f"{name} == 'a'", f"missing({name})", f"{name} > 1"):
                with pytest.raises(SchemaError, match=f"column '{name}' is of type .*, which cannot be used"):
                    ESTIMATORS["flagship"]().fit(X, formula="pay ~ age", where=where)
                with pytest.raises(SchemaError, match=f"column '{name}' is of type"):
                    ESTIMATORS["flagship"]().fit(X, "pay", where=where)
        with pytest.raises(SchemaError, match="column 'pairs' is of type"):
            ESTIMATORS["flagship"]().fit(X, formula="pay ~ I(pairs + 1)")


def test_names_of_a_dask_frame_that_are_no_text_are_refused():
    frame = dd.from_pandas(pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}), npartitions=1)
    for options in ({"formula": "`0` ~ `1`"}, {"y": "0"}, {"y": "0", "where": "`1` > 0"}):
        with pytest.raises(SchemaError, match="the columns of a Dask data frame must have names"):
            ESTIMATORS["flagship"]().fit(frame, **options)


@pytest.mark.parametrize("groups", [None, "town"])
def test_odd_cells_of_a_partition_are_missing(groups):
    usual = pd.DataFrame({"age": np.arange(200.0) % 60, "town": ["a", "b"] * 100, "pay": np.arange(200.0) + 1})
    odd, gone = usual.astype(object), usual.astype(object)
    for i, cells in enumerate((["text", ["list"], {"d": 1}], [1j, None, "x"], [float("inf"), 5j, dt.date(2020, 1, 1)])):
        odd.loc[i], gone.loc[i] = cells, [None, None, None]
    found = [
        ESTIMATORS["flagship"]().fit(
            dd.from_map(lambda i, each=each: (usual, each)[i], range(2), meta=usual[:0]),
            formula="log(pay) ~ age*C(town)" if groups is None else "log(pay) ~ age",
            where="age > 3 and town != 'b' or pay > 100",
            groups=groups,
        )
        for each in (odd, gone)
    ]
    assert found[0].coef_.tobytes() == found[1].coef_.tobytes()
    assert found[0].receipt_.to_dict() == found[1].receipt_.to_dict()


# ---------------------------------------------------------------- one record

CELLS = st.one_of(
    st.none(),
    st.floats(),
    st.sampled_from([0, 1, -5, 10**400, 2**63, True, "", "NA", "x", "Ayr", "yes", "1,5", "1e999", "nan", "-inf",
                     "\ud800",
                     "2020-01-01", "\0", "a" * 1000, b"x", Decimal("NaN"), Decimal("1e500"), dt.date(2020, 1, 1),
                     dt.datetime(1, 1, 1), dt.timedelta(3), (1, 2), [3], {"a": 1}, 1j, float, np.nan, pd.NaT, pd.NA,
                     np.float32(3), np.datetime64("NaT"), np.longdouble("1e4000")]),
    st.text(max_size=5),
)  # fmt: skip
RECORD = st.fixed_dictionaries(dict.fromkeys(("age", "town", "kind", "rate", "flag", "pay"), CELLS))
CONDITIONS = ["age >= 18 or town == 'x'", "!missing(kind) and rate**2 < 9", "flag", "town > '2001-01-01'",
              "kind in [1, 2] or town in ['no', 'yes']"]  # fmt: skip


def object_frame():
    some = FRAME[["age", "town", "kind", "rate", "flag", "pay"]][:12].astype(object)
    return some.reset_index(drop=True)


@given(RECORD, st.integers(0, 11))
@settings(max_examples=40)
def test_whatever_a_record_holds_only_its_own_row_changes(record, place):
    frame = object_frame()
    other = pd.DataFrame(
        {name: pd.Series([*frame[name][:place], value, *frame[name][place + 1 :]], dtype=object)
         for name, value in record.items()}
    )  # fmt: skip
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        before, after = design(frame), design(other)
        kept, kept_after = filtered(frame), filtered(other)
    mine = np.arange(12) == place
    assert before[~mine].tobytes() == after[~mine].tobytes()
    np.testing.assert_array_equal(kept[:, ~mine], kept_after[:, ~mine])


def design(frame):
    table = read_table(frame, SCHEMA)
    return table.rows(np.arange(len(frame)))


def filtered(frame):
    """Which rows each filter leaves."""
    found = []
    for text in CONDITIONS:
        types = kind_of(frame).types(frame, None, None)
        source = kind_of(frame).open(
            frame, None, types, OpenOptions(1, where=read_condition(text, list(frame.columns)))
        )
        found.append(source._left)
    return np.array(found)


@given(st.lists(st.text(alphabet="ab01.,;\"' \n\t-eENA\0é", max_size=8), min_size=6, max_size=9), st.integers(0, 11))
@settings(max_examples=30)
def test_whatever_a_line_of_a_text_file_holds_only_its_own_row_changes(cells, place):
    """Lines are told apart by the file's own rules: here, whole lines are quoted."""
    quoted = ",".join('"' + cell.replace('"', "").replace("\n", " ") + '"' for cell in cells)
    frame = object_frame()
    lines = frame.to_csv(index=False).splitlines()
    changed = [*lines[: place + 1], quoted, *lines[place + 2 :]]
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for name, content in (("a.csv", lines), ("b.csv", changed)):
            path = Path(folder) / name
            path.write_text("\n".join(content) + "\n", encoding="utf-8")
            (batch,) = open_file(path).batches(list(frame.columns))
            found.append(design(batch))
    mine = np.arange(12) == place
    assert found[0].shape == found[1].shape
    assert found[0][~mine].tobytes() == found[1][~mine].tobytes()
