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

from privreg.data.files import open_file
from privreg.data.tables import read_identities, read_table
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
    table = file.read(["a.b", "money", "half", "int", "flag", "text"], {"text": ["a"]})
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
    assert read_table(table, {"text": ["a"]}).names[-2:] == ["flag=True", "text=a"]
    ids = file.read(["when", "day", "money", "int"], identifiers=["when", "day", "money"])
    assert ids.to_pydict() == {"when": [1, None], "day": [18263, None], "money": ["1.50", None], "int": [1, None]}
    for name in ids.column_names:
        assert (read_identities(ids[name]) >= 0).tolist() == [True, False]
    assert "cannot have levels" in message(file.read, ["day"], {"day": ["2020-01-02"]})
    assert "levels are booleans" in message(file.read, ["int"], {"int": [True]})


def test_parquet_columns_in_the_kind_of_their_levels(tmp_path):
    path = parquet(
        tmp_path / "x",
        {
            "int": pa.array([1, None, 20], pa.int8()),
            "float": [1.0, 1.5, None],
            "flag": [True, None, False],
            "text": ["1.5", " 2", "é"],
            "truth": ["TRUE", "x", None],
            "cat": pa.array(["b", "a", None]).dictionary_encode(),
        },
    )
    for name, kind in (("int", "numbers"), ("float", "numbers"), ("flag", "booleans")):
        said = f"column {name!r} holds {kind}, so the text '1' cannot be one of its levels; declare {kind}"
        assert message(read, path, {name: ["1"]}) == said
    text = {name: ["x"] for name in ("text", "truth", "cat")}
    assert read(path, text) == {
        "int": [1, None, 20],
        "float": [1.0, 1.5, None],
        "flag": [True, None, False],
        "text": ["1.5", " 2", "é"],
        "truth": ["TRUE", "x", None],
        "cat": ["b", "a", None],
    }
    numbers = read(path, {"int": [1], "float": [1], "flag": [1], "text": [1.5, 2], "truth": [True], "cat": [1]})
    assert numbers == {
        "int": [1.0, None, 20.0],
        "float": [1.0, 1.5, None],
        "flag": [1.0, None, 0.0],
        "text": [1.5, 2.0, None],
        "truth": [True, None, None],
        "cat": [None, None, None],
    }


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

    for options in ({}, {"categories": {"t": ["x"]}}, {"identifiers": ["t"]}):
        assert read(path, **options)["t"] == [text(cell) for cell in cells]
    assert read(path, {"t": [1]})["t"] == [None if text(c) is None else number(text(c)) for c in cells]


def test_dictionaries_that_declare_nothing(tmp_path):
    path = tmp_path / "x"
    town = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0], pa.int8()), LEVELS)
    assert open_file(parquet(path, {"c": town}, row_group_size=2)).levels("c") == LEVELS
    other = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), LEVELS[::-1])
    with pq.ParquetWriter(path, pa.schema([("c", town.type)])) as writer:
        writer.write_table(pa.table({"c": town}))
        writer.write_table(pa.table({"c": other}))
    declared = f"{path} declares no levels for column 'c'; declare its levels with --category c=a,b,c"
    file = open_file(path)
    assert message(file.levels, "c") == declared  # row groups with different ones
    assert file.read(["c"], {"c": LEVELS})["c"].to_pylist() == ["south", "north", "south", "north", "east"]
    assert message(open_file(parquet(path, {"c": town}, use_dictionary=False)).levels, "c") == declared
    assert message(open_file(parquet(path, {"c": town.slice(0, 0)})).levels, "c") == declared  # none is stored
    pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical)}).write_parquet(path)
    assert message(open_file(path).levels, "c") == declared
    pl.DataFrame({"c": pl.Series(["south"] * 9, dtype=pl.Enum(LEVELS))}).write_parquet(path, row_group_size=4)
    assert open_file(path).levels("c") == LEVELS


def test_parquet_without_rows(tmp_path):
    file = open_file(parquet(tmp_path / "x", {"a": pa.array([], pa.int32()), "c": pa.array([]).cast(pa.string())}))
    assert file.read(["c", "a"], {"a": [1]}).to_pydict() == {"c": [], "a": []}
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
