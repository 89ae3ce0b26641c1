"""One Parquet file: kinds and values of its columns."""

import datetime
import decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.cells import as_numbers
from privreg.data.files import open_file
from privreg.data.raw import OTHER_TYPE, TEXT, TIME, ColumnType
from privreg.data.schema import BOOLEAN, NUMBER, Schema, declared_columns
from privreg.data.tables import read_identities, read_table
from public_tables import public_table
from text_tables import LEVELS, message, number, read, slow_fixture, write


def parquet(path: Path, columns: dict, **options) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_parquet_kinds_and_values(tmp_path):
    day = datetime.date(2020, 1, 2)
    path = parquet(
        tmp_path / "x",
        {
            "int": pa.array([1, None], pa.uint64()),
            "half": pa.array([np.float16(1.5), None], pa.float16()),
            "money": pa.array([decimal.Decimal("1.50"), None]),
            "flag": [True, None],
            "text": pa.array(["a", None], pa.large_string()),
            "day": [day, None],
            "when": pa.array([1, None], pa.timestamp("ns")),
            "list": [[1], None],
            "nothing": pa.nulls(2),
            "a.b": [1.0, None],
            "__index_level_0__": [1, 2],
        },
    )
    file = open_file(path)
    assert file.columns == {
        "int": "number",
        "half": "number",
        "money": "number",
        "flag": "boolean",
        "text": "text",
        "day": "date",
        "when": "timestamp",
        "list": "list<element: int64>",
        "nothing": "nothing",
        "a.b": "number",
    }
    table = file.read(["a.b", "money", "half", "int", "flag", "text"])
    assert table.to_pydict() == {
        "a.b": [1.0, None],
        "money": [1.5, None],
        "half": [1.5, None],
        "int": [1, None],
        "flag": [True, None],
        "text": ["a", None],
    }
    assert table["money"].type == pa.float64()
    assert table["int"].type == pa.uint64()
    assert public_table(table, {"text": ["b", "a"]}).names[-2:] == ["flag=True", "text=a"]
    ids = file.read(["when", "day", "money", "int"], identifiers=["when", "day", "money"])
    assert ids.to_pydict() == {"when": [1, None], "day": [18263, None], "money": ["1.50", None], "int": [1, None]}
    for name in ids.column_names:
        assert (read_identities(ids[name]) >= 0).tolist() == [True, False]
    assert {name: file.type_of(name).kind for name in file.columns} == {
        **dict.fromkeys(("int", "half", "money", "nothing", "a.b"), NUMBER),
        **{"flag": BOOLEAN, "text": TEXT, "day": TIME, "when": TIME, "list": OTHER_TYPE},
    }


def test_parquet_columns_come_as_they_are_stored(tmp_path):
    """What their values mean is for the schema to say; a dictionary makes no difference."""
    columns = {
        "int": pa.array([1, None, 20], pa.int8()),
        "float": [1.0, 1.5, None],
        "flag": [True, None, False],
        "text": ["1.5", " 2", "é"],
        "truth": ["TRUE", "x", None],
        "cat": pa.array(["b", "a", None]).dictionary_encode(),
    }
    path = parquet(tmp_path / "x", columns)
    assert read(path) == pa.table(columns).to_pydict()
    assert open_file(path).read(["cat"])["cat"].type == pa.large_string()
    schema = Schema(declared_columns(["int", "text", "truth"], {"int": [20, 1], "truth": [False, True]}))
    table = read_table(open_file(path).read(list(columns)), schema)
    assert table.names == ["int=1", "text", "truth=True"]
    expected = [[1, np.nan, 0], [1.5, 2, np.nan], [1, np.nan, np.nan]]
    np.testing.assert_array_equal([table[j] for j in range(3)], expected)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=6), st.text(max_size=4).map(str.encode)), max_size=8))
@slow_fixture
def test_parquet_text_that_is_not_utf8_is_missing(tmp_path, cells):
    binary = pa.array(cells, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())
    path = parquet(tmp_path / "x", {"t": texts, "n": pa.array(range(len(cells)), pa.int64())})

    def text(cell):
        try:
            return None if cell is None else cell.decode()
        except UnicodeDecodeError:
            return None

    for options in ({}, {"identifiers": ["t"]}):
        assert read(path, **options)["t"] == [text(cell) for cell in cells]
    read_as = as_numbers(open_file(path).read(["t"])["t"], ".")
    expected = [None if text(c) is None else number(text(c)) for c in cells]
    np.testing.assert_array_equal(read_as, np.array([np.nan if v is None else v for v in expected], float))


def test_dictionaries_that_declare_nothing(tmp_path):
    path = tmp_path / "x"
    town = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0], pa.int8()), LEVELS)
    assert open_file(parquet(path, {"c": town}, row_group_size=2)).levels("c") == LEVELS
    other = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), LEVELS[::-1])
    with pq.ParquetWriter(path, pa.schema([("c", town.type)])) as writer:
        writer.write_table(pa.table({"c": town}))
        writer.write_table(pa.table({"c": other}))
    file = open_file(path)
    assert file.levels("c") is None  # row groups with different ones
    assert file.read(["c"])["c"].to_pylist() == ["south", "north", "south", "north", "east"]
    assert open_file(parquet(path, {"c": town}, use_dictionary=False)).levels("c") is None
    assert open_file(parquet(path, {"c": town.slice(0, 0)})).levels("c") is None  # none is stored
    pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical)}).write_parquet(path)
    assert open_file(path).levels("c") is None
    assert open_file(path).type_of("c") == ColumnType(TEXT, "category", category=True)
    pl.DataFrame({"c": pl.Series(["south"] * 9, dtype=pl.Enum(LEVELS))}).write_parquet(path, row_group_size=4)
    assert open_file(path).levels("c") == LEVELS
    assert open_file(path).type_of("c") == ColumnType(TEXT, "category", levels=tuple(LEVELS))  # written down before


def test_parquet_without_rows(tmp_path):
    file = open_file(parquet(tmp_path / "x", {"a": pa.array([], pa.int32()), "c": pa.array([]).cast(pa.string())}))
    assert file.read(["c", "a"]).to_pydict() == {"c": [], "a": []}
    assert list(file.batches(["a"])) == []


def test_a_damaged_parquet_file(tmp_path):
    path = parquet(tmp_path / "x", {"a": ["4711"] * 1000}, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    said = f"{path} could not be read as Parquet"
    assert message(open_file, write(path, whole[:-20])) == said
    file = open_file(write(path, whole[:4] + b"\xff" * 2000 + whole[2004:]))
    assert message(file.read, ["a"]) == said
    assert message(lambda: list(file.batches(["a"]))) == said


def test_parquet_names(tmp_path):
    columns = [pa.array([1]), pa.array([2])]
    pq.write_table(pa.Table.from_arrays(columns, ["a", "a"]), tmp_path / "x")
    assert "two columns called 'a'" in message(open_file, tmp_path / "x")
    pq.write_table(pa.table({}), tmp_path / "none")
    assert "has no columns" in message(open_file, tmp_path / "none")
