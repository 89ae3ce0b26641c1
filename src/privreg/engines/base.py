"""The contracts of this room: what an estimator may ask of its records, wherever they are, and of a kind of table.

What is asked of records is one of three things: a sum over records of exact integers, which is the same whatever parts
the records come in; C − D of whole columns; or models of groups of records, each group's records in their order. So the
answers, and with a seed everything after them, are the same bits in memory, out of core and on a cluster.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int16, Int64
from privreg.data.expressions import Expression
from privreg.data.features import Feature
from privreg.data.raw import Cells, ColumnType
from privreg.data.schema import Schema
from privreg.data.tables import Table
from privreg.errors import SchemaError
from privreg.kernels.threads import share_out, single_threaded_blas
from privreg.kernels.totals import Column

T = TypeVar("T")

TARGET = -1  # in place of a feature's number
ROWS = 2**13  # records looked at together where rows are computed with: their part of a few columns stays in the cache


Tasks = Sequence[tuple[int, Callable[[Float64], Any]]]  # a feature or the TARGET, and what to do with it


class Block(NamedTuple):
    """Some records: the feature columns that were asked for, and the target."""

    values: Sequence[Float64]
    target: Float64


@dataclass(frozen=True)
class Derived:
    """A column computed from others, record by record."""

    task: Callable[[Block], Float64]
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Ranking:
    """Feature columns, ranked once: C − D of a feature, the TARGET or a derived column with each of the features."""

    concordance: Callable[[int | Derived, Sequence[int]], Int64]


@dataclass(frozen=True)
class Rounded:
    """Records as rows of 16-bit integers, kept for many passes."""

    total: Callable[[Callable[[Int16, Float64], Any]], Any]  # of a task: the sum of task(columns × records, target)


class Engine(ABC):
    """The complete records of a table and a target: what every estimator computes on. Their number is secret."""

    features: list[Feature]
    progress: Callable[[str], None] | None = None  # told the name of each pass over the data
    n_records: int

    @property
    def names(self) -> list[str]:
        return [feature.name for feature in self.features]

    def __len__(self) -> int:
        """Number of features."""
        return len(self.features)

    def tell(self, what: str) -> None:
        """What is being done now. Never how much of it is done, which would depend on the data."""
        if self.progress is not None:
            self.progress(what)

    @abstractmethod
    def totals(self, tasks: Tasks) -> list[Any]:
        """For each (feature or TARGET, task) the sum of the task over parts of that column: one pass for all."""

    @abstractmethod
    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        """The sum of the task over blocks of at most ROWS records."""

    @abstractmethod
    def ranking(self) -> Ranking:
        """The features, to be compared with each other."""

    @abstractmethod
    def rounded(self, task: Callable[[Float64], Int16], width: int) -> Rounded:
        """Rows (records × features) turned into 16-bit integers, `width` for each record."""

    @abstractmethod
    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        """work(rows, target, bounds) for successive runs of whole groups, in their order.

        Group g has the records order[bounds[g] : bounds[g + 1]]. The bounds given to `work` are within its rows.
        """

    @abstractmethod
    def subset(self, index: Int64) -> Self:
        """The given records only, in their order."""

    @abstractmethod
    def choose(self, columns: Sequence[int]) -> Self:
        """The same records with some of the features, in this order."""

    @abstractmethod
    def identities(self) -> Int64:
        """For each record a number that records of one person have in common, −1 for nobody's."""

    def column(self, number: int) -> Column:
        """A feature or the TARGET as a column of its own."""
        return _Column(self, number)


@dataclass(frozen=True)
class Types:
    """What the types of a table say, without looking at a record: public."""

    columns: dict[str, ColumnType]  # of those that are offered, in order
    levels: Callable[[str], list[Any] | None]  # that the type of a category has; None if it has none for all rows
    target: str | None = None  # its name, if it has one
    text_target: bool = False  # whether the target is text that is to be read as numbers
    named: frozenset[str] = frozenset()  # columns that the user asked for by name
    others: dict[str, ColumnType] = field(default_factory=dict)  # not offered: a filter may need them
    notes: tuple[str, ...] = ()  # what to know about the names, in sentences
    semicolons: bool = False  # whether these are between the cells of a file

    @property
    def all(self) -> dict[str, ColumnType]:
        """Of all columns that may be looked at."""
        return self.columns | self.others

    def offering(self, names: Collection[str]) -> "Types":
        """The same with only these columns offered."""
        columns = {name: kind for name, kind in self.columns.items() if name in names}
        return replace(self, columns=columns, others={n: kind for n, kind in self.all.items() if n not in columns})


