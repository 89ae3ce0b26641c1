"""How tasks reach the parts of a table on a cluster: partitions of a Dask data frame, or rows that workers read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from dask import delayed
from distributed import Client, Future

from privreg._isolation import isolated
from privreg._types import Float64
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Block
from privreg.engines.dask.declared import as_declared
from privreg.engines.layout import Layout
from privreg.engines.parts import Complete, Part
from privreg.engines.parts_engine import Task
from privreg.errors import ClusterError
from privreg.kernels.ranks import Ranks, rank_column

Masks = list[Any]  # futures of `Complete`, or None


@dataclass(frozen=True)
class FramePart:
    """A partition of a Dask data frame, where it is."""

    frame: Any
    kinds: Mapping[str, Any]
    layout: Layout
    print: int | None  # of the target, when it was first read

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        block = self.layout.block(as_declared(self.frame, self.kinds), columns)
        if self.print is not None and crc32(block.target.tobytes()) != self.print:
            raise ClusterError(
                "a partition has other rows than when it was first read; a frame must give the same rows in the same "
                "order whenever it is computed: call .persist() on it, or save it as Parquet, first"
            )
        yield block


class FrameTasks:
    """Tasks on the partitions of a Dask data frame: only the columns asked for are read."""

    def __init__(self, frame: Any, layout: Layout) -> None:
        self._frame, self._layout = frame, layout
        self._read = partial(_on_frame, frame._meta.dtypes.to_dict(), layout)

    def __len__(self) -> int:
        return int(self._frame.npartitions)

    def run(
        self, client: Client, task: Task, columns: Sequence[int], kept: list[Any], given: list[Any]
    ) -> list[Future]:
        """task(part, kept, …) for each part."""
        frames = self._frames(columns)
        return client.compute([self._framed(task, *one) for one in zip(frames, kept, given, strict=True)])

    def rank(self, client: Client, kept: Masks, column: int) -> Future:
        """The ranks of one column."""
        given = [[column]] * len(self)
        frames = self._frames([] if column == TARGET else [column])
        pieces = [self._framed(on_part.read_column, *one) for one in zip(frames, kept, given, strict=True)]
        return client.compute(delayed(rank_pieces, pure=False)(pieces))

    def _framed(self, task: Task, frame: Any, kept: Any, given: Sequence[Any]) -> Any:
        """A task of the graph that reads the frame, so that frames are read when they are needed, not all at first.

        What is given is hidden from Dask, which would look for futures in it.
        """
        return delayed(partial(self._read, task, given), pure=False, traverse=False)(frame, kept)

    def _frames(self, columns: Sequence[int]) -> list[Any]:
        names = list(dict.fromkeys([*self._layout.needed(columns), self._layout.target]))
        # Only simplified: full optimisation would read fewer columns in fewer partitions, and masks would not fit them.
        return list(self._frame[names].simplify().to_delayed(optimize_graph=False))


def _on_frame(
    kinds: Mapping[str, Any], layout: Layout, task: Task, given: Sequence[Any], frame: Any, found: Complete | None
) -> Any:
    return _on_part(task, FramePart(frame, kinds, layout, None if found is None else found.print), found, *given)


def _on_part(task: Task, part: Part, found: Complete | None, *given: Any) -> Any:
    with isolated():  # a worker has settings of its own
        return task(part, None if found is None else found.kept, *given)


class FileTasks:
    """Tasks on parts that workers read from files."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)

    def __len__(self) -> int:
        return len(self._parts)

    def run(
        self, client: Client, task: Task, columns: Sequence[int], kept: list[Any], given: list[Any]
    ) -> list[Future]:
        """task(part, kept, …) for each part."""
        del columns  # a part knows what to read
        parts = zip(self._parts, kept, given, strict=True)
        return [client.submit(_on_part, task, part, mask, *more, pure=False) for part, mask, more in parts]

    def rank(self, client: Client, kept: Masks, column: int) -> Future:
        """The ranks of one column, read by one worker."""
        return client.submit(rank_parts, self._parts, kept, column, pure=False)


def rank_pieces(pieces: Sequence[Float64]) -> Ranks:
    """Of a column in parts."""
    return rank_column(np.concatenate(pieces))


def rank_parts(parts: Sequence[Part], found: Sequence[Complete], column: int) -> Ranks:
    """Of a column that this worker reads."""
    values = np.empty(sum(complete.records for complete in found))
    on_part.fill(parts, found, column, values)
    return rank_column(values)
