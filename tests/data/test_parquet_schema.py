"""Many Parquet files as one table: what they must have in common."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_files import LEVELS, everything, town, two, write, write_groups
from privreg import ParquetTable
from privreg.data.columns import choose_columns
from privreg.data.files import open_file
from text_tables import message


def test_columns_in_any_order(tmp_path):
    two(tmp_path, {"x": [1.0], "y": ["a"], "z": [True]}, {"z": [False], "x": [2.0], "y": ["b"]})
    table = ParquetTable(tmp_path)
    assert table.columns == {"x": "number", "y": "text", "z": "boolean"}
    assert everything(table, ["z", "y", "x"]).to_pydict() == {"z": [True, False], "y": ["a", "b"], "x": [1.0, 2.0]}
    assert message(table.read, ["w"]) == f"{tmp_path} has no column 'w'"
    assert message(table.part_tables, table.parts[0], ["w"]) == f"{tmp_path} has no column 'w'"


def test_every_file_has_every_column(tmp_path):
    a, b = two(tmp_path, {"x": [1.0], "age": [1.0]}, {"x": [1.0]})
    same = "give every file the same columns"
    assert message(open_file, tmp_path / "*") == f"{b} has no column 'age', which {a} has; {same}"
    two(tmp_path, {"x": [1.0]}, {"age": [1.0], "x": [1.0]})
    assert message(open_file, tmp_path / "*") == f"{a} has no column 'age', which {b} has; {same}"


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ([1.0], ["4711"], ("number", "text")),
        ([True], [1], ("boolean", "number")),
        (["4711"], pa.array(["4711"]).dictionary_encode(), ("text", "category")),
        ([1], pa.nulls(1), ("number", "nothing")),
        (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("s")), ("date", "timestamp")),
        ([[1]], [["4711"]], ("list<element: int64>", "list<element: string>")),
    ],
)
def test_kinds_agree(tmp_path, first, second, kinds):
    a, b = two(tmp_path, {"c": first, "x": [1]}, {"c": second, "x": [1]})
    said = f"column 'c' is of kind {kinds[1]!r} in {b}, but {kinds[0]!r} in {a}; use one kind in all files"
    assert message(ParquetTable, tmp_path) == said


def test_numbers_of_different_types_are_float64(tmp_path):
    kinds = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2)]
    for i, kind in enumerate(kinds):
        value = {pa.float16(): np.float16(i), pa.decimal128(9, 2): decimal.Decimal(i)}.get(kind, i)
        write(tmp_path / f"{i}.parquet", {"x": pa.array([value, None], kind), "n": pa.array([i, i], pa.int32())})
    table = ParquetTable(tmp_path)
    got = everything(table, ["x", "n"])
    assert got.schema.types == [pa.float64(), pa.int32()]
    assert got["x"].to_pylist() == [v for i in range(6) for v in (float(i), None)]
    big = write(tmp_path / "9.parquet", {"x": [2**63 - 1], "n": pa.array([1], pa.int32())})
    assert ParquetTable([tmp_path / "0.parquet", big]).read(["x"])["x"][-1].as_py() == 2.0**63


def test_text_however_it_is_stored(tmp_path):
    for i, kind in enumerate((pa.string(), pa.large_string())):
        levels = pa.array(LEVELS, kind)
        town = pa.DictionaryArray.from_arrays(pa.array([i], pa.int8() if i else pa.int32()), levels)
        write(tmp_path / f"{i}.parquet", {"t": pa.array(["é"], kind), "c": town})
    table = ParquetTable(tmp_path)
    assert table.columns == {"t": "text", "c": "category"}
    assert table.levels("c") == LEVELS
    for identifiers in ((), ("t", "c")):
        got = everything(table, ["t", "c"], identifiers)
        assert got.to_pydict() == {"t": ["é", "é"], "c": ["north", "south"]}


def test_other_types_that_differ_are_refused_where_they_are_used(tmp_path):
    a, b = two(
        tmp_path,
        {"x": [1], "t": pa.array([1], pa.timestamp("ms")), "c": pa.array([b"1"]).dictionary_encode()},
        {"x": [2], "t": pa.array([1], pa.timestamp("us")), "c": pa.array(["2"]).dictionary_encode()},
    )
    table = ParquetTable([a, b])
    assert table.columns == {"x": "number", "t": "timestamp", "c": "category"}
    assert everything(table, ["x"])["x"].to_pylist() == [1, 2]
    said = f"column 't' is of type timestamp[us] in {b}, but timestamp[ms] in {a}; use one type in all files"
    for read in (table.read, table.batches, lambda *given: table.part_tables(table.parts[0], *given)):
        assert message(read, ["x", "t"]) == said
    assert "column 'c' is of type" in message(table.read, ["c"])
    assert table.levels("c") is None


def test_lists_whose_elements_are_called_differently_are_the_same(tmp_path):
    lists = [pa.array([[1]], pa.list_(pa.field(name, pa.int64()))) for name in ("item", "thing")]
    for i, column in enumerate(lists):
        write(tmp_path / f"{i}.parquet", {"l": column}, use_compliant_nested_type=False)
    assert ParquetTable(tmp_path).columns == {"l": "list<item: int64>"}


def test_the_index_of_pandas_is_no_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    frame.set_index(pd.Index([5, 7])).to_parquet(tmp_path / "b.parquet")
    frame.set_index(pd.Index(["a", "b"])).to_parquet(tmp_path / "c.parquet")
    frame.set_index(pd.Index([5, 7])).to_parquet(tmp_path / "d.parquet")
    table = ParquetTable(tmp_path)
    assert "__index_level_0__" in pq.read_schema(tmp_path / "c.parquet").names
    assert table.columns == {"x": "number"}
    assert everything(table, ["x"]).schema == pa.schema([("x", pa.float64())])
    assert len(ParquetTable(tmp_path / "[!a].parquet").parts) == 3


def test_two_columns_of_one_name(tmp_path):
    a, b = two(tmp_path, {"a": [1]}, pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))
    assert message(ParquetTable, tmp_path) == f"{b} has two columns called 'a'; rename one of them"
    write(a, {})
    assert message(ParquetTable, tmp_path) == f"{a} has no columns"


def test_schemas_that_differ_only_in_what_is_never_read(tmp_path):
    """Whether nulls are allowed, and notes of the program that wrote the file."""
    fields = [pa.field("x", pa.float64(), nullable=False, metadata={"by": "hand"}), pa.field("x", pa.float64())]
    for i, f in enumerate(fields):
        write(tmp_path / f"{i}.parquet", pa.table([pa.array([1.0])], pa.schema([f], metadata={"n": str(i)})))
    got = everything(ParquetTable(tmp_path), ["x"])
    assert got.schema.equals(pa.schema([("x", pa.float64())]), check_metadata=True)


def test_a_dictionary_common_to_all_files(tmp_path):
    empty = town([]), town([2, None])
    write(tmp_path / "0.parquet", {"c": town([1, 0, 1])}, row_group_size=2)
    write_groups(tmp_path / "1.parquet", pa.table({"c": pa.chunked_array(empty)}), [0, 2, 0])
    write(tmp_path / "2.parquet", {"c": town([])})
    table = ParquetTable(tmp_path)
    assert table.levels("c") == LEVELS
    got = everything(table, ["c"])["c"].to_pylist()
    assert got == ["south", "north", "south", "east", None]
    for levels in (LEVELS[::-1], LEVELS[:2], [*LEVELS, "west"]):
        write(tmp_path / "3.parquet", {"c": town([0], levels)})
        unlike = ParquetTable(tmp_path)
        assert unlike.levels("c") is None
        assert everything(unlike, ["c"])["c"].to_pylist() == [*got, levels[0]]
    write(tmp_path / "3.parquet", {"c": town([0])}, use_dictionary=False)
    assert ParquetTable(tmp_path).levels("c") is None
    assert ParquetTable(tmp_path / "2.parquet").levels("c") is None
    assert table.levels("no such column") is None


def test_columns_of_many_files_are_chosen_as_those_of_one(tmp_path):
    for i in range(2):
        write(tmp_path / f"{i}.parquet", {"y": [1.0], "x": [2], "c": town([i])})
    chosen = choose_columns(open_file(tmp_path / "*.parquet"), "y")
    assert (chosen.features, chosen.categories) == (["x", "c"], {})  # levels in a type do not tell where they are from
    assert f"no column 'z' in {tmp_path / '*.parquet'}" in message(
        choose_columns, open_file(tmp_path / "*.parquet"), "z"
    )


def test_dictionaries_of_polars(tmp_path):
    for i in range(2):
        pl.DataFrame({"c": pl.Series(["south"] * 9, dtype=pl.Enum(LEVELS))}).write_parquet(tmp_path / f"{i}.parquet")
    assert ParquetTable(tmp_path).levels("c") == LEVELS
    kind = pl.Categorical
    pl.DataFrame({"c": pl.Series(LEVELS, dtype=kind)}).write_parquet(tmp_path / "1.parquet")
    assert ParquetTable(tmp_path).levels("c") is None
