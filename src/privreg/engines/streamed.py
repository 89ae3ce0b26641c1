"""Records of a table that stays on disk: read by threads, part by part, in memory that does not grow with d.

What is kept of it is a byte for each row of parts with missing values (is the row complete?), and temporary files:
ranks, rounded rows, and rows in the order of their groups. These have no name, and are gone with the process.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from threading import Lock, local
from typing import Any, NamedTuple, Self, TypeVar
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privreg._types import Float64, Int16, Int64
from privreg.engines import base
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Derived, OpenOptions, Ranking, Rounded, each_in_threads, sum_in_threads
from privreg.engines.parts import Kept, Layout, Part, PartsEngine, Task
from privreg.kernels.pairs import count_pairs, make_pivot
from privreg.kernels.ranks import Ranks, rank_column
from privreg.kernels.threads import single_threaded_blas

T = TypeVar("T")

_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**24  # entries of a run of groups


class StreamedEngine(PartsEngine):
    """Records that threads of this process read."""

    def __init__(
        self, parts: Callable[[Layout], Sequence[Part]], layout: Layout, number_rows: Task, options: OpenOptions
    ) -> None:
        self._make_parts, self._parts = parts, parts(layout)
        super().__init__(len(self._parts), layout, number_rows, options)

    def _with(self, layout: Layout) -> Self:
        other = super()._with(layout)
        other._parts = self._make_parts(layout)
        return other

    def _run(self, task: Task, columns: Sequence[str], given: Sequence[Sequence[Any]]) -> list[Any]:
        del columns  # a part knows what to read
        with single_threaded_blas():
            return each_in_threads(lambda p: self._on_part(p, task, *given[p]), len(self._parts), self.n_jobs)

    def _sum(self, what: str, task: Task, columns: Sequence[str], *given: Any) -> Any:
        """Each thread adds what it finds, so that no more is kept."""
        del columns
        self.tell(what)
        return sum_in_threads(lambda p: self._on_part(p, task, *given), len(self._parts), self.n_jobs)

    def _on_part(self, p: int, task: Task, *given: Any) -> Any:
        found = self._found[p]
        return task(self._parts[p], None if found is None else found.kept, *given)

    def ranking(self) -> Ranking:
        return Ranking(StreamedRanks(self).concordance)

    def fill(self, column: int | Derived, out: Float64) -> None:
        """The values of a column, into an array for all records."""
        if isinstance(column, Derived):
            np.concatenate(self._each("reading rows", on_part.read_column, [], column), out=out)
        else:
            on_part.fill(self._parts, self._found, column, out)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> Rounded:
        spill, rows = Spill(), max(_ROUNDED // width, 1)

        def work(part: Part, kept: Kept) -> list[tuple[Place, Place]]:
            blocks = on_part.rounded(part, kept, task, len(self), rows)
            return [(spill.write(columns), spill.write(target)) for columns, target in blocks]

        blocks = [block for found in self._each("reading rows", work, []) for block in found]
        return Rounded(
            lambda total: sum_in_threads(lambda b: total(*map(spill.read, blocks[b])), len(blocks), self.n_jobs)
        )

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts, spill = base.runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1)), Spill()
        place = self._by_part(on_part.places(order, self.n_records))

        def split(part: Part, kept: Kept, place: Int64) -> list[list[Place]]:
            blocks = on_part.split(part, kept, len(self), bounds[cuts], place)
            return [[spill.write(piece) for piece in pieces] for pieces in blocks]

        found = self._each("sorting rows into groups", split, [], own=place)
        blocks = [pieces for of_part in found for pieces in of_part]

        def run(r: int) -> T:
            pieces = [spill.read(block[r]) for block in blocks]
            return on_part.group_run(pieces, bounds[cuts[r] : cuts[r + 1] + 1], work)

        return each_in_threads(run, len(cuts) - 1, self.n_jobs)


class StreamedRanks:
    """Ranks of columns, each computed when it is first asked for and kept in a file in as few bytes as it needs."""

    def __init__(self, engine: StreamedEngine) -> None:
        self._engine, self._spill = engine, Spill()
        self._places: dict[int, tuple[Place, Place, int]] = {}
        self._buffers = local()

    def concordance(self, pivot: int | Derived, columns: Sequence[int]) -> Int64:
        first = self._rank(pivot) if isinstance(pivot, Derived) or pivot == TARGET else self.load(pivot)
        self._engine.tell("counting pairs")
        made, n_jobs = make_pivot(first), self._engine.n_jobs
        counts = each_in_threads(lambda i: count_pairs(made, self.load(columns[i])), len(columns), n_jobs)
        return np.array(counts, np.int64)

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
        if not hasattr(self._buffers, "room"):  # once for each thread: fresh memory costs as much as sorting
            n = self._engine.n_records
            self._buffers.room = np.empty(n), np.empty((2, n), np.uint64)
        values, scratch = self._buffers.room
        self._engine.fill(column, values)
        return rank_column(values, scratch)


class Place(NamedTuple):
    """Where an array lies in a file."""

    offset: int
    shape: tuple[int, ...]
    dtype: DTypeLike


class Spill:
    """Arrays in a file that has no name, for threads. Nobody else can open it, and nothing of it stays behind."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(buffering=0, dir=spill_folder(), prefix="privreg-")  # noqa: SIM115
        self._file = file
        finalize(self, file.close)
        self._end, self._lock = 0, Lock()

    def write(self, array: NDArray[Any]) -> Place:
        data = np.ascontiguousarray(array)
        with self._lock:
            place = Place(self._end, data.shape, data.dtype)
            self._end += data.nbytes
        view, at = _bytes_of(data), place.offset
        while view:  # a write may stop short, at 2 GB for one
            written = self._write_at(view, at)
            view, at = view[written:], at + written
        return place

    def read(self, place: Place, out: NDArray[Any] | None = None) -> NDArray[Any]:
        array = np.empty(place.shape, place.dtype) if out is None else out
        view, at = _bytes_of(array), place.offset
        while view:
            got = self._read_at(view, at)
            if got == 0:
                raise OSError("a temporary file has become shorter: another program changed it")
            view, at = view[got:], at + got
        return array

    def _write_at(self, view: memoryview, at: int) -> int:
        if hasattr(os, "pwrite"):
            return os.pwrite(self._file.fileno(), view, at)
        with self._lock:  # Windows: a file has one position for all threads
            self._file.seek(at)
            return self._file.write(view)

    def _read_at(self, view: memoryview, at: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], at)
        with self._lock:
            self._file.seek(at)
            return self._file.readinto(view)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(array.data).cast("B") if array.size else memoryview(b"")


def spill_folder() -> str:
    """TMPDIR if that is set; else /var/tmp, which is on a disk, where /tmp may be a part of the memory."""
    if "TMPDIR" not in os.environ and os.access("/var/tmp", os.W_OK):
        return "/var/tmp"
    return tempfile.gettempdir()
