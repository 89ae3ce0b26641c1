"""A data set's total budget, kept on disk: what a release may cost is written down before its noise is drawn.

One SQLite file holds any number of data sets. A request is accepted if one of two totals stays within the budget, each
with its own part of δ: the plain sums of ε and δ of all requests, or the accountant's total of their μ². Proof:
docs/proofs/ledger.md. Checks with real processes: tests/privacy/ledger/test_ledger.py,
tests/privacy/ledger/test_processes.py.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, erfc, exp, inf, log, sqrt
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from privreg._format import epsilon_delta, number
from privreg.errors import BudgetRefusedError, LedgerError
from privreg.privacy.accountant import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, adaptive_budget
from privreg.privacy.events import round_down
from privreg.privacy.receipt import Receipt

FOR_THE_ACCOUNTANT = Fraction(1, 10)  # of δ; requests run with the rest of theirs
GRID = 2**100  # μ² is kept as a whole number of 1/GRID, rounded up, so that sums are exact and short
MOST_ENTRIES = 10**6  # of one data set: the proof wants a bound
LARGEST_EPSILON = 10**6  # of a data set: more would promise nothing
RECORD, PERSON = "record", "person"

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


def amount(value: Any, name: str) -> Decimal:
    """A number as it was written: 0.1 is one tenth, not the binary fraction next to it."""
    try:
        decimal = Decimal(value if isinstance(value, str | int | Decimal) else repr(float(value)))
        number = float(decimal)
    except (InvalidOperation, TypeError, ValueError, OverflowError):
        decimal, number = Decimal("NaN"), inf
    if not decimal.is_finite() or isinstance(value, bool) or abs(number) == inf:
        raise ValueError(f"{name} must be a number, got {value!r}")
    if decimal and (decimal.adjusted() < -300 or len(decimal.as_tuple().digits) > 300):
        raise ValueError(f"{name} has too many digits")
    return decimal


@dataclass(frozen=True)
class Request:
    """What a release asks for. `mu_squared` is its cost to the accountant at the budget that it runs with, if any."""

    epsilon: Decimal
    delta: Decimal
    what: str
    unit: str = RECORD
    mu_squared: Fraction | None = None

    def __post_init__(self) -> None:
        if self.unit != RECORD and not self.unit.startswith(PERSON):
            raise ValueError(f"unit must be {RECORD!r}, or {PERSON!r} and perhaps by what, got {self.unit!r}")
        if self.epsilon <= 0 or not 0 <= self.delta < 1 or (self.mu_squared is not None and self.mu_squared < 0):
            raise ValueError("a request needs a positive epsilon and a delta in [0, 1)")


def running_budget(epsilon: Decimal, delta: Decimal) -> Budget:
    """The budget with which a request runs that goes through a ledger: rounded down, a part of δ left out."""
    return Budget(round_down(Fraction(epsilon)), max(0.0, round_down(Fraction(delta) * (1 - FOR_THE_ACCOUNTANT))))


def budget_of(epsilon: Any, delta: Any, in_ledger: bool) -> Budget:
    """What a fit may spend: a ledger keeps a part of δ."""
    return running_budget(amount(epsilon, "epsilon"), amount(delta, "delta")) if in_ledger else Budget(epsilon, delta)


def unit_of(people: bool, column: Any = None) -> str:
    """What is protected: a record, or a person. People that are told apart by another column are another unit."""
    if not people:
        return RECORD
    return PERSON if column is None else f"{PERSON} by {column}"


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
class Status:
    """A data set's budget, and what was asked of it so far."""

    dataset: str
    epsilon: Decimal
    delta: Decimal
    unit: str | None  # decided by the first entry
    entries: int
    sum_epsilon: Fraction
    sum_delta: Fraction
    mu_squared: Fraction | None  # None if the accountant has no cost for one of the entries
    last_delta: Decimal | None = None

    def after(self, request: Request) -> "Status":
        """The status with one more request."""
        mu_squared = None
        if self.mu_squared is not None and request.mu_squared is not None:
            mu_squared = self.mu_squared + Fraction(ceil(request.mu_squared * GRID), GRID)
        return replace(
            self,
            unit=request.unit,
            entries=self.entries + 1,
            sum_epsilon=self.sum_epsilon + Fraction(request.epsilon),
            sum_delta=self.sum_delta + Fraction(request.delta),
            mu_squared=mu_squared,
            last_delta=request.delta or self.last_delta,
        )

    @property
    def within(self) -> bool:
        """Whether one of both totals is within the budget: the rule of docs/proofs/ledger.md."""
        if self.sum_epsilon <= Fraction(self.epsilon) and self.sum_delta <= Fraction(self.delta):
            return True
        if self.mu_squared is None or self._accountant_delta < SMALLEST_DELTA:
            return False
        return self.mu_squared <= adaptive_budget(Budget(round_down(Fraction(self.epsilon)), self._accountant_delta))

    @property
    def accountant_epsilon(self) -> float | None:
        """About the ε of all entries by the accountant, at the part of δ that is kept for it."""
        if self.mu_squared is None or self._accountant_delta < SMALLEST_DELTA:
            return None
        return gaussian_epsilon(sqrt(self.mu_squared), self._accountant_delta)

    @property
    def spent_epsilon(self) -> float:
        """The smaller of both totals."""
        summed, accounted = float(self.sum_epsilon), self.accountant_epsilon
        return summed if accounted is None else min(summed, accounted)

    @property
    def next_delta(self) -> Decimal:
        """A δ that the next fit may have: that of the last one that had any, or a tenth of all."""
        return self.delta / 10 if self.last_delta is None else self.last_delta

    def sum_room(self, delta: Decimal) -> float:
        """The largest ε that any method may ask for at δ, by the sum rule."""
        left = Fraction(self.epsilon) - self.sum_epsilon
        return max(0.0, round_down(left)) if self.sum_delta + Fraction(delta) <= Fraction(self.delta) else 0.0

    def room(self, delta: Decimal) -> float:
        """The largest ε, about, that one more PrivateLinearRegression may ask for at δ."""
        summed, running = self.sum_room(delta), running_budget(self.epsilon, delta).delta
        if self.mu_squared is None or running < SMALLEST_DELTA or self._accountant_delta < SMALLEST_DELTA:
            return summed
        rest = gaussian_mu(float(self.epsilon), self._accountant_delta) ** 2 - float(self.mu_squared)
        accounted = gaussian_epsilon(sqrt(rest), running) if rest > 0 else 0.0
        return min(max(summed, accounted), float(self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "dataset": self.dataset,
            "budget": {"epsilon": str(self.epsilon), "delta": str(self.delta)},
            "unit": self.unit,
            "entries": self.entries,
            "sum": {"epsilon": float(self.sum_epsilon), "delta": float(self.sum_delta)},
            "accountant": {"epsilon": self.accountant_epsilon, "delta": self._accountant_delta},
            "spent_epsilon": self.spent_epsilon,
            "room": {"epsilon": self.room(self.next_delta), "delta": float(self.next_delta)},
        }

    @property
    def _accountant_delta(self) -> float:
        return max(0.0, round_down(Fraction(self.delta) * FOR_THE_ACCOUNTANT))


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
        total = _checked(epsilon, delta)
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
            amounts = [str(request.epsilon), str(request.delta), _grid_steps(request.mu_squared)]
            number = file.execute(
                "INSERT INTO entry (dataset, time, what, unit, epsilon, delta, mu_squared, state) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'begun')",
                [dataset, _now(), request.what, request.unit, *amounts],
            ).lastrowid
            file.execute(
                "UPDATE dataset SET unit = ?, entries = ?, sum_epsilon = ?, sum_delta = ?, mu_squared = ?, "
                "last_delta = ? WHERE name = ?",
                [after.unit, after.entries, str(after.sum_epsilon), str(after.sum_delta),
                 _grid_steps(after.mu_squared), after.last_delta and str(after.last_delta), dataset],
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
        alone = request.epsilon <= status.epsilon and request.delta <= status.delta
        if not alone or not status.after(request).within or status.entries >= MOST_ENTRIES:
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
                *_checked(epsilon, delta),
                None if unit is None else _text(unit),
                entries,
                _sum(sum_epsilon),
                _sum(sum_delta),
                None if mu_squared is None else _sum(mu_squared) / GRID,
                None if last is None else _checked(epsilon, last)[1],
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


def _checked(epsilon: Any, delta: Any) -> tuple[Decimal, Decimal]:
    total = amount(epsilon, "epsilon"), amount(delta, "delta")
    if not Decimal(SMALLEST_EPSILON) <= total[0] <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must be a positive number of at most {LARGEST_EPSILON:,}, got {epsilon}")
    if not 0 <= total[1] < 1:
        raise ValueError(f"delta must be a number in [0, 1), got {delta}")
    return total


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


def gaussian_epsilon(mu: float, delta: float) -> float:
    """About the ε at δ of μ-GDP, to show. Decisions are the accountant's, which rounds up."""
    high = mu**2 / 2 + mu * sqrt(-2 * log(delta))
    return _root(lambda epsilon: _curve(mu, epsilon) <= delta, high) if mu > 0 else 0.0


def gaussian_mu(epsilon: float, delta: float) -> float:
    """About the largest μ for which μ-GDP is (ε, δ)-DP, to show."""
    high = 1.0
    while _curve(high, epsilon) <= delta:
        high *= 2
    return _root(lambda mu: _curve(mu, epsilon) > delta, high)


def _root(holds: Callable[[float], bool], high: float) -> float:
    """Where a condition that holds at `high` begins to hold."""
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if middle == 0 or holds(middle) else (middle, high)
    return high


def _curve(mu: float, epsilon: float) -> float:
    """Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2)."""
    below, above = (erfc((epsilon / mu + sign * mu / 2) / sqrt(2)) / 2 for sign in (-1, 1))
    return below - exp(min(epsilon + log(above), 0.0)) if above > 0 else below


def _grid_steps(mu_squared: Fraction | None) -> str | None:
    return None if mu_squared is None else str(ceil(mu_squared * GRID))


def _pair(of: Status | Request) -> str:
    return epsilon_delta(float(of.epsilon), float(of.delta))


def rounded_down(value: float) -> str:
    """About three digits, not more than the value."""
    rounded = float(f"{value:.3g}")
    return number(rounded if rounded <= value else value * (1 - 2e-3), 3)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
