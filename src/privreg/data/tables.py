"""The door through which a table in memory enters: numpy, pandas, polars or pyarrow in, float64 columns out.

What may be seen from outside is names and types of columns. They decide every error here, so that no error depends on a
value. How values are read, the schema says: a number is itself, and each level of a category but its reference is a
0/1 feature.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from privreg._types import Float64
from privreg.data import identities
from privreg.data.encode import Codes
from privreg.data.evaluate import column_values
from privreg.data.features import Feature
from privreg.data.frames import check_numeric, numbers, numbers_in
from privreg.data.raw import OTHER_TYPE, Raw, raw_of, type_of
from privreg.data.schema import NUMBER, Schema
from privreg.errors import SchemaError
from privreg.kernels.ranks import copy_columns

_ROWS = 4096  # rows looked at together: their part of a few columns stays in the cache
_TARGET = "the target"  # as errors call it


@dataclass(eq=False, repr=False)
class Table:
    """Feature columns of an input table. Hands them out one at a time, in float64, NaN where a value is missing."""

    features: list[Feature]
    n_rows: int
    _numeric: Any  # a 2-D array of exactly the features, or {column number: values}
    _codes: dict[int, Codes]  # level of each record by column, −1 for missing

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.features]

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> Float64:
        return self._values(index, slice(None))

    def row(self, row: int) -> Float64:
        """The feature that has this place among all that is shown of the table."""
        return self[self._places[row]]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {feature.row: j for j, feature in enumerate(self.features)}

    def choose_rows(self, rows: Sequence[int]) -> "Table":
        """The features that have these places among all that is shown, in this order."""
        return self.choose([self._places[row] for row in rows])

    def choose(self, columns: Sequence[int]) -> "Table":
        """Some of the features, in this order."""
        chosen = [self.features[j] for j in columns]
        if isinstance(self._numeric, np.ndarray):
            if list(columns) == list(range(len(self))):
                return self
            values = {f.source: _float64(self._numeric[:, f.source]) for f in chosen}  # an array has no products
            return Table(chosen, self.n_rows, values, {})
        return Table(chosen, self.n_rows, self._numeric, self._codes)

    def block(self, first: int, last: int, kept: NDArray[np.int64] | None, out: Float64) -> list[Float64]:
        """The columns first … last − 1, of the kept rows only; `out` takes those that must be copied."""
        if not isinstance(self._numeric, np.ndarray):
            values = [self[j] for j in range(first, last)]
            return values if kept is None else [v[kept] for v in values]
        size = self.n_rows if kept is None else kept.size
        block = out[: last - first]
        array, flags = self._numeric, self._numeric.flags
        if kept is None and array.dtype == np.float64 and flags.c_contiguous and flags.writeable:
            copy_columns(array, first, block)  # the usual case, without the GIL
            return list(block)
        for a in range(0, size, _ROWS):
            rows = array[slice(a, a + _ROWS) if kept is None else kept[a : a + _ROWS], first:last]
            for column, values in zip(block, _float64(rows).T, strict=True):
                column[a : a + _ROWS] = values
        return list(block)

    def columns(self, columns: Sequence[int], rows: Any) -> list[Float64]:
        """Some columns of some rows, a slice or an index, each one piece of memory."""
        if not isinstance(self._numeric, np.ndarray):
            return [np.ascontiguousarray(self._values(j, rows)) for j in columns]
        chosen = self._numeric[rows]
        if list(columns) != list(range(len(self))):
            chosen = chosen[:, list(columns)]
        return list(np.ascontiguousarray(_float64(chosen).T))

    def rows(self, index: NDArray[np.int64]) -> Float64:
        """The given rows with all their feature columns, as a new (rows × features) array."""
        if isinstance(self._numeric, np.ndarray):
            return _float64(self._numeric[index])
        rows = np.empty((index.size, len(self)))
        for j in range(len(self)):
            rows[:, j] = self._values(j, index)
        return rows

    def complete(self) -> NDArray[np.bool_]:
        """Which rows have a usable value in every column."""
        keep = np.ones(self.n_rows, bool)
        if isinstance(self._numeric, np.ndarray):
            if self._numeric.dtype.kind == "f":
                for a in range(0, self.n_rows, _ROWS):
                    keep[a : a + _ROWS] &= np.isfinite(_float64(self._numeric[a : a + _ROWS])).all(axis=1)
            return keep
        for source in {source for f in self.features for source, _ in f.parts}:
            keep &= self._codes[source] >= 0 if source in self._codes else np.isfinite(self._numeric[source])
        for j, feature in enumerate(self.features):
            if feature.times:  # a product of finite numbers may be too large
                for a in range(0, self.n_rows, _ROWS):
                    keep[a : a + _ROWS] &= np.isfinite(self._values(j, slice(a, a + _ROWS)))
        return keep

    def _values(self, index: int, rows: Any) -> Float64:
        feature = self.features[index]
        if isinstance(self._numeric, np.ndarray):
            return _float64(self._numeric[rows, feature.source])
        values = self._factor(feature.source, feature.code, rows)
        with np.errstate(over="ignore"):
            for source, code in feature.times:
                values = values * self._factor(source, code, rows)
        return values

    def _factor(self, source: int, code: int | None, rows: Any) -> Float64:
        if code is None:
            values: Float64 = self._numeric[source][rows]
            return values
        codes = self._codes[source][rows]
        return np.where(codes < 0, np.nan, codes == code)


def assembled(schema: Schema, found: Mapping[int, Any], n_rows: int, features: list[Feature] | None = None) -> Table:
    """The table of these columns, by their numbers: codes of categories, numbers of others. All features, or some."""
    codes = {source: values for source, values in found.items() if schema.columns[source].has_levels}
    numeric = {source: values for source, values in found.items() if source not in codes}
    return Table(schema.features if features is None else features, n_rows, numeric, codes)


def table_of(cells: Callable[[str], Raw], schema: Schema, n_rows: int) -> Table:
    """The table of raw cells, which are asked for by the names of the columns that are used."""
    found = {source: column_values(schema.columns[source], schema, cells) for source in schema.sources}
    return assembled(schema, found, n_rows)


def array_table(array: NDArray[Any], schema: Schema) -> Table:
    """The same of an array. Where every column is used as it is, nothing is copied."""
    if all(not (c.left_out or c.has_levels or c.range or (schema.fill and c.centre is not None)) for c in schema):
        return Table(schema.features, array.shape[0], array, {})
    place = {name: j for j, name in enumerate(schema.names)}
    return table_of(lambda name: Raw(NUMBER, array[:, place[name]]), schema, array.shape[0])


def read_table(data: Any, schema: Schema) -> Table:
    """The features of a new table, whose columns are found by their names, or by their places if it is an array."""
    frame = read_frame(data)
    if not isinstance(frame, nw.DataFrame):
        return array_table(frame, schema)
    place = {str(name): i for i, name in enumerate(frame.columns)}
    series = list(frame.iter_columns())

    @cache
    def cells(name: str) -> Raw:
        column = series[place[name]]
        kind = type_of(column)
        if kind.kind == OTHER_TYPE:
            raise SchemaError(
                f"column {name!r} is of type {kind.words}, which cannot be used; convert it to numbers or text"
            )
        return raw_of(column, kind)

    return table_of(cells, schema, len(frame))


def read_frame(data: Any, what: str = "X") -> Any:
    """Any supported two-dimensional input as a narwhals data frame, or as an array of numbers."""
    frame = _frame(data)
    if isinstance(frame, nw.DataFrame):
        if not frame.columns:
            raise _no_columns(what)
        for name, times in Counter(map(str, frame.columns)).items():
            if times > 1:
                raise SchemaError(f"two feature columns are called {name!r}; rename one of them")
        return frame
    if isinstance(frame, nw.LazyFrame) or hasattr(data, "collect_schema"):
        raise SchemaError("lazy frames are not supported; call .collect() first, or pass a ParquetTable")
    if issparse(data):
        raise SchemaError("sparse input is not supported; pass a dense array, for instance X.toarray()")
    if isinstance(frame, nw.Series):
        raise _not_2d(what, 1)
    array = _array(rows_as_array(data), what)
    if array.ndim != 2:
        raise _not_2d(what, array.ndim)
    if array.shape[1] == 0:
        raise _no_columns(what)
    return array


def array_names(array: NDArray[Any]) -> list[str]:
    """What the columns of an array are called."""
    return [f"x{j}" for j in range(array.shape[1])]


def check_target(data: Any) -> None:
    """Raise SchemaError, as `read_target` does, for a target whose type is known and has no numbers."""
    frame = _one_column(data, "y")
    if isinstance(frame, nw.Series):
        check_numeric(frame, _TARGET)
    elif isinstance(data, np.ndarray):
        _array(np.empty(0, data.dtype), "y")


def read_target(data: Any) -> Float64:
    """Turn any supported one-dimensional input into float64, NaN where a value is missing."""
    if data is None:
        raise SchemaError("This estimator requires y to be passed, but the target y is None")
    frame = _one_column(data, "y")
    if isinstance(frame, nw.Series):
        return numbers(frame, _TARGET)
    array = _list_of_numbers(data) if is_list(data) else _array(data, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of {array.ndim} dimensions instead")
    return _float64(array)


def without_column(y: Any) -> Any:
    """A column vector as one dimension, with scikit-learn's warning. Only the shape of an array is looked at."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d

        column_or_1d(y[:0], warn=True)
        return y[:, 0]
    return y


