"""Tables that lie somewhere else, part by part: what is asked of one part, and what their engines have in common.

How columns become features is decided once, from the schema of the table, and the same in every part (`Layout`).
A part is read where the work is done: in a thread of this process, or by a worker of a cluster. The functions here are
plain, so that they can be sent there; `kept` says which rows of the part are records (None: all are).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, Self, TypeVar
from zlib import crc32

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.data.evaluate import column_values, passes, target_values
from privreg.data.expressions import Expression
from privreg.data.features import Feature
from privreg.data.raw import Cells, ColumnType, Raw, raw_of
from privreg.data.schema import BOOLEAN, NUMBER, Schema
from privreg.data.tables import assembled, read_target
from privreg.engines import base
from privreg.engines.base import (
    TARGET,
    Block,
    Derived,
    Engine,
    OpenOptions,
    Source,
    Tasks,
    Types,
    each_total,
    features_of,
)
from privreg.errors import SchemaError
from privreg.kernels.ranks import MAX_RECORDS

T = TypeVar("T")
Kept = NDArray[np.bool_] | None
Task = Callable[..., Any]  # called with a part, which of its rows are kept, and what else is given


_NOTHING = Schema(())


@dataclass(frozen=True)
class Layout:
    """The columns of a table, and, once it is known, the schema that makes features of them."""

    types: dict[str, ColumnType]  # of the columns that are offered
    target: str
    schema: Schema = _NOTHING  # its columns are those that are offered, in order
    features: tuple[Feature, ...] = ()  # of the schema, or some of them

    def opened(self, schema: Schema) -> "Layout":
        return replace(self, schema=schema, features=tuple(schema.features))

    def needed(self, columns: Sequence[int]) -> list[str]:
        """The names of the table's columns that these features, and the target of a formula, are made from."""
        sources = {source for j in columns if j != TARGET for source, _ in self.features[j].parts}
        more = () if self.schema.formula is None else self.schema.formula.target.columns
        return list(dict.fromkeys([*self.schema.inputs_of(sources), *more]))

    def cells(self, frame: Any, columns: Sequence[str]) -> dict[Any, Raw]:
        """Raw cells of a data frame that has these columns at least; those of the target are at None."""
        frame = nw.from_native(frame, eager_only=True)
        cells: dict[Any, Raw] = {None: Raw(NUMBER, read_target(frame[self.target].to_native()))}
        return cells | {name: raw_of(frame[name], self.types[name]) for name in columns}

    def block(self, cells: Cells, columns: Sequence[int]) -> Block:
        """These features, and the target, of raw cells of what they need."""
        schema, features = self.schema, [self.features[j] for j in columns]
        target: Float64 = cells[None].values if schema.formula is None else target_values(schema, cells.__getitem__)
        sources = {source for feature in features for source, _ in feature.parts}
        found = {source: column_values(schema.columns[source], schema, cells.__getitem__) for source in sources}
        table = assembled(schema, found, target.size, features)
        return Block(table.columns(range(len(columns)), slice(None)), target)


def standing_in(types: Types) -> str:
    """The column that is read as the target where there is none: it tells how many rows a part has."""
    usable = ((name, kind) for name, kind in types.all.items() if kind.words != "nothing")
    numbers = [name for name, kind in usable if kind.kind in (NUMBER, BOOLEAN)]
    if types.target is None and not numbers:
        raise SchemaError("a table that is not in memory needs at least one numeric column")
    return types.target or numbers[0]


class Part(Protocol):
    """Consecutive rows of a table."""

    @property
    def print(self) -> int | None:
        """A fingerprint of the column that tells the rows, when it was first read; None if that is not watched."""
        ...

    def blocks(self, columns: Sequence[int]) -> Iterator[Block]:
        """All rows in order, complete or not: these features, and the target."""
        ...

    def cells(self, columns: Sequence[str]) -> Iterator[Cells]:
        """All rows in order: raw cells of these columns, and of the target (None)."""
        ...


class Complete(NamedTuple):
    """Which rows of a part are records, and how many are."""

    rows: int
    records: int
    kept: Kept
    print: int | None = 0  # of the column that tells the rows: whether they are still the same

    def subset(self, chosen: NDArray[np.bool_]) -> "Complete":
        """If of the records only the chosen ones are kept."""
        kept = np.zeros(self.rows, bool)
        kept[slice(None) if self.kept is None else self.kept] = chosen
        return self._replace(records=int(chosen.sum()), kept=kept)


def complete(part: Part, kept: Kept, features: int) -> Complete:
    """The rows of a part, of those that the filter leaves, with a finite value in every column."""
    masks = [np.zeros(0, bool)]
    for values, target in part.blocks(range(features)):
        mask = np.isfinite(target)
        for column in values:
            mask &= np.isfinite(column)
        masks.append(mask)
    mask = np.concatenate(masks) if kept is None else np.concatenate(masks) & kept
    return Complete(mask.size, int(mask.sum()), None if mask.all() else mask, part.print)


def rows_of(part: Part, kept: Kept, where: Expression | None) -> Complete:
    """The rows of a part that the filter leaves."""
    del kept  # not known yet
    masks, print_ = [np.zeros(0, bool)], 0
    for cells in part.cells([] if where is None else where.columns):
        n, print_ = len(cells[None]), crc32(cells[None].values.tobytes(), print_)
        masks.append(np.ones(n, bool) if where is None else passes(where.tree, cells.__getitem__, n))
    mask = np.concatenate(masks)
    return Complete(mask.size, int(mask.sum()), None if mask.all() else mask, print_)


