"""Records of a table in memory. Threads share the blocks; what they find is added as integers, in any order."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privreg._isolation import isolated
from privreg._types import Float64, Int16, Int64
from privreg.data.cells import as_texts
from privreg.data.encode import numbers_in_raw
from privreg.data.evaluate import column_values, passes, target_values
from privreg.data.expressions import Expression
from privreg.data.raw import TEXT, Cells, ColumnType, Raw, levels_in_type, raw_of, type_of
from privreg.data.schema import NUMBER, Schema
from privreg.data.tables import (
    Table,
    array_names,
    array_table,
    assembled,
    check_target,
    name_of,
    read_frame,
    read_identities,
    read_table,
    read_target,
)
from privreg.engines import base
from privreg.engines.base import (
    TARGET,
    Block,
    Derived,
    Engine,
    FileKind,
    Kind,
    OpenOptions,
    Ranking,
    Rounded,
    Source,
    Types,
    each_in_threads,
)
from privreg.errors import SchemaError
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import MAX_RECORDS, Ranks, rank_column, rank_columns
from privreg.kernels.threads import single_threaded_blas

T = TypeVar("T")

_ENTRIES = 2**20  # of a block that is looked at column by column
_CELLS = 2**20  # raw cells looked at together
_CHUNK = 2**18  # matrix entries of whole groups gathered at a time by each thread


class InMemory(Kind):
    """An array, a list of rows, or a data frame of pandas, polars or pyarrow."""

    in_memory = True

    def names(self, X: Any) -> list[str] | None:
        frame = read_frame(X)
        return None if isinstance(frame, np.ndarray) else list(map(str, frame.columns))

    def take(self, X: Any, columns: Sequence[str], groups: Any) -> tuple[Any, Any]:
        frame = read_frame(X)
        own = dict(zip(map(str, frame.columns), frame.columns, strict=True))
        if isinstance(groups, str):
            if groups not in own:
                raise SchemaError(f"groups must be a column, or the name of a column of X; it has no column {groups!r}")
            groups = self.column(X, groups)
        return frame.select([nw.col(own[name]).alias(name) for name in columns]).to_native(), groups

    def column(self, X: Any, name: str) -> Any:
        """One column of a table."""
        frame = read_frame(X)
        place = list(map(str, frame.columns)).index(name)
        return list(frame.iter_columns())[place].to_native()

    def types(self, X: Any, y: Any, groups: Any) -> Types:
        del groups
        frame = read_frame(X)
        check_target(y)
        if isinstance(frame, np.ndarray):
            return Types(dict.fromkeys(array_names(frame), ColumnType(NUMBER, "number")), lambda _: None, _name(y))
        columns = dict(zip(map(str, frame.columns), frame.iter_columns(), strict=True))
        types = {name: type_of(series) for name, series in columns.items()}
        return Types(types, lambda name: levels_in_type(columns[name]), _name(y))

    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> "MemorySource":
        frame = read_frame(X)
        target = np.zeros(len(frame)) if y is None else read_target(y)
        if target.size != len(frame):
            raise SchemaError("X and y have different numbers of rows")
        persons = None if options.groups is None else read_identities(options.groups)
        if persons is not None and persons.size != len(frame):
            raise SchemaError("groups and y have different numbers of rows")
        if isinstance(frame, np.ndarray):
            return MemorySource(types, {}, Raw(NUMBER, target), persons, options, frame)
        columns = dict(zip(map(str, frame.columns), frame.iter_columns(), strict=True))
        return MemorySource(types, columns, Raw(NUMBER, target), persons, options)


def _name(y: Any) -> str | None:
    name = name_of(y)
    return None if name is None else str(name)


class FilesInMemory(FileKind):
    """A file whose table is read into memory as a whole. If it is text, its target is numbers by decree."""

    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> "MemorySource":
        people = [] if options.groups is None else [options.groups]
        if options.progress is not None:
            options.progress("reading the file")
        names = list(dict.fromkeys([*types.columns, *(() if options.where is None else options.where.columns)]))
        apart = X.typed and bool(set(people) & set(names))  # as the filter sees it, and as it tells people apart
        needed = dict.fromkeys([*names, *([] if y is None else [y]), *people])
        table = X.read(list(needed), [] if apart else people)
        if y is None:
            target = Raw(NUMBER, np.zeros(len(table)))
        else:
            target = Raw(NUMBER, read_target(table[y])) if X.typed else Raw(TEXT, table[y])
        persons = None
        if people:  # in text, blanks around a name are no part of it, and there are words for nobody
            named = (X.read(people, people) if apart else table)[people[0]]
            persons = read_identities(named if X.typed else as_texts(named))
        columns = {name: nw.from_native(table[name], series_only=True) for name in names}
        return MemorySource(types, columns, target, persons, options)

    def tables(self, X: Any, schema: Schema) -> Iterator[Table]:
        used = base.used_columns(X, schema)
        for batch in X.batches(used):
            with isolated():
                table = read_table(batch, schema)
            yield table


class MemorySource(Source):
    """A table in memory: an array, or columns, each a series or raw cells."""

    def __init__(
        self,
        types: Types,
        columns: dict[str, Any],
        target: Raw,
        persons: Int64 | None,
        options: OpenOptions,
        array: NDArray[Any] | None = None,
    ) -> None:
        self._types = types.all
        self._marks = ",." if types.semicolons else ".,"  # what a filter takes for a decimal mark, at first
        self._columns, self._target, self._persons = columns, target, persons
        self._options, self._array = options, array
        if len(target) > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS:,} rows are not supported")
        self._left = None if options.where is None else self._that(options.where.tree, options.where.columns)
        self._rows = self._left  # that are counted; None: all are

    def _that(self, condition: tuple[Any, ...], columns: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows meet a condition."""
        raws, pieces = {name: self._raw(name) for name in columns}, self._pieces(len(columns))

        def one(b: int) -> NDArray[np.bool_]:
            with isolated():
                cells = {name: raw.take(pieces[b]) for name, raw in raws.items()}
                return passes(condition, cells.__getitem__, len(cells[columns[0]]), self._marks)

        return np.concatenate(each_in_threads(one, len(pieces), self._options.n_jobs))

    def _pieces(self, columns: int) -> list[slice]:
        """All rows in pieces, of which so many columns are looked at together."""
        size, total = max(_CELLS // max(columns, 1), base.ROWS), len(self._target)
        return [slice(a, min(a + size, total)) for a in range(0, max(total, 1), size)]

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self._target) if self._rows is None else int(self._rows.sum())

    def total_cells(self, task: Callable[[Cells], T], columns: Sequence[str], target: bool = False) -> T:
        raws: dict[Any, Raw] = {None: self._target} if target else {}
        raws |= {name: self._raw(name) for name in columns}
        pieces = self._pieces(len(raws))

        def one(b: int) -> T:
            cells = {name: raw.take(pieces[b]) for name, raw in raws.items()}
            if self._rows is not None:
                cells = {name: raw.take(self._rows[pieces[b]]) for name, raw in cells.items()}
            with isolated():
                return task(cells)

        return base.sum_in_threads(one, len(pieces), self._options.n_jobs)

    def _raw(self, name: str) -> Raw:
        """The cells of a column. What had to be converted is kept until the table is opened."""
        if self._array is not None:
            return Raw(NUMBER, self._array[:, list(self._types).index(name)])
        column = self._columns[name]
        if not isinstance(column, Raw):
            self._columns[name] = column = raw_of(column, self._types[name])
        return column

    def keep(self, rows: NDArray[np.bool_]) -> "MemorySource":
        kept = copy(self)
        if self._left is None:
            kept._rows = rows
        else:
            kept._rows = self._left.copy()
            kept._rows[self._left] = rows
        return kept

    def row_identities(self) -> Int64:
        assert self._persons is not None
        return self._persons if self._left is None else self._persons[self._left]

    def open(self, schema: Schema) -> "MemoryEngine":
        target, n_jobs = self._opened_target(schema), self._options.n_jobs
        if self._array is not None:
            return MemoryEngine(array_table(self._array, schema), target, n_jobs, self._persons)
        used = schema.sources
        for name in set(self._columns) - set(schema.inputs_of(used)):
            del self._columns[name]
        cells = self._taken if schema.formula is None else self._raw  # a formula may use a column twice

        def one(j: int) -> Any:
            with isolated():
                values = column_values(schema.columns[j], schema, cells)
            _give_back_memory()
            return values

        found = dict(zip(used, each_in_threads(lambda i: one(used[i]), len(used), n_jobs), strict=True))
        return MemoryEngine(assembled(schema, found, len(target)), target, n_jobs, self._persons)

    def _opened_target(self, schema: Schema) -> Float64:
        """The target; missing where the filter leaves a row out."""
        with isolated():
            if schema.formula is None:
                target = numbers_in_raw(self._target, schema.target_mark)
            else:
                target = target_values(schema, self._raw)
        return target if self._left is None else np.where(self._left, target, np.nan)

    def _taken(self, name: str) -> Raw:
        """The cells of a column, which are not kept any longer: the text of a file may fill half of the memory."""
        raw = self._raw(name)
        del self._columns[name]
        return raw


