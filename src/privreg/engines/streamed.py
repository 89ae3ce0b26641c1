"""Records of a table that stays on disk: read by threads, part by part, in memory that does not grow with d.

What is kept of it is a byte for each row of parts with missing values (is the row complete?), and temporary files:
ranks, rounded rows, and rows in the order of their groups.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Block, Derived, Engine, runs_of_groups, sum_in_threads
from privreg.engines.layout import Layout
from privreg.engines.parts import Complete, Part
from privreg.engines.spill import Place, Spill
from privreg.errors import SchemaError
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import MAX_RECORDS, Ranks, rank_column
from privreg.kernels.threads import share_out, single_threaded_blas

T = TypeVar("T")

_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**24  # entries of a run of groups


class StreamedEngine(Engine):
    """The complete records of a table in parts, and how many each has."""

    def __init__(
        self,
        parts: Sequence[Part],
        layout: Layout,
        identify: Callable[[Any], Int64],
        n_jobs: int | None = None,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        self.names, self.sources = layout.names, [str(name) for name in layout.sources]
        self.undeclared = list(layout.undeclared)
        self._parts, self.n_jobs, self.watch = list(parts), n_jobs, watch
        self._identify = identify  # a number for each row of the table
        self._found: list[Complete] = self._each(
            "reading the columns", lambda p: on_part.complete(self._parts[p], None, len(self))
        )
        if sum(found.rows for found in self._found) > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS} rows are not supported")

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return sum(found.records for found in self._found)

    def _each(self, what: str, function: Callable[[int], T]) -> list[T]:
        """function(number of a part) for each part, in their order."""
        results: list[Any] = [None] * len(self._parts)
        self.tell(what)

        def work(numbers: Iterator[int]) -> None:
            for p in numbers:
                results[p] = function(p)

        with single_threaded_blas():
            share_out(work, len(self._parts), self.n_jobs)
        return results

    def _sum(self, what: str, function: Callable[[int], T]) -> T:
        """The sum of function(number of a part). Each thread adds what it finds, so that no more is kept."""
        self.tell(what)
        return sum_in_threads(function, len(self._parts), self.n_jobs)

    def totals(self, tasks: Sequence[tuple[int, Callable[[Float64], Any]]]) -> list[Any]:
        return list(self._sum("reading columns", lambda p: on_part.totals(self._parts[p], self._found[p].kept, tasks)))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        return self._sum("reading rows", lambda p: on_part.total(self._parts[p], self._found[p].kept, task, columns))

    def ranking(self) -> "StreamedRanking":
        return StreamedRanking(self)

    def fill(self, column: int | Derived, out: Float64) -> None:
        """The values of a column, into an array for all records."""
        if isinstance(column, Derived):
            found = self._each("reading rows", lambda p: on_part.derive(self._parts[p], self._found[p].kept, column))
            np.concatenate(found, out=out)
        else:
            on_part.fill(self._parts, self._found, column, out)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> "StreamedRounded":
        spill, rows = Spill(), max(_ROUNDED // width, 1)

        def work(p: int) -> list[tuple[Place, Place]]:
            blocks = on_part.rounded(self._parts[p], self._found[p].kept, task, len(self), rows)
            return [(spill.write(columns), spill.write(target)) for columns, target in blocks]

        blocks = [block for found in self._each("reading rows", work) for block in found]
        return StreamedRounded(spill, blocks, self.n_jobs)

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1))
        place, spill = on_part.places(order, self.n_records), Spill()
        starts = np.cumsum([0, *(found.records for found in self._found)])

        def split(p: int) -> list[list[Place]]:
            mine = place[starts[p] : starts[p + 1]]
            blocks = on_part.split(self._parts[p], self._found[p].kept, len(self), mine, bounds[cuts])
            return [[spill.write(piece) for piece in pieces] for pieces in blocks]

        blocks = [pieces for found in self._each("sorting rows into groups", split) for pieces in found]
        results: list[Any] = [None] * (len(cuts) - 1)

        def solve(runs: Iterator[int]) -> None:
            for r in runs:
                pieces = [spill.read(block[r]) for block in blocks]
                results[r] = on_part.group_run(pieces, bounds[cuts[r] : cuts[r + 1] + 1], work)

        share_out(solve, len(results), self.n_jobs)
        return results

    def subset(self, index: Int64) -> "StreamedEngine":
        chosen = np.zeros(self.n_records, bool)
        chosen[index] = True
        subset, first = copy(self), 0
        subset._found = []
        for rows, records, kept, _ in self._found:
            mine = chosen[first : first + records]
            first += records
            subset._found.append(Complete(rows, int(mine.sum()), on_part.kept_of(kept, rows, mine)))
        return subset

    def identities(self, groups: Any) -> Int64:
        return on_part.of_records(self._identify(groups), [f.rows for f in self._found], [f.kept for f in self._found])


class StreamedRanking:
    """Ranks of columns, each computed when it is first asked for and kept in a file in as few bytes as it needs."""

    def __init__(self, records: StreamedEngine) -> None:
        self._engine, self._spill = records, Spill()
        self._places: dict[int, tuple[Place, Place, int]] = {}
        self._buffers = local()

    def concordance(self, pivot: int | Derived, columns: Sequence[int]) -> Int64:
        first = self._rank(pivot) if isinstance(pivot, Derived) or pivot == TARGET else self.load(pivot)
        self._engine.tell("counting pairs")
        return concordance(first, _Loaded(self, columns), self._engine.n_jobs)

    def load(self, column: int) -> Ranks:
        """The ranks of a column."""
        if column in self._places:
            rank, starts, distinct = self._places[column]
            return Ranks(self._spill.read(rank).astype(np.int32, copy=False), self._spill.read(starts), distinct)
        ranks = self._rank(column)
        kind = np.uint8 if ranks.distinct <= 2**8 else np.uint16 if ranks.distinct <= 2**16 else np.int32
        written = self._spill.write(ranks.rank.astype(kind, copy=False))
        self._places[column] = written, self._spill.write(ranks.starts), ranks.distinct
        return ranks

    def _rank(self, column: int | Derived) -> Ranks:
        values, scratch = self._memory()
        self._engine.fill(column, values)
        return rank_column(values, scratch)

    def _memory(self) -> tuple[Float64, NDArray[np.uint64]]:
        """Room for a column while it is ranked, once for each thread: fresh memory costs as much as sorting."""
        if not hasattr(self._buffers, "room"):
            n = self._engine.n_records
            self._buffers.room = np.empty(n), np.empty((2, n), np.uint64)
        return self._buffers.room


class _Loaded(Sequence[Ranks]):
    """Columns that are loaded when they are looked at."""

    def __init__(self, ranking: StreamedRanking, columns: Sequence[int]) -> None:
        self._ranking, self._columns = ranking, columns

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, at: Any) -> Any:
        return self._ranking.load(self._columns[at])


class StreamedRounded:
    """Rows as 16-bit integers, with their targets, in a file."""

    def __init__(self, spill: Spill, blocks: list[tuple[Place, Place]], n_jobs: int | None) -> None:
        self._spill, self._blocks, self._n_jobs = spill, blocks, n_jobs

    def total(self, task: Callable[[Int16, Float64], T]) -> T:
        def one(b: int) -> T:
            columns, target = self._blocks[b]
            return task(self._spill.read(columns), self._spill.read(target))

        return sum_in_threads(one, len(self._blocks), self._n_jobs)
