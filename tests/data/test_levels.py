"""Levels that came with a type do not tell where they come from: they are taken as public only if the user says so."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg import DPKendall, ParquetTable
from privreg.data.raw import levels_in_type
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError
from privreg.estimators.settled import public_schema, settle

VALUES = ["a", "b"] * 30
ORDERED = pd.CategoricalDtype(["a", "b"], ordered=True)


@pytest.fixture(params=["pandas", "arrow", "parquet"])
def table(request, tmp_path):
    frame = pd.DataFrame({"t": pd.Categorical(VALUES), "u": pd.Series(VALUES, dtype=ORDERED), "x": 1.0, "b": True})
    if request.param == "pandas":
        return frame
    if request.param == "arrow":
        return pa.Table.from_pandas(frame)
    frame.to_parquet(tmp_path / "file.parquet")
    return ParquetTable(tmp_path / "file.parquet")


def test_levels_that_came_with_a_type_are_data(table):
    types = kind_of(table).types(table, "x" if isinstance(table, ParquetTable) else None, None)
    public = settle(types)
    assert public.to_find == ["t", "u"]
    assert public.notes == ()
    taken = settle(types, "dtype")
    assert taken.to_find == []
    assert taken.columns["u"].levels == ("a", "b")
    assert taken.schema.typed == ["t", "u"]
    assert taken.notes == (
        "Levels of t, u were taken from the columns' types: they are not protected and may come from single records.",
    )
    declared = settle(types, {"t": ["b", "a"], "u": ["a"]})
    assert (declared.to_find, declared.notes, declared.schema.typed) == ([], (), [])
    assert [declared.columns[name].levels for name in "tu"] == [("b", "a"), ("a",)]


def test_what_is_taken_as_public_is_said_in_the_result():
    frame, y = pd.DataFrame({"t": pd.Categorical(VALUES), "x": 1.0}), np.arange(60.0)
    said = "Levels of t were taken from the column's type: they are not protected and may come from single records."
    assert said in DPKendall(1, 1.0, 1e-6, categories="dtype").fit(frame, y).warnings_
    assert said not in DPKendall(1, 1.0, 1e-6, categories={"t": ["a", "b"]}).fit(frame, y).warnings_


def test_levels_that_were_written_down_before_there_was_data_are_public(tmp_path):
    enum = pl.DataFrame({"t": pl.Series(VALUES[:1] * 60, dtype=pl.Enum(["b", "a", "c"])), "x": np.arange(60.0)})
    enum.write_parquet(tmp_path / "enum.parquet")
    file = ParquetTable(tmp_path / "enum.parquet")
    for types in (kind_of(enum).types(enum, None, None), kind_of(file).types(file, "x", None)):
        public = settle(types)
        assert public.columns["t"].levels == ("b", "a", "c")
        assert (public.to_find, public.notes) == ([], ())


def test_types_without_levels_for_the_whole_column(tmp_path):
    polars = pl.DataFrame({"t": pl.Series(["secret"], dtype=pl.Categorical)})
    with pytest.raises(SchemaError, match="the type of column 't' does not list the levels of the whole column"):
        public_schema(kind_of(polars).types(polars, None, None))
    with pytest.raises(
        ValueError,
        match=r'^categories must be "dtype" or a dict of levels by column, got "types"$'.replace('"t', "'t").replace(
            's"$', "s'$"
        ),
    ):
        settle(kind_of(polars).types(polars, None, None), "types")


def test_levels_of_intervals_are_called_by_what_is_printed_of_them():
    import narwhals as nw

    cut = pd.Series(pd.cut([1, 2, 30], [0, 10, 20, 40]))
    assert levels_in_type(nw.from_native(cut, series_only=True)) == ["(0, 10]", "(10, 20]", "(20, 40]"]
