"""How the columns of a table become features: decided once, from its schema, and the same in every part of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from privreg.data.features import Feature
from privreg.data.tables import Categories, read_table, read_target
from privreg.engines.base import TARGET, Block


@dataclass(frozen=True)
class Layout:
    """Features, the columns they come from, and the levels of those that are categories."""

    features: tuple[Feature, ...]  # their sources are places in `sources`
    sources: tuple[Any, ...]
    categories: dict[Any, list[Any]]
    target: Any
    undeclared: tuple[str, ...] = ()  # columns whose levels came with their type

    def choose(self, columns: Sequence[int] | None) -> "Layout":
        """Some of the features, as numbers named like the columns of an array; None: all as they are."""
        if columns is None:
            return self
        chosen = [replace(self.features[j], name=f"x{i}", category=None) for i, j in enumerate(columns)]
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
        place = {(names[f.source], f.code): i for i, f in enumerate(table.features)}
        chosen = [self.features[j] for j in columns]
        return Block(table.columns([place[self.sources[f.source], f.code] for f in chosen], slice(None)), target)


def make_layout(frame: Any, features: Sequence[Any], target: Any, categories: Categories | None) -> Layout:
    """The layout of a table, from a frame of its types. Only these types, and declared levels, are looked at."""
    chosen = nw.from_native(frame, eager_only=True).select(list(features))
    table = read_table(chosen.to_native(), categories)
    levels: dict[Any, list[Any]] = {}
    for feature in table.features:
        if feature.code is not None:
            levels.setdefault(chosen.columns[feature.source], []).append(feature.level)
    return Layout(tuple(table.features), tuple(chosen.columns), levels, target, tuple(table.undeclared))