def read_identities(data: Any) -> NDArray[np.int64]:
    """A number for each row, the same for one person and −1 for missing ones, of any one-dimensional input."""
    if isinstance(data, np.ma.MaskedArray):
        values = np.ma.getdata(data).astype(np.object_)
        values[np.ma.getmaskarray(data)] = None
        data = values
    frame = _one_column(data, "groups")
    if isinstance(frame, nw.Series):
        return identities.of_series(frame)
    if is_list(data):  # one by one: whether all are pairs would depend on each
        elements = list(data)
        data = np.fromiter(elements, np.object_, len(elements))
    array = data if isinstance(data, np.ndarray) else np.asarray(data, np.object_)
    if array.ndim != 1:
        raise SchemaError(f"groups should be a 1d array, got an array of {array.ndim} dimensions instead")
    return identities.of_array(array)


def name_of(data: Any) -> Any:
    """What a column is called: by its name itself, or as a series or a frame of one column; None if it has no name."""
    if isinstance(data, str):
        return data
    frame = _frame(data)
    if isinstance(frame, nw.DataFrame):
        return frame.columns[0] if len(frame.columns) == 1 else None
    name = getattr(data, "name", None)
    return None if name is None or name == "" else name


def _not_2d(what: str, dimensions: int) -> SchemaError:
    return SchemaError(
        f"Expected 2D array, got {dimensions}D array instead: {what}. Reshape your data: one row per record, "
        f"one column per feature ({what}.reshape(-1, 1) for a single feature)"
    )


