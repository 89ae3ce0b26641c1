"""Ledgers with damage to their bytes, their entries or their totals."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from audit.fuzz.draw import Draw, damaged
from audit.fuzz.outcome import Finding, folder, input_file, outcome
from audit.fuzz.record import CANARY
from privreg.cli.ledger import history
from privreg.cli.ledger import status as show_status
from privreg.privacy.ledger.ledger import Ledger
from privreg.privacy.ledger.request import Request

REQUEST = Request(Decimal("0.25"), Decimal("1e-7"), "fuzz", mu_squared=Fraction(1, 100))
# fmt: off
ODD_CELLS: tuple[Any, ...] = (
    None, "", 0, -1, 1, 7, 2.5, "0", "-1", "1/3", "1/0", "NaN", "sNaN", "Infinity", "-Infinity", "1e999999999",
    "1e-999999999", "9" * 400, "9" * 5000, "1_0", " 1 ", "١", "1e400", "0.1", b"1", b"\xff", CANARY, "[" * 100_000,
    "{}", "null", "[1]", '{"a": NaN}', "record", "person", 2**62, 1e300,
)
COLUMNS = {
    "entry": ("number", "dataset", "time", "what", "unit", "epsilon", "delta", "mu_squared", "state", "receipt",
              "extra_delta", "who", "purpose"),
    "dataset": ("name", "epsilon", "delta", "created", "unit", "entries", "sum_epsilon", "sum_delta", "mu_squared",
                "last_delta", "sum_extra", "rule"),
}
# fmt: on


@cache
def tame_ledger() -> tuple[bytes, tuple[Any, ...]]:
    """A ledger with entries of two data sets, and its totals."""
    path = folder() / "made.db"
    ledger = Ledger(path)
    for name in ("people", f"{CANARY} two"):
        ledger.create(name, "3", "1e-5")
        for number in (1, 2, 3):
            entry = ledger.spend(name, REQUEST)
            if number < 3:
                ledger.close(entry, None)
    return path.read_bytes(), _totals(ledger)


def _totals(ledger: Ledger) -> tuple[Any, ...]:
    """Everything that decides about the next request."""
    return tuple(replace(status, last_delta=None) for status in ledger.status())


def fuzz_ledger(data: bytes) -> None:
    """The totals survive damage elsewhere, and nothing beyond the budget is let through."""
    draw = Draw(data)
    mode, (whole, totals) = draw.number(5), tame_ledger()
    if mode == 0:
        whole = damaged(draw, whole)
    elif mode == 1:
        whole = whole[: draw.number(len(whole))] if draw.number(4) else whole[: 512 * draw.number(len(whole) // 512)]
    elif mode == 2:
        whole += draw.rest()
    path = input_file(whole)
    path.with_name("input-journal").unlink(missing_ok=True)
    if mode > 2:
        _edit(draw, path, "entry" if mode == 3 else "dataset")
    ledger = Ledger(path)
    found = outcome(_totals, ledger)
    if mode in (1, 2, 3) and found.message is None and found.value != totals:
        raise Finding(f"damage changes what is left: {found.value}"[:300])
    name, as_json = draw.pick((None, "people")), draw.number(3) > 0
    outcome(show_status, path, name, as_json, prints=True)
    outcome(history, path, name, as_json, prints=True)
    _spend(ledger)


def _spend(ledger: Ledger) -> None:
    outcome(ledger.check, "people", REQUEST)
    spent = outcome(ledger.spend, "people", REQUEST)
    if spent.message is None:
        after = outcome(ledger.status, "people")
        if after.message is None and not after.value[0].within:  # a ledger that is refused lets nothing more through
            raise Finding("a request was let through that is not within the budget")
        outcome(ledger.close, spent.value, None)


def _edit(draw: Draw, path: Path, table: str) -> None:
    """Change, remove or repeat lines of a table."""
    others = ", ".join(COLUMNS[table][1:])
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA synchronous = OFF")
        for _ in range(draw.number(3) + 1):
            row, column, edit = draw.number(7), draw.pick(COLUMNS[table]), draw.number(6)
            where = f"WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {row})"
            try:
                if edit == 0:
                    file.execute(f"DELETE FROM {table} {where}")
                elif edit == 1 and table == "entry":
                    file.execute(f"INSERT INTO entry ({others}) SELECT {others} FROM entry {where}")
                else:
                    file.execute(f"UPDATE {table} SET {column} = ? {where}", [draw.pick(ODD_CELLS)])
            except sqlite3.IntegrityError:
                continue
        file.commit()
