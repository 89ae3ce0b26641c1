"""Cells of one column as they come, whatever table they are in: numbers, booleans, points in time, or text.

What the *type* of a column says is public and decides how its cells are read. Each cell is then read by a rule that
looks at this cell alone; what cannot be read is missing. Columns of text, of objects and of categories are all text
here: what they hold is found out by the private reading step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privreg._types import Bool, Int64
from privreg.data import cells
from privreg.data.cells import stored_integers
from privreg.data.frames import chunks_of, each, is_arrow, is_untyped, numbers
from privreg.data.schema import BOOLEAN, NUMBER

TIME, TEXT, OTHER_TYPE = "time", "text", "other"
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_EXACT = 2**53  # beyond, float64 does not tell whole numbers apart
_PLAIN = {str, type(None), float}  # text, and missing values


@dataclass(frozen=True)
class ColumnType:
    """What the type of a column says: public."""

    kind: str  # NUMBER, BOOLEAN, TIME, TEXT (also of objects and categories), or OTHER_TYPE, which is of no use
    words: str = ""  # the type, as people read it
    category: bool = False  # whether the type has levels, which do not tell where they come from
    levels: tuple[Any, ...] | None = None  # written down before there is data


@dataclass(frozen=True, eq=False)
class Raw:
    """Some cells of a column. Numbers and times (in days since 1970) are float64, NaN where missing; booleans int8, −1
    where missing; text an array of arrow's, plain or with a dictionary, null where missing.
    """

    kind: str
    values: Any

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: slice | Bool) -> "Raw":
        """The cells of some rows."""
        if isinstance(self.values, np.ndarray):
            return Raw(self.kind, self.values[rows])
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self.values))
            return Raw(self.kind, self.values.slice(start, stop - start))
        return Raw(self.kind, self.values.filter(pa.array(rows)))

    def class_counts(self) -> Int64:
        """How many cells are of each class of cells.py. Typed ones are missing, or of one class."""
        if self.kind == TEXT:
            return cells.count_classes(self.values)
        missing = int((self.values < 0).sum() if self.kind == BOOLEAN else (~np.isfinite(self.values)).sum())
        counts = np.zeros(cells.CLASSES, np.int64)
        counts[cells.MISSING] = missing
        counts[{BOOLEAN: cells.TRUTH, TIME: cells.DATE}.get(self.kind, cells.POINT)] = len(self) - missing
        return counts


Cells = Mapping[Any, Raw]  # some rows of some columns


def type_of(series: nw.Series[Any]) -> ColumnType:
    """What a column's type says. Its values are not looked at."""
    dtype = series.dtype
    if is_untyped(series) or dtype == nw.Object:
        return ColumnType(TEXT, "object")
    if dtype == nw.Boolean:
        return ColumnType(BOOLEAN, "boolean")
    if isinstance(dtype, nw.Enum) and series.implementation.is_polars():
        return ColumnType(TEXT, "enum", levels=tuple(dtype.categories))
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
        return ColumnType(TEXT, "category", category=True)
    if dtype.is_numeric() or _is_null(series):
        return ColumnType(NUMBER, "number")
    if dtype == nw.String:
        return ColumnType(TEXT, "text")
    if dtype == nw.Date or dtype == nw.Datetime or (is_arrow(series) and pa.types.is_date(chunks_of(series).type)):
        return ColumnType(TIME, "date")
    return ColumnType(OTHER_TYPE, str(dtype))


def type_called(kind: str) -> ColumnType:
    """The type that a file calls by this word."""
    known = {"number": NUMBER, "boolean": BOOLEAN, "text": TEXT, "category": TEXT, "nothing": NUMBER}
    times = {"date": TIME, "timestamp": TIME}
    return ColumnType((known | times).get(kind, OTHER_TYPE), kind, category=kind == "category")


def raw_of(series: nw.Series[Any], kind: ColumnType) -> Raw:
    """The cells of a column of this type."""
    if kind.kind == NUMBER:
        return Raw(NUMBER, np.full(len(series), np.nan) if _is_null(series) else numbers(series, ""))
    if kind.kind == BOOLEAN:
        whole = numbers(series, "")
        return Raw(BOOLEAN, np.where(np.isnan(whole), -1, whole).astype(np.int8))
    if kind.kind == TIME:
        return Raw(TIME, numbers(series, "") if series.dtype.is_numeric() else _days(series.to_arrow()))
    return Raw(TEXT, _text(series))


