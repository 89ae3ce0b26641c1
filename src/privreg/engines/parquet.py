"""Parquet files as a table: how their columns become features, and their row groups parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from privreg._isolation import isolated
from privreg._types import Int64
from privreg.data.parquet import ParquetTable, RowGroup
from privreg.data.tables import Categories, Table, read_identities, read_table
from privreg.engines.base import Block, Engine, Kind, OpenOptions
from privreg.engines.parts import Layout, make_layout
from privreg.engines.streamed import StreamedEngine
from privreg.errors import SchemaError

PART_ROWS = 2**18  # rows from which row groups are a part of their own


class ParquetFiles(Kind):
    """A `ParquetTable`, read by threads of this process."""

    def open(self, X: Any, y: Any, options: OpenOptions) -> Engine:
        layout = parquet_layout(X, y, options)
        return StreamedEngine(file_parts(X, layout), layout, partial(parquet_identities, X), options)

    def tables(self, X: Any, columns: Sequence[str], categories: Categories | None) -> Iterator[Table]:
        missing = [name for name in columns if name not in X.columns]
        if missing:
            raise SchemaError(f"{X!r} has no column {missing[0]!r}, which the model was fitted on")
        levels = _levels(X, columns, categories)
        for batch in X.batches(columns, levels) if X.parts else [X.no_rows(columns, levels)]:
            with isolated():
                table = read_table(batch, levels)
            yield table


@dataclass(frozen=True)
class FilePart:
    """Some rows of Parquet files."""

    table: ParquetTable
    layout: Layout
    groups: tuple[RowGroup, ...]

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        names = [*self.layout.needed(columns), self.layout.target]
        yield Block([np.empty(0) for _ in columns], np.empty(0))  # for tables without rows
        for group in self.groups:
            for frame in self.table.part_tables(group, names, self.layout.categories):
                yield self.layout.block(frame, columns)


def file_parts(table: ParquetTable, layout: Layout) -> list[FilePart]:
    """The rows of a table in parts of whole row groups. Small ones are put together: a task costs milliseconds."""
    parts: list[list[RowGroup]] = [[]]
    for group in table.parts:
        if sum(g.rows for g in parts[-1]) >= PART_ROWS:
            parts.append([])
        parts[-1].append(group)
    return [FilePart(table, layout, tuple(groups)) for groups in parts]


def parquet_identities(table: ParquetTable, name: str) -> Int64:
    """A number for each row, the same for equal values of a column."""
    return read_identities(table.read([name], {}, identifiers=[name])[name])


def parquet_layout(table: ParquetTable, target: Any, options: OpenOptions) -> Layout:
    """Every column is a feature that is neither the target nor names people."""
    groups, categories = options.groups, options.categories
    for name, what in ((target, "y"), (groups, "groups")):
        if (name is not None or what == "y") and not (isinstance(name, str) and name in table.columns):
            raise SchemaError(f"{what} must be the name of a column of {table!r}")
    features = [name for name in table.columns if name not in (target, groups)]
    if not features:
        raise SchemaError(f"{table!r} has no feature columns")
    levels = _levels(table, features, categories)
    layout = make_layout(table.no_rows([*features, target], levels), features, target, levels)
    found = table.undeclared([name for name in features if name not in (categories or {})])
    return replace(layout, undeclared=tuple(found)).choose(options.chosen)


def _levels(table: ParquetTable, features: Sequence[str], categories: Categories | None) -> dict[str, list[Any]]:
    """Levels as declared, or by the files themselves."""
    levels = {name: list(given) for name, given in (categories or {}).items()}
    for name in levels:
        if name not in features:
            raise SchemaError(f"categories were declared for {name!r}, but the table has no such feature")
    for name in features:
        if table.columns[name] == "category" and name not in levels:
            try:
                levels[name] = table.levels(name)
            except SchemaError:
                raise SchemaError(
                    f"column {name!r} has no dictionary that all row groups of {table!r} have in common; "
                    f"declare its levels with categories={{{name!r}: [...]}}"
                ) from None
    return levels