def cells_total(part: Part, kept: Kept, task: Callable[[Cells], T], columns: Sequence[str]) -> T:
    """The task's result for the raw cells of the part."""
    return base.added(map(task, _kept_cells(part, kept, columns)))


def _kept_cells(part: Part, kept: Kept, columns: Sequence[str]) -> Iterator[Cells]:
    first = 0
    for cells in part.cells(columns):
        if kept is not None:
            mask = kept[first : first + len(cells[None])]
            first += len(cells[None])
            cells = {name: raw.take(mask) for name, raw in cells.items()}
        yield cells


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


def part_totals(part: Part, kept: Kept, tasks: Tasks) -> NDArray[np.object_]:
    """The tasks' results for their columns."""
    return base.added(each_total(block, tasks) for block in records_of(part, kept, features_of(tasks)))


def part_total(part: Part, kept: Kept, task: Callable[[Block], T], columns: Sequence[int]) -> T:
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
        yield task(base.stacked(block.values, block.target.size)), block.target


def split(part: Part, kept: Kept, features: int, cuts: Int64, place: Int64) -> Iterator[list[Float64]]:
    """Block by block, the rows whose places lie between each two cuts: features, target, and the bits of the place.

    `place` is where each record of the part comes in the order of groups, −1 for nowhere.
    """
    first = 0
    for values, target in records_of(part, kept, range(features)):
        mine = place[first : first + target.size]
        first += target.size
        rows = np.column_stack([base.stacked(values, target.size), target, mine.view(np.float64)])
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


class PartsEngine(Engine, Source):
    """A table in parts: first its raw cells, then, when it is opened, its complete records and how many each part has.

    A subclass brings tasks to the parts. What comes of a task may be a promise of its result (a Dask future): then
    `_call` and `_results`, which waits for it, are others.
    """

    def __init__(self, parts: int, layout: Layout, number_rows: Callable[[], Any], options: OpenOptions) -> None:
        self.features, self.progress, self.n_jobs = [], options.progress, options.n_jobs
        self._layout, self._number_rows = layout, number_rows  # rows of one person have the same number
        self._found: list[Any] = [None] * parts  # which rows of each part are records: `Complete`
        where = options.where
        self._remember(self._each("counting the rows", rows_of, () if where is None else where.columns, where))
        self._all = self._found
        if sum(self._rows) > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS:,} rows are not supported")

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self.n_records

    def total_cells(self, task: Callable[[Cells], T], columns: Sequence[str], target: bool = False) -> T:
        del target  # is always there
        found: T = self._sum("reading the columns", cells_total, list(columns), task, list(columns))
        return found

    def keep(self, rows: NDArray[np.bool_]) -> Self:
        return self.subset(np.flatnonzero(rows))

    def row_identities(self) -> Int64:
        return self.identities()

    def open(self, schema: Schema) -> Self:
        opened = self._with(self._layout.opened(schema))
        opened._found = self._all
        needed = opened._layout.needed(range(len(opened)))
        opened._remember(opened._each("reading the columns", complete, needed, len(opened)))
        return opened

    def choose(self, columns: Sequence[int]) -> Self:
        return self._with(replace(self._layout, features=tuple(self._layout.features[j] for j in columns)))

    def _with(self, layout: Layout) -> Self:
        """The same parts in another layout."""
        other = copy(self)
        other._layout, other.features = layout, list(layout.features)
        return other

    @abstractmethod
    def _run(self, task: Task, columns: Sequence[str], given: Sequence[Sequence[Any]]) -> list[Any]:
        """task(part, kept, …) for each part, in their order, with what is given for it. It reads these columns."""

    def _each(self, what: str, task: Task, columns: Sequence[str], *given: Any, own: Any = None) -> list[Any]:
        """task(part, kept, *given) for each part, in their order; `own` has one more argument for each."""
        self.tell(what)
        return self._run(task, columns, [given] * len(self._found) if own is None else [(*given, one) for one in own])

    @abstractmethod
    def _sum(self, what: str, task: Task, columns: Sequence[str], *given: Any) -> Any:
        """The sum of the same."""

    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        """function(*given), where what is given may come of a task."""
        return function(*given)

    def _results(self, found: list[Any]) -> list[Any]:
        """What came of tasks."""
        return found

    def _remember(self, found: list[Any]) -> None:
        sizes = self._results([self._call(attrgetter("rows", "records"), one) for one in found])
        self._rows, self._counts = [rows for rows, _ in sizes], [records for _, records in sizes]
        self._found = found

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return sum(self._counts)

    def _by_part(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Of a value for each record, those of each part."""
        return np.split(values, np.cumsum(self._counts)[:-1])

    def totals(self, tasks: Tasks) -> list[Any]:
        needed = self._layout.needed(features_of(tasks))
        return list(self._sum("reading columns", part_totals, needed, list(tasks)))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        found: T = self._sum("reading rows", part_total, self._layout.needed(columns), task, list(columns))
        return found

    def subset(self, index: Int64) -> Self:
        chosen = np.zeros(self.n_records, bool)
        chosen[index] = True
        mine = zip(self._found, self._by_part(chosen), strict=True)
        subset = copy(self)
        subset._remember([self._call(Complete.subset, found, part) for found, part in mine])
        return subset

    def identities(self) -> Int64:
        (numbers,) = self._results([self._number_rows()])
        if numbers.size != sum(self._rows):
            raise SchemaError("groups and y have different numbers of rows")
        found = self._results(list(self._found))
        masks = [np.ones(one.rows, bool) if one.kept is None else one.kept for one in found]
        return np.asarray(numbers[np.concatenate(masks)])