def _no_columns(what: str) -> SchemaError:
    least = "while a minimum of 1 is required: the table has no feature columns"
    return SchemaError(f"{what} has 0 feature(s) (shape=(…, 0)) {least}")


def _frame(data: Any) -> Any:
    """A narwhals frame or series if the input is one of a data frame library; otherwise the input itself."""
    library = type(data).__module__.partition(".")[0]
    if library == "pyarrow":  # narwhals takes tables and chunked arrays only
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if isinstance(data, pa.Array):
            data = pa.chunked_array([data])
    elif library == "pandas" and not hasattr(data, "iloc"):  # a bare extension array
        import pandas as pd

        if isinstance(data, pd.MultiIndex):
            raise SchemaError("a pandas MultiIndex is neither a column nor a table")
        data = pd.Series(data)
    try:
        return nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise SchemaError(f"column names must be unique: {error}") from error


def _one_column(data: Any, what: str) -> Any:
    """The same, where a frame must have one column, which is taken out of it."""
    frame = _frame(data)
    if not isinstance(frame, nw.DataFrame):
        return frame
    if len(frame.columns) != 1:
        raise SchemaError(f"{what} must have exactly one column")
    return next(frame.iter_columns())


def _array(data: Any, name: str) -> NDArray[Any]:
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "biuf":
        data = np.where(np.ma.getmaskarray(data), np.nan, _float64(np.ma.getdata(data)))
    array = np.asarray(data)
    if array.dtype.kind == "c":
        raise SchemaError(f"Complex data not supported: {name} must be real numbers")
    if array.dtype.kind not in "biuf":
        raise SchemaError(
            f"{name} has the numpy type {array.dtype.type.__name__}, which is not numeric; convert it to float64, "
            "or pass a data frame with declared categories"
        )
    return array


def rows_as_array(data: Any) -> Any:
    """A list of rows as an array; anything else as it is.

    A list has no schema. Its width is the one that most rows have, and the cells of all other rows are missing, so that
    no single row can make it fail. Each element that is no number is a missing value.
    """
    if not is_list(data):
        return data
    rows = [_cells(row) for row in data]
    widths = Counter(map(len, filter(None, rows)))
    width = max(widths, key=lambda w: (widths[w], w), default=1)
    nothing = [None] * width
    cells = np.fromiter(
        chain.from_iterable(row if len(row) == width else nothing for row in rows), np.object_, len(rows) * width
    )
    return numbers_in(cells).reshape(len(rows), width)


def is_list(data: Any) -> bool:
    """Whether this is a sequence of Python objects, which has no type that could be refused."""
    return isinstance(data, Sequence) and not isinstance(data, str | bytes | bytearray | memoryview)


def _cells(row: Any) -> list[Any]:
    """The elements of a row; none if it is no row."""
    try:
        is_row = is_list(row) or (isinstance(row, np.ndarray) and row.ndim == 1)
        return list(row) if is_row else []
    except Exception:  # no value is an error
        return []


def _list_of_numbers(data: Any) -> Float64:
    """The same for a list of numbers; one that is alone in a list counts as itself."""
    rows = [(_cells(value), value) for value in data]
    return numbers_in(np.fromiter((c[0] if len(c) == 1 else v for c, v in rows), np.object_, len(rows)))


def _float64(values: NDArray[Any]) -> Float64:
    # A long double beyond float64 becomes inf, and a NaN may be a signalling one: neither is worth a warning.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values, np.float64)
