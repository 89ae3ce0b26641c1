"""Records on a cluster, through Dask: workers read them from storage, and only integers and models come back.

A task reads one part, or one whole column; results are added in a tree on the workers. Noise is drawn here, never
there. If a worker dies, the scheduler has its tasks done again elsewhere: they are pure, so nothing else changes.
Dask warns of large graphs, and tells their size, which would tell of the table's: fits are isolated from warnings.
"""

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from operator import getitem
from threading import Semaphore
from typing import Any, TypeVar

import numpy as np
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError

from privreg._types import Float64, Int16, Int64
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Block, Derived, Engine, added, features_of, runs_of_groups
from privreg.engines.dask.parts import Partitions, RowGroups, Task, rank_pieces
from privreg.engines.layout import Layout
from privreg.engines.parts import Complete, Kept, Part
from privreg.errors import ClusterError, PrivregError, SchemaError
from privreg.kernels.pairs import count_pairs, make_pivot
from privreg.kernels.ranks import MAX_RECORDS

T = TypeVar("T")

_FAN_IN = 8  # results added by one task
_ROUNDED = 2**20  # entries of a block of rounded rows
_RUN = 2**22  # entries of a run of groups


class DaskEngine(Engine):
    """The complete records of a table in parts, on a cluster."""

    def __init__(
        self,
        client: Client,
        parts: Partitions | RowGroups,
        layout: Layout,
        identify: Callable[[Any], Any],
        watch: Callable[[str], None] | None = None,
    ) -> None:
        self.names, self.sources = layout.names, [str(name) for name in layout.sources]
        self.undeclared = list(layout.undeclared)
        self._client, self._parts, self.watch = client, parts, watch
        self._identify = identify  # a future that numbers the rows of the table by a column
        self._found: list[Any] = [None] * len(parts)
        self._set(self._on_parts("reading the columns", on_part.complete, range(len(self)), len(self)))
        if sum(self._rows) > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS} rows are not supported")

    def _set(self, found: list[Future]) -> None:
        """What is known of the parts: sizes here, masks where the rows are."""
        sizes = self._wait(self._submit(_sizes, found, each=True))
        self._rows, self._counts = [rows for rows, _ in sizes], [records for _, records in sizes]
        self._found = found

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return sum(self._counts)

    # ---- tasks

    def _submit(self, function: Callable[..., Any], given: Any, *more: Any, each: bool = False) -> Any:
        """A task for what is given, or for each of it."""
        if each:
            return [self._client.submit(function, one, *more, pure=False) for one in given]
        return self._client.submit(function, given, *more, pure=False)

    def _wait(self, futures: list[Future]) -> list[Any]:
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

    def _on_parts(self, what: str, task: Task, columns: Sequence[int], *given: Any, own: Any = None) -> list[Future]:
        """task(part, kept, …) for each part; `own` has something else for each."""
        each = [given] * len(self._parts) if own is None else [(*given, one) for one in own]
        self.tell(what)
        return self._parts.run(self._client, task, columns, self._found, each)

    def _sum(self, futures: list[Future]) -> Any:
        while len(futures) > 1:
            groups = [futures[i : i + _FAN_IN] for i in range(0, len(futures), _FAN_IN)]
            futures = self._submit(added, groups, each=True)
        return self._wait(futures)[0]

    # ---- what records can be asked

    def totals(self, tasks: Sequence[tuple[int, Callable[[Float64], Any]]]) -> list[Any]:
        return list(self._sum(self._on_parts("reading columns", on_part.totals, features_of(tasks), list(tasks))))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        return self._sum(self._on_parts("reading rows", on_part.total, columns, task, list(columns)))

    def ranking(self) -> "DaskRanking":
        return DaskRanking(self)

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> "DaskRounded":
        blocks = self._on_parts("reading rows", _rounded, range(len(self)), task, len(self), max(_ROUNDED // width, 1))
        return DaskRounded(self, blocks)

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = runs_of_groups(bounds, max(_RUN // (len(self) + 2), 1))
        place = np.split(on_part.places(order, self.n_records), np.cumsum(self._counts)[:-1])
        pieces = self._on_parts(
            "sorting rows into groups", _split, range(len(self)), len(self), bounds[cuts], own=place
        )
        futures = [
            self._submit(on_part.group_run, self._submit(getitem, pieces, r, each=True), bounds[a : b + 1], work)
            for r, (a, b) in enumerate(pairwise(cuts))
        ]
        return self._wait(futures)

    def subset(self, index: Int64) -> "DaskEngine":
        chosen = np.zeros(self.n_records, bool)
        chosen[index] = True
        mine = np.split(chosen, np.cumsum(self._counts)[:-1])
        subset = copy(self)
        subset._set([self._submit(_subset, found, part) for found, part in zip(self._found, mine, strict=True)])
        return subset

    def identities(self, groups: Any) -> Int64:
        numbers = self._identify(groups)
        numbers, *kept = self._wait([numbers, *self._submit(_kept, self._found, each=True)])
        return on_part.of_records(numbers, self._rows, kept)

    def ranks(self, column: int | Derived) -> Future:
        """The ranks of a column, on some worker."""
        if isinstance(column, Derived):
            pieces = self._on_parts("reading rows", on_part.derive, column.columns, column)
            return self._submit(rank_pieces, pieces)
        return self._parts.rank(self._client, self._found, column)


class DaskRanking:
    """Ranks of columns, each on the worker that made them. A pair of columns is one task."""

    def __init__(self, records: DaskEngine) -> None:
        self._engine = records
        self._ranks: dict[int, Future] = {}

    def concordance(self, pivot: int | Derived, columns: Sequence[int]) -> Int64:
        records = self._engine
        first = records.ranks(pivot) if isinstance(pivot, Derived) or pivot == TARGET else self._rank(pivot)
        made = records._submit(make_pivot, first)
        pairs = [records._submit(count_pairs, made, self._rank(j)) for j in columns]
        records.tell("counting pairs")
        return np.array(records._wait(pairs), np.int64)

    def _rank(self, column: int) -> Future:
        if column not in self._ranks:
            self._ranks[column] = self._engine.ranks(column)
        return self._ranks[column]


class DaskRounded:
    """Rows as 16-bit integers, kept on the workers."""

    def __init__(self, records: DaskEngine, blocks: list[Future]) -> None:
        self._engine, self._blocks = records, blocks

    def total(self, task: Callable[[Int16, Float64], T]) -> T:
        return self._engine._sum(self._engine._submit(_rounded_total, self._blocks, task, each=True))


def _sizes(found: Complete) -> tuple[int, int]:
    return found.rows, found.records


def _kept(found: Complete) -> Kept:
    return found.kept


def _subset(found: Complete, chosen: Any) -> Complete:
    return Complete(found.rows, int(chosen.sum()), on_part.kept_of(found.kept, found.rows, chosen), found.print)


def _rounded(part: Part, kept: Kept, task: Any, features: int, rows: int) -> list[tuple[Int16, Float64]]:
    return list(on_part.rounded(part, kept, task, features, rows))


def _rounded_total(blocks: Sequence[tuple[Int16, Float64]], task: Callable[[Int16, Float64], Any]) -> Any:
    return added(task(*block) for block in blocks)


def _split(part: Part, kept: Kept, features: int, cuts: Int64, place: Int64) -> list[Float64]:
    blocks = list(on_part.split(part, kept, features, place, cuts))
    return [np.concatenate(pieces) for pieces in zip(*blocks, strict=True)]
