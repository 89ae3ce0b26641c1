"""Arrow's own files: types as in Parquet, dictionaries, streams, and damage."""

import datetime
import random

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from privreg.data.files import ARROW, format_of, open_file
from privreg.data.raw import TEXT, ColumnType, raw_of
from privreg.errors import SchemaError
from text_tables import LEVELS, message, read, write

TOWNS = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 2], pa.int8()), LEVELS)
TABLE = pa.table(
    {
        "int": pa.array([1, None, 2, 3], pa.uint64()),
        "money": pa.array([1, 2, None, 3], pa.decimal128(9, 2)),
        "flag": [True, None, False, True],
        "text": ["a", None, "é", ""],
        "day": pa.array([datetime.date(2020, 1, 2)] * 4),
        "when": pa.array([1, None, 2, 3], pa.timestamp("ns")),
        "list": [[1], None, [], [2]],
        "town": TOWNS,
        "__index_level_0__": [1, 2, 3, 4],
    }
)


def stored(path, table, way="file", **options):
    with pa.OSFile(str(path), "wb") as sink:
        new = pa.ipc.new_file if way == "file" else pa.ipc.new_stream
        with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("way", ["file", "stream", "lz4", "feather"])
def test_columns_are_those_of_parquet(tmp_path, way):
    path = tmp_path / "t.arrow"
    if way == "feather":
        feather.write_feather(TABLE, str(path))
    else:
        stored(path, TABLE, way, compression="lz4") if way == "lz4" else stored(path, TABLE, way)
    pq.write_table(TABLE, tmp_path / "t.parquet")
    same = open_file(tmp_path / "t.parquet")
    file = open_file(path)
    assert format_of(path) is ARROW
    assert file.columns.keys() == same.columns.keys()
    names = [name for name in file.columns if name != "list"]
    assert {name: file.columns[name] for name in names} == {name: same.columns[name] for name in names}
    for identifiers in ([], ["when", "money", "day", "int"]):
        assert file.read(names, identifiers).equals(same.read(names, identifiers))
    assert file.levels("town") == LEVELS
    assert file.type_of("town") == ColumnType(TEXT, "category", category=True)
    assert file.levels("text") is None


def test_no_rows(tmp_path):
    file = open_file(stored(tmp_path / "t.feather", TABLE.slice(0, 0)))
    assert file.read(["int", "town"]).to_pydict() == {"int": [], "town": []}
    assert list(file.batches(["int"])) == []
    assert file.levels("town") is None


def test_levels_that_differ_from_batch_to_batch(tmp_path):
    other = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["west"])
    table = pa.table({"c": pa.chunked_array([TOWNS, other])})
    file = open_file(stored(tmp_path / "t.arrows", table, "stream"))
    assert file.levels("c") is None
    assert file.read(["c"])["c"].to_pylist() == ["south", "north", None, "east", "west"]


def test_the_types_of_polars(tmp_path):
    frame = pl.DataFrame(
        {"e": pl.Series(["a"], dtype=pl.Enum(["a", "b"])), "c": pl.Series(["x"], dtype=pl.Categorical), "s": ["t"]}
    )
    frame.write_ipc(tmp_path / "t.arrow")
    file = open_file(tmp_path / "t.arrow")
    assert file.type_of("e").levels == ("a", "b")
    assert file.levels("c") is None
    assert file.read(["e", "c", "s"]).to_pydict() == {"e": ["a"], "c": ["x"], "s": ["t"]}


def test_values_of_any_bits_raise_nothing(tmp_path):
    """Dates beyond the calendar, decimals beyond their precision, text that is not UTF-8."""
    texts = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"ok"], pa.binary()).buffers())
    big = pa.py_buffer(b"\xff" * 15 + b"\x7f" + bytes(16))
    table = pa.table(
        {
            "t": texts,
            "d": pa.array([2**62, 0]).view(pa.date64()),
            "m": pa.Array.from_buffers(pa.decimal128(9, 2), 2, [None, big]),
            "c": pa.DictionaryArray.from_arrays(pa.array([0, 1]), texts),
        }
    )
    file = open_file(stored(tmp_path / "t.arrow", table))
    found = file.read(["t", "d", "m", "c"])
    assert found["t"].to_pylist() == found["c"].to_pylist() == [None, "ok"]
    assert found["m"].to_pylist()[1] == 0.0


def test_names(tmp_path):
    path = stored(tmp_path / "t.arrow", pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))
    assert "two columns called 'a'" in message(open_file, path)
    assert "has no columns" in message(open_file, stored(path, pa.table({})))
    assert "Feather version 1; save it as" in message(open_file, write(path, b"FEA1...."))


def test_a_damaged_file(tmp_path):
    path = stored(tmp_path / "t.arrow", TABLE)
    whole, draw = path.read_bytes(), random.Random(0)
    said = set()
    for _ in range(300):
        damaged = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        for _ in range(draw.randrange(6)):
            if len(damaged) > 8:
                damaged[draw.randrange(8, len(damaged))] = draw.randrange(256)
        try:
            read(write(path, bytes(damaged)))
        except SchemaError as error:
            said.add(str(error))
    said = {words for words in said if "two columns called" not in words and "is neither" not in words}
    assert said == {f"{path} could not be read as Arrow"}


def test_a_large_batch_comes_in_parts(tmp_path):
    path = tmp_path / "t.feather"
    feather.write_feather(pa.table({"a": np.arange(300_000)}), str(path), chunksize=300_000)
    assert [len(table) for table in open_file(path).batches(["a"])] == [1 << 17, 1 << 17, 300_000 - (1 << 18)]


def test_categories_of_other_values_are_read_as_text(tmp_path):
    """Of pandas' categories of whole numbers, for instance. Batches may have dictionaries of their own."""
    days = pa.array([datetime.date(2020, 1, 2), datetime.date(1, 1, 1)])
    for values, words in [
        (pa.array([5, 2**60]), ["5", str(2**60)]),
        (pa.array([1.5, float("nan")]), ["1.5", None]),
        (days, ["2020-01-02", "0001-01-01"]),
        (pa.array([2**62, 0], pa.timestamp("s")), [None, "1970-01-01T00:00:00"]),  # beyond what Python has
    ]:
        column = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 0], pa.int8()), values)
        table = pa.table({"x": column, "y": [1.0, 2.0, 3.0, 4.0]})
        for way in ("file", "stream"):
            file = open_file(stored(tmp_path / "t.arrow", table, way))
            assert file.columns["x"] == "category"
            series = nw.from_native(file.read(["x"])["x"], series_only=True)
            assert raw_of(series, file.type_of("x")).values.to_pylist() == [words[1], words[0], None, words[0]]
            assert not pa.types.is_dictionary(file.read(["x"], ["x"])["x"].type)  # of people
            empty = open_file(stored(tmp_path / "e.arrow", table[:0], way))
            assert empty.read(["x"]).schema == file.read(["x"]).schema
