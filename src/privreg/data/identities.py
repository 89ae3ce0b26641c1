"""Who is one person: two rows belong together if their identifiers have the same key.

`==` and hashes will not do: 2¹²⁶ as one of NumPy's floats equals integers that differ from each other, so one more
person could make many into one. A key is a text that begins with the kind of the identifier, so that having the same
key is an equivalence relation, whatever values there are and in whatever order:

- numbers: whole ones by their exact value, be they integers or floats (1, 1.0 and np.int8(1) are one person, 0.0 and
  −0.0 too); floats with a fraction, and infinite ones, by their bits. Booleans are no numbers;
- text, bytes, UUIDs by their content: the text "1" is not the number 1;
- `Decimal` by its exact value, apart from all other numbers;
- dates; times of day; points in time by their instant, those without a time zone apart; durations;
- tuples of these, by their parts.

None, NaN, NaT and NA are missing, and so is everything that has no key. Columns with a type are compared by what they
store, which gives the same answer: memory, Parquet and Dask agree.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privreg._types import Int64
from privreg.data.frames import chunks_of, decoded, each, each_item, is_arrow, is_untyped, kind_of, numbers
from privreg.errors import SchemaError

_PER_SECOND = 10**18  # points in time are whole numbers of attoseconds, the finest unit of numpy
_SECONDS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}
_FRACTIONS = {"ms": 10**15, "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1}
_UNITS = {unit: seconds * _PER_SECOND for unit, seconds in _SECONDS.items()} | _FRACTIONS
_MISSING_TIME = np.iinfo(np.int64).min
_TIME = re.compile("[szu]-?[0-9]+")
_MOST_PARTS = 1000  # of a tuple, its tuples included: one that holds another twice may have any number


def key(value: Any) -> str | None:
    """The key of an identifier; None if it is missing or has none."""
    try:
        return _key(value, iter(range(_MOST_PARTS)))
    except Exception:  # no value is an error, however odd its methods or deep its tuples
        return None


def _key(value: Any, room: Iterator[int]) -> str | None:
    next(room)  # raises if there is none left
    if hasattr(value, "as_py"):  # an arrow scalar
        value = value.as_py()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _numpy_time(value, "s" if isinstance(value, np.datetime64) else "u")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return None if value is None else f"b{value:d}"
    if isinstance(value, int):
        return f"n{int(value):x}"
    if isinstance(value, float | np.floating):  # .item() of a long double is a long double
        return _float(value)
    if isinstance(value, tuple):
        keys = [_key(part, room) for part in value]
        return None if None in keys else "(" + "".join(f"{len(k)}:{k}" for k in keys if k is not None)
    for kind, of in _KEYS.items():
        if isinstance(value, kind):
            return None if value != value else of(value)
    return None


def _float(value: Any) -> str | None:
    if not np.isfinite(value):
        return None if value != value else f"f{float(value)}"
    top, bottom = value.as_integer_ratio()
    return f"n{top:x}" if bottom == 1 else f"f{top:x}/{bottom:x}"


def _decimal(value: Decimal) -> str:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return f"d{sign}{exponent}"  # infinite
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    return f"d{sign}{stripped}e{exponent + len(text) - len(stripped)}" if stripped else "d0"


def _datetime(value: Any) -> str | None:
    kind = "s" if value.utcoffset() is None else "z"
    if hasattr(value, "asm8"):  # of pandas, in UTC if it has a time zone
        return _numpy_time(value.asm8, kind)
    since = value.replace(tzinfo=None) - datetime.min - (value.utcoffset() or timedelta())
    return f"{kind}{(since - _EPOCH) // timedelta(microseconds=1) * _UNITS['us']}"


_EPOCH = datetime(1970, 1, 1) - datetime.min


def _duration(value: Any) -> str | None:
    if hasattr(value, "asm8"):
        return _numpy_time(value.asm8, "u")
    return f"u{value // timedelta(microseconds=1) * _UNITS['us']}"


def _numpy_time(value: Any, kind: str) -> str | None:
    unit, count = np.datetime_data(value.dtype)
    number = int(value.astype(np.int64))
    if number == _MISSING_TIME:
        return None
    if unit in _UNITS:
        return f"{kind}{number * count * _UNITS[unit]}"
    return f"{kind}{unit}{number * count}"  # years and months, which have no fixed length


# In this order: a datetime is a date, too.
_KEYS: dict[type, Any] = {
    str: lambda value: f"t{value}",
    bytes: lambda value: f"y{value.hex()}",
    datetime: _datetime,
    date: lambda value: f"D{value.toordinal()}",
    time: lambda value: f"T{value.isoformat()}",
    timedelta: _duration,
    Decimal: _decimal,
    UUID: lambda value: f"U{value.hex}",
}


def numbered(values: NDArray[Any]) -> Int64:
    """A number for each of these Python objects, the same for those with the same key, −1 for missing ones."""
    known: dict[str, int] = {}

    def number(value: Any) -> int:
        found = key(value)
        return -1 if found is None else known.setdefault(found, len(known))

    return each(number, values, -1).astype(np.int64)


def of_array(array: NDArray[Any]) -> Int64:
    """The same for a numpy array of one dimension."""
    kind = array.dtype.kind
    if kind == "O":
        return numbered(array)
    if kind in "Mm":
        array = np.ascontiguousarray(array)
        return _numbered_where(array.view(np.int64), ~np.isnat(array))
    if kind not in "biufUS":
        raise SchemaError(
            f"groups have the numpy type {array.dtype.type.__name__}, which cannot tell people apart; use text"
        )
    return _numbered_where(array, array == array)  # NaN is missing


def of_series(series: nw.Series[Any]) -> Int64:
    """The same for a column of a data frame."""
    if is_arrow(series):
        series = decoded(series)
    dtype = series.dtype
    if is_untyped(series):
        return numbered(np.asarray(series.to_native().to_numpy(), np.object_))
    if dtype.is_temporal() or _kind(series) in ("M", "m"):  # of pandas' own types narwhals does not know all
        return _times(series)
    if dtype.is_nested() or dtype == nw.Unknown:
        raise SchemaError(f"groups are {kind_of(series)}, which cannot tell people apart; convert them to text")
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        # Not as floats, which would not keep large integers with missing ones among them apart.
        return _numbered_where(series.fill_null(0).to_numpy(), ~_null(series))
    if dtype.is_float():
        return of_array(numbers(series, "groups"))
    values = np.fromiter(_objects(series), np.object_, len(series))
    values[_null(series)] = None
    return numbered(values)


def _times(series: nw.Series[Any]) -> Int64:
    """By the integers that are stored: not all points in time can be Python objects."""
    if is_arrow(series):
        return of_series(nw.from_native(_stored(chunks_of(series)), series_only=True))
    if series.implementation.is_polars():
        return of_series(nw.from_native(series.to_native().to_physical(), series_only=True))
    return of_array(_naive(series.to_native()))


def _stored(chunks: Any) -> Any:
    """The integers of a column of arrow's."""
    import pyarrow as pa

    from privreg.data.cells import stored_integers

    return pa.chunked_array([stored_integers(chunks.combine_chunks())])


