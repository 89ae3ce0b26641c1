"""A data set's total budget, kept on disk: what a release may cost is written down before its noise is drawn.

One SQLite file holds any number of data sets. A request is accepted if one of two totals stays within the budget, each
with its own part of δ: the plain sums of ε and δ of all requests, or the accountant's total of their μ² and δ′. Proof:
docs/proofs/ledger.md. Checks with real processes: tests/privacy/ledger/test_ledger.py,
tests/privacy/ledger/test_processes.py.

A file of version 1 is read as it is, and brought up to date by the first who writes to it.
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
from privreg.privacy.ledger import tables
from privreg.privacy.ledger.backup import check_place, write_copy
from privreg.privacy.ledger.lines import Amendment, Entry, read_amendment, read_entry, text
from privreg.privacy.ledger.request import Request, checked_budget
from privreg.privacy.ledger.status import GRID, OLD_RULE, RULE, RULES, Status, grid_steps, rounded_down
from privreg.privacy.ledger.user import login_name
from privreg.privacy.receipt import Receipt

_WAIT = 60.0  # seconds for other processes to finish their entry


@dataclass(frozen=True)
class Ledger:
    """The budgets of one or more data sets in an SQLite file.

    `create` sets a budget, and `amend` changes it. A fit that is given the ledger is entered before it draws noise, and
    a fit that dies has spent. Nothing here recognises data: the same records under two names have two budgets, and
    whoever can write to the file can change it.

    Parameters
    ----------
    path : the file. It need not exist before the first `create`.
    """

    path: str | PathLike[str]

    def create(self, dataset: str, epsilon: Any, delta: Any) -> None:
        """Give a data set a budget."""
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError("the data set needs a name")
        total = checked_budget(epsilon, delta)
        with self._opened("rwc") as file:
            if file.execute("PRAGMA application_id").fetchone()[0] == 0:
                if file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise LedgerError(f"{fspath(self.path)} is not a privreg ledger")
                tables.make_tables(file)
            self._check_version(file)
            tables.migrate(file)
            if file.execute("SELECT 1 FROM dataset WHERE name = ?", [dataset]).fetchone():
                raise LedgerError(f"{fspath(self.path)} has a data set {dataset!r} already; its budget stays as it is")
            line = [dataset, *map(str, total), _now()]
            file.execute("INSERT INTO dataset (name, epsilon, delta, created) VALUES (?, ?, ?, ?)", line)

    def amend(self, dataset: str, epsilon: Any = None, delta: Any = None, reason: str = "") -> Amendment:
        """Give a data set more or less budget from now on. What is None stays; a reason is needed.

        Nothing that was spent is given back: after less budget than was spent, every request is refused. The guarantee
        is then the largest ε and the largest δ that were ever in force (docs/proofs/ledger.md).
        """
        if not isinstance(reason, str) or not reason.strip() or reason.encode(errors="ignore").decode() != reason:
            raise ValueError("an amendment needs a reason, as text")
        if epsilon is None and delta is None:
            raise ValueError("an amendment needs a new epsilon or a new delta")
        with self._opened("rw") as file:
            status = self._status(file, dataset)
            old = status.epsilon, status.delta
            new = checked_budget(old[0] if epsilon is None else epsilon, old[1] if delta is None else delta)
            if old == new:
                raise LedgerError(f"the budget of {dataset!r} is {_pair(status)} already")
            rule = RULE if status.rule == OLD_RULE and self._doubles(file, status, *new) else status.rule
            file.execute(
                "INSERT INTO amendment (dataset, time, who, reason, old_epsilon, old_delta, epsilon, delta, after) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(number), 0) FROM entry))",
                [dataset, _now(), login_name(), reason, *map(str, old), *map(str, new)],
            )
            file.execute(
                "UPDATE dataset SET epsilon = ?, delta = ?, rule = ? WHERE name = ?", [*map(str, new), rule, dataset]
            )
            return self._amendments(file, dataset)[-1]

    def check(self, dataset: str, request: Request) -> None:
        """Raise BudgetRefusedError if the request would be refused now. Records nothing."""
        with self._opened("ro") as file:
            self._admit(file, dataset, request)

    def spend(self, dataset: str, request: Request) -> int:
        """Enter a request and return its number, or raise BudgetRefusedError. To be called before noise is drawn."""
        with self._opened("rw") as file:
            after = self._admit(file, dataset, request).after(request)
            about = [request.what, request.purpose, login_name(), request.unit]
            amounts = [str(request.epsilon), str(request.delta), _stored(request.mu_squared), str(request.stored_extra)]
            number = file.execute(
                "INSERT INTO entry (dataset, time, what, purpose, who, unit, epsilon, delta, mu_squared, extra_delta, "
                "state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'begun')",
                [dataset, _now(), *about, *amounts],
            ).lastrowid
            file.execute(
                "UPDATE dataset SET unit = ?, entries = ?, sum_epsilon = ?, sum_delta = ?, mu_squared = ?, "
                "last_delta = ?, sum_extra = ? WHERE name = ?",
                [after.unit, after.entries, str(after.sum_epsilon), str(after.sum_delta),
                 _stored(after.mu_squared), after.last_delta and str(after.last_delta), str(after.sum_extra), dataset],
            )  # fmt: skip
        assert number is not None
        return number

    def close(self, number: int, receipt: Receipt | None, fingerprint: str | None = None) -> None:
        """Note how a spent request ended, and what it released. What it may have cost stays spent."""
        state = "failed" if receipt is None else "finished"
        told = None if receipt is None else json.dumps(receipt.to_dict())
        with self._opened("rw") as file:
            file.execute(
                "UPDATE entry SET state = ?, receipt = ?, fingerprint = ? WHERE number = ?",
                [state, told, fingerprint, number],
            )

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
            return self._entries(file, dataset)

    def amendments(self, dataset: str | None = None) -> list[Amendment]:
        """All changes of budgets, or those of one data set, in order."""
        with self._opened("ro") as file:
            if dataset is not None:
                self._status(file, dataset)  # raises for unknown ones
            return self._amendments(file, dataset)

    def backup(self, path: str | PathLike[str], force: bool = False) -> "Ledger":
        """A copy of the file as it is at one moment, while others may write to it. Returns the ledger of the copy.

        The copy is checked, and is there whole or not at all; a file that is there already is replaced only with
        `force`. Restoring an old copy erases later spending.
        """
        path = Path(path)
        with self._opened("ro", as_it_is=True) as file:
            check_place(Path(self.path), path, force)
            write_copy(file, path, Path(self.path).stat().st_mode, self._check_content)
        return Ledger(path)

    def _check_content(self, file: sqlite3.Connection) -> None:
        """Raise LedgerError unless everything can be read."""
        with closing(tables.migrated_copy(file)) as copy:
            for (name,) in copy.execute("SELECT name FROM dataset").fetchall():
                self._status(copy, name)
            self._entries(copy, None)
            self._amendments(copy, None)

    def _entries(self, file: sqlite3.Connection, dataset: str | None) -> list[Entry]:
        rows = file.execute(
            "SELECT number, dataset, time, what, unit, epsilon, delta, state, receipt, mu_squared, extra_delta, "
            "who, purpose, fingerprint FROM entry WHERE ?1 IS NULL OR dataset = ?1 ORDER BY number",
            [dataset],
        ).fetchall()
        with self._reading():
            return [read_entry(*row) for row in rows]

    def _amendments(self, file: sqlite3.Connection, dataset: str | None) -> list[Amendment]:
        rows = file.execute(
            "SELECT number, dataset, time, who, reason, old_epsilon, old_delta, epsilon, delta, after FROM "
            "amendment WHERE ?1 IS NULL OR dataset = ?1 ORDER BY number",
            [dataset],
        ).fetchall()
        with self._reading():
            return [read_amendment(*row) for row in rows]

    def _doubles(self, file: sqlite3.Connection, status: Status, epsilon: Decimal, delta: Decimal) -> bool:
        """Whether a new budget covers all that the old rule may have let through, so that the new rule may follow."""
        earlier = self._amendments(file, status.dataset)
        epsilons = [status.epsilon, *(each.old_epsilon for each in earlier)]
        deltas = [status.delta, *(each.old_delta for each in earlier)]
        return epsilon >= max(epsilons) and delta >= 2 * max(deltas)

    def _admit(self, file: sqlite3.Connection, dataset: str, request: Request) -> Status:
        """The status before the request, if there is room for it."""
        status = self._status(file, dataset)
        if status.unit not in (None, request.unit):
            raise LedgerError(
                f"the budget of {dataset!r} is for one {status.unit} since its first entry, "
                f"and this request protects one {request.unit}"
            )
        if not status.admits(request):
            raise BudgetRefusedError(_refusal(status, request))
        return status

    def _status(self, file: sqlite3.Connection, name: str) -> Status:
        found = file.execute(
            "SELECT epsilon, delta, unit, entries, sum_epsilon, sum_delta, mu_squared, last_delta, sum_extra, rule "
            "FROM dataset WHERE name = ?",
            [name],
        ).fetchone()
        if found is None:
            known = ", ".join(repr(n) for (n,) in file.execute("SELECT name FROM dataset ORDER BY name LIMIT 8"))
            raise LedgerError(f"{fspath(self.path)} has no data set {name!r}; it has {known or 'none'}")
        (counted,) = file.execute("SELECT count(*) FROM entry WHERE dataset = ?", [name]).fetchone()
        with self._reading():
            epsilon, delta, unit, entries, sum_epsilon, sum_delta, mu_squared, last, sum_extra, rule = found
            status = Status(
                text(name),
                *checked_budget(epsilon, delta),
                None if unit is None else text(unit),
                entries,
                _sum(sum_epsilon),
                _sum(sum_delta),
                None if mu_squared is None else _sum(mu_squared) / GRID,
                None if last is None else checked_budget(epsilon, last)[1],
                _sum(sum_extra),
                rule,
            )
            if counted != entries or rule not in RULES:
                raise ValueError
        return status

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
            raise LedgerError(f"the ledger {fspath(self.path)} is damaged") from error

    @contextmanager
    def _opened(self, mode: str, as_it_is: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on disk when the block ends, or nothing is. Up to date, or of any version."""
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
                if mode == "ro" and tables.version_of(file) == 1 and not as_it_is:
                    with closing(tables.migrated_copy(file)) as copy:
                        yield copy
                        return
                if mode == "rw":
                    tables.migrate(file)
                yield file
                file.execute("COMMIT")  # left out if the block raised: then closing undoes it
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of damage SQLite may tell in bytes that are no text
            raise LedgerError(f"the ledger {path} cannot be used: {error}") from error

    def _check_version(self, file: sqlite3.Connection) -> None:
        if file.execute("PRAGMA application_id").fetchone()[0] != tables.APPLICATION:
            raise LedgerError(f"{fspath(self.path)} is not a privreg ledger")
        if tables.version_of(file) > tables.VERSION:
            raise LedgerError(f"{fspath(self.path)} was written by a newer version; upgrade privreg")


