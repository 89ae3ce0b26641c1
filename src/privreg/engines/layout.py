"""How the columns of a table become features: decided once, from its schema, and the same in every part of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from privreg._types import Int64
from privreg.data.frames import Feature, declared_levels
from privreg.data.parquet import ParquetTable, RowGroup
from privreg.data.tables import Categories, read_identities, read_table, read_target
from privreg.engines.base import TARGET, Block

PART_ROWS = 2**18  # rows from which row groups are a part of their own


@dataclass(frozen=True)
class Layout:
    """Features, the columns they come from, and the levels of those that are categories."""

    features: tuple[Feature, ...]  # their sources are places in `sources`
    sources: tuple[Any, ...]
    categories: dict[Any, list[Any]]
    target: Any
    undeclared: tuple[str, ...] = ()  # columns whose levels came with their type

    @property
    def names(self) -> list[str]:
        return [feature.name for feature in self.features]

    def only(self, columns: Sequence[int]) -> "Layout":
        """Some of the features, named like the columns of an array."""
        chosen = [replace(self.features[j], name=f"x{i}") for i, j in enumerate(columns)]
        return replace(self, features=tuple(chosen), undeclared=())

    def needed(self, columns: Sequence[int]) -> list[Any]:
        """The names of the table's columns that these features are made from."""
        return [self.sources[s] for s in sorted({self.features[j].source for j in columns if j != TARGET})]

    def block(self, frame: Any, columns: Sequence[int]) -> Block:
        """These features, and the target, of a data frame that has their columns at least."""
        names = self.needed(columns)
        frame = nw.from_native(frame, eager_only=True)
        target = read_target(frame[self.target].to_native())
        if not names:
            return Block([], target)
        levels = {name: self.categories[name] for name in names if name in self.categories}
        table = read_table(frame.select(names).to_native(), levels)
        place = {(names[f.source], f.level): i for i, f in enumerate(table.features)}
        chosen = [self.features[j] for j in columns]
        return Block(table.columns([place[self.sources[f.source], f.level] for f in chosen], slice(None)), target)


def make_layout(frame: Any, features: Sequence[Any], target: Any, categories: Categories | None) -> Layout:
    """The layout of a table, from a frame of its types. Only these types, and declared levels, are looked at."""
    chosen = nw.from_native(frame, eager_only=True).select(list(features))
    levels = {name: list(given) for name, given in (categories or {}).items()}
    table = read_table(chosen.to_native(), levels)
    for name, series in zip(chosen.columns, chosen.iter_columns(), strict=True):
        found = levels.get(name) or declared_levels(series, name)
        if found is not None:
            levels[name] = found
    return Layout(tuple(table.features), tuple(chosen.columns), levels, target, tuple(table.undeclared))


def parquet_identities(table: ParquetTable, name: str) -> Int64:
    """A number for each row, the same for equal values of a column."""
    return read_identities(table.read([name], {}, identifiers=[name])[name])


@dataclass(frozen=True)
class ParquetPart:
    """Some rows of Parquet files."""

    table: ParquetTable
    layout: Layout
    groups: tuple[RowGroup, ...]

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        names, levels = [*self.layout.needed(columns), self.layout.target], self.layout.categories
        levels = {name: levels[name] for name in names if name in levels}
        yield Block([np.empty(0) for _ in columns], np.empty(0))  # for tables without rows
        for group in self.groups:
            for frame in self.table.part_tables(group, names, levels):
                yield self.layout.block(frame, columns)


def parquet_parts(table: ParquetTable, layout: Layout) -> list[ParquetPart]:
    """The rows of a table in parts of whole row groups. Small ones are put together: a task costs milliseconds."""
    parts: list[list[RowGroup]] = [[]]
    for group in table.parts:
        if sum(g.rows for g in parts[-1]) >= PART_ROWS:
            parts.append([])
        parts[-1].append(group)
    return [ParquetPart(table, layout, tuple(groups)) for groups in parts]
