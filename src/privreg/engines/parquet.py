"""Parquet files as a table: how their columns become features, and their row groups parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from privreg._isolation import isolated
from privreg._types import Int64
from privreg.data.parquet import ParquetTable, RowGroup
from privreg.data.raw import Cells
from privreg.data.schema import Schema
from privreg.data.tables import Table, read_identities, read_table
from privreg.engines.base import Block, FileKind, OpenOptions, Source, Types, used_columns
from privreg.engines.parts import Layout, standing_in
from privreg.engines.streamed import StreamedEngine

PART_ROWS = 2**18  # rows from which row groups are a part of their own


class ParquetFiles(FileKind):
    """A `ParquetTable`, read by threads of this process."""

    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> Source:
        del y
        layout = Layout(types.all, standing_in(types))
        return StreamedEngine(partial(file_parts, X), layout, partial(parquet_identities, X, options.groups), options)

    def tables(self, X: Any, schema: Schema) -> Iterator[Table]:
        used = used_columns(X, schema)
        for batch in X.batches(used) if X.parts else [X.no_rows(used)]:
            with isolated():
                table = read_table(batch, schema)
            yield table


@dataclass(frozen=True)
class FilePart:
    """Some rows of Parquet files."""

    table: ParquetTable
    layout: Layout
    groups: tuple[RowGroup, ...]
    print: None = None

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        yield Block([np.empty(0) for _ in columns], np.empty(0))  # for tables without rows
        needed = self.layout.needed(columns)
        for frame in self._frames(needed):
            yield self.layout.block(self.layout.cells(frame, needed), columns)

    def cells(self, columns: Sequence[str]) -> Iterator[Cells]:
        empty = self.table.no_rows(list(dict.fromkeys([*columns, self.layout.target])))
        for frame in chain([empty], self._frames(columns)):
            yield self.layout.cells(frame, columns)

    def _frames(self, columns: Sequence[str]) -> Iterator[Any]:
        for group in self.groups:
            yield from self.table.part_tables(group, list(dict.fromkeys([*columns, self.layout.target])))


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
    return read_identities(table.read([name], [name])[name])
