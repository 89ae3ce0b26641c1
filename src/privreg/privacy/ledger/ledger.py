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
from privreg.privacy.accountant import adaptive_budget
from privreg.privacy.ledger import tables
from privreg.privacy.ledger.backup import check_place, write_copy
from privreg.privacy.ledger.lines import Amendment, Entry, read_amendment, read_entry, text
from privreg.privacy.ledger.request import Request, checked_budget, running_budget
from privreg.privacy.ledger.status import GRID, OLD_RULE, RULE, RULES, Status, grid_steps, rounded_down
from privreg.privacy.ledger.user import login_name
from privreg.privacy.receipt import Receipt

_WAIT = 60.0  # seconds for other processes to finish their entry
_GLANCE = 1.0  # the same for what is only shown


@dataclass(frozen=True)
class Ledger:
    """The total budgets of one or more data sets, kept in an SQLite file.

    `create` sets a budget, and `amend` changes it. A fit that is given the ledger is entered before it draws noise, and
    a fit that dies has spent its budget. The ledger does not recognise data: the same records under two names have two
    budgets, and anyone who can write to the file can change it.

    Parameters
    ----------
    path : str or path
        The file. It need not exist before the first `create`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from privreg import Ledger, PrivateLinearRegression
    >>> X = np.random.default_rng(0).normal(size=(1_000, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder, "budget.db"))
    ...     ledger.create("people", epsilon=3, delta=1e-5)
    ...     model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, ledger=ledger, dataset="people")
    ...     _ = model.fit(X, X[:, 0])
    ...     [entry.state for entry in ledger.history("people")]
    ['finished']
    """

    path: str | PathLike[str]

    def create(self, dataset: str, epsilon: Any, delta: Any) -> None:
        """Give a data set a total budget.

        Parameters
        ----------
        dataset : str
            A name for the data set.
        epsilon : float or str
            The total ε. A decimal text such as "0.1" is taken exactly.
        delta : float or str
            The total δ.

        Raises
        ------
        LedgerError
            If the ledger already has this data set.
        """
        if not isinstance(dataset, str) or not dataset.strip():
            raise ValueError("dataset must be a name, and not empty")
        total = checked_budget(epsilon, delta)
        with self._opened("rwc") as file:
            if file.execute("PRAGMA application_id").fetchone()[0] == 0:
                if file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise LedgerError(f"{fspath(self.path)} is not a privreg ledger")
                tables.make_tables(file)
            self._check_version(file)
            tables.migrate(file)
            if file.execute("SELECT 1 FROM dataset WHERE name = ?", [dataset]).fetchone():
                raise LedgerError(f"{fspath(self.path)} already has a data set {dataset!r}; its budget was not changed")
            line = [dataset, *map(str, total), _now()]
            file.execute("INSERT INTO dataset (name, epsilon, delta, created) VALUES (?, ?, ?, ?)", line)

    def amend(self, dataset: str, epsilon: Any = None, delta: Any = None, reason: str = "") -> Amendment:
        """Give a data set more or less budget from now on.

        Nothing that was spent is given back: after a budget is lowered below what was spent, every request is refused.
        The guarantee is then the largest ε and the largest δ that were ever in force (docs/proofs/ledger.md).

        Parameters
        ----------
        dataset : str
            The data set.
        epsilon : float, str or None, default None
            The new total ε; None keeps the old one.
        delta : float, str or None, default None
            The new total δ; None keeps the old one.
        reason : str, default ""
            Why; kept in the ledger. It must not be empty.

        Returns
        -------
        Amendment
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
                raise LedgerError(f"the budget of {dataset!r} is already {_pair(status)}")
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
        """Raise `BudgetRefusedError` if a request would be refused now. Records nothing.

        Parameters
        ----------
        dataset : str
            The data set.
        request : Request
            What a release asks for.
        """
        with self._opened("ro") as file:
            self._admit(file, dataset, request)

    def spend(self, dataset: str, request: Request) -> int:
        """Enter a request, or raise `BudgetRefusedError`. Must be called before noise is drawn.

        Parameters
        ----------
        dataset : str
            The data set.
        request : Request
            What a release asks for.

        Returns
        -------
        int
            The number of the entry.
        """
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
        """Note how a request ended, and what it released. What it may have cost stays spent.

        Parameters
        ----------
        number : int
            The number of the entry.
        receipt : Receipt or None
            What was spent; None if the request failed.
        fingerprint : str or None, default None
            The fingerprint of the released model, by which `privreg verify` finds the entry.
        """
        state = "failed" if receipt is None else "finished"
        told = None if receipt is None else json.dumps(receipt.to_dict())
        with self._opened("rw") as file:
            file.execute(
                "UPDATE entry SET state = ?, receipt = ?, fingerprint = ? WHERE number = ?",
                [state, told, fingerprint, number],
            )

    def after(self, dataset: str, entry: int | None) -> dict[str, Any]:
        """What is told of the ledger after a request: which entry it is, and what is spent and left. Ready for JSON."""
        status = self.status(dataset)[0]
        told = status.to_dict()
        return {
            "file": Path(self.path).name,
            "dataset": dataset,
            "entry": entry,
            "epsilon": float(status.epsilon),
            "delta": float(status.delta),
        } | {key: told[key] for key in ("spent_epsilon", "entries", "room")}

    def status(self, dataset: str | None = None) -> list[Status]:
        """Budget and spending.

        Parameters
        ----------
        dataset : str or None, default None
            The data set; None for all.

        Returns
        -------
        list of Status
        """
        with self._opened("ro") as file:
            names = [dataset] if dataset is not None else [n for (n,) in file.execute("SELECT name FROM dataset")]
            return [self._status(file, name) for name in names]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Every request that was entered, in order.

        Parameters
        ----------
        dataset : str or None, default None
            The data set; None for all.

        Returns
        -------
        list of Entry
        """
        with self._opened("ro") as file:
            if dataset is not None:
                self._status(file, dataset)  # raises for unknown ones
            return self._entries(file, dataset)

    def amendments(self, dataset: str | None = None) -> list[Amendment]:
        """Every change of a budget, in order.

        Parameters
        ----------
        dataset : str or None, default None
            The data set; None for all.

        Returns
        -------
        list of Amendment
        """
        with self._opened("ro") as file:
            if dataset is not None:
                self._status(file, dataset)  # raises for unknown ones
            return self._amendments(file, dataset)

    def backup(self, path: str | PathLike[str], force: bool = False) -> "Ledger":
        """Copy the ledger as it is at one moment, even while others write to it.

        The copy is checked, and is written whole or not at all. Restoring an old copy erases later spending.

        Parameters
        ----------
        path : str or path
            Where to write the copy.
        force : bool, default False
            Whether to replace a file that is already there.

        Returns
        -------
        Ledger
            The ledger of the copy.
        """
        path = Path(path)
        with self._opened("ro", as_it_is=True) as file:
            check_place(Path(self.path), path, force)
            write_copy(file, path, Path(self.path).stat().st_mode, self._check_content)
        return Ledger(path)

    def _repr_html_(self) -> str:
        """Never raises: whatever a notebook shows must not stop it."""
        from privreg.privacy.ledger.cards import ledger_card, missing_card, unreadable_card

        path = Path(self.path)
        try:
            if not path.exists():
                return missing_card(path.name)
            with self._opened("ro", wait=_GLANCE) as file:
                names = [name for (name,) in file.execute("SELECT name FROM dataset")]
                return ledger_card(
                    path.name, [self._status(file, name) for name in names], self._amendments(file, None)
                )
        except (LedgerError, OSError) as error:
            told = str(error).replace(fspath(self.path), path.name).replace(str(path), path.name)
            return unreadable_card(path.name, told)

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
                f"the budget of {dataset!r} protects one {status.unit}, as its first entry decided, "
                f"but this request protects one {request.unit}"
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
    def _opened(self, mode: str, as_it_is: bool = False, wait: float = _WAIT) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on disk when the block ends, or nothing is. Up to date, or of any version."""
        path = Path(self.path)
        if mode != "rwc" and not path.exists():
            raise LedgerError(f"there is no ledger {path}; create one with `privreg ledger create`")
        try:
            # Also readers open it for writing: they may have to clean up after a process that was killed.
            address = f"{path.absolute().as_uri()}?mode={'rwc' if mode == 'rwc' else 'rw'}"
            with closing(sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)) as file:
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
            raise LedgerError(f"{fspath(self.path)} was written by a newer version of privreg; upgrade privreg")


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
    composes, summed = _as_cheap_as_default(request), status.sum_room(request.delta)
    fit = rounded_down(max(summed, status.room(request.delta, extra)) if composes else summed)
    said = (
        f"refused: the budget of {status.dataset!r}, {_pair(status)}, has no room for {_pair(request)}. At this δ, "
        f"there is room for ε up to {fit}"
    )
    without = rounded_down(max(summed, status.room(request.delta)))
    if composes and extra > max(status.extra_room, Fraction()) and without != fit:
        said += f", or up to {without} if the levels of text columns are declared"
        said += ": the part of δ for finding them is used up"
    return said


def _as_cheap_as_default(request: Request) -> bool:
    """Whether the room for the default method is there for this request, too: by the accountant it costs no more."""
    budget = running_budget(request.epsilon, request.delta)
    if request.mu_squared is None or budget.delta <= 0:
        return False
    return request.mu_squared <= adaptive_budget(budget)


def _pair(of: Status | Request) -> str:
    return epsilon_delta(float(of.epsilon), float(of.delta))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
