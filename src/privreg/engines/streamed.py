"""Records of a table that stays on disk: read by threads, part by part, in memory that does not grow with d.

What is kept of it is a byte for each row of parts with missing values (is the row complete?), and temporary files:
ranks, rounded rows, and rows in the order of their groups.
"""

from collections.abc import Callable, Sequence
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Derived, RoundedBlocks, each_in_threads, runs_of_groups, sum_in_threads
from privreg.engines.layout import Layout
from privreg.engines.parts import Kept, Part
from privreg.engines.parts_engine import PartsEngine, Task
from privreg.engines.spill import Place, Spill
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import Ranks, rank_column
from privreg.kernels.threads import single_threaded_blas

T = TypeVar("T")

_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**24  # entries of a run of groups


class StreamedEngine(PartsEngine):
    """Records that threads of this process read."""

    def __init__(
        self,
        parts: Sequence[Part],
        layout: Layout,
        number_rows: Callable[[Any], Int64],
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._parts, self.n_jobs = list(parts), n_jobs
        super().__init__(len(self._parts), layout, number_rows, progress)

    def _each(self, what: str, task: Task, columns: Sequence[int], *given: Any, own: Any = None) -> list[Any]:
        del columns  # a part knows what to read
        self.tell(what)

        def one(p: int) -> Any:
            return self._on_part(p, task, *given, *([] if own is None else [own[p]]))

        with single_threaded_blas():
            return each_in_threads(one, len(self._parts), self.n_jobs)

    def _sum(self, what: str, task: Task, columns: Sequence[int], *given: Any) -> Any:
        """Each thread adds what it finds, so that no more is kept."""
        del columns
        self.tell(what)
        return sum_in_threads(lambda p: self._on_part(p, task, *given), len(self._parts), self.n_jobs)

    def _on_part(self, p: int, task: Task, *given: Any) -> Any:
        found = self._found[p]
        return task(self._parts[p], None if found is None else found.kept, *given)

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        return function(*given)

    def _results(self, found: list[Any]) -> list[Any]:
        return found

    def ranking(self) -> "StreamedRanking":
        return StreamedRanking(self)

    def fill(self, column: int | Derived, out: Float64) -> None:
        """The values of a column, into an array for all records."""
        if isinstance(column, Derived):
            np.concatenate(self._each("reading rows", on_part.read_column, column.columns, column), out=out)
        else:
            on_part.fill(self._parts, self._found, column, out)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> RoundedBlocks:
        spill, rows = Spill(), max(_ROUNDED // width, 1)

        def work(part: Part, kept: Kept) -> list[tuple[Place, Place]]:
            blocks = on_part.rounded(part, kept, task, len(self), rows)
            return [(spill.write(columns), spill.write(target)) for columns, target in blocks]

        blocks = [block for found in self._each("reading rows", work, range(len(self))) for block in found]
        return RoundedBlocks(lambda b: (spill.read(blocks[b][0]), spill.read(blocks[b][1])), len(blocks), self.n_jobs)

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts, spill = runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1)), Spill()
        place = self._by_part(on_part.places(order, self.n_records))

        def split(part: Part, kept: Kept, place: Int64) -> list[list[Place]]:
            blocks = on_part.split(part, kept, len(self), bounds[cuts], place)
            return [[spill.write(piece) for piece in pieces] for pieces in blocks]

        found = self._each("sorting rows into groups", split, range(len(self)), own=place)
        blocks = [pieces for of_part in found for pieces in of_part]

        def run(r: int) -> T:
            pieces = [spill.read(block[r]) for block in blocks]
            return on_part.group_run(pieces, bounds[cuts[r] : cuts[r + 1] + 1], work)

        return each_in_threads(run, len(cuts) - 1, self.n_jobs)


class StreamedRanking:
    """Ranks of columns, each computed when it is first asked for and kept in a file in as few bytes as it needs."""

    def __init__(self, engine: StreamedEngine) -> None:
        self._engine, self._spill = engine, Spill()
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
