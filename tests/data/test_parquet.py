"""Many Parquet files as one table: how rows are read, by threads and processes, and files that change."""

import dataclasses
import decimal
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privreg
from parquet_files import everything, town, two, write, write_groups
from privreg import ParquetTable
from privreg.data import parquet
from privreg.data.cells import convert
from privreg.data.tables import read_identities
from text_tables import message

# ---------------------------------------------------------------- rows


def example(rows: int) -> pa.Table:
    i = np.arange(rows)
    return pa.table(
        {
            "x": pa.array(i / 7),
            "n": pa.array(i, mask=i % 5 == 0),
            "flag": i % 3 == 0,
            "town": town(i % 3),
            "id": pa.array([f"é{k}" for k in i], pa.string()),
        }
    )


@given(sizes=st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=4), most=st.integers(1, 12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_rows_do_not_depend_on_files_row_groups_and_batches(tmp_path, sizes, most):
    paths, table, start = [], example(sum(map(sum, sizes))), 0
    for i, groups in enumerate(sizes):
        paths.append(write_groups(tmp_path / f"{i}.parquet", table.slice(start), groups))
        start += sum(groups)
    opened = pickle.loads(pickle.dumps(ParquetTable(paths)))
    counts = [(str(paths[i]), size) for i, groups in enumerate(sizes) for size in groups if size]
    assert [(part.path, part.rows) for part in opened.parts] == counts
    columns = ["town", "x", "id", "flag", "n"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "_BATCH_ROWS", most)
        if start:
            whole = everything(opened, columns, ["id"])
        else:
            whole = opened.read(columns, identifiers=["id"])
            assert opened.parts == ()
            assert list(opened.batches(columns)) == []
    expected = table.select(columns).cast(whole.schema)
    assert whole.equals(expected)
    assert whole.schema.types == [pa.large_string(), pa.float64(), pa.large_string(), pa.bool_(), pa.int64()]


def test_row_groups_of_mixed_sizes(tmp_path):
    rows = [3, 400_000, 0, 1, 131_072]
    x = np.random.default_rng(0).normal(size=sum(rows))
    write_groups(tmp_path / "a.parquet", pa.table({"x": x, "y": x + 1}), rows)
    write(tmp_path / "b.parquet", {"y": [0.0], "x": [np.inf]})
    table = ParquetTable(tmp_path)
    assert [(Path(part.path).name, part.group, part.rows) for part in table.parts] == [
        ("a.parquet", 0, 3),
        ("a.parquet", 1, 400_000),
        ("a.parquet", 3, 1),
        ("a.parquet", 4, 131_072),
        ("b.parquet", 0, 1),
    ]
    np.testing.assert_array_equal(everything(table, ["y", "x"])["x"], [*x, np.inf])
    sizes = [t.num_rows for t in table.part_tables(table.parts[1], ["x"])]
    assert sizes == [131_072, 131_072, 131_072, 400_000 - 3 * 131_072]


def test_wide_tables_are_read_fewer_rows_at_a_time(tmp_path):
    columns = {f"x{i}": np.zeros(40_000) for i in range(250)}
    path = write(tmp_path / "a.parquet", columns)
    table = ParquetTable(path)
    sizes = [t.num_rows for t in table.part_tables(table.parts[0], list(columns))]
    assert max(sizes) * 250 < 1 << 24
    assert sum(sizes) == 40_000


def test_no_rows_at_all(tmp_path):
    write_groups(tmp_path / "a.parquet", example(0), [])
    write_groups(tmp_path / "b.parquet", example(0), [0, 0])
    table = ParquetTable(tmp_path)
    assert table.parts == ()
    assert list(table.batches(["x", "id"])) == []
    got = table.read(["id", "n", "town"], identifiers=["id"])
    assert got.schema == pa.schema([("id", pa.large_string()), ("n", pa.int64()), ("town", pa.large_string())])
    assert got.num_rows == 0


def test_identifiers_are_not_rounded(tmp_path):
    near = [2**53, 2**53 + 1]
    exact = [decimal.Decimal(f"{2**53}.01"), decimal.Decimal(f"{2**53}.02")]
    columns = [{"i": [near[k]], "d": pa.array([exact[k]], pa.decimal128(20, 2)), "x": [1.0]} for k in range(2)]
    a, b = two(tmp_path, *columns)
    table = ParquetTable(tmp_path)
    got = everything(table, ["d", "i", "x"], ["i", "d"])
    assert got["i"].to_pylist() == near
    assert got["d"].to_pylist() == [str(value) for value in exact]
    for name in ("i", "d"):
        assert read_identities(got[name]).tolist() == [0, 1]
    write(b, {"i": pa.array([1], pa.int32()), "d": pa.array([exact[1]], pa.decimal128(20, 3)), "x": [1.0]})
    table = ParquetTable(tmp_path)
    said = f"column 'i' is of type int32 in {b}, but int64 in {a}; use one type in all files"
    assert message(table.read, ["i", "x"], ["i"]) == said
    assert "decimal128(20, 3)" in message(table.batches, ["d"], ["d"])
    assert everything(table, ["i", "d"]).schema.types == [pa.float64(), pa.float64()]


def test_plain_columns_are_handed_on_as_they_are():
    for values in (np.zeros(9), np.zeros(9, np.float32), np.arange(9), np.zeros(9, bool)):
        array = pa.array(values)
        assert all(convert(array, identifier, False) is array for identifier in (True, False))


# ---------------------------------------------------------------- processes, threads, files that change


def test_pickles_are_small_and_hold_no_rows(tmp_path):
    for i in range(20):
        write(tmp_path / f"{i}.parquet", {"x": np.full(1000, 4711.0), "t": ["secret"] * 1000}, row_group_size=100)
    table = ParquetTable(tmp_path)
    sent = pickle.dumps(table)
    assert len(sent) < 20 * 300
    assert b"secret" not in sent
    again = pickle.loads(sent)
    assert again.columns == table.columns
    assert again.parts == pickle.loads(pickle.dumps(table.parts)) == table.parts
    assert everything(again, ["t", "x"]).equals(everything(table, ["t", "x"]))


def test_threads_read_parts_at_once(tmp_path):
    sizes = [1000, 1, 5000, 300, 70_000, 20]
    for i in range(2):
        write_groups(tmp_path / f"{i}.parquet", example(sum(sizes)), sizes)
    table = ParquetTable(tmp_path)

    def read(part):
        return pa.concat_tables(table.part_tables(part, ["id", "x", "town"]))

    one_by_one = [read(part) for part in table.parts]
    for _ in range(3):
        parquet._footer.cache_clear()
        with ThreadPoolExecutor(2) as pool:
            assert all(map(pa.Table.equals, pool.map(read, table.parts), one_by_one))


def test_each_of_hundreds_of_files_is_read_once(tmp_path, monkeypatch):
    for i in range(300):
        write(tmp_path / f"{i}.parquet", {"x": [0.0]})
    read, read_metadata = [], parquet.pq.read_metadata
    monkeypatch.setattr(parquet.pq, "read_metadata", lambda path: read.append(path) or read_metadata(path))
    assert len(ParquetTable(tmp_path).parts) == 300
    assert sorted(read) == sorted(map(str, tmp_path.iterdir()))


def test_files_that_change_or_vanish(tmp_path):
    a, b = two(tmp_path, {"x": [1.0]}, {"x": [2.0]})
    table = ParquetTable(tmp_path)
    parts = table.parts
    write(b, {"x": [2.0, 3.0]})
    said = f"{b} has changed since it was opened; open it again"
    for read in (lambda: table.read(["x"]), lambda: list(table.part_tables(parts[1], ["x"]))):
        assert message(read) == said
    assert next(table.batches(["x"]))["x"].to_pylist() == [1.0]
    b.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        table.read(["x"])
    assert caught.value.filename == str(b)
    other = ParquetTable(a).parts[0]
    assert next(table.part_tables(other, ["x"]))["x"].to_pylist() == [1.0]
    strange = ParquetTable(write(tmp_path / "c" / "c.parquet", {"x": [1.0]})).parts[0]
    later = dataclasses.replace(parts[0], group=1)
    for part in (strange, later, dataclasses.replace(parts[0], rows=2), dataclasses.replace(parts[0], group=-1)):
        said = f"row group {part.group} of {part.path} is not a part of {tmp_path}"
        assert message(table.part_tables, part, ["x"]) == said


def test_a_damaged_file(tmp_path):
    options = {"compression": "none", "use_dictionary": False}
    a = write(tmp_path / "a.parquet", {"t": ["4711"] * 1000}, **options)
    b = write(tmp_path / "b.parquet", {"t": ["4711"] * 1000}, **options)
    whole = b.read_bytes()
    b.write_bytes(whole[:-20])
    said = f"{b} could not be read as Parquet"
    assert message(ParquetTable, tmp_path) == said
    b.write_bytes(whole[:4] + b"\xff" * 2000 + whole[2004:])
    table = ParquetTable([a, b])
    assert message(table.read, ["t"]) == said
    assert message(lambda: list(table.batches(["t"]))) == said
    assert message(lambda: list(table.part_tables(table.parts[1], ["t"]))) == said
    assert sum(t.num_rows for t in table.part_tables(table.parts[0], ["t"])) == 1000


def test_what_is_shown_has_no_number_of_rows(tmp_path):
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.zeros(4711)})
    table = ParquetTable(tmp_path / "*.parquet")
    assert repr(table) == f"ParquetTable('{tmp_path / '*.parquet'}': 3 files)"
    assert repr(ParquetTable(tmp_path / "1.parquet")).endswith("1.parquet': 1 file)")
    assert not re.search("4711", repr(table) + str(table) + repr(table.parts))
    assert privreg.ParquetTable is ParquetTable
