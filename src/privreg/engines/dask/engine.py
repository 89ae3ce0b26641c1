"""Records on a cluster, through Dask: workers read them from storage, and only integers and models come back.

A task reads one part, or one whole column; results are added in a tree on the workers. Noise is drawn here, never
there. If a worker dies, the scheduler has its tasks done again elsewhere: they are pure, so nothing else changes.
Dask warns of large graphs, and tells their size, which would tell of the table's: fits are isolated from warnings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from operator import getitem
from threading import Semaphore
from typing import Any, Self, TypeVar
from zlib import crc32

import numpy as np
from dask import delayed
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError

from privreg._isolation import isolated
from privreg._types import Float64, Int16, Int64
from privreg.data.raw import Cells
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Block, Derived, OpenOptions, Ranking, Rounded, added, runs_of_groups
from privreg.engines.dask.declared import as_declared
from privreg.engines.parts import Complete, Kept, Layout, Part, PartsEngine, Task
from privreg.errors import ClusterError, PrivregError
from privreg.kernels.pairs import count_pairs, make_pivot
from privreg.kernels.ranks import Ranks, rank_column

T = TypeVar("T")

_FAN_IN = 8  # results added by one task
_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**22  # entries of a run of groups


class DaskEngine(PartsEngine):
    """Records that workers read. What comes of a task is a future."""

    _client: Client

    @property
    def _needed(self) -> list[str]:
        """The columns that all features are made from."""
        return self._layout.needed(range(len(self)))

    # ---- tasks

    def _sum(self, what: str, task: Task, columns: Sequence[str], *given: Any) -> Any:
        return self._added(self._each(what, task, columns, *given))

    def _added(self, futures: list[Future]) -> Any:
        """The sum of the results."""
        while len(futures) > 1:
            futures = [self._call(added, futures[i : i + _FAN_IN]) for i in range(0, len(futures), _FAN_IN)]
        return self._results(futures)[0]

    def _call(self, function: Callable[..., Any], *given: Any) -> Future:
        return self._client.submit(function, *given, pure=False)

    def _results(self, futures: list[Future]) -> list[Any]:
        """The results. Whatever ends the waiting, Ctrl-C for one, ends the tasks too."""
        done = Semaphore(0)
        for future in futures:
            future.add_done_callback(lambda _: done.release())
        try:
            for _ in futures:
                done.acquire()
            return list(self._client.gather(futures))
        except (CancelledError, KilledWorker, CommClosedError) as error:
            raise ClusterError(f"the cluster lost what it was working on ({type(error).__name__})") from error
        except BaseException as error:
            self._client.cancel(futures, force=True)
            if isinstance(error, PrivregError) or not isinstance(error, Exception):
                raise
        # Out here, because the error of a user's own graph may quote a value, and would be kept in the chain.
        raise ClusterError(
            "a partition could not be computed; call .compute() on the data frame to see why. If one value makes it "
            "fail, that failure reveals something about the value: declare types that fit any value, such as object"
        )

    # ---- what records can be asked

    def ranking(self) -> Ranking:
        """Ranks of columns, each on the worker that made them. A pair of columns is one task."""
        known = cache(self.ranks)

        def concordance(pivot: int | Derived, columns: Sequence[int]) -> Int64:
            once = isinstance(pivot, Derived) or pivot == TARGET
            made = self._call(make_pivot, self.ranks(pivot) if once else known(pivot))
            pairs = [self._call(count_pairs, made, known(j)) for j in columns]
            self.tell("counting pairs")
            return np.array(self._results(pairs), np.int64)

        return Ranking(concordance)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> Rounded:
        """Kept on the workers."""
        rows = max(_ROUNDED // width, 1)
        blocks = self._each("reading rows", _rounded, self._needed, task, len(self), rows)
        return Rounded(lambda total: self._added([self._call(_rounded_total, block, total) for block in blocks]))

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1))
        place = self._by_part(on_part.places(order, self.n_records))
        pieces = self._each("sorting rows into groups", _split, self._needed, len(self), bounds[cuts], own=place)
        futures = [
            self._call(on_part.group_run, [self._call(getitem, piece, r) for piece in pieces], bounds[a : b + 1], work)
            for r, (a, b) in enumerate(pairwise(cuts))
        ]
        return self._results(futures)

    def ranks(self, column: int | Derived) -> Future:
        """The ranks of a column, on some worker."""
        if isinstance(column, Derived):
            needed = self._layout.needed(column.columns)
            return self._call(_rank_pieces, self._each("reading rows", on_part.read_column, needed, column))
        needed = self._layout.needed([column])
        return self._call(_rank_pieces, self._run(on_part.read_column, needed, [[column]] * len(self._found)))


class DaskFiles(DaskEngine):
    """Records that workers read from files."""

    def __init__(
        self,
        client: Client,
        parts: Callable[[Layout], Sequence[Part]],
        layout: Layout,
        number_rows: Task,
        options: OpenOptions,
    ) -> None:
        self._client, self._make_parts, self._parts = client, parts, parts(layout)
        super().__init__(len(self._parts), layout, number_rows, options)

    def _with(self, layout: Layout) -> Self:
        other = super()._with(layout)
        other._parts = self._make_parts(layout)
        return other

    def _run(self, task: Task, columns: Sequence[str], given: Sequence[Sequence[Any]]) -> list[Future]:
        del columns  # a part knows what to read
        each = zip(self._parts, self._found, given, strict=True)
        return [self._call(_on_part, task, part, found, *more) for part, found, more in each]

    def ranks(self, column: int | Derived) -> Future:
        """One worker reads a whole column, so that no more than its ranks is kept."""
        if isinstance(column, Derived):
            return super().ranks(column)
        return self._call(_rank_parts, self._parts, self._found, column)


class DaskPartitions(DaskEngine):
    """Records in the partitions of a Dask data frame: only the columns asked for are read."""

    def __init__(self, client: Client, frame: Any, layout: Layout, number_rows: Task, options: OpenOptions) -> None:
        self._client, self._frame, self._layout = client, frame, layout
        super().__init__(int(frame.npartitions), layout, number_rows, options)

    def _run(self, task: Task, columns: Sequence[str], given: Sequence[Sequence[Any]]) -> list[Future]:
        """Tasks of one graph with the frames, so that they are read when they are needed, not all at first.

        What is given is hidden from Dask, which would look for futures in it.
        """
        names = list(dict.fromkeys([*columns, self._layout.target]))
        read = partial(_on_frame, self._frame._meta.dtypes.to_dict(), self._layout)
        # Only simplified: full optimisation would read fewer columns in fewer partitions, and masks would not fit them.
        frames = self._frame[names].simplify().to_delayed(optimize_graph=False)
        tasks = [
            delayed(partial(read, task, more), pure=False, traverse=False)(frame, found)
            for frame, found, more in zip(frames, self._found, given, strict=True)
        ]
        return self._client.compute(tasks)


@dataclass(frozen=True)
class FramePart:
    """A partition of a Dask data frame, where it is."""

    frame: Any
    kinds: Mapping[str, Any]
    layout: Layout
    print: int | None  # of the column that tells the rows, when it was first read

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        for cells in self.cells(self.layout.needed(columns)):
            yield self.layout.block(cells, columns)

    def cells(self, columns: Sequence[str]) -> Iterator[Cells]:
        cells = self.layout.cells(as_declared(self.frame, self.kinds), columns)
        if self.print is not None and crc32(cells[None].values.tobytes()) != self.print:
            raise ClusterError(
                "a partition has different rows than when it was first read; a data frame must give the same rows in "
                "the same order each time it is computed: call .persist() on it first, or save it as Parquet"
            )
        yield cells


def _on_frame(
    kinds: Mapping[str, Any], layout: Layout, task: Task, given: Sequence[Any], frame: Any, found: Complete | None
) -> Any:
    return _on_part(task, FramePart(frame, kinds, layout, None if found is None else found.print), found, *given)


def _on_part(task: Task, part: Part, found: Complete | None, *given: Any) -> Any:
    with isolated():  # a worker has settings of its own
        return task(part, None if found is None else found.kept, *given)


def _rank_pieces(pieces: Sequence[Float64]) -> Ranks:
    """Of a column in parts."""
    return rank_column(np.concatenate(pieces))


def _rank_parts(parts: Sequence[Part], found: Sequence[Complete], column: int) -> Ranks:
    """Of a column that this worker reads."""
    values = np.empty(sum(complete.records for complete in found))
    on_part.fill(parts, found, column, values)
    return rank_column(values)


def _rounded(part: Part, kept: Kept, task: Any, features: int, rows: int) -> list[tuple[Int16, Float64]]:
    return list(on_part.rounded(part, kept, task, features, rows))


def _rounded_total(blocks: Sequence[tuple[Int16, Float64]], task: Callable[[Int16, Float64], Any]) -> Any:
    return added(task(*block) for block in blocks)


def _split(part: Part, kept: Kept, features: int, cuts: Int64, place: Int64) -> list[Float64]:
    blocks = list(on_part.split(part, kept, features, cuts, place))
    return [np.concatenate(pieces) for pieces in zip(*blocks, strict=True)]
