"""Many Parquet files as one table: which files in which order, what they must have in common, how rows are read."""

import dataclasses
import decimal
import os
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privreg
from privreg import ParquetTable
from privreg.data import parquet
from privreg.data.columns import choose_columns
from privreg.data.files import open_file
from privreg.data.tables import read_identities
from privreg.errors import SchemaError

LEVELS = ["north", "south", "east"]


def write(path: Path, columns, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def write_groups(path: Path, table: pa.Table, sizes) -> Path:
    """With a row group of each size."""
    with pq.ParquetWriter(path, table.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(table.slice(start, size), row_group_size=max(size, 1))
            start += size
    return path


def message(function, *arguments) -> str:
    with pytest.raises(SchemaError) as caught:
        function(*arguments)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in str(error)
    return str(error)


def in_parts(table: ParquetTable, columns, categories=None, identifiers=()) -> pa.Table:
    """All parts, one after the other, for a table that has any."""
    parts = [list(table.part_tables(part, columns, categories or {}, identifiers)) for part in table.parts]
    for part, tables in zip(table.parts, parts, strict=True):
        assert sum(t.num_rows for t in tables) == part.rows
        assert max(t.num_rows for t in tables) <= 131_072
    return pa.concat_tables([t for tables in parts for t in tables])  # refuses types that differ


def everything(table: ParquetTable, columns, categories=None, identifiers=()) -> pa.Table:
    """As `read` gives it, once it is seen that `batches` and `part_tables` give the same."""
    whole = table.read(columns, categories or {}, identifiers=identifiers)
    assert whole.column_names == list(columns)
    assert pa.concat_tables(table.batches(columns, categories or {}, identifiers)).equals(whole)
    assert in_parts(table, columns, categories, identifiers).equals(whole)
    return whole


def names(table: ParquetTable) -> list[str]:
    found = []
    for part in table.parts:
        found += [Path(part.path).name] if Path(part.path).name not in found else []
    return found


# ---------------------------------------------------------------- which files


@pytest.fixture
def folder(tmp_path):
    """Files whose only row tells their number."""
    for number in (10, 2, 1, 33):
        write(tmp_path / f"part.{number}.parquet", {"x": [float(number)]})
    return tmp_path


@pytest.mark.parametrize("source", ["", "*.parquet", "*", "**", "**/*.parquet", "part.*[0-9].par?uet"])
@pytest.mark.parametrize("opened", [ParquetTable, open_file])
def test_files_are_in_natural_order(folder, source, opened):
    table = opened(folder / source)
    assert isinstance(table, ParquetTable)
    assert table.path == folder / source
    assert table.columns == {"x": "number"}
    assert everything(table, ["x"])["x"].to_pylist() == [1.0, 2.0, 10.0, 33.0]


def test_a_list_keeps_its_order(folder):
    table = ParquetTable([folder / "part.33.parquet", str(folder / "part.2.parquet"), folder / "part.10.parquet"])
    assert everything(table, ["x"])["x"].to_pylist() == [33.0, 2.0, 10.0]
    assert str(table.path) == f"{folder / 'part.33.parquet'} (and 2 more)"
    one = ParquetTable((str(folder / "part.33.parquet"),))
    assert one.path == folder / "part.33.parquet"
    assert "list of Parquet files is empty" in message(ParquetTable, [])
    with pytest.raises(FileNotFoundError):
        ParquetTable([folder / "part.*.parquet"])
    with pytest.raises(IsADirectoryError):
        ParquetTable([folder])


def test_relative_names(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for source in (".", "*.parquet", "./*", "**"):
        assert names(ParquetTable(source)) == [f"part.{i}.parquet" for i in (1, 2, 10, 33)]
    table = open_file("*.parquet")
    assert str(table.path) == "*.parquet"
    write(folder / "part.5.parquet", {"y": [1]})
    assert message(open_file, "*").startswith("part.1.parquet has no column 'y', which part.5.parquet has; ")
    monkeypatch.chdir("/")
    assert everything(pickle.loads(pickle.dumps(table)), ["x"]).num_rows == 4


def test_natural_order_of_odd_names(tmp_path):
    given = ["a²", "a1", "a01", "b", "a1b2", "a1b10", "10", "9"]
    for name in given:
        write(tmp_path / f"{name}.parq", {"x": [1.0]})
    assert names(ParquetTable(tmp_path)) == [f"{n}.parq" for n in ("9", "10", "a01", "a1", "a1b2", "a1b10", "a²", "b")]


def test_all_endings_of_parquet_are_alike(tmp_path):
    given = ["1.parquet", "2.parq", "3.pq", "4.PARQUET", "5.Parq", "6.PQ"]
    for name in given:
        write(tmp_path / name, {"x": [1.0]})
    (tmp_path / "pq").write_text("no ending")
    assert names(ParquetTable(tmp_path)) == given


def test_folders_hide_some_names(folder):
    inner = folder / "more.parquet"  # a folder, as dask writes it
    write(inner / "part.0.parq", {"x": [0.0]})
    for hidden in (
        "_metadata",
        ".part.parquet",
        "_part.parquet",
        "_temporary/a.parquet",
        ".x/y/a.parquet",
        "notes.txt",
    ):
        (folder / hidden).parent.mkdir(parents=True, exist_ok=True)
        (folder / hidden).write_text("no Parquet")
    expected = ["part.0.parq", *(f"part.{i}.parquet" for i in (1, 2, 10, 33))]
    assert names(ParquetTable(folder)) == expected
    (folder / "notes.txt").unlink()
    for pattern in ("**", "**/*.par*"):
        assert names(ParquetTable(folder / pattern)) == expected
    assert "is a folder" in message(ParquetTable, folder / "*.parquet")
    assert f"{folder / '_part.parquet'} is not a Parquet file" == message(ParquetTable, folder / "_*.parquet")


def test_no_file(tmp_path):
    assert message(open_file, tmp_path) == f"{tmp_path} is a folder without files that end in .parquet, .parq or .pq"
    for pattern in ("*.parquet", "no/*/x.parquet", "[ab]?"):
        assert message(open_file, tmp_path / pattern) == f"{tmp_path / pattern} matches no file"
        assert message(ParquetTable, str(tmp_path / pattern)) == f"{tmp_path / pattern} matches no file"
    for opened in (open_file, ParquetTable):
        with pytest.raises(FileNotFoundError):
            opened(tmp_path / "no.parquet")


def test_a_file_called_like_a_pattern_is_meant_itself(tmp_path):
    write(tmp_path / "a1.parquet", {"x": [1.0]})
    odd = write(tmp_path / "a[1*].parquet", {"x": [2.0]})
    assert everything(open_file(odd), ["x"])["x"].to_pylist() == [2.0]
    (tmp_path / "odd*.csv").write_text("a,b\n1,2\n")
    assert open_file(tmp_path / "odd*.csv").columns == {"a": "number", "b": "number"}
    inside = write(tmp_path / "f*" / "a.parquet", {"x": [3.0]})
    assert names(ParquetTable(inside.parent)) == ["a.parquet"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x\n4711\n", "is not a Parquet file"),
        (b"", "is empty"),
        (b"PAR1 4711 PAR1", "could not be read as Parquet"),
        (b"PARE4711", "encrypted Parquet"),
        (b"\x1f\x8b4711", "compressed (gzip)"),
    ],
)
def test_what_is_not_parquet_is_named(folder, content, words):
    (folder / "part.5.parquet").write_bytes(content)
    for source in (folder, folder / "*.parquet", [folder / "part.1.parquet", folder / "part.5.parquet"]):
        said = message(ParquetTable, source)
        assert said.startswith(f"{folder / 'part.5.parquet'} ")
        assert words in said
        assert "4711" not in said


def test_a_pipe_is_refused(folder):
    os.mkfifo(folder / "x.parquet")
    assert "x.parquet is not a file that can be read twice" in message(ParquetTable, folder)


def test_columns_in_folder_names_are_refused(tmp_path):
    for year in (2020, 2021):
        write(tmp_path / "data" / f"year={year}" / "a.parquet", {"x": [1.0]})
    for pattern in ("data", "data/*/*.parquet", "data/**", "data/year=*/a.parquet"):
        said = message(open_file, tmp_path / pattern)
        assert said.startswith(f"{tmp_path / pattern} has folders called year=…, but columns kept in folder names are ")
        assert "write 'year' into the files as a column, or give a list of files" in said
        assert "202" not in said.replace(str(tmp_path), "")
    for one in ("data/year=2020", "data/year=2021/*.parquet", "data/year=2021/a.parquet"):
        assert len(open_file(tmp_path / one).parts) == 1
    both = sorted((tmp_path / "data").rglob("*.parquet"))
    assert len(ParquetTable(both).parts) == 2


def test_no_file_counts_twice(folder):
    path = folder / "part.1.parquet"
    assert "records would count twice" in message(ParquetTable, [path, folder / "part.2.parquet", str(path)])
    (folder / "latest.parquet").symlink_to(path)
    said = message(ParquetTable, folder)
    assert said.startswith(f"{folder / 'latest.parquet'} and {path} are the same file")
    (folder / "latest.parquet").unlink()
    (folder / "loop").symlink_to(folder)
    assert "the same file" in message(ParquetTable, folder)


@pytest.mark.skipif(not os.geteuid(), reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_not_passed_over(folder):
    (folder / "secret").mkdir(mode=0)
    with pytest.raises(PermissionError):
        ParquetTable(folder)


# ---------------------------------------------------------------- what files must have in common


def two(tmp_path, first, second) -> tuple[Path, Path]:
    return write(tmp_path / "a.parquet", first), write(tmp_path / "b.parquet", second)


def test_columns_in_any_order(tmp_path):
    two(tmp_path, {"x": [1.0], "y": ["a"], "z": [True]}, {"z": [False], "x": [2.0], "y": ["b"]})
    table = ParquetTable(tmp_path)
    assert table.columns == {"x": "number", "y": "text", "z": "boolean"}
    assert everything(table, ["z", "y", "x"]).to_pydict() == {"z": [True, False], "y": ["a", "b"], "x": [1.0, 2.0]}
    assert message(table.read, ["w"], {}) == f"{tmp_path} has no column 'w'"
    assert message(table.part_tables, table.parts[0], ["w"], {}) == f"{tmp_path} has no column 'w'"


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
    said = f"column 'c' is of kind {kinds[1]!r} in {b}, but {kinds[0]!r} in {a}; write one kind in all files"
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
    assert "holds numbers, so the text '1'" in message(table.read, ["x"], {"x": ["1", "2"]})
    assert everything(table, ["x"], {"x": [1, 2]})["x"].to_pylist()[::2] == [float(i) for i in range(6)]
    big = write(tmp_path / "9.parquet", {"x": [2**63 - 1], "n": pa.array([1], pa.int32())})
    assert ParquetTable([tmp_path / "0.parquet", big]).read(["x"], {})["x"][-1].as_py() == 2.0**63


def test_text_however_it_is_stored(tmp_path):
    for i, kind in enumerate((pa.string(), pa.large_string())):
        levels = pa.array(LEVELS, kind)
        town = pa.DictionaryArray.from_arrays(pa.array([i], pa.int8() if i else pa.int32()), levels)
        write(tmp_path / f"{i}.parquet", {"t": pa.array(["é"], kind), "c": town})
    table = ParquetTable(tmp_path)
    assert table.columns == {"t": "text", "c": "category"}
    assert table.levels("c") == LEVELS
    for identifiers in ((), ("t", "c")):
        got = everything(table, ["t", "c"], {}, identifiers)
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
    said = f"column 't' is of type timestamp[us] in {b}, but timestamp[ms] in {a}; write one type in all files"
    for read in (table.read, table.batches, lambda *given: table.part_tables(table.parts[0], *given)):
        assert message(read, ["x", "t"], {}) == said
    assert "column 'c' is of type" in message(table.read, ["c"], {})
    assert "declares no levels for column 'c'" in message(table.levels, "c")
    assert "which cannot have levels" in message(table.read, ["c"], {"c": ["1", "2"]})


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


# ---------------------------------------------------------------- dictionaries


def town(codes, levels=LEVELS) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), levels)


def test_a_dictionary_common_to_all_files(tmp_path):
    empty = town([]), town([2, None])
    write(tmp_path / "0.parquet", {"c": town([1, 0, 1])}, row_group_size=2)
    write_groups(tmp_path / "1.parquet", pa.table({"c": pa.chunked_array(empty)}), [0, 2, 0])
    write(tmp_path / "2.parquet", {"c": town([])})
    table = ParquetTable(tmp_path)
    assert table.levels("c") == LEVELS
    got = everything(table, ["c"], {"c": LEVELS})["c"].to_pylist()
    assert got == ["south", "north", "south", "east", None]
    declared = f"{tmp_path} declares no levels for column 'c'; declare its levels with --category c=a,b,c"
    for levels in (LEVELS[::-1], LEVELS[:2], [*LEVELS, "west"]):
        write(tmp_path / "3.parquet", {"c": town([0], levels)})
        unlike = ParquetTable(tmp_path)
        assert message(unlike.levels, "c") == declared
        assert everything(unlike, ["c"], {"c": LEVELS})["c"].to_pylist() == [*got, levels[0]]
    write(tmp_path / "3.parquet", {"c": town([0])}, use_dictionary=False)
    assert message(ParquetTable(tmp_path).levels, "c") == declared
    assert "declares no levels" in message(ParquetTable(tmp_path / "2.parquet").levels, "c")
    assert "declares no levels" in message(table.levels, "no such column")


def test_columns_of_many_files_are_chosen_as_those_of_one(tmp_path):
    for i in range(2):
        write(tmp_path / f"{i}.parquet", {"y": [1.0], "x": [2], "c": town([i])})
    chosen = choose_columns(open_file(tmp_path / "*.parquet"), "y")
    assert (chosen.features, chosen.categories) == (["x", "c"], {"c": LEVELS})
    assert f"no column 'z' in {tmp_path / '*.parquet'}" in message(
        choose_columns, open_file(tmp_path / "*.parquet"), "z"
    )


def test_dictionaries_of_polars(tmp_path):
    for i in range(2):
        pl.DataFrame({"c": pl.Series(["south"] * 9, dtype=pl.Enum(LEVELS))}).write_parquet(tmp_path / f"{i}.parquet")
    assert ParquetTable(tmp_path).levels("c") == LEVELS
    kind = pl.Categorical
    pl.DataFrame({"c": pl.Series(LEVELS, dtype=kind)}).write_parquet(tmp_path / "1.parquet")
    assert "declares no levels" in message(ParquetTable(tmp_path).levels, "c")


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
            whole = everything(opened, columns, {"town": LEVELS}, ["id"])
        else:
            whole = opened.read(columns, {"town": LEVELS}, identifiers=["id"])
            assert opened.parts == ()
            assert list(opened.batches(columns, {})) == []
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
    sizes = [t.num_rows for t in table.part_tables(table.parts[1], ["x"], {})]
    assert sizes == [131_072, 131_072, 131_072, 400_000 - 3 * 131_072]


def test_wide_tables_are_read_fewer_rows_at_a_time(tmp_path):
    columns = {f"x{i}": np.zeros(40_000) for i in range(250)}
    path = write(tmp_path / "a.parquet", columns)
    table = ParquetTable(path)
    sizes = [t.num_rows for t in table.part_tables(table.parts[0], list(columns), {})]
    assert max(sizes) * 250 < 1 << 24
    assert sum(sizes) == 40_000


def test_no_rows_at_all(tmp_path):
    write_groups(tmp_path / "a.parquet", example(0), [])
    write_groups(tmp_path / "b.parquet", example(0), [0, 0])
    table = ParquetTable(tmp_path)
    assert table.parts == ()
    assert list(table.batches(["x", "id"], {})) == []
    got = table.read(["id", "n", "town"], {"town": LEVELS}, identifiers=["id"])
    assert got.schema == pa.schema([("id", pa.large_string()), ("n", pa.int64()), ("town", pa.large_string())])
    assert got.num_rows == 0


def test_identifiers_are_not_rounded(tmp_path):
    near = [2**53, 2**53 + 1]
    exact = [decimal.Decimal(f"{2**53}.01"), decimal.Decimal(f"{2**53}.02")]
    columns = [{"i": [near[k]], "d": pa.array([exact[k]], pa.decimal128(20, 2)), "x": [1.0]} for k in range(2)]
    a, b = two(tmp_path, *columns)
    table = ParquetTable(tmp_path)
    got = everything(table, ["d", "i", "x"], {}, ["i", "d"])
    assert got["i"].to_pylist() == near
    assert got["d"].to_pylist() == [str(value) for value in exact]
    for name in ("i", "d"):
        assert read_identities(got[name]).tolist() == [0, 1]
    write(b, {"i": pa.array([1], pa.int32()), "d": pa.array([exact[1]], pa.decimal128(20, 3)), "x": [1.0]})
    table = ParquetTable(tmp_path)
    said = f"column 'i' is of type int32 in {b}, but int64 in {a}; write one type in all files"
    assert message(table.read, ["i", "x"], {}, ["i"]) == said
    assert "decimal128(20, 3)" in message(table.part_tables, table.parts[0], ["d"], {"d": [1]}, ["d"])
    assert everything(table, ["i", "d"]).schema.types == [pa.float64(), pa.float64()]


def test_plain_columns_are_handed_on_as_they_are(tmp_path):
    path = write(
        tmp_path / "a.parquet", {"x": np.zeros(9), "n": np.arange(9), "flag": np.zeros(9, bool), "t": ["a"] * 9}
    )
    plan = ParquetTable(path)._plan(["x", "n", "flag", "t"], {}, ["n"])
    assert [name for name, convert in plan.items() if convert is None] == ["x", "n", "flag"]


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
        return pa.concat_tables(table.part_tables(part, ["id", "x", "town"], {"town": LEVELS}))

    one_by_one = [read(part) for part in table.parts]
    for _ in range(3):
        parquet._footer.cache_clear()
        with ThreadPoolExecutor(2) as pool:
            assert all(map(pa.Table.equals, pool.map(read, table.parts), one_by_one))


def test_hundreds_of_files_are_opened_quickly(tmp_path):
    table = pa.table({f"x{i}": [0.0] for i in range(20)})
    for i in range(300):
        write(tmp_path / f"{i}.parquet", table)
    begun = time.perf_counter()
    opened = ParquetTable(tmp_path)
    assert time.perf_counter() - begun < 5  # a tenth of it on an idle machine
    assert len(opened.parts) == 300


def test_files_that_change_or_vanish(tmp_path):
    a, b = two(tmp_path, {"x": [1.0]}, {"x": [2.0]})
    table = ParquetTable(tmp_path)
    parts = table.parts
    write(b, {"x": [2.0, 3.0]})
    said = f"{b} has changed since its columns were looked at; start again"
    for read in (lambda: table.read(["x"], {}), lambda: list(table.part_tables(parts[1], ["x"], {}))):
        assert message(read) == said
    assert next(table.batches(["x"], {}))["x"].to_pylist() == [1.0]
    b.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        table.read(["x"], {})
    assert caught.value.filename == str(b)
    other = ParquetTable(a).parts[0]
    assert next(table.part_tables(other, ["x"], {}))["x"].to_pylist() == [1.0]
    strange = ParquetTable(write(tmp_path / "c" / "c.parquet", {"x": [1.0]})).parts[0]
    later = dataclasses.replace(parts[0], group=1)
    for part in (strange, later, dataclasses.replace(parts[0], rows=2), dataclasses.replace(parts[0], group=-1)):
        said = f"row group {part.group} of {part.path} is not a part of {tmp_path}"
        assert message(table.part_tables, part, ["x"], {}) == said


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
    assert message(table.read, ["t"], {}) == said
    assert message(lambda: list(table.batches(["t"], {}))) == said
    assert message(lambda: list(table.part_tables(table.parts[1], ["t"], {}))) == said
    assert sum(t.num_rows for t in table.part_tables(table.parts[0], ["t"], {})) == 1000


def test_what_is_shown_has_no_number_of_rows(tmp_path):
    for i in range(3):
        write(tmp_path / f"{i}.parquet", {"x": np.zeros(4711)})
    table = ParquetTable(tmp_path / "*.parquet")
    assert repr(table) == f"ParquetTable('{tmp_path / '*.parquet'}': 3 files)"
    assert repr(ParquetTable(tmp_path / "1.parquet")).endswith("1.parquet': 1 file)")
    assert not re.search("4711", repr(table) + str(table) + repr(table.parts))
    assert privreg.ParquetTable is ParquetTable
