"""Records on a cluster, through Dask: workers read them from storage, and only integers and models come back.

A task reads one part, or one whole column; results are added in a tree on the workers. Noise is drawn here, never
there. If a worker dies, the scheduler has its tasks done again elsewhere: they are pure, so nothing else changes.
Dask warns of large graphs, and tells their size, which would tell of the table's: fits are isolated from warnings.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import getitem
from threading import Semaphore
from typing import Any, TypeVar

import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError

from privreg._types import Float64, Int16, Int64
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Derived, added, runs_of_groups
from privreg.engines.dask.tasks import FileTasks, FrameTasks, rank_pieces
from privreg.engines.layout import Layout
from privreg.engines.parts import Kept, Part
from privreg.engines.parts_engine import PartsEngine, Task
from privreg.errors import ClusterError, PrivregError
from privreg.kernels.pairs import count_pairs, make_pivot

T = TypeVar("T")

_FAN_IN = 8  # results added by one task
_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**22  # entries of a run of groups


class DaskEngine(PartsEngine):
    """Records that workers read. What comes of a task is a future."""

    def __init__(
        self,
        client: Client,
        tasks: FrameTasks | FileTasks,
        layout: Layout,
        number_rows: Callable[[Any], Future],
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._client, self._tasks = client, tasks
        super().__init__(len(tasks), layout, number_rows, progress)

    # ---- tasks

    def _each(self, what: str, task: Task, columns: Sequence[int], *given: Any, own: Any = None) -> list[Future]:
        each = [given] * len(self._tasks) if own is None else [(*given, one) for one in own]
        self.tell(what)
        return self._tasks.run(self._client, task, columns, self._found, each)

    def _sum(self, what: str, task: Task, columns: Sequence[int], *given: Any) -> Any:
        return self.added(self._each(what, task, columns, *given))

    def added(self, futures: list[Future]) -> Any:
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
            raise ClusterError(f"the cluster has lost what it was working on ({type(error).__name__})") from error
        except BaseException as error:
            self._client.cancel(futures, force=True)
            if isinstance(error, PrivregError) or not isinstance(error, Exception):
                raise
        # Out here, because the error of a user's own graph may quote a value, and would be kept in the chain.
        raise ClusterError(
            "a partition could not be computed; call .compute() on the data frame to see why. If it fails because of "
            "one value, that alone tells of the value: declare types that any value fits, such as object"
        )

    # ---- what records can be asked

    def ranking(self) -> "DaskRanking":
        return DaskRanking(self)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> "DaskRounded":
        rows = max(_ROUNDED // width, 1)
        return DaskRounded(self, self._each("reading rows", _rounded, range(len(self)), task, len(self), rows))

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1))
        place = self._by_part(on_part.places(order, self.n_records))
        pieces = self._each("sorting rows into groups", _split, range(len(self)), len(self), bounds[cuts], own=place)
        futures = [
            self._call(on_part.group_run, [self._call(getitem, piece, r) for piece in pieces], bounds[a : b + 1], work)
            for r, (a, b) in enumerate(pairwise(cuts))
        ]
        return self._results(futures)

    def ranks(self, column: int | Derived) -> Future:
        """The ranks of a column, on some worker."""
        if isinstance(column, Derived):
            return self._call(rank_pieces, self._each("reading rows", on_part.read_column, column.columns, column))
        return self._tasks.rank(self._client, self._found, column)


class DaskRanking:
    """Ranks of columns, each on the worker that made them. A pair of columns is one task."""

    def __init__(self, engine: DaskEngine) -> None:
        self._engine = engine
        self._ranks: dict[int, Future] = {}

    def concordance(self, pivot: int | Derived, columns: Sequence[int]) -> Int64:
        engine = self._engine
        first = engine.ranks(pivot) if isinstance(pivot, Derived) or pivot == TARGET else self._rank(pivot)
        made = engine._call(make_pivot, first)
        pairs = [engine._call(count_pairs, made, self._rank(j)) for j in columns]
        engine.tell("counting pairs")
        return np.array(engine._results(pairs), np.int64)

    def _rank(self, column: int) -> Future:
        if column not in self._ranks:
            self._ranks[column] = self._engine.ranks(column)
        return self._ranks[column]


class DaskRounded:
    """Rows as 16-bit integers, kept on the workers."""

    def __init__(self, engine: DaskEngine, blocks: list[Future]) -> None:
        self._engine, self._blocks = engine, blocks

    def total(self, task: Callable[[Int16, Float64], T]) -> T:
        found: T = self._engine.added([self._engine._call(_rounded_total, block, task) for block in self._blocks])
        return found


def _rounded(part: Part, kept: Kept, task: Any, features: int, rows: int) -> list[tuple[Int16, Float64]]:
    return list(on_part.rounded(part, kept, task, features, rows))


def _rounded_total(blocks: Sequence[tuple[Int16, Float64]], task: Callable[[Int16, Float64], Any]) -> Any:
    return added(task(*block) for block in blocks)


def _split(part: Part, kept: Kept, features: int, cuts: Int64, place: Int64) -> list[Float64]:
    blocks = list(on_part.split(part, kept, features, cuts, place))
    return [np.concatenate(pieces) for pieces in zip(*blocks, strict=True)]