def rows_that(X: Any, condition: Expression, marks: str) -> NDArray[np.bool_]:
    """Which rows of a data frame meet a condition."""
    frame = read_frame(X)
    series = dict(zip(map(str, frame.columns), frame.iter_columns(), strict=True))
    found = passes(condition.tree, lambda name: raw_of(series[name], type_of(series[name])), len(frame), marks)
    return np.asarray(found)


def _give_back_memory() -> None:
    """The pieces of a file's text were small: what numpy asks for next would not fit in between them (on Linux)."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class MemoryEngine(Engine):
    """The complete records of a `Table` and a target."""

    def __init__(self, table: Table, target: Float64, n_jobs: int | None = None, persons: Int64 | None = None) -> None:
        if table.n_rows > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS:,} rows are not supported")
        keep = table.complete() & np.isfinite(target)
        self._kept = None if keep.all() else np.flatnonzero(keep)
        self._table, self._n_jobs, self._persons = table, n_jobs, persons
        self.features = table.features
        self.target = self._align(target)

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return self.target.size

    def totals(self, tasks: base.Tasks) -> list[Any]:
        rows = max(_ENTRIES // max(len(tasks), 1), base.ROWS)
        return list(self._added(lambda block: base.each_total(block, tasks), base.features_of(tasks), rows))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        return self._added(task, columns, base.ROWS)

    def _added(self, task: Callable[[Block], T], columns: Sequence[int], rows: int) -> T:
        pieces = self._pieces(rows)
        return base.sum_in_threads(lambda b: task(self._block(columns, pieces[b])), len(pieces), self._n_jobs)

    def _pieces(self, size: int) -> list[slice]:
        """All records in pieces of at most so many; at least one, which may be empty."""
        return [slice(a, min(a + size, self.n_records)) for a in range(0, max(self.n_records, 1), size)]

    def _block(self, columns: Sequence[int], records: Any) -> Block:
        rows = records if self._kept is None else self._kept[records]
        return Block(self._table.columns(columns, rows), self.target[records])

    def ranking(self) -> Ranking:
        ranks = rank_columns(self, self._n_jobs)

        def rank(pivot: int | Derived) -> Ranks:
            if isinstance(pivot, Derived):
                return rank_column(self.derive(pivot))
            return rank_column(self.target) if pivot == TARGET else ranks[pivot]

        return Ranking(lambda pivot, columns: concordance(rank(pivot), [ranks[j] for j in columns], self._n_jobs))

    def values(self, column: int) -> Float64:
        """A feature of all records."""
        return self._block([column], slice(None)).values[0]

    def derive(self, derived: Derived) -> Float64:
        """The values of a derived column."""
        blocks = [partial(self._block, derived.columns, piece) for piece in self._pieces(base.ROWS)]
        with single_threaded_blas():
            return np.concatenate(each_in_threads(lambda b: derived.task(blocks[b]()), len(blocks), self._n_jobs))

    def block(self, first: int, last: int, out: Float64) -> list[Float64]:
        """The columns first … last − 1; `out` (columns × records) takes those that must be copied."""
        return self._table.block(first, last, self._kept, out)

    def rows(self, index: Int64) -> Float64:
        """The given records with all their feature columns, as a new (records × features) array."""
        return self._table.rows(index if self._kept is None else self._kept[index])

    def rounded(self, task: Callable[[Float64], Int16], width: int) -> Rounded:
        pieces = self._pieces(max(_ENTRIES // width, 1))

        def one(b: int) -> tuple[Int16, Float64]:
            return task(self.rows(np.arange(pieces[b].start, pieces[b].stop))), self.target[pieces[b]]

        blocks = each_in_threads(one, len(pieces), self._n_jobs)
        return Rounded(lambda total: base.sum_in_threads(lambda b: total(*blocks[b]), len(blocks), self._n_jobs))

    def over_groups(self, order: Int64, bounds: Int64, work: Callable[[Float64, Float64, Int64], T]) -> list[T]:
        cuts = base.runs_of_groups(bounds, max(_CHUNK // max(len(self), 1), 1))

        def run(r: int) -> T:
            first, last = int(cuts[r]), int(cuts[r + 1])
            members = order[bounds[first] : bounds[last]]
            return work(self.rows(members), self.target[members], bounds[first : last + 1] - bounds[first])

        return each_in_threads(run, len(cuts) - 1, self._n_jobs)

    def subset(self, index: Int64) -> "MemoryEngine":
        chosen = copy(self)
        chosen._kept = index if self._kept is None else self._kept[index]
        chosen.target = self.target[index]
        return chosen

    def choose(self, columns: Sequence[int]) -> "MemoryEngine":
        chosen = copy(self)
        chosen._table = self._table.choose(columns)
        chosen.features = chosen._table.features
        return chosen

    def identities(self) -> Int64:
        assert self._persons is not None
        return self._align(self._persons)

    def _align(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of an array with a value for each row of the table, the values of the records."""
        return values if self._kept is None else values[self._kept]
