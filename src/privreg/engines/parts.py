"""Rows of a table that lie somewhere else, part by part, and what is asked of one part.

A part is read where the work is done: in a thread of this process, or by a worker of a cluster. The functions here are
plain, so that they can be sent there; `kept` says which rows of the part are records (None: all are).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.engines import base
from privreg.engines.base import TARGET, Block, Derived, Elementwise, Tasks, each_total, features_of, stacked
from privreg.errors import SchemaError

T = TypeVar("T")
Kept = NDArray[np.bool_] | None


class Part(Protocol):
    """Consecutive rows of a table."""

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        """All rows in order, complete or not: these features, and the target."""
        ...


class Complete(NamedTuple):
    """Which rows of a part are records, and how many are."""

    rows: int
    records: int
    kept: Kept
    print: int = 0  # of the target: whether the rows are still the same


def complete(part: Part, kept: Kept, features: int) -> Complete:
    """The rows of a part with a finite value in every column."""
    del kept  # not known yet
    masks, print_ = [np.zeros(0, bool)], 0
    for values, target in part.blocks(range(features)):
        mask, print_ = np.isfinite(target), crc32(target.tobytes(), print_)
        for column in values:
            mask &= np.isfinite(column)
        masks.append(mask)
    mask = np.concatenate(masks)
    return Complete(mask.size, int(mask.sum()), None if mask.all() else mask, print_)


def records_of(part: Part, kept: Kept, columns: Sequence[int], rows: int | None = None) -> Iterator[Block]:
    """The records of a part, perhaps in blocks of at most so many; at least one block, which may be empty."""
    first = 0
    for values, target in part.blocks(columns):
        if kept is not None:
            mask = kept[first : first + target.size]
            first += target.size
            values, target = [column[mask] for column in values], target[mask]
        size = rows or max(target.size, 1)
        for a in range(0, max(target.size, 1), size):
            yield Block([column[a : a + size] for column in values], target[a : a + size])


def totals(part: Part, kept: Kept, tasks: Tasks) -> Elementwise:
    """The tasks' results for their columns."""
    return base.added(each_total(block, tasks) for block in records_of(part, kept, features_of(tasks)))


def total(part: Part, kept: Kept, task: Callable[[Block], T], columns: Sequence[int]) -> T:
    """The task's result for the part."""
    return base.added(map(task, records_of(part, kept, columns, base.ROWS)))


def read_column(part: Part, kept: Kept, column: int | Derived) -> Float64:
    """A feature, the TARGET or a derived column."""
    return np.concatenate(list(_pieces(part, kept, column)))


def fill(parts: Sequence[Part], found: Sequence[Complete], column: int, out: Float64) -> None:
    """A column of all parts, into an array for all records."""
    first = 0
    for part, complete in zip(parts, found, strict=True):
        for values in _pieces(part, complete.kept, column):
            out[first : first + values.size] = values
            first += values.size


def _pieces(part: Part, kept: Kept, column: int | Derived) -> Iterator[Float64]:
    if isinstance(column, Derived):
        yield from map(column.task, records_of(part, kept, column.columns, base.ROWS))
    elif column == TARGET:
        yield from (block.target for block in records_of(part, kept, []))
    else:
        yield from (block.values[0] for block in records_of(part, kept, [column]))


def rounded(
    part: Part, kept: Kept, task: Callable[[Float64], Int16], features: int, rows: int
) -> Iterator[tuple[Int16, Float64]]:
    """Blocks of at most so many rows as 16-bit integers, with their targets."""
    for block in records_of(part, kept, range(features), rows):
        yield task(stacked(block.values, block.target.size)), block.target


def split(part: Part, kept: Kept, features: int, cuts: Int64, place: Int64) -> Iterator[list[Float64]]:
    """Block by block, the rows whose places lie between each two cuts: features, target, and the bits of the place.

    `place` is where each record of the part comes in the order of groups, −1 for nowhere.
    """
    first = 0
    for values, target in records_of(part, kept, range(features)):
        mine = place[first : first + target.size]
        first += target.size
        rows = np.column_stack([stacked(values, target.size), target, mine.view(np.float64)])
        order = np.argsort(mine, kind="stable")
        yield [rows[order[a:b]] for a, b in pairwise(np.searchsorted(mine[order], cuts))]


def group_run(pieces: Sequence[Float64], bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> T:
    """`work` on one run of groups, from what the parts have of it. `bounds` are places."""
    rows = np.concatenate(pieces)
    rows = rows[np.argsort(np.ascontiguousarray(rows[:, -1]).view(np.int64))]
    return work(np.ascontiguousarray(rows[:, :-2]), np.ascontiguousarray(rows[:, -2]), bounds - bounds[0])


def places(order: Int64, records: int) -> Int64:
    """Where each record comes in the order, −1 for nowhere."""
    place = np.full(records, -1, np.int64)
    place[order] = np.arange(order.size)
    return place


def of_records(values: Int64, rows: Sequence[int], kept: Sequence[Kept]) -> Int64:
    """Of a value for each row of a table, those of the records."""
    if values.size != sum(rows):
        raise SchemaError("groups and y have different numbers of rows")
    masks = [np.ones(n, bool) if mask is None else mask for n, mask in zip(rows, kept, strict=True)]
    return np.asarray(values[np.concatenate(masks)])


def kept_of(mask: Kept, rows: int, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows are kept if of the records only the chosen ones are."""
    if mask is None:
        return chosen
    kept = np.zeros(rows, bool)
    kept[mask] = chosen
    return kept
