"""A format is a `DataFile` and a line in the list of formats: every command then takes its files."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from privreg import SchemaError, load_model
from privreg.cli.app import app
from privreg.data import files
from privreg.data.base import DataFile

ROWS = 400
LEVELS = ["north", "south"]


class ToyFile(DataFile):
    """A line {"column": "kind", …}, then a line [value, …] for each record."""

    typed = True

    def __init__(self, path):
        super().__init__(path, json.loads(Path(path).read_text().partition("\n")[0]))

    @staticmethod
    def writer(sink, schema, name):
        assert name.suffix == ".toy"
        return ToyWriter(sink)

    def _no_rows(self, columns, identifiers):
        return self._table([], columns, identifiers)

    def _tables(self, columns, identifiers):
        lines = Path(self.path).read_text().splitlines()[1:]
        for first in range(0, len(lines), 100):
            yield self._table([json.loads(line) for line in lines[first : first + 100]], columns, identifiers)

    def _table(self, rows, columns, identifiers):
        del identifiers
        kinds = {"number": pa.float64(), "text": pa.string()}
        names = list(self.columns)
        return pa.table(
            {name: pa.array([row[names.index(name)] for row in rows], kinds[self.columns[name]]) for name in columns}
        )


class ToyWriter:
    def __init__(self, sink):
        self.sink = sink

    def write_table(self, table):
        for row in table.to_pylist():
            self.sink.write((json.dumps(list(row.values())) + "\n").encode())

    def close(self):
        self.sink.write(b"end\n")


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """A folder with the same table as a toy and as CSV, and the format in the list."""
    monkeypatch.setitem(sys.modules, "toy_format", sys.modules[__name__])
    toy = files.Format("Toy", (".toy",), "toy_format:ToyFile", writes=True)
    monkeypatch.setattr(files, "FORMATS", [toy, *files.FORMATS])
    rng = np.random.default_rng(0)
    rows = [[float(a), float(b), LEVELS[i % 2], float(3 * a + i % 2)] for i, (a, b) in enumerate(rng.random((ROWS, 2)))]
    kinds = {"a": "number", "b": "number", "town": "text", "y": "number"}
    (tmp_path / "people.toy").write_text("\n".join(map(json.dumps, [kinds, *rows])) + "\n")
    (tmp_path / "people.csv").write_text("\n".join([",".join(kinds), *(",".join(map(str, row)) for row in rows)]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, fails: bool = False):
    result = CliRunner().invoke(app, list(words))
    assert (result.exit_code != 0) == fails, result.output
    return result


OPTIONS = ("--target", "y", "--category", "town=north,south", "--epsilon", "1", "--yes")


def test_commands_take_the_format(toys):
    run("fit", "people.toy", *OPTIONS, "--out", "toy.json")
    columns = load_model("toy.json").schema_.features
    assert [feature.name for feature in columns] == ["a", "b", "town=south"]
    chosen = json.loads(run("select", "people.toy", "--k", "2", *OPTIONS, "--json").stdout)
    assert len(set(chosen["selected_features"]) & {"a", "b", "town=south"}) == 2

    run("predict", "toy.json", "people.toy", "--keep", "town", "--out", "new.toy")
    run("predict", "toy.json", "people.csv", "--keep", "town", "--out", "new.csv")
    *written, end = (toys / "new.toy").read_text().splitlines()
    assert end == "end"
    rows = list(csv.reader((toys / "new.csv").read_text().splitlines()))[1:]
    assert [json.loads(line) for line in written] == [[town, float(value)] for town, value in rows]


def test_the_format_is_known_by_its_name_alone(toys):
    assert files.format_of(toys / "people.toy").name == "Toy"
    assert files.format_of(toys / "people.csv") is files.TEXT
    assert files.format_of(toys) is files.PARQUET
    assert files.header_names(toys / "people.toy") is None
    assert isinstance(files.open_file(toys / "people.toy"), ToyFile)
    (toys / "people.toy").rename(toys / "people.txt")
    with pytest.raises(SchemaError, match="is JSON; save it as"):
        files.open_file(toys / "people.txt")


def test_messages_list_the_formats(toys):
    (toys / "x.json").write_text('[{"a": 1}]')
    (toys / "x.bin").write_bytes(b"\x01\x02\n")
    for name, said in {
        "x.json": "is JSON; save it as CSV (UTF-8), Parquet or Toy first",
        "x.bin": "is neither Toy nor Parquet nor UTF-8 text",
    }.items():
        with pytest.raises(SchemaError) as caught:
            files.open_file(toys / name)
        assert said in str(caught.value)
    run("fit", "people.toy", *OPTIONS, "--out", "toy.json")
    said = run("predict", "toy.json", "people.toy", "--out", "x.xlsx", fails=True).output
    assert "must end in .csv, .tsv, .tab, .txt, .parquet, .parq, .pq or .toy" in " ".join(said.split())
    said = run("fit", "people.toy", *OPTIONS, "--engine", "dask", fails=True).output
    assert "reads Parquet only" in said


def test_the_list_is_as_before():
    names = ["Parquet", "Arrow", "Excel", "Stata", "SPSS", "SAS", "JSON lines", "CSV (UTF-8)"]
    assert [known.name for known in files.FORMATS] == names
