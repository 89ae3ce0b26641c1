"""A data set's total budget, kept on disk: what a release may cost is written down before its noise is drawn.

One SQLite file holds any number of data sets. A request is accepted if one of two totals stays within the budget, each
with its own part of δ: the plain sums of ε and δ of all requests, or the accountant's total of their μ². Proof:
docs/proofs/ledger.md. Checks with real processes: tests/privacy/ledger/test_ledger.py,
tests/privacy/ledger/test_processes.py.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from privreg._format import epsilon_delta
from privreg.errors import BudgetRefusedError, LedgerError
from privreg.privacy.ledger.request import Request, amount, checked_budget
from privreg.privacy.ledger.status import GRID, Status, grid_steps, rounded_down
from privreg.privacy.receipt import Receipt

_APPLICATION = 0x70726567  # marks the file as ours
_VERSION = 1
_WAIT = 60.0  # seconds for other processes to finish their entry
_TABLES = """
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


@dataclass(frozen=True)
class Entry:
    """A line of the ledger. State: "begun" (or died), "finished" or "failed"; all have spent."""

    number: int
    dataset: str
    time: str
    what: str
    unit: str
    epsilon: Decimal
    delta: Decimal
    state: str
    receipt: dict[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return vars(self) | {"epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True)
class Ledger:
    """The budgets of one or more data sets in an SQLite file.

    `create` sets a budget. A fit that is given the ledger is entered before it draws noise, and a fit that dies has
    spent. Nothing here recognises data: the same records under two names have two budgets, and whoever can write to the
    file can change it.

    Parameters
    ----------
    path : the file. It need not exist before the first `create`.
    """

    path: str | PathLike[str]

    def create(self, dataset: str, epsilon: Any, delta: Any) -> None:
        """Give a data set a budget. It cannot be changed later."""
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError("the data set needs a name")
        total = checked_budget(epsilon, delta)
        with self._opened("rwc") as file:
            if file.execute("PRAGMA application_id").fetchone()[0] == 0:
                if file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise LedgerError(f"{fspath(self.path)} is not a privreg ledger")
                for statement in (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {_VERSION}"):
                    file.execute(statement)
                for statement in filter(str.strip, _TABLES.split(";")):
                    file.execute(statement)
            self._check_version(file)
            if file.execute("SELECT 1 FROM dataset WHERE name = ?", [dataset]).fetchone():
                raise LedgerError(f"{fspath(self.path)} has a data set {dataset!r} already; its budget stays as it is")
            line = [dataset, *map(str, total), _now()]
            file.execute("INSERT INTO dataset (name, epsilon, delta, created) VALUES (?, ?, ?, ?)", line)

    def check(self, dataset: str, request: Request) -> None:
        """Raise BudgetRefusedError if the request would be refused now. Records nothing."""
        with self._opened("ro") as file:
            self._admit(file, dataset, request)

    def spend(self, dataset: str, request: Request) -> int:
        """Enter a request and return its number, or raise BudgetRefusedError. To be called before noise is drawn."""
        with self._opened("rw") as file:
            after = self._admit(file, dataset, request).after(request)
            amounts = [str(request.epsilon), str(request.delta), _stored(request.mu_squared)]
            number = file.execute(
                "INSERT INTO entry (dataset, time, what, unit, epsilon, delta, mu_squared, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'begun')",
                [dataset, _now(), request.what, request.unit, *amounts],
            ).lastrowid
            file.execute(
                "UPDATE dataset SET unit = ?, entries = ?, sum_epsilon = ?, sum_delta = ?, mu_squared = ?, "
                "last_delta = ? WHERE name = ?",
                [after.unit, after.entries, str(after.sum_epsilon), str(after.sum_delta),
                 _stored(after.mu_squared), after.last_delta and str(after.last_delta), dataset],
            )  # fmt: skip
        assert number is not None
        return number

    def close(self, number: int, receipt: Receipt | None) -> None:
        """Note how a spent request ended. What it may have cost stays spent."""
        state = "failed" if receipt is None else "finished"
        told = None if receipt is None else json.dumps(receipt.to_dict())
        with self._opened("rw") as file:
            file.execute("UPDATE entry SET state = ?, receipt = ? WHERE number = ?", [state, told, number])

    def status(self, dataset: str | None = None) -> list[Status]:
        """Budget and spending of one data set, or of all."""
        with self._opened("ro") as file:
            names = [dataset] if dataset is not None else [n for (n,) in file.execute("SELECT name FROM dataset")]
            return [self._status(file, name) for name in names]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, in order."""
        with self._opened("ro") as file:
            if dataset is not None:
                self._status(file, dataset)  # raises for unknown ones
            rows = file.execute(
                "SELECT number, dataset, time, what, unit, epsilon, delta, state, receipt FROM entry "
                "WHERE ?1 IS NULL OR dataset = ?1 ORDER BY number",
                [dataset],
            ).fetchall()
        with self._reading():
            return [_entry(*row) for row in rows]

    def _admit(self, file: sqlite3.Connection, dataset: str, request: Request) -> Status:
        """The status before the request, if there is room for it."""
        status = self._status(file, dataset)
        if status.unit not in (None, request.unit):
            raise LedgerError(
                f"the budget of {dataset!r} is for one {status.unit} since its first entry, "
                f"and this request protects one {request.unit}"
            )
        if not status.admits(request):
            sums, fit = (rounded_down(room(request.delta)) for room in (status.sum_room, status.room))
            raise BudgetRefusedError(
                f"refused: the budget of {dataset!r}, {_pair(status)}, has no room for {_pair(request)}. "
                f"At this δ there is room for ε up to {sums}"
                + (f", or {fit} for the default method" if fit != sums else "")
            )
        return status

    def _status(self, file: sqlite3.Connection, name: str) -> Status:
        found = file.execute(
            "SELECT epsilon, delta, unit, entries, sum_epsilon, sum_delta, mu_squared, last_delta FROM dataset "
            "WHERE name = ?",
            [name],
        ).fetchone()
        if found is None:
            known = ", ".join(repr(n) for (n,) in file.execute("SELECT name FROM dataset ORDER BY name LIMIT 8"))
            raise LedgerError(f"{fspath(self.path)} has no data set {name!r}; it has {known or 'none'}")
        (counted,) = file.execute("SELECT count(*) FROM entry WHERE dataset = ?", [name]).fetchone()
        with self._reading():
            epsilon, delta, unit, entries, sum_epsilon, sum_delta, mu_squared, last = found
            status = Status(
                _text(name),
                *checked_budget(epsilon, delta),
                None if unit is None else _text(unit),
                entries,
                _sum(sum_epsilon),
                _sum(sum_delta),
                None if mu_squared is None else _sum(mu_squared) / GRID,
                None if last is None else checked_budget(epsilon, last)[1],
            )
            if counted != entries:
                raise ValueError
        return status

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"the ledger {fspath(self.path)} is damaged") from error

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on disk when the block ends, or nothing is."""
        path = Path(self.path)
        if mode != "rwc" and not path.exists():
            raise LedgerError(f"there is no ledger {path}; `privreg ledger create` makes one")
        try:
            # Also readers open it for writing: they may have to clean up after a process that was killed.
            address = f"{path.absolute().as_uri()}?mode={'rwc' if mode == 'rwc' else 'rw'}"
            with closing(sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous = EXTRA")
                file.execute("BEGIN" if mode == "ro" else "BEGIN IMMEDIATE")
                if mode != "rwc":
                    self._check_version(file)
                yield file
                file.execute("COMMIT")  # left out if the block raised: then closing undoes it
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of damage SQLite may tell in bytes that are no text
            raise LedgerError(f"the ledger {path} cannot be used: {error}") from error

    def _check_version(self, file: sqlite3.Connection) -> None:
        if file.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise LedgerError(f"{fspath(self.path)} is not a privreg ledger")
        if file.execute("PRAGMA user_version").fetchone()[0] > _VERSION:
            raise LedgerError(f"{fspath(self.path)} was written by a newer version; upgrade privreg")


@contextmanager
def entered(ledger: Ledger, dataset: str, request: Request) -> Iterator["Open"]:
    """Spend before the block runs, and note how it ended."""
    number = ledger.spend(dataset, request)
    entry = Open(number)
    try:
        yield entry
    finally:
        ledger.close(number, entry.receipt)


@dataclass
class Open:
    """A request that is being carried out. Without a receipt at the end it counts as failed."""

    number: int | None = None  # None without a ledger
    receipt: Receipt | None = None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _sum(stored: Any) -> Fraction:
    """A total as `spend` writes it: without an exponent, which could stand for a number that fills the memory."""
    if not re.fullmatch("[0-9]+(/[0-9]+)?", _text(stored)):
        raise ValueError
    total = Fraction(stored)
    float(total)  # raises where it could not be shown
    return total


def _entry(number: int, *line: Any) -> Entry:
    dataset, time, what, unit, epsilon, delta, state = map(_text, line[:7])
    receipt = json.loads(_text(line[7] or "null"))
    if receipt is not None and not isinstance(receipt, dict):
        raise TypeError
    amounts = amount(epsilon, "epsilon"), amount(delta, "delta")
    return Entry(number, dataset, time, what, unit, *amounts, state, receipt)


def _stored(mu_squared: Fraction | None) -> str | None:
    return None if mu_squared is None else str(grid_steps(mu_squared))


def _pair(of: Status | Request) -> str:
    return epsilon_delta(float(of.epsilon), float(of.delta))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
