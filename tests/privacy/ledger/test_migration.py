"""Files of version 1: read as they are, brought up to date by the first writer, and whole whenever that one dies."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from decimal import Decimal
from fractions import Fraction

import pytest

from ledgers import ask
from privreg import BudgetRefusedError, Ledger
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.privacy.ledger.status import GRID, OLD_RULE, RULE

# The tables as version 1 made them.
OLD_TABLES = """
CREATE TABLE dataset (
    name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL, unit TEXT,
    entries INTEGER NOT NULL DEFAULT 0, sum_epsilon TEXT NOT NULL DEFAULT '0', sum_delta TEXT NOT NULL DEFAULT '0',
    mu_squared TEXT DEFAULT '0', last_delta TEXT);
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset (name), time TEXT NOT NULL,
    what TEXT NOT NULL, unit TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, mu_squared TEXT,
    state TEXT NOT NULL, receipt TEXT);
CREATE INDEX entry_of ON entry (dataset);
"""
STEP = GRID // 1000  # the μ² of each old entry


def old_file(path, entries=3, mu_squared=STEP):
    """Data sets "people", with entries of ε = 1 and δ = 1e-6, and "new", without."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(f"PRAGMA application_id = {0x70726567}; PRAGMA user_version = 1; {OLD_TABLES}")
        file.execute("BEGIN")
        file.execute(
            "INSERT INTO dataset VALUES ('people', '4', '0.00001', '2026-11-17', 'record', ?, ?, ?, ?, '0.000001')",
            [entries, str(entries), str(Fraction(entries, 10**6)), str(entries * mu_squared)],
        )
        file.execute("INSERT INTO dataset (name, epsilon, delta, created) VALUES ('new', '2', '0.00001', '2026-11-17')")
        file.executemany(
            "INSERT INTO entry (dataset, time, what, unit, epsilon, delta, mu_squared, state, receipt) "
            "VALUES ('people', '2026-11-18', ?, 'record', '1', '0.000001', ?, 'finished', '{\"a\": 1}')",
            [(f"fit {i}", str(mu_squared)) for i in range(entries)],
        )
        file.execute("COMMIT")
    return Ledger(path)


def version(path):
    with closing(sqlite3.connect(path)) as file:
        return file.execute("PRAGMA user_version").fetchone()[0]


def old_lines(path):
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return file.execute(
            "SELECT number, dataset, time, what, unit, epsilon, delta, mu_squared, state, receipt FROM entry"
        ).fetchall()


@pytest.fixture
def ledger(tmp_path):
    return old_file(tmp_path / "budget.db")


def test_reading_changes_nothing(ledger):
    before = ledger.path.read_bytes()
    new, people = ledger.status()
    assert (people.entries, people.sum_epsilon, people.sum_delta) == (3, 3, Fraction("3e-6"))
    assert people.mu_squared == Fraction(3 * STEP, GRID)
    assert (people.rule, new.rule) == (OLD_RULE, RULE)
    first = ledger.history()[0]
    assert (first.what, first.purpose, first.who, first.extra_delta) == ("fit 0", "", "", 0)
    assert first.receipt == {"a": 1}
    assert ledger.amendments() == []
    ledger.check("people", ask("1"))
    assert ledger.path.read_bytes() == before
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


@pytest.mark.skipif(os.name == "nt", reason="another idea of protection")
def test_a_write_protected_file_is_read(ledger):
    os.chmod(ledger.path, 0o444)
    assert [e.what for e in ledger.history("people")] == ["fit 0", "fit 1", "fit 2"]


def test_a_copy_is_of_the_same_version(ledger, tmp_path):
    before, lines = ledger.path.read_bytes(), ledger.history()
    copy = ledger.backup(tmp_path / "copy.db")
    assert version(copy.path) == 1
    assert old_lines(copy.path) == old_lines(ledger.path)
    assert copy.history() == lines
    assert ledger.path.read_bytes() == before


WRITES = {
    "spend": lambda ledger: ledger.spend("people", ask("0.5")),
    "close": lambda ledger: ledger.close(3, None),
    "create": lambda ledger: ledger.create("third", 1, 0),
    "amend": lambda ledger: ledger.amend("people", 5, "1e-5", "more"),
}


@pytest.mark.parametrize("write", WRITES)
def test_the_first_writer_brings_it_up_to_date(ledger, write):
    before, statuses, lines = old_lines(ledger.path), ledger.status(), ledger.history()
    WRITES[write](ledger)
    assert version(ledger.path) == 2
    after = old_lines(ledger.path)
    assert after[:2] == before[:2]
    assert len(after) == 3 + (write == "spend")
    assert ledger.history()[:2] == lines[:2]
    assert ledger.status("new") == statuses[:1]
    assert ledger.status("people")[0].rule == OLD_RULE


def test_a_refused_request_leaves_the_file_as_it_was(ledger):
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetRefusedError):
        ledger.spend("people", ask("3"))
    assert ledger.path.read_bytes() == before


# ---- the rule of data sets that have entries


def limit(ledger, part):
    return adaptive_budget(Budget(4.0, 1e-5 * part))


def test_old_data_sets_keep_their_rule_and_have_no_room_for_extra_delta(tmp_path):
    """Between s(E, D/20) and s(E, D/10) the old rule let requests through, so the new one cannot come on top."""
    ledger = old_file(tmp_path / "budget.db", 30)  # Σε is 30: only the accountant has room
    between = (limit(ledger, 0.05) + limit(ledger, 0.1)) / 2
    rest = between - ledger.status("people")[0].mu_squared
    for extra in ("1e-300", "1e-9"):
        with pytest.raises(BudgetRefusedError):
            ledger.spend("people", ask("1", "1e-6", Fraction(1, 10**9), extra_delta=extra))
    ledger.spend("people", ask("1", "1e-6", rest))
    assert ledger.status("people")[0].within
    over = (limit(ledger, 0.1) - between) * Fraction(101, 100)
    with pytest.raises(BudgetRefusedError):
        ledger.spend("people", ask("1", "1e-6", over))


