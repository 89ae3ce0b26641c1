"""The one door through which data enters: numpy, pandas, polars or pyarrow in, float64 columns out.

What may be seen from outside is the *schema*: column names, types and declared category levels. It decides every error
here, so that no error depends on a value. Values follow two fixed rules:

- a category or boolean becomes one 0/1 column per declared level (none is left out), named ``column=level``;
- a record with a missing or non-finite value, or a level that was not declared, is left out without a trace.

Category levels are never read off the data. They come from the `categories` argument, or from a type that declares
them: pandas ``category``, polars ``Enum``, arrow dictionaries (and so Parquet's). A boolean column has the levels
False and True; a plain numpy array has only numbers, its booleans being 0 and 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from privreg.errors import SchemaError
from privreg.kernels.ranks import MAX_RECORDS, Float64

Categories = Mapping[str, Sequence[Any]]
_ROWS = 4096  # rows looked at together: their part of a few columns stays in the cache


@dataclass(frozen=True)
class Column:
    """One feature: a numeric input column, or one level of a category."""

    name: str
    source: int
    level: int | None = None


class Table:
    """Feature columns of an input table. Hands them out one at a time, in float64, NaN where a value is missing."""

    def __init__(self, features: list[Column], n_rows: int, numeric: Any, codes: dict[int, NDArray[np.int32]]) -> None:
        names = [f.name for f in features]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise SchemaError(f"two feature columns are called {repeated[0]!r}; rename one of them")
        self.features = features
        self.n_rows = n_rows
        self._numeric = numeric  # a 2-D array, or {column number: values}
        self._codes = codes  # declared level of each record by column, −1 for missing

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.features]

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> Float64:
        feature = self.features[index]
        if feature.level is None:
            return self._numbers(feature.source)
        codes = self._codes[feature.source]
        return np.where(codes < 0, np.nan, codes == feature.level)

    def block(self, first: int, last: int, kept: NDArray[np.int64] | None) -> list[Float64]:
        """Some consecutive columns, of the kept rows only."""
        if not isinstance(self._numeric, np.ndarray):
            values = [self[j] for j in range(first, last)]
            return values if kept is None else [v[kept] for v in values]
        size = self.n_rows if kept is None else kept.size
        block = np.empty((last - first, size))
        for a in range(0, size, _ROWS):
            rows = self._numeric[slice(a, a + _ROWS) if kept is None else kept[a : a + _ROWS], first:last]
            for column, values in zip(block, _float64(rows).T, strict=True):
                column[a : a + _ROWS] = values
        return list(block)

    def rows(self, index: NDArray[np.int64]) -> Float64:
        """The given rows with all their feature columns, as a new (rows × features) array."""
        if isinstance(self._numeric, np.ndarray):
            return _float64(self._numeric[index])
        rows = np.empty((index.size, len(self)))
        for j, feature in enumerate(self.features):
            if feature.level is None:
                rows[:, j] = self._numeric[feature.source][index]
            else:
                codes = self._codes[feature.source][index]
                rows[:, j] = np.where(codes < 0, np.nan, codes == feature.level)
        return rows

    def complete(self) -> NDArray[np.bool_]:
        """Which rows have a usable value in every column."""
        keep = np.ones(self.n_rows, bool)
        for codes in self._codes.values():
            keep &= codes >= 0
        if isinstance(self._numeric, np.ndarray):
            if self._numeric.dtype.kind == "f":
                for a in range(0, self.n_rows, _ROWS):
                    keep[a : a + _ROWS] &= np.isfinite(_float64(self._numeric[a : a + _ROWS])).all(axis=1)
        else:
            for values in self._numeric.values():
                keep &= np.isfinite(values)
        return keep

    def _numbers(self, source: int) -> Float64:
        if isinstance(self._numeric, np.ndarray):
            return _float64(self._numeric[:, source])
        values: Float64 = self._numeric[source]
        return values


class Records:
    """The complete records of a table and a target: what every estimator computes on. Their number is secret."""

    def __init__(self, table: Table, target: Float64) -> None:
        if target.size != table.n_rows:
            raise SchemaError("X and y have different numbers of rows")
        if table.n_rows > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS} rows are not supported")
        keep = table.complete() & np.isfinite(target)
        self._kept = None if keep.all() else np.flatnonzero(keep)
        self._table = table
        self.target = target if self._kept is None else target[self._kept]

    @property
    def n_records(self) -> int:
        return self.target.size

    def __len__(self) -> int:
        return len(self._table)

    def block(self, first: int, last: int) -> list[Float64]:
        """The columns first … last − 1."""
        return self._table.block(first, last, self._kept)

    def rows(self, index: NDArray[np.int64]) -> Float64:
        """The given records with all their feature columns, as a new (records × features) array."""
        return self._table.rows(index if self._kept is None else self._kept[index])


def read_table(data: Any, categories: Categories | None = None) -> Table:
    """Turn any supported two-dimensional input into feature columns."""
    categories = dict(categories or {})
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise SchemaError(f"column names must be unique: {error}") from error
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame, categories)
    if isinstance(frame, nw.LazyFrame) or hasattr(data, "collect_schema"):
        raise SchemaError("lazy frames are not supported yet; call .collect() first")
    if issparse(data):
        raise SchemaError("sparse input is not supported; pass a dense array, for instance X.toarray()")
    array = _array(data, "X")
    if array.ndim != 2:
        raise SchemaError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: one row per record, "
            "one column per feature (X.reshape(-1, 1) for a single feature)"
        )
    if array.shape[1] == 0:
        raise SchemaError(f"X has 0 feature(s) (shape=(…, 0)) while a minimum of 1 is required: {_NO_COLUMNS}")
    if categories:
        raise SchemaError("categories are declared by column name: pass a data frame, or one-hot columns in the array")
    features = [Column(f"x{j}", j) for j in range(array.shape[1])]
    return Table(features, array.shape[0], array, {})


def read_target(data: Any) -> Float64:
    """Turn any supported one-dimensional input into float64, NaN where a value is missing."""
    if data is None:
        raise SchemaError("This estimator requires y to be passed, but the target y is None")
    if hasattr(data, "to_numpy") and not hasattr(data, "__dataframe__"):
        series = nw.from_native(data, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _numbers(series, "the target")
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if len(frame.columns) != 1:
            raise SchemaError("y must be one column")
        return _numbers(frame[frame.columns[0]], "the target")
    array = _array(data, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d

        array = column_or_1d(array, warn=True)
    if array.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of {array.ndim} dimensions instead")
    return _float64(array)


_NO_COLUMNS = "the table has no feature columns"


def _array(data: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(data)
    except ValueError as error:  # ragged nesting
        raise SchemaError(f"{name} is not a rectangular table of numbers") from error
    if array.dtype.kind == "c":
        raise SchemaError(f"Complex data not supported: {name} must be real numbers")
    if array.dtype.kind not in "biuf":
        raise SchemaError(
            f"{name} has the numpy type {array.dtype}, which is not numeric; convert it to float64, "
            "or pass a data frame with declared categories"
        )
    return array


def _read_frame(frame: nw.DataFrame[Any], categories: Categories) -> Table:
    if not frame.columns:
        raise SchemaError(f"X has 0 feature(s) (shape=(…, 0)) while a minimum of 1 is required: {_NO_COLUMNS}")
    unknown = [name for name in categories if name not in frame.columns]
    if unknown:
        raise SchemaError(f"categories were declared for {unknown[0]!r}, but the table has no such column")
    features: list[Column] = []
    numeric: dict[int, Float64] = {}
    codes: dict[int, NDArray[np.int32]] = {}
    for source, name in enumerate(frame.columns):
        series = frame[name]
        levels = categories[name] if name in categories else _declared_levels(series, name)
        if levels is None:
            numeric[source] = _numbers(series, f"column {name!r}")
            features.append(Column(str(name), source))
        else:
            codes[source] = _codes(series, levels, name)
            features += [Column(f"{name}={level}", source, i) for i, level in enumerate(levels)]
    return Table(features, len(frame), numeric, codes)


def _declared_levels(series: nw.Series[Any], name: str) -> list[Any] | None:
    """The levels that a column's *type* declares; None if the column is numeric.

    Not `Series.cat.get_categories`: that lists the levels present in the data.
    """
    dtype = series.dtype
    if dtype == nw.Boolean:
        return [False, True]
    if isinstance(dtype, nw.Enum):
        return list(dtype.categories)
    if dtype == nw.Categorical and series.implementation.is_pandas_like():
        return list(series.to_native().cat.categories)
    if dtype == nw.Categorical and series.implementation.is_pyarrow():
        return list(series.to_native().unify_dictionaries().combine_chunks().dictionary.to_pylist())
    if dtype == nw.Categorical:
        raise SchemaError(
            f"column {name!r} is a polars Categorical, whose levels come from the data; "
            f"declare them: cast it to pl.Enum([...]) or pass categories={{{name!r}: [...]}}"
        )
    if dtype.is_numeric():
        return None
    # Whether an object column is all text depends on its values, so both get the same words.
    what = "text (or untyped)" if dtype in (nw.String, nw.Object) else f"of type {dtype}"
    raise SchemaError(
        f"column {name!r} is {what}; convert it to numbers, or declare its levels with categories={{{name!r}: [...]}} "
        "(levels read off the data would reveal who is in it)"
    )


def _codes(series: nw.Series[Any], levels: Sequence[Any], name: str) -> NDArray[np.int32]:
    if len(levels) == 0:
        raise SchemaError(f"column {name!r} is a category without levels; declare at least one")
    if len(set(levels)) < len(levels):
        raise SchemaError(f"a level of column {name!r} is declared twice")
    for level in levels:
        if (series.dtype == nw.String and not isinstance(level, str)) or (
            series.dtype.is_numeric() and not isinstance(level, Number)
        ):
            raise SchemaError(f"level {level!r} does not fit the type of column {name!r}, {series.dtype}")
    codes = np.full(len(series), -1, np.int32)
    for code, level in enumerate(levels):
        codes[_equal(series, level)] = code
    return codes


def _equal(series: nw.Series[Any], level: Any) -> NDArray[np.bool_]:
    native = series.to_native()
    if series.implementation.is_pandas_like() and native.dtype == object:
        # Untyped: compare only like with like, so that no value can make the comparison fail.
        same = np.frompyfunc(lambda value: isinstance(value, type(level)) and value == level, 1, 1)
        return np.asarray(same(native.to_numpy()), bool)
    return np.asarray((series == level).fill_null(False).to_numpy(), bool)


def _numbers(series: nw.Series[Any], what: str) -> Float64:
    if series.dtype == nw.Boolean:
        series = series.cast(nw.Int8)
    if not series.dtype.is_numeric():
        raise SchemaError(f"{what} has the type {series.dtype}, which is not numeric; convert it to numbers")
    return _float64(series.cast(nw.Float64).to_numpy())


def _float64(values: NDArray[Any]) -> Float64:
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes inf, and its record is dropped
        return np.asarray(values, np.float64)
