"""A table is read without a record and with it: whatever the record holds, nothing else may change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from audit.fuzz.outcome import Finding, Outcome
from privreg.data import cells, files
from privreg.data.columns import choose_columns
from privreg.data.encode import encoded, level_codes, numbers_in_raw
from privreg.data.raw import TEXT, Raw
from privreg.data.schema import CATEGORY, Column, Schema
from privreg.data.tables import rows_as_array
from privreg.engines.base import OpenOptions
from privreg.engines.memory import MemorySource
from privreg.engines.registry import kind_of
from privreg.estimators.settled import settle
from privreg.mechanisms.kinds import CountClasses
from privreg.mechanisms.levels import common_values

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
    """A table in memory, read as a fit does, in every way that what is found out about its columns may have it read."""
    X = rows_as_array(X)
    kind = kind_of(X)
    types = kind.types(X, y, groups)
    public = settle(types, categories)
    source = kind.open(X, y, types, OpenOptions(1, groups))
    assert isinstance(source, MemorySource)
    raws = {name: source._raw(name) for name, column in public.columns.items() if column is None or not column.left_out}
    target = source._target
    rows = [column for name, raw in raws.items() for column in _ways(raw, public.columns[name])]
    rows += [numbers_in_raw(target, mark) for mark in (".,", ".")[target.kind != TEXT]]
    people = None if groups is None else source.row_identities()
    texts = [name for name, raw in raws.items() if raw.kind == TEXT]
    _check_counts(source, raws, texts)
    found = {name: column or Column(name, CATEGORY, levels=TOWNS, found=True, reference=0)
             for name, column in public.columns.items()}  # fmt: skip
    _check_records(source, Schema(tuple(found.values())), raws, target)
    return Read((schema, types.columns, types.target), np.column_stack(rows), people)


def _ways(raw: Raw, column: Column | None) -> Iterator[Any]:
    """The cells as what they may turn out to be, or as what is known about their column."""
    if column is not None:
        yield encoded(raw, column, fill=False)
        yield encoded(raw, replace(column, centre=None if column.has_levels else 0.5), fill=True)
    if raw.kind == TEXT:
        yield cells.classes(raw.values)
        yield cells.as_numbers(raw.values, ".")
        yield cells.as_numbers(raw.values, ",")
        yield cells.as_days(raw.values)
        yield cells.as_truths(raw.values)
        yield level_codes(raw, TOWNS, True)[0]
        yield [np.nan if text is None else crc32(text.encode()) for text in cells.as_texts(raw.values).to_pylist()]


def _check_counts(source: MemorySource, raws: dict[str, Raw], texts: list[str]) -> None:
    """What is counted is what the cells are, one by one."""
    if raws:
        counts = source.total_cells(CountClasses(tuple(raws)), list(raws))
        if not np.array_equal(counts, [raw.class_counts() for raw in raws.values()]):
            raise Finding("counts of kinds are not those of the cells")
        if (counts.sum(axis=1) != source.n_rows).any():
            raise Finding("a cell is of no kind, or of two")
    for name, (values, times) in (common_values(source, texts, 1) if texts else {}).items():
        own = [text for text in cells.as_texts(raws[name].values).to_pylist() if text is not None]
        if sorted(own) != [value for value, n in zip(values, times, strict=True) for _ in range(n)]:
            raise Finding("counts of values are not those of the cells")


def _check_records(source: MemorySource, schema: Schema, raws: dict[str, Raw], target: Raw) -> None:
    """The records are the rows that have every value."""
    complete = np.isfinite(numbers_in_raw(target, schema.target_mark))
    for column in schema:
        if not column.left_out:
            values = encoded(raws[column.name], column, fill=False)
            complete &= values >= 0 if column.has_levels else np.isfinite(values)
    if source.open(schema).n_records != complete.sum():
        raise Finding("the records are not the complete rows")


@dataclass(frozen=True)
class Use:
    """The columns that a command is told to use."""

    target: str
    features: tuple[str, ...] = ()
    person: str | None = None
    levels: tuple[tuple[str, tuple[Any, ...]], ...] = ()


def read_file(path: Path, use: Use) -> Read:
    """A file, read as `privreg fit` does; one with types as the table in memory that it holds."""
    named = [*use.features, use.target, use.person]  # all that a file without a header has
    file = files.open_file(path, columns=[name for name in named if name is not None])
    columns = choose_columns(file, use.target, use.features, (), use.person, dict(use.levels))
    person = [] if columns.person is None else [columns.person]
    names = [*columns.features, str(columns.target), *person]
    schema = (file.columns, columns)
    if not file.typed:
        return read_data(file.select(names), columns.target, columns.person, columns.categories, schema)
    table = file.read(names, person)
    groups = table[person[0]] if person else None
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