def test_what_the_sum_rule_has_room_for_may_have_extra_delta(ledger):
    ledger.spend("people", ask("1", "1e-6", Fraction(1, 1000), extra_delta="9e-7"))
    assert ledger.status("people")[0].within


def test_data_sets_without_entries_have_the_new_rule(ledger):
    ledger.spend("new", ask("2", "1e-5", Fraction(1, 10**6)))
    ledger.spend("new", ask("1", "1e-6", Fraction(1, 10**6), extra_delta="5e-7"))
    assert ledger.status("new")[0].extra_room == 0


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        ([("4", "2e-5")], RULE),
        ([("4", "1.99e-5")], OLD_RULE),
        ([("3.9", "2e-5")], OLD_RULE),
        ([("6", "1e-5"), ("5", "2e-5")], OLD_RULE),  # 6 was in force
        ([("6", "1e-5"), ("6", "2e-5")], RULE),
        ([("4", "1.5e-5"), ("4", "2e-5")], OLD_RULE),
        ([("4", "2e-5"), ("1", "1e-6")], RULE),  # it stays
    ],
)
def test_a_budget_that_covers_the_old_rule_brings_the_new_one(ledger, steps, rule):
    for epsilon, delta in steps:
        ledger.amend("people", epsilon, delta, "more")
    assert ledger.status("people")[0].rule == rule
    ledger.create("other", 1, 0)
    assert ledger.status("other")[0].rule == RULE


# ---- processes that die

# A warm process forks a child for each attempt. The child kills itself when SQLite begins its n-th statement, or waits
# to be killed.
SPEND = """
import os, shutil, signal, sqlite3, sys
from decimal import Decimal
from privreg import Ledger
from privreg.privacy.ledger.request import Request
connect = sqlite3.connect
def spend(path, moment):
    left = [moment]
    def count(statement):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def watched(*arguments, **options):
        file = connect(*arguments, **options)
        file.set_trace_callback(count)
        return file
    sqlite3.connect = watched
    Ledger(path).spend("people", Request(Decimal("0.5"), Decimal(0), "last"))
print("ready", flush=True)
for line in sys.stdin:
    path, moment = line.split()
    child = os.fork()
    if not child:
        try:
            spend(path, int(moment))
        finally:
            os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture
def warm():
    command = [sys.executable, "-c", SPEND]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def begin(warm, path, moment):
    warm.stdin.write(f"{path} {moment}\n")
    warm.stdin.flush()
    return int(warm.stdout.readline())


def check_whole(path, before):
    """All old entries, and the new one only in a file that is up to date."""
    lines = old_lines(path)
    assert lines[: len(before)] == before
    assert len(lines) == len(before) + (version(path) == 2)
    status = Ledger(path).status("people")[0]
    assert (status.entries, status.rule) == (len(lines), OLD_RULE)
    assert status.sum_epsilon == sum(Fraction(e.epsilon) for e in Ledger(path).history("people"))
    return version(path)


def test_a_death_at_any_statement_loses_nothing(tmp_path, warm):
    made = old_file(tmp_path / "made.db", 3).path
    before, versions = old_lines(made), []
    for moment in range(1, 100):
        path = shutil.copy(made, tmp_path / f"{moment}.db")
        begin(warm, path, moment)
        died = int(warm.stdout.readline()) == signal.SIGKILL
        versions.append(check_whole(path, before))
        if not died:
            break
        again = Ledger(path)
        again.spend("people", ask("0.5"))
        assert check_whole(path, before) == 2
    assert not died
    assert len(versions) > 15  # each statement of the migration was one of them
    assert versions == [1] * (len(versions) - 1) + [2]


def test_a_death_at_a_random_moment_loses_nothing(tmp_path, warm):
    made = old_file(tmp_path / "made.db", 3000, mu_squared=STEP // 1000).path
    with closing(sqlite3.connect(made)) as file:
        file.execute("UPDATE dataset SET epsilon = '4000', delta = '0.01'")
        file.commit()
    before, moments, found = old_lines(made), random.Random(5), []
    begin(warm, shutil.copy(made, tmp_path / "warm.db"), 0)
    warm.stdout.readline()
    start = time.perf_counter()
    begin(warm, shutil.copy(made, tmp_path / "timed.db"), 0)
    warm.stdout.readline()
    whole = time.perf_counter() - start
    for attempt in range(40):
        path = shutil.copy(made, tmp_path / f"{attempt}.db")
        child = begin(warm, path, 0)
        time.sleep(moments.uniform(0, whole))
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        warm.stdout.readline()
        found.append(check_whole(path, before))
        assert Ledger(path).spend("people", ask("0.5")) == len(before) + found[-1]
    assert 1 in found  # some died before they were done


def test_two_writers_at_once(tmp_path):
    path = old_file(tmp_path / "budget.db", 1).path
    code = (
        "import sys; from decimal import Decimal; from privreg import Ledger; "
        "from privreg.privacy.ledger.request import Request; "
        "print(Ledger(sys.argv[1]).spend('people', Request(Decimal('0.5'), Decimal(0), 'race')))"
    )
    racing = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert sorted(process.communicate(timeout=120)[0].strip() for process in racing) == ["2", "3", "4"]
    assert Ledger(path).status("people")[0].sum_epsilon == Decimal("2.5")
