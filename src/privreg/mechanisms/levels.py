"""Which values are common in columns of text: noisy counts, released above a threshold that no few records can reach.

Values that occur are secret, so thresholding is not post-processing. Proof: docs/proofs/levels.md. Exact check:
tests/mechanisms/test_levels.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from privreg._types import Bool, Int64
from privreg.data.encode import level_codes, tally
from privreg.data.raw import Cells
from privreg.data.schema import Column
from privreg.engines.base import Source
from privreg.kernels.hashes import BUCKETS, buckets_of
from privreg.privacy.account import Account
from privreg.privacy.events import Gaussian, LevelCounts

GRID = 2**28  # grid steps for one record


@dataclass(frozen=True)
class Common:
    """Values of a column that passed, in the order of their bytes, and their noisy counts."""

    values: list[str]
    counts: list[float]


def count_levels(
    account: Account, event: LevelCounts, source: Source, found: Sequence[str], declared: Sequence[Column]
) -> tuple[dict[str, Common], dict[str, list[float]]]:
    """Common values of the columns `found`, and counts of the levels of those that are declared."""
    values = common_values(source, found, event.least) if found else {}
    counts = np.concatenate([np.empty(0, np.int64), *(values[name][1] for name in found)])
    passed, noisy, others = account.level_counts(event, counts * GRID, _of_declared(source, declared) * GRID)
    first, released = 0, {}
    for name in found:
        own = (passed >= first) & (passed < first + values[name][1].size)
        places = (passed[own] - first).tolist()
        released[name] = Common([values[name][0][i] for i in places], (noisy[own] / GRID).tolist())
        first += values[name][1].size
    return released, _by_column(others, declared)


def plan_declared(mu_squared: float, declared: Sequence[Column]) -> Gaussian:
    """One record adds one to one count of each column. Which levels there are is public, so nothing is held back."""
    levels = sum(len(column.levels) for column in declared)
    scale = GRID * sqrt(len(declared) / mu_squared)
    return Gaussian("counts of levels", len(declared) * GRID**2, scale, levels, GRID, purpose="reading")


def count_declared(
    account: Account, event: Gaussian, source: Source, declared: Sequence[Column]
) -> dict[str, list[float]]:
    """Counts of the levels of columns that all are declared."""
    return _by_column(account.gaussian(event, _of_declared(source, declared) * GRID), declared)


def _of_declared(source: Source, declared: Sequence[Column]) -> Int64:
    """How many records have each level, column after column."""
    known = source.total_cells(CountDeclared(tuple(declared)), [column.name for column in declared]) if declared else []
    return np.concatenate([np.empty(0, np.int64), *known])


def _by_column(noisy: Int64, declared: Sequence[Column]) -> dict[str, list[float]]:
    ends = np.cumsum([len(column.levels) for column in declared], dtype=np.int64)
    parts = np.split(noisy / GRID, ends[:-1]) if declared else []
    return {column.name: part.tolist() for column, part in zip(declared, parts, strict=True)}


def common_values(source: Source, columns: Sequence[str], least: int) -> dict[str, tuple[list[str], Int64]]:
    """The values that at least so many records have, in the order of their bytes, and how many have each.

    First records are counted by hashes of their values, in memory that does not depend on how many values there are;
    then only values in buckets with enough records are counted themselves. So it finds exactly those values.
    """
    counted = source.total_cells(CountBuckets(tuple(columns)), columns)
    enough = {name: counts >= least for name, counts in zip(columns, counted, strict=True)}
    found: Tallies = source.total_cells(TallyValues(enough), columns)
    return {name: found.at_least(name, least) for name in columns}


@dataclass(frozen=True)
class CountBuckets:
    """How many records have their value in each bucket of hashes: columns × buckets."""

    columns: tuple[str, ...]

    def __call__(self, cells: Cells) -> Int64:
        counts = np.zeros((len(self.columns), BUCKETS), np.int64)
        for row, name in zip(counts, self.columns, strict=True):
            values, times = tally(cells[name])
            row += np.bincount(buckets_of(values), times, BUCKETS).astype(np.int64)  # exact below 2⁵³
        return counts


@dataclass(frozen=True)
class Tallies:
    """How often each of some values occurs, by column."""

    columns: Mapping[str, tuple[Any, Int64]]

    def __add__(self, other: "Tallies") -> "Tallies":
        return Tallies({name: _merged(one, other.columns[name]) for name, one in self.columns.items()})

    def at_least(self, column: str, least: int) -> tuple[list[str], Int64]:
        values, counts = self.columns[column]
        enough = counts >= least
        pairs = sorted(zip(values.filter(pa.array(enough)).to_pylist(), counts[enough].tolist(), strict=True))
        return [value for value, _ in pairs], np.array([count for _, count in pairs], np.int64)


@dataclass(frozen=True)
class TallyValues:
    """The values in buckets that have enough records."""

    enough: Mapping[str, Bool]

    def __call__(self, cells: Cells) -> Tallies:
        found = {}
        for name, enough in self.enough.items():
            values, times = tally(cells[name])
            kept = enough[buckets_of(values)] & (times > 0)
            found[name] = values.filter(pa.array(kept)), times[kept]
        return Tallies(found)


def _merged(one: tuple[Any, Int64], other: tuple[Any, Int64]) -> tuple[Any, Int64]:
    values = pa.concat_arrays([one[0], other[0]]).dictionary_encode()
    counts = np.zeros(len(values.dictionary), np.int64)
    np.add.at(counts, values.indices.to_numpy(), np.concatenate([one[1], other[1]]))
    return values.dictionary, counts


@dataclass(frozen=True)
class CountDeclared:
    """How many records have each level of columns whose levels are known: an array of arrays."""

    columns: tuple[Column, ...]

    def __call__(self, cells: Cells) -> Any:
        counts = np.empty(len(self.columns), np.object_)
        for i, column in enumerate(self.columns):
            codes, missing = level_codes(cells[column.name], column.levels, column.found)
            own = codes[(codes >= 0) & ~missing]
            counts[i] = np.bincount(own, minlength=len(column.levels)).astype(np.int64)
        return counts