def levels_in_type(series: nw.Series[Any]) -> list[Any] | None:
    """The levels that a category's type has, wherever they come from; None if it has none for the whole column."""
    if is_arrow(series):
        dictionaries = [chunk.dictionary for chunk in chunks_of(series).chunks]
        if not dictionaries or any(not d.equals(dictionaries[0]) for d in dictionaries):
            return None
        return list(dictionaries[0].to_pylist())
    if series.implementation.is_pandas_like():
        return list(_categories(series.to_native()))
    return None  # polars' Categorical


def text_of(value: Any) -> str | None:
    """A cell that is a Python object, as text; None if it is missing or of no use.

    Whole numbers are written as float64 has them, whatever their type, so that a missing value, which makes floats of
    pandas' integers, changes nothing. What raises here is missing: a lone surrogate, or a method of a user's own class.
    """
    if isinstance(value, str):
        return str.encode(value).decode()  # a plain text, also of a subclass
    if value is None or value != value:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Decimal):
        return str(Decimal(value)) if value.is_finite() else None
    if isinstance(value, Real):
        whole = int(value) if isinstance(value, Integral) else None
        number = float(value)
        if not isfinite(number):
            return None
        exact = whole is not None and abs(whole) < _EXACT
        return str(whole) if exact else str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, datetime):
        return datetime.isoformat(value)
    return date.isoformat(value) if isinstance(value, date) else None


def texts_of(values: NDArray[Any]) -> pa.Array:
    """Cells that are Python objects, as text."""
    if set(map(type, values)) <= _PLAIN:  # arrow would take bytes for text, too, but only where all others are
        try:
            return pa.array(values, pa.large_string(), from_pandas=True)  # if all are text: the same, but fast
        except (pa.ArrowException, ValueError, TypeError):
            pass
    return pa.array(each(text_of, values).tolist(), pa.large_string())


def level_text(level: Any) -> str:
    """How a level is spelled in columns of text."""
    return str(text_of(level))


def _text(series: nw.Series[Any]) -> Any:
    if is_arrow(series):
        return _arrow_text(chunks_of(series))
    if series.implementation.is_polars():
        native = series.to_native()
        return _arrow_text(native.to_arrow()) if str(native.dtype) != "Object" else texts_of(native.to_numpy())
    native = series.to_native()
    if hasattr(native, "cat"):
        codes = pa.array(native.cat.codes.to_numpy().astype(np.int32), mask=(native.cat.codes < 0).to_numpy())
        return pa.DictionaryArray.from_arrays(codes, texts_of(_categories(native)))
    if native.dtype == object:  # pandas would look which are missing, and fail at some
        return texts_of(native.to_numpy())
    return texts_of(native.to_numpy(dtype=object, na_value=None))


def _categories(native: Any) -> NDArray[np.object_]:
    """The levels of a category of pandas. Those that `cut` makes are called by what is printed of them."""
    levels = native.cat.categories
    return np.asarray((levels.astype(str) if str(levels.dtype).startswith("interval") else levels), np.object_)


def _arrow_text(column: Any) -> Any:
    """Text of arrow's, with or without a dictionary, or a dictionary of other values."""
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        return pa.chunked_array([_arrow_text(chunk) for chunk in column.chunks], _DICTIONARY)
    if not pa.types.is_dictionary(column.type):
        return column if str(column.type) != "string_view" else cells.long_text(column)
    values = column.dictionary
    if not cells.is_text(values.type):
        values = pa.array([_scalar_text(value) for value in values], pa.large_string())
    indices = pc.cast(column.indices, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, cells.valid_text(values), safe=False)


def _scalar_text(value: pa.Scalar) -> str | None:
    """A value of a dictionary as text; None for one that Python has no object for, such as a day in the year 10,000."""
    try:
        return text_of(value.as_py())
    except Exception:  # no value is an error
        return None


_DICTIONARY = pa.dictionary(pa.int32(), pa.large_string())


def _days(column: Any) -> NDArray[np.float64]:
    """Points in time in days since 1970, of the clock of Greenwich if they have a time zone."""
    kind = column.type
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    per_day = 1 if pa.types.is_date32(kind) else _PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
    whole = pa.chunked_array([stored_integers(chunk) for chunk in chunks], pa.int32() if per_day == 1 else pa.int64())
    days = pc.cast(whole, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(days / per_day, np.float64)


def _is_null(series: nw.Series[Any]) -> bool:
    """Whether the type says that there are no values at all."""
    if is_arrow(series):
        return bool(pa.types.is_null(chunks_of(series).type))
    return bool(series.implementation.is_polars() and str(series.to_native().dtype) == "Null")
