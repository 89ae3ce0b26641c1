"""The ledger's file: other files are left alone, damage is refused, and what is entered is on disk."""

import os
import sqlite3
from contextlib import closing

import pytest

from ledgers import ask, opened
from privreg import Ledger, LedgerError

CONNECT = sqlite3.connect


def test_other_files_are_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a ledger, but long enough to look like something else\n" * 40)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE mine (x)")
    file.close()
    for path in (text, other):
        before = path.read_bytes()
        for attempt in (lambda p=path: Ledger(p).create("a", 1, 0), lambda p=path: Ledger(p).status()):
            with pytest.raises(LedgerError, match=r"not a privreg ledger|cannot be used"):
                attempt()
        assert path.read_bytes() == before


def test_a_newer_ledger_is_refused(tmp_path):
    ledger = opened(tmp_path, "1", "0")
    with sqlite3.connect(ledger.path) as file:
        file.execute("PRAGMA user_version = 3")
    file.close()
    with pytest.raises(LedgerError, match="written by a newer version"):
        ledger.spend("people", ask("1"))


def test_names_of_files_and_data_sets_may_be_odd(tmp_path):
    folder = tmp_path / "a folder?with #odd% signs"
    folder.mkdir()
    ledger = Ledger(folder / "bud get?.db")
    name = "Löhne'; DROP TABLE entry; --"
    ledger.create(name, 1, 0)
    ledger.spend(name, ask("1"))
    assert [p.name for p in folder.iterdir()] == ["bud get?.db"]
    assert ledger.status()[0].dataset == name


def test_entries_are_written_through(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "2", "0")
    said = []

    def connect(*arguments, **options):
        file = CONNECT(*arguments, **options)
        file.set_trace_callback(said.append)
        return file

    monkeypatch.setattr(sqlite3, "connect", connect)
    ledger.spend("people", ask("1"))
    assert said.index("PRAGMA synchronous = EXTRA") < said.index("BEGIN IMMEDIATE") < said.index("COMMIT")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE dataset SET epsilon = 'abc'",
        "UPDATE dataset SET sum_epsilon = '1/0'",
        "UPDATE dataset SET sum_epsilon = '-100'",
        "UPDATE dataset SET entries = 'x'",
        "UPDATE dataset SET mu_squared = 'x'",
        "UPDATE dataset SET last_delta = 'x'",
        "UPDATE dataset SET sum_extra = 'x'",
        "UPDATE dataset SET sum_extra = '-1'",
        "UPDATE dataset SET rule = 3",
        "UPDATE dataset SET rule = 'x'",
        "DELETE FROM entry",
    ],
)
def test_a_damaged_ledger_is_refused(tmp_path, damage):
    ledger = opened(tmp_path, "5", "0")
    ledger.spend("people", ask("1"))
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute(damage)
        file.commit()
    for attempt in (lambda: ledger.spend("people", ask("1")), ledger.status):
        with pytest.raises(LedgerError, match="is damaged"):
            attempt()


@pytest.mark.parametrize("damage", ["epsilon = 'q'", "extra_delta = 'q'", "mu_squared = '-1'", "who = x'00'"])
def test_a_damaged_entry_is_refused(tmp_path, damage):
    ledger = opened(tmp_path, "5", "0")
    ledger.spend("people", ask("1"))
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute(f"UPDATE entry SET {damage}")
        file.commit()
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.history()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_ledger_that_cannot_be_written_is_an_error(tmp_path):
    ledger = opened(tmp_path, "2", "0")
    os.chmod(ledger.path, 0o444)
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.spend("people", ask("1"))
