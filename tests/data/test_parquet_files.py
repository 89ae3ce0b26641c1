"""Many Parquet files as one table: which files, in which order."""

import os
import pickle
from pathlib import Path

import pytest

from parquet_files import everything, write
from privreg import ParquetTable
from privreg.data.files import open_file
from text_tables import message


def names(table: ParquetTable) -> list[str]:
    found = []
    for part in table.parts:
        found += [Path(part.path).name] if Path(part.path).name not in found else []
    return found


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
    assert message(open_file, tmp_path) == f"{tmp_path} is a folder with no files that end in .parquet, .parq or .pq"
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
    assert open_file(tmp_path / "odd*.csv").columns == {"a": "text", "b": "text"}
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
    assert "x.parquet cannot be read twice" in message(ParquetTable, folder)


def test_columns_in_folder_names_are_refused(tmp_path):
    for year in (2020, 2021):
        write(tmp_path / "data" / f"year={year}" / "a.parquet", {"x": [1.0]})
    for pattern in ("data", "data/*/*.parquet", "data/**", "data/year=*/a.parquet"):
        said = message(open_file, tmp_path / pattern)
        assert said.startswith(
            f"{tmp_path / pattern} has folders called year=…, but columns stored in folder names are "
        )
        assert "add 'year' to the files as a column, or pass a list of files" in said
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