class Source(ABC):
    """A table before its schema is known: sums over raw cells of the rows that its filter leaves."""

    n_rows: int  # secret

    @abstractmethod
    def total_cells(self, task: Callable[[Cells], T], columns: Sequence[str], target: bool = False) -> T:
        """The sum of the task over blocks of rows: cells of these columns, and perhaps of the target (None)."""

    @abstractmethod
    def keep(self, rows: NDArray[np.bool_]) -> Self:
        """Only these of the rows are counted from now on. `open` takes all that the filter leaves."""

    @abstractmethod
    def row_identities(self) -> Int64:
        """For each row that the filter leaves, a number that rows of one person have in common, −1 for nobody's."""

    @abstractmethod
    def open(self, schema: Schema) -> Engine:
        """The complete records, as the schema says. The source is of no use afterwards."""


class OpenOptions(NamedTuple):
    """How a table is opened."""

    n_jobs: int | None = None
    groups: Any = None  # who each row belongs to, or the column that says so, if people are protected
    progress: Callable[[str], None] | None = None  # told the name of each pass over the data
    where: Expression | None = None  # a condition: only rows that meet it are looked at


class Kind(ABC):
    """A kind of table that a user may pass as X: how its records are opened, and how its rows are predicted."""

    in_memory = False  # if not, y and groups are names of its columns
    lazy = False  # whether its rows are predicted where they are, and later: with `map`, not by `tables`

    @abstractmethod
    def types(self, X: Any, y: Any, groups: Any) -> Types:
        """What is public about the table; SchemaError if it cannot be used. `y` is None if there is no target."""

    @abstractmethod
    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> Source:
        """The table and its target, of which `types` has told."""

    def names(self, X: Any) -> list[str] | None:
        """What the columns are called; None if they have no names."""
        return list(X.columns)

    def take(self, X: Any, columns: Sequence[str], groups: Any) -> tuple[Any, Any]:
        """The table with these columns only, and people: as they are, or, if they are named, a column of it."""
        raise NotImplementedError

    def as_numbers(self, X: Any, columns: Collection[str]) -> Any:  # noqa: ARG002
        """The same table; in these columns numbers that have labels are numbers, not categories."""
        return X

    def column(self, X: Any, name: str) -> Any:
        """One column of a table in memory."""
        raise NotImplementedError

    def places(self, X: Any) -> list[Path]:  # noqa: ARG002
        """The files and folders that the rows are in, if it is known."""
        return []

    def load(self, X: Any) -> Any:
        """The table in memory, as `read_table` takes it: for rows that are no secret."""
        return X

    def tables(self, X: Any, schema: Schema) -> Iterator[Table]:  # noqa: ARG002
        """All rows as features, part by part, if the table is not in memory."""
        raise TypeError(f"{type(X).__name__} cannot be read here; load the table into memory first")

    def map(self, X: Any, predict: Callable[[Any], Any], columns: Sequence[str]) -> Any:
        """What `predict` gives for the frames that a lazy table consists of: these columns."""
        raise NotImplementedError


class FileKind(Kind):
    """A `DataFile`, whose target and people are columns."""

    def as_numbers(self, X: Any, columns: Collection[str]) -> Any:
        return X.as_numbers(columns)

    def types(self, X: Any, y: Any, groups: Any) -> Types:
        return file_types(X, y, groups)

    def take(self, X: Any, columns: Sequence[str], groups: Any) -> tuple[Any, Any]:
        return X.select([*columns, *_person(X, columns, groups)], columns), groups

    def places(self, X: Any) -> list[Path]:
        return X.places

    def load(self, X: Any) -> Any:
        return X.read(list(X.columns))


def _person(table: Any, columns: Sequence[str], groups: Any) -> list[str]:
    """The column of people, if it has to be taken as well."""
    return [groups] if isinstance(groups, str) and groups in table.columns and groups not in columns else []


def file_types(table: Any, target: Any, groups: Any) -> Types:
    """The types of a file, whose target and people are columns."""
    for name, what in ((target, "y"), (groups, "groups")):
        if name is not None and not (isinstance(name, str) and name in table.columns):
            raise SchemaError(f"{what} must be the name of a column of {table!r}")
    offered = [name for name in table.columns if name not in (target, groups)]
    if not offered:
        raise SchemaError(f"{table!r} has no feature columns")
    if target is not None and table.typed and table.columns[target] not in ("number", "boolean"):
        raise SchemaError(f"the target {target!r} holds {table.columns[target]}, which is not numeric")
    types = {name: table.type_of(name) for name in table.columns}
    text_target = target is not None and not table.typed
    found = Types(types, table.levels, target, text_target, table.named, notes=table.notes, semicolons=table.semicolons)
    return found.offering([name for name in offered if name not in table.unoffered])