def _naive(column: Any) -> NDArray[Any]:
    """A column of pandas' own types as numpy has it, in UTC if it has a time zone."""
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(column.to_numpy())


def stored_times(column: Any) -> NDArray[Any] | None:
    """The attoseconds of a pandas column of dates, times or durations, None where missing; None if it holds others."""
    series = nw.from_native(column, series_only=True)
    if is_arrow(series):
        import pyarrow as pa

        kind = column.dtype.pyarrow_dtype
        if not pa.types.is_temporal(kind):
            return None
        unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
        stored = np.fromiter(_stored(chunks_of(series)).to_pylist(), np.object_, len(column))
    elif _kind(series) in ("M", "m"):
        values = _naive(column)
        unit, stored = np.datetime_data(values.dtype)[0], values.view(np.int64).astype(np.object_)
        stored[np.isnat(values)] = None
    else:
        return None
    return np.frompyfunc(lambda n: None if n is None else int(n) * _UNITS[unit], 1, 1)(stored)


def attoseconds(value: Any) -> int | None:
    """The same for a Python object."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return (value.toordinal() - _EPOCH.days - 1) * _UNITS["D"]
    if isinstance(value, time):
        value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    found = key(value) or ""
    return int(found[1:]) if _TIME.fullmatch(found) else None


def _kind(series: nw.Series[Any]) -> str | None:
    """numpy's letter for the type of a pandas column."""
    return getattr(series.to_native().dtype, "kind", None) if series.implementation.is_pandas_like() else None


def _null(series: nw.Series[Any]) -> NDArray[np.bool_]:
    return np.asarray(series.is_null().to_numpy(), bool)


def _numbered_where(values: NDArray[Any], present: NDArray[np.bool_]) -> Int64:
    return np.where(present, np.unique(values, return_inverse=True)[1], -1).astype(np.int64)


def _objects(series: nw.Series[Any]) -> Any:
    try:
        return series.to_list()
    except Exception:  # text that is not UTF-8: then the value alone is missing
        return list(chunks_of(series)) if is_arrow(series) else each_item(series)
