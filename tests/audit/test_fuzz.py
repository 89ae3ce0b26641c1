"""Hostile input in seconds, the worst of it by hand; and that the harness sees what it is there to see."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import audit.fuzz.outcome
import audit.fuzz.record
from audit import results
from audit.bugs import BUGS
from audit.fuzz import TARGETS, engines, nasty_lines_found, objects
from audit.fuzz.__main__ import main
from audit.fuzz.columns import TYPED_USES, TYPES, column_of
from audit.fuzz.engines import run_one, with_hypothesis
from audit.fuzz.inputs import inputs
from audit.fuzz.ledger import REQUEST, fuzz_ledger, tame_ledger
from audit.fuzz.outcome import Finding, Outcome, patience
from audit.fuzz.parquet import parquet_record
from audit.fuzz.record import CANARY, RECORDS, Read, Use, same_but_one
from audit.fuzz.text import DIALECTS, NASTY_LINES, TEXT_USES, tame_text, text_record
from privreg import Ledger, LedgerError
from privreg.data import cells as file_cells
from privreg.data import files, raw, tables
from privreg.data import schema as schema_of
from privreg.data.raw import Raw
from privreg.data.schema import CATEGORY, Column, Schema
from privreg.data.tables import read_identities, read_table, read_target
from privreg.engines import memory
from privreg.errors import SchemaError
from privreg.estimators import loaded
from privreg.mechanisms.levels import Tallies, TallyValues

every_target = pytest.mark.parametrize("target", TARGETS)


# ---- the product


@every_target
def test_hostile_inputs(target):
    @given(inputs(target))
    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    def once(data):
        with patience():
            TARGETS[target](data)

    once()


def test_inputs_that_look_for_new_code():
    pytest.importorskip("atheris")
    found = run_one("csv", "atheris", 1)
    assert found["findings"] == []
    assert found["executions"] >= engines.LEAST
    assert found["edges"] > 100


@pytest.mark.parametrize("line", NASTY_LINES, ids=range(len(NASTY_LINES)))
def test_no_line_changes_anything_but_itself(line):
    for position, dialect in zip((0, 7, RECORDS), DIALECTS[1:21:7], strict=True):
        hostile = line.replace(b",", dialect.separator.encode())
        text_record(hostile, position, dialect, TEXT_USES[0])
    if len(line) < 1000:
        for use in TEXT_USES[1:3]:
            text_record(line, 7, DIALECTS[0], use, 64)
        for dialect in DIALECTS[21:]:  # compressed, and in UTF-16
            text_record(line, 7, dialect, TEXT_USES[0])


BITS = [b"\xff" * 32, b"\x01\x00\xa0\x7f" * 8, b"\x00" * 7 + b"\x80" + b"\xff" * 7 + b"\x7f", None]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_no_bits_of_a_value_change_anything_but_their_record(kind):
    for number, use in enumerate(TYPED_USES):
        parquet_record(kind, BITS[number % len(BITS)], 7, use, row_group_size=10)
        for turn, make in enumerate(list(objects.FRAMES)[number % 2 :: 2]):
            objects.frame_record(make, kind, BITS[(number + turn) % len(BITS)], 7, use)


@pytest.mark.parametrize("role", objects.ROLES)
def test_no_object_changes_anything_but_its_record(role):
    for value in objects.PYTHON_OBJECTS:
        for levels in objects.LEVELS_OF_OBJECTS if role == "object column" else (None,):
            objects.object_record(value, 7, role, levels)
    for kind in objects.NUMPY_TYPES:
        for cell in BITS[:3]:
            objects.array_record(kind, cell, 7, role)


def test_odd_tables_are_read_or_refused():
    for make in objects.ODD_TABLES:
        objects.odd_table(make)


# ---- what it found


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**60, 1], pa.timestamp("s")),
        pa.array([1, 2**62, 1], pa.duration("s")),
        pa.array([1, 2**30, 1], pa.int32()).view(pa.date32()),
        column_of(pa.string(), [b"a", b"\xff", b"a"]),
        pl.Series([1, 2**30, 1], dtype=pl.Int32).cast(pl.Date),
        pl.Series([1, 2**62, 1]).cast(pl.Datetime("ms")),
        pl.Series([1, 10**30, 1], dtype=pl.Int128),
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1, 2**60, 1], pa.timestamp("s")))),
    ],
    ids=range(8),
)
def test_an_identifier_that_python_cannot_hold_is_no_error(column):
    first, odd, last = read_identities(column)
    assert first == last >= 0
    assert odd != first


@pytest.mark.parametrize("value", [pd.NA, np.zeros(2)])
def test_what_cannot_be_compared_is_missing(value):
    day = date(2020, 1, 1)
    frame = pd.DataFrame({"a": pd.Series([day, value, day], dtype=object)})
    schema = Schema((Column("a", CATEGORY, levels=("2019-01-01", "2020-01-01"), reference=0),))
    assert read_table(frame, schema).complete().tolist() == [True, False, True]


def test_messages_about_arrays_do_not_tell_of_values():
    said = set()
    for longest in ("b", "bbbbbb"):
        with pytest.raises(SchemaError) as caught:
            read_target(np.array(["a", longest]))
        said.add(str(caught.value))
    assert len(said) == 1
    with pytest.raises(SchemaError, match="not numeric"):  # numpy would quote the text
        read_target(np.ma.array([CANARY], mask=[False]))


def test_parquet_with_names_or_levels_that_are_not_utf8(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"qqqq": [1.0]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"qq\xff\xff"))
    with pytest.raises(SchemaError, match="could not be read as Parquet"):
        files.open_file(path)
    levels = pa.array(["qqqq", "b"])
    pq.write_table(pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), levels)}), path)
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"qq\xff\xff"))
    with pytest.raises(SchemaError, match="could not be read as Parquet"):
        files.open_file(path).levels("c")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE dataset SET sum_epsilon = '1e999999999'",
        "UPDATE dataset SET epsilon = '1e999999999'",
        "UPDATE dataset SET epsilon = 'Infinity'",
        "UPDATE dataset SET delta = 'NaN'",
        "UPDATE dataset SET last_delta = 'NaN'",
        "UPDATE dataset SET unit = x'ff'",
        f"UPDATE dataset SET mu_squared = '{'9' * 400}'",
        "UPDATE entry SET epsilon = 'sNaN'",
        "UPDATE entry SET what = x'ff'",
        "UPDATE entry SET receipt = '[1]'",
        f"UPDATE entry SET receipt = '{'[' * 100_000}'",
    ],
    ids=range(11),
)
def test_a_ledger_with_odd_values_is_damaged(tmp_path, damage):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", "3", "1e-5")
    ledger.spend("people", REQUEST)
    assert len(ledger.status()) == len(ledger.history()) == 1
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute(damage)
        file.commit()
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.history() if "entry" in damage else ledger.check("people", REQUEST)


def test_a_ledger_of_which_sqlite_cannot_speak(tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", "3", "1e-5")
    damaged = (tmp_path / "budget.db").read_bytes().replace(b"CREATE INDEX entry_of ON", b"CREATE \xc4NDEX entry_of ON")
    (tmp_path / "budget.db").write_bytes(damaged)
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.status()


# ---- the harness


def caught(function, *arguments) -> str:
    with pytest.raises(Finding) as found:
        function(*arguments)
    return str(found.value)


def first_finding(target: str, tries: int = 400) -> str:
    rng = np.random.default_rng(0)
    for _ in range(tries):
        try:
            TARGETS[target](rng.bytes(40))
        except Finding as found:
            return str(found)
    raise AssertionError("nothing was found")


@pytest.fixture
def fresh():
    """Nothing is remembered from readers that were changed."""
    tame_text.cache_clear()
    yield
    tame_text.cache_clear()


def line(content: bytes, use=TEXT_USES[0]) -> None:
    text_record(content, 7, DIALECTS[0], use)


@pytest.mark.usefixtures("fresh")
def test_sees_an_open_quote_that_takes_other_records():
    line(b'1,2,"3')
    with BUGS["open quote"].put_in():
        assert "number of rows" in caught(line, b'1,2,"3')


def nothing_beside_gaps(cells, mark, real=file_cells.as_numbers):
    """A column that lacks a value has no numbers."""
    return real(cells, mark) * (np.nan if cells.null_count else 1.0)


def test_nasty_lines_see_a_bug_and_remember_nothing_of_it(monkeypatch):
    line(b"")  # what was read before is not relied on
    with monkeypatch.context() as patched:
        patched.setattr(file_cells, "as_numbers", nothing_beside_gaps)
        assert nasty_lines_found()
    assert not nasty_lines_found(positions=(12,))
    monkeypatch.setattr(files, "open_file", lambda path: {}[path])
    assert nasty_lines_found()


@pytest.mark.usefixtures("fresh")
def test_sees_a_cell_in_a_message(monkeypatch):
    def tell(cells, mark):
        raise SchemaError(f"not a number: {cells[0]}")

    monkeypatch.setattr(file_cells, "as_numbers", tell)
    assert "a cell in the message" in caught(line, b"", Use("y", ("id",)))


@pytest.mark.usefixtures("fresh")
def test_sees_a_cell_in_the_error_behind_an_error(monkeypatch):
    def tell(*_):
        try:
            raise ValueError(CANARY)
        except ValueError as error:
            raise SchemaError("one column is odd") from error

    monkeypatch.setattr(audit.fuzz.record, "settle", tell)
    assert "a cell in the message" in caught(line, b"")


@pytest.mark.usefixtures("fresh")
def test_sees_the_number_of_records_in_a_message(monkeypatch):
    def tell(table, target, *others):
        raise SchemaError(f"{len(target)} records are too few")

    monkeypatch.setattr(memory, "MemoryEngine", tell)
    assert "changes the outcome" in caught(line, b"1,2,3,4,5,6")


@pytest.mark.usefixtures("fresh")
def test_sees_a_record_that_decides_alone(monkeypatch):
    def types(self, X, y, groups, real=memory.FilesInMemory.types):
        return replace(real(self, X, y, groups), target="y" if b",," in X.path.read_bytes() else None)

    monkeypatch.setattr(memory.FilesInMemory, "types", types)
    assert "changes the schema" in caught(line, b"1,,2,3,4,5", Use("y", ("x2",)))


@pytest.mark.usefixtures("fresh")
def test_sees_counts_that_are_not_those_of_the_cells(monkeypatch):
    real = TallyValues.__call__

    def twice(self, cells):
        found = real(self, cells)
        return Tallies({name: (values, 2 * times) for name, (values, times) in found.columns.items()})

    monkeypatch.setattr(TallyValues, "__call__", twice)
    assert "counts of values" in caught(line, b"", Use("y", ("town",)))
    monkeypatch.setattr(Raw, "class_counts", lambda self: np.ones(7, np.int64))
    assert "of no kind, or of two" in caught(line, b"", Use("y", ("town",)))


@pytest.mark.usefixtures("fresh")
def test_sees_other_exceptions_warnings_and_prints(monkeypatch):
    def broken(function):
        monkeypatch.setattr(memory, "read_target", function)
        return caught(objects.array_record, "d", b"", 7, "target")

    real = read_target
    assert broken(lambda y: {}["x"]).startswith("KeyError")
    assert broken(lambda y: print("x") or real(y)).startswith("printed")
    assert broken(lambda y: subprocess.run([sys.executable, "-c", "print(1)"]) and real(y)).startswith("printed")
    assert broken(lambda y: np.float64(1) / np.zeros(1) * real(y)).startswith("warning: divide by zero")
    assert broken(lambda y: (_ for _ in ()).throw(MemoryError())).startswith("MemoryError")


@pytest.mark.usefixtures("fresh")
def test_sees_a_hang(monkeypatch):
    monkeypatch.setattr(audit.fuzz.outcome, "PATIENCE", 1.0)
    hostile = b"a," + b"9" * 400_000 + b"x,1,2,3,4"
    with patience():
        line(hostile)
    monkeypatch.setattr(file_cells, "as_days", lambda cells: time.sleep(60))
    with pytest.raises(Finding, match="hang"), patience():
        line(hostile)


def test_sees_rows_and_owners_that_change():
    rows = np.arange(6.0).reshape(3, 2)
    before = Outcome(Read("schema", rows, np.array([0, 0, 1])))
    more = np.insert(rows, 1, 9.0, axis=0)

    def after(people, values=more):
        same_but_one(before, Outcome(Read("schema", values, np.array(people))), 1)

    after([4, 7, 4, 0])
    assert "how others are read" in caught(after, [4, 7, 4, 0], more[::-1])
    assert "who owns others" in caught(after, [0, 7, 1, 2])
    assert "who owns others" in caught(after, [0, 7, 0, 0])
    assert "owner of another unknown" in caught(after, [-1, 7, -1, 0])


@pytest.mark.parametrize(
    ("target", "module", "name", "mutant"),
    [
        ("table", raw, "texts_of", lambda values: pa.array(values, pa.large_string(), from_pandas=True)),
        ("table", tables, "_float64", lambda values: np.asarray(values, np.float64)),
        ("parquet", file_cells, "valid_text", lambda array: array.cast(pa.binary()).cast(pa.string())),
        ("schema", schema_of, "number", lambda value, what: value),
        ("model", loaded, "numbers", lambda value, what, size, missing=False: value),
        ("ledger", Ledger, "_reading", lambda self: nullcontext()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sees_broken_readers(monkeypatch, target, module, name, mutant):
    monkeypatch.setattr(module, name, mutant)
    assert first_finding(target)


def test_sees_a_ledger_that_forgets(monkeypatch):
    real = Ledger._status

    def counting(self, file, name):
        """The totals of the entries that are left, whatever was written down."""
        (left,) = file.execute("SELECT count(*) FROM entry WHERE dataset = ?", [name]).fetchone()
        file.execute("UPDATE dataset SET entries = ? WHERE name = ?", [left, name])
        return replace(real(self, file, name), sum_epsilon=Fraction(left, 4))

    tame_ledger()
    monkeypatch.setattr(Ledger, "_status", counting)
    assert "damage changes what is left" in caught(fuzz_ledger, bytes([3, 0, 0, 0, 0]))


def test_reports_findings_of_its_processes(monkeypatch, tmp_path, capsys):
    said = "#7 cov: 12 ft: 9\nFinding: one record\nBase64: AAA=\nstat::number_of_executed_units: 7\n"

    def process(code, out="", errors=""):
        ended = subprocess.CompletedProcess([], code, out, errors)
        monkeypatch.setattr(engines.subprocess, "run", lambda *_, **__: ended)

    process(77, errors=said)
    found = run_one("csv", "atheris", 1)
    assert (found["executions"], found["edges"]) == (7, 12)
    assert "Finding: one record | Base64: AAA=" in found["findings"][0]
    process(-11)
    assert "status -11" in run_one("csv", "atheris", 1)["findings"][0]
    assert "status -11" in run_one("csv", "hypothesis", 1)["findings"][0]
    process(0, out='{"examples": 3, "findings": []}\n', errors=said)
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert main(["--seconds", "1"]) == 0
    written = json.loads((tmp_path / "fuzz.json").read_text())
    assert written["targets"]["csv"]["examples"] == 3
    process(0, out='{"examples": 3, "findings": ["one"]}\n')
    assert main(["--seconds", "1"]) == 1
    assert json.loads((tmp_path / "fuzz.json").read_text())["targets"]["model"]["findings"] == ["one"]


def test_a_target_that_fails_is_described(monkeypatch):
    def target(data):
        assert b"a" not in data, "an a"

    monkeypatch.setitem(TARGETS, "csv", target)
    found = with_hypothesis("csv", 5)
    assert found["examples"] > 0
    assert "an a" in found["findings"][0]
    assert "data=" in found["findings"][0]
