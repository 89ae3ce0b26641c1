"""A table is read without a record and with it: whatever the record holds, nothing else may change."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from audit.fuzz.outcome import Finding, Outcome
from privreg.data import files
from privreg.data.columns import choose_columns
from privreg.data.tables import read_identities, read_table, read_target
from privreg.engines.memory import MemoryEngine

RECORDS = 24
CANARY, RARE = "zq7x", "486"  # in cells, and nowhere else
TOWNS = ("north", "south", f"{CANARY}town")


@dataclass(frozen=True)
class Read:
    """What a fit gets to see: the schema, the values row by row (target last), and who owns each row."""

    schema: Any
    rows: Any
    people: Any = None


def read_data(X: Any, y: Any, groups: Any = None, categories: Any = None, schema: Any = None) -> Read:
    """A table in memory, read as a fit does."""
    table, target = read_table(X, categories), read_target(y)
    people = None if groups is None else read_identities(groups)
    records = MemoryEngine(table, target)
    every = table.rows(np.arange(table.n_rows))
    if not np.array_equal(records.rows(np.arange(records.n_records)), every[table.complete() & np.isfinite(target)]):
        raise Finding("the records are not the complete rows")
    return Read((schema, table.names), np.column_stack([every, target]), people)


@dataclass(frozen=True)
class Use:
    """The columns that a command is told to use."""

    target: str
    features: tuple[str, ...] = ()
    person: str | None = None
    levels: tuple[tuple[str, tuple[Any, ...]], ...] = ()


def read_file(path: Path, use: Use) -> Read:
    """A file, read as `privreg fit` does."""
    file = files.open_file(path)
    columns = choose_columns(file, use.target, use.features, (), use.person, dict(use.levels))
    person = [] if columns.person is None else [columns.person]
    table = file.read([*columns.features, columns.target, *person], columns.categories, person)
    groups = table[person[0]] if person else None
    schema = (file.columns, columns)
    return read_data(table.select(columns.features), table[columns.target], groups, columns.categories, schema)


def same_but_one(before: Outcome, after: Outcome, position: int, most: int = 1) -> None:
    """Compare what is read without and with a record, or up to `most`, at a position."""
    for found in (before, after):
        if re.search(f"{CANARY}|{RARE}", found.message or ""):
            raise Finding(f"a cell in the message: {found.message}")
    if before.message != after.message:
        raise Finding(f"one record changes the outcome: {before.message!r}, with it {after.message!r}"[:400])
    if before.message is not None:
        return
    old, new = before.value, after.value
    if old.schema != new.schema:
        raise Finding(f"one record changes the schema: {old.schema}, with it {new.schema}"[:400])
    more = len(new.rows) - len(old.rows)
    if not 0 <= more <= most:
        raise Finding(f"one record changes the number of rows by {more}")
    others = np.r_[:position, position + more : len(new.rows)]
    if not np.array_equal(old.rows, new.rows[others], equal_nan=True):
        raise Finding("one record changes how others are read")
    if old.people is not None:
        _same_owners(old.people, new.people[others])


def _same_owners(old: Any, new: Any) -> None:
    """Whoever owned rows together still does; who was unknown, below zero, still is."""
    pairs = set(zip(old.tolist(), new.tolist(), strict=True))
    if not len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}):
        raise Finding("one record changes who owns others")
    if any((a < 0) != (b < 0) for a, b in pairs):
        raise Finding("one record makes the owner of another unknown")