@contextmanager
def entered(ledger: Ledger, dataset: str, request: Request) -> Iterator["Open"]:
    """Spend before the block runs, and note how it ended."""
    number = ledger.spend(dataset, request)
    entry = Open(number)
    try:
        yield entry
    finally:
        ledger.close(number, entry.receipt, entry.fingerprint)


@dataclass
class Open:
    """A request that is being carried out. Without a receipt at the end it counts as failed."""

    number: int | None = None  # None without a ledger
    receipt: Receipt | None = None
    fingerprint: str | None = None  # of the released model, if there is one


def _sum(stored: Any) -> Fraction:
    """A total as `spend` writes it: without an exponent, which could stand for a number that fills the memory."""
    if not re.fullmatch("[0-9]+(/[0-9]+)?", text(stored)):
        raise ValueError
    total = Fraction(stored)
    float(total)  # raises where it could not be shown
    return total


def _stored(mu_squared: Fraction | None) -> str | None:
    return None if mu_squared is None else str(grid_steps(mu_squared))


def _refusal(status: Status, request: Request) -> str:
    """Why there is no room, and what there is room for, in one line."""
    extra = Fraction(request.stored_extra)
    sums, fit = rounded_down(status.sum_room(request.delta)), rounded_down(status.room(request.delta, extra))
    said = (
        f"refused: the budget of {status.dataset!r}, {_pair(status)}, has no room for {_pair(request)}. "
        f"At this δ there is room for ε up to {sums}" + (f", or {fit} for the default method" if fit != sums else "")
    )
    without = rounded_down(status.room(request.delta))
    if extra > max(status.extra_room, Fraction()) and without != fit:
        said += (
            f", or {without} if the levels of text columns are declared: to find them takes a part of δ that is used up"
        )
    return said


def _pair(of: Status | Request) -> str:
    return epsilon_delta(float(of.epsilon), float(of.delta))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