def used_columns(table: Any, schema: Schema) -> list[str]:
    """The columns of a file that a model of this schema needs, but at least one; SchemaError if it lacks one."""
    used = schema.used_inputs
    for name in used:
        if name not in table.columns:
            raise SchemaError(f"{table!r} has no column {name!r}, which the model was fitted on")
    return used or list(table.columns)[:1]  # of a constant, the rows must be counted


@dataclass(eq=False, repr=False)
class _Column:
    engine: Engine
    number: int
    known: dict[Any, Any] = field(default_factory=dict)  # what came of tasks

    @property
    def size(self) -> int:
        return self.engine.n_records

    def total(self, task: Callable[[Float64], T]) -> T:
        return self.known[task] if task in self.known else self.engine.totals([(self.number, task)])[0]


@dataclass(eq=False, repr=False)
class StackedColumns:
    """Features as one long column: each record has a value for each of them."""

    engine: Engine
    numbers: Sequence[int]

    @property
    def size(self) -> int:
        return self.engine.n_records * len(self.numbers)

    def total(self, task: Callable[[Float64], T]) -> T:
        found = self.engine.totals([(number, task) for number in self.numbers])
        while len(found) > 1:  # in pairs: what is added grows as it is added up
            found = [added(found[i : i + 2]) for i in range(0, len(found), 2)]
        return found[0]


class PreparedColumns(list[_Column]):
    """Features whose totals are prepared together, in one pass for all."""

    def __init__(self, engine: Engine, numbers: Sequence[int]) -> None:
        super().__init__(_Column(engine, number) for number in numbers)
        self._engine = engine

    def some(self, places: Sequence[int]) -> "PreparedColumns":
        """Some of them, which are the same columns."""
        chosen = PreparedColumns(self._engine, [])
        chosen.extend(self[i] for i in places)
        return chosen

    def prepare(self, tasks: Sequence[Callable[[Float64], Any]]) -> list[Any]:
        """One task for each column. The results are remembered, and returned."""
        found = self._engine.totals([(column.number, task) for column, task in zip(self, tasks, strict=True)])
        for column, task, result in zip(self, tasks, found, strict=True):
            column.known[task] = result
        return found


def features_of(tasks: Tasks) -> list[int]:
    """The features that a block for these tasks must have."""
    return [j for j, _ in tasks if j != TARGET]


def each_total(block: Block, tasks: Tasks) -> NDArray[np.object_]:
    """Each task's result for its column of the block, as objects, which are added one by one."""
    features = iter(block.values)
    found = (task(block.target if j == TARGET else next(features)) for j, task in tasks)
    return np.fromiter(found, np.object_, len(tasks))


def added(found: Iterable[T]) -> T:
    """The sum of at least one result."""
    return reduce(add, found)


def sum_in_threads(one: Callable[[int], T], count: int, n_jobs: int | None) -> T:
    """one(0) + … + one(count − 1), in any order. Each thread adds up its own."""
    found: list[T] = []

    def work(numbers: Iterator[int]) -> None:
        mine = map(one, numbers)
        for first in mine:
            found.append(added(chain([first], mine)))

    with single_threaded_blas():
        share_out(work, count, n_jobs)
    return added(found)


def each_in_threads(one: Callable[[int], T], count: int, n_jobs: int | None) -> list[T]:
    """[one(0), …, one(count − 1)]."""
    found: list[Any] = [None] * count

    def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            found[number] = one(number)

    share_out(work, count, n_jobs)
    return found


def runs_of_groups(bounds: Int64, records: int) -> Int64:
    """Where to cut the groups into runs: each ends with the first group that reaches a multiple of so many records."""
    cuts = np.searchsorted(bounds[1:], np.arange(records, bounds[-1], records)) + 1
    return np.unique(np.concatenate([[0], cuts, [bounds.size - 1]]))


def stacked(values: Sequence[Float64], records: int) -> NDArray[np.float64]:
    """Columns as rows of a table: records × columns."""
    rows = np.empty((records, len(values)))
    for j, column in enumerate(values):
        rows[:, j] = column
    return rows
