"""Records of a table in memory. Threads share the blocks; what they find is added as integers, in any order."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.data.tables import Table, read_identities, read_table, read_target
from privreg.engines import base
from privreg.engines.base import TARGET, Block, Derived, Engine, Kind, OpenOptions, Ranking, Rounded, each_in_threads
from privreg.errors import SchemaError
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import MAX_RECORDS, Ranks, rank_column, rank_columns
from privreg.kernels.threads import single_threaded_blas

T = TypeVar("T")

_ENTRIES = 2**20  # of a block that is looked at column by column
_CHUNK = 2**18  # matrix entries of whole groups gathered at a time by each thread


class InMemory(Kind):
    """An array, a list of rows, or a data frame of pandas, polars or pyarrow."""

    in_memory = True

    def open(self, X: Any, y: Any, options: OpenOptions) -> "MemoryEngine":
        return MemoryEngine(read_table(X, options.categories), read_target(y), options.n_jobs)


class MemoryEngine(Engine):
    """The complete records of a `Table` and a target."""

    def __init__(self, table: Table, target: Float64, n_jobs: int | None = None) -> None:
        if target.size != table.n_rows:
            raise SchemaError("X and y have different numbers of rows")
        if table.n_rows > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS} rows are not supported")
        keep = table.complete() & np.isfinite(target)
        self._kept = None if keep.all() else np.flatnonzero(keep)
        self._table, self._n_jobs = table, n_jobs
        self.features, self.undeclared = table.features, table.undeclared
        self.target = self._align(target)

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return self.target.size

    def totals(self, tasks: base.Tasks) -> list[Any]:
        rows = max(_ENTRIES // max(len(tasks), 1), base.ROWS)
        return list(self._added(lambda block: base.each_total(block, tasks), base.features_of(tasks), rows))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        return self._added(task, columns, base.ROWS)

    def _added(self, task: Callable[[Block], T], columns: Sequence[int], rows: int) -> T:
        pieces = self._pieces(rows)
        return base.sum_in_threads(lambda b: task(self._block(columns, pieces[b])), len(pieces), self._n_jobs)

    def _pieces(self, size: int) -> list[slice]:
        """All records in pieces of at most so many; at least one, which may be empty."""
        return [slice(a, min(a + size, self.n_records)) for a in range(0, max(self.n_records, 1), size)]

    def _block(self, columns: Sequence[int], records: Any) -> Block:
        rows = records if self._kept is None else self._kept[records]
        return Block(self._table.columns(columns, rows), self.target[records])

    def ranking(self) -> Ranking:
        ranks = rank_columns(self, self._n_jobs)

        def rank(pivot: int | Derived) -> Ranks:
            if isinstance(pivot, Derived):
                return rank_column(self.derive(pivot))
            return rank_column(self.target) if pivot == TARGET else ranks[pivot]

        return Ranking(lambda pivot, columns: concordance(rank(pivot), [ranks[j] for j in columns], self._n_jobs))

    def derive(self, derived: Derived) -> Float64:
        """The values of a derived column."""
        blocks = [partial(self._block, derived.columns, piece) for piece in self._pieces(base.ROWS)]
        with single_threaded_blas():
            return np.concatenate(each_in_threads(lambda b: derived.task(blocks[b]()), len(blocks), self._n_jobs))

    def block(self, first: int, last: int, out: Float64) -> list[Float64]:
        """The columns first … last − 1; `out` (columns × records) takes those that must be copied."""
        return self._table.block(first, last, self._kept, out)

    def rows(self, index: Int64) -> Float64:
        """The given records with all their feature columns, as a new (records × features) array."""
        return self._table.rows(index if self._kept is None else self._kept[index])

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> Rounded:
        pieces = self._pieces(max(_ENTRIES // width, 1))

        def one(b: int) -> tuple[Int16, Float64]:
            return task(self.rows(np.arange(pieces[b].start, pieces[b].stop))), self.target[pieces[b]]

        blocks = each_in_threads(one, len(pieces), self._n_jobs)
        return Rounded(lambda total: base.sum_in_threads(lambda b: total(*blocks[b]), len(blocks), self._n_jobs))

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = base.runs_of_groups(bounds, max(_CHUNK // len(self), 1))

        def run(r: int) -> T:
            first, last = int(cuts[r]), int(cuts[r + 1])
            members = order[bounds[first] : bounds[last]]
            return work(self.rows(members), self.target[members], bounds[first : last + 1] - bounds[first])

        return each_in_threads(run, len(cuts) - 1, self._n_jobs)

    def subset(self, index: Int64) -> "MemoryEngine":
        chosen = copy(self)
        chosen._kept = index if self._kept is None else self._kept[index]
        chosen.target = self.target[index]
        return chosen

    def identities(self, groups: Any) -> Int64:
        found = read_identities(groups)
        if found.size != self._table.n_rows:
            raise SchemaError("groups and y have different numbers of rows")
        return self._align(found)

    def _align(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of an array with a value for each row of the table, the values of the records."""
        return values if self._kept is None else values[self._kept]
