"""Copies of a ledger: whole or not there, of one moment, also while others write."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import pytest

from ledgers import ask, opened
from privreg import Ledger, LedgerError
from privreg.privacy.ledger import backup

SPEND = """
import sys, time
from decimal import Decimal
from pathlib import Path
from privreg import Ledger
from privreg.privacy.ledger.request import Request
ledger, stop, mine = Ledger(sys.argv[1]), Path(sys.argv[2]), 0
print("ready", flush=True)
while not stop.exists():
    number = ledger.spend("people", Request(Decimal("0.125"), Decimal(0), "race"))
    ledger.close(number, None)
    mine += 1
print(mine)
"""


@pytest.fixture
def ledger(tmp_path):
    made = opened(tmp_path, "1000", "1e-5")
    made.spend("people", ask("0.1", purpose="Löhne"))
    made.amend("people", 2000, reason="more")
    return made


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_holds_everything(ledger, tmp_path):
    copy = ledger.backup(tmp_path / "copy.db")
    assert copy.path == tmp_path / "copy.db"
    for of in ("status", "history", "amendments"):
        assert getattr(copy, of)() == getattr(ledger, of)()
    assert left(tmp_path) == ["budget.db", "copy.db"]
    copy.spend("people", ask("1"))
    assert len(ledger.history()) == 1


def test_copies_while_four_processes_spend(ledger, tmp_path):
    stop = tmp_path / "stop"
    command = [sys.executable, "-c", SPEND, str(ledger.path), str(stop)]
    spending = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    try:
        for process in spending:
            assert process.stdout.readline() == "ready\n"
        copies = [ledger.backup(tmp_path / "first.db")]
        while len(copies) < 4 or len(copies[-1].history()) < 20:  # they did write in between
            copies.append(ledger.backup(tmp_path / f"copy {len(copies)}.db"))
    finally:
        stop.touch()
    counts = [int(process.communicate(timeout=120)[0]) for process in spending]
    assert [process.returncode for process in spending] == [0] * 4
    final = ledger.history()
    assert len(final) == 1 + sum(counts)
    held = [copy.history() for copy in copies]
    for copy, entries in zip(copies, held, strict=True):
        status = copy.status()[0]
        assert status.entries == len(entries)
        assert status.sum_epsilon == sum((Fraction(e.epsilon) for e in entries), Fraction())
        assert [e.number for e in entries] == list(range(1, len(entries) + 1))
        assert [e.epsilon for e in entries] == [e.epsilon for e in final[: len(entries)]]
    assert list(map(len, held)) == sorted(map(len, held))


@pytest.mark.skipif(os.name == "nt", reason="another idea of protection")
@pytest.mark.parametrize(("mode", "copied"), [(0o600, 0o600), (0o640, 0o640), (0o444, 0o644)])
def test_nobody_may_read_a_copy_who_may_not_read_the_ledger(ledger, tmp_path, mode, copied):
    os.chmod(ledger.path, mode)
    copy = ledger.backup(tmp_path / "copy.db")
    assert copy.path.stat().st_mode & 0o777 == copied
    os.chmod(tmp_path / "copy.db", 0o666)
    assert ledger.backup(tmp_path / "copy.db", force=True).path.stat().st_mode & 0o777 == copied


def test_nothing_is_overwritten_unasked(ledger, tmp_path):
    place = tmp_path / "copy.db"
    place.write_text("precious")
    with pytest.raises(FileExistsError, match=r"--force \(force=True\) replaces it"):
        ledger.backup(place)
    assert place.read_text() == "precious"
    ledger.backup(place, force=True)
    assert Ledger(place).status() == ledger.status()


def test_the_ledger_is_no_place_for_its_copy(ledger, tmp_path):
    os.link(ledger.path, tmp_path / "hard")
    os.symlink(ledger.path, tmp_path / "soft")
    before = ledger.path.read_bytes()
    for place in (ledger.path, tmp_path / "hard", tmp_path / "soft"):
        with pytest.raises(LedgerError, match="is the ledger itself"):
            ledger.backup(place, force=True)
    assert ledger.path.read_bytes() == before


def test_a_link_stays_and_what_it_points_to_is_replaced(ledger, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "far" / "copy.db")
    ledger.backup(tmp_path / "link.db")
    assert (tmp_path / "link.db").is_symlink()
    assert Ledger(tmp_path / "far" / "copy.db").status() == ledger.status()


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_the_journal_of_another_database_would_spoil_a_copy(ledger, tmp_path, end):
    (tmp_path / f"copy.db{end}").write_bytes(b"old pages")
    with pytest.raises(LedgerError, match="belongs to a ledger that was in use"):
        ledger.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize(
    ("place", "error"), [("no/copy.db", FileNotFoundError), (".", IsADirectoryError), ("/dev/null", LedgerError)]
)
def test_places_where_no_copy_can_be(ledger, tmp_path, place, error):
    before = left(tmp_path)
    with pytest.raises(error):
        ledger.backup(tmp_path / place, force=True)
    assert left(tmp_path) == before


@pytest.mark.parametrize(
    "damage", ["UPDATE entry SET epsilon = 'x'", "UPDATE dataset SET rule = 7", "DELETE FROM entry"]
)
def test_a_damaged_ledger_is_not_copied(ledger, tmp_path, damage):
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute(damage)
        file.commit()
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.backup(tmp_path / "copy.db")
    assert left(tmp_path) == ["budget.db"]


def test_a_damaged_page_is_not_copied(ledger, tmp_path):
    content = bytearray(ledger.path.read_bytes())
    content[-4096:] = b"\xff" * 4096
    ledger.path.write_bytes(content)
    with pytest.raises(LedgerError):
        ledger.backup(tmp_path / "copy.db")
    assert left(tmp_path) == ["budget.db"]


def test_a_failure_at_the_end_leaves_the_old_file(ledger, tmp_path, monkeypatch):
    place = tmp_path / "copy.db"
    place.write_text("precious")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_to_disk", full)
    with pytest.raises(OSError, match="No space left"):
        ledger.backup(place, force=True)
    assert place.read_text() == "precious"
    assert left(tmp_path) == ["budget.db", "copy.db"]
