"""Partitions of a Dask data frame, read as the frame declares its columns (its meta), cell by cell.

One missing value is enough to make pandas store a partition's booleans as objects, its integers as floats, or a whole
column as nothing at all; Dask may then turn objects into text, or refuse the partition. So the type that a partition
happens to have decides nothing: each cell is read as the declared type, and what does not fit is missing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import ArrowStringConversion
from dask.dataframe.dask_expr.io import FromMap, FromPandas
from dask.dataframe.dask_expr.io._delayed import FromDelayed
from dask.dataframe.io.utils import DataFrameIOFunction
from numpy.typing import NDArray

from privreg._isolation import isolated
from privreg._types import Int64
from privreg.data.frames import each, each_item
from privreg.data.identities import attoseconds, numbered, stored_times

EXACT = 2**53  # beyond, floats do not tell whole numbers apart
_WHOLE = re.compile("-?[0-9]{1,400}")

Reader = Callable[[Any], Any]


def unconverted(frame: Any) -> Any:
    """The frame without Dask's conversion of objects to text and its checks of partitions: one value can fail them.

    Where partitions come from a function of the user's, one that lacks a column has it, with missing values.
    """
    expr = frame.expr
    while (node := next(iter(expr.find_operations(ArrowStringConversion)), None)) is not None:
        expr = expr.substitute(node, node.frame)
    for kind, option in ((FromPandas, "pyarrow_strings_enabled"), (FromDelayed, "verify_meta")):
        for node in list(expr.find_operations(kind)):
            if node.operand(option):
                expr = expr.substitute(node, node.substitute_parameters({option: False}))
    for node in list(expr.find_operations((FromMap, FromDelayed))):
        # Readers of Dask's own are asked for some columns only, and have them.
        if node.ndim == 2 and not (isinstance(node, FromMap) and isinstance(node.func, DataFrameIOFunction)):
            made = new_collection(node)
            whole = made.map_partitions(_with_columns, list(made.columns), meta=made._meta, enforce_metadata=False)
            expr = expr.substitute(node, whole.expr)
    return new_collection(expr)


def _with_columns(frame: Any, columns: list[Any]) -> Any:
    absent = [name for name in columns if name not in frame.columns]
    return frame.assign(**dict.fromkeys(absent)) if absent else frame


def as_declared(frame: Any, kinds: Mapping[str, Any]) -> Any:
    """A partition with its columns as features or target of the declared types."""
    read = {name: _as_declared(frame[name], kinds[name]) for name in frame.columns}
    return frame.assign(**{name: column for name, column in read.items() if column is not None})


def _as_declared(column: Any, kind: Any) -> Any:
    """None if it can stay as it is."""
    if column.dtype == kind or (_is_plain_number(column.dtype) and _is_number(kind)):
        return None
    if pd.api.types.is_bool_dtype(kind):
        return pd.Series(pd.array(_each(_truth, column), "boolean"), column.index)
    if _is_number(kind):
        return pd.Series(_each(_number, column).astype(np.float64), column.index)
    if (per_second := _clock(kind)) is not None:
        return pd.Series(_each(lambda cell: _day(cell, per_second), column).astype(np.float64), column.index)
    return pd.Series(_each(_text if _is_text(kind) else _itself, column), column.index, dtype=object)


def _clock(kind: Any) -> int | None:
    """How many units a second has in which dates of a type are stored; None if these are no dates."""
    if isinstance(kind, pd.ArrowDtype):
        import pyarrow as pa

        stored = kind.pyarrow_dtype
        unit = "ms" if pa.types.is_date(stored) else stored.unit if pa.types.is_timestamp(stored) else None
    else:
        unit = np.datetime_data(getattr(kind, "base", kind))[0] if getattr(kind, "kind", None) == "M" else None
    return None if unit is None else {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def _day(cell: Any, per_second: int) -> float | None:
    """A date as a number of days, by the very steps that a column of dates takes."""
    found = attoseconds(cell) if isinstance(cell, date | np.datetime64) else None
    return None if found is None else float(np.int64(found // (10**18 // per_second))) / (86_400 * per_second)


def identities(frames: Sequence[Any], kind: Any) -> Int64:
    """A number for each row of partitions with one column, the same for one person and −1 for missing ones.

    How a cell is read depends on the declared type alone, except for whole numbers beyond 2⁵³, which count only where
    the partition has a type that keeps them beside missing ones (`Int64`, arrow's): a missing value makes floats of
    numpy's integers, and something odd makes objects of them, in its own partition and in no other.
    """
    with isolated():
        return numbered(np.concatenate([_read(frame.iloc[:, 0], kind) for frame in frames]))


def _read(column: Any, kind: Any) -> NDArray[Any]:
    if pd.api.types.is_bool_dtype(kind):
        return _each(_truth, column)
    if _is_time(kind):
        times = stored_times(column)
        return _each(attoseconds, column) if times is None else times
    if _is_text(kind):
        return _each(_text, column)
    if pd.api.types.is_float_dtype(kind):
        return _each(_float32 if str(kind).lower().startswith(("float32", "float[")) else _number, column)
    exact = pd.api.types.is_integer_dtype(column.dtype) and not isinstance(column.dtype, np.dtype)
    if pd.api.types.is_integer_dtype(kind):
        return _each(_whole_number if exact else _small_whole_number, column)
    return _each(_itself if exact else _small_number_or_itself, column)


def _is_number(kind: Any) -> bool:
    """Real numbers, not complex ones, and none in a sparse column."""
    if not pd.api.types.is_numeric_dtype(kind) or isinstance(kind, pd.SparseDtype):
        return False
    return not pd.api.types.is_bool_dtype(kind) and not pd.api.types.is_complex_dtype(kind)


def _is_plain_number(kind: Any) -> bool:
    """Those that everybody reads; one odd value may have made the column complex, or of long doubles."""
    if isinstance(kind, np.dtype):
        return kind.kind in "iu" or kind in (np.float32, np.float64)
    return _is_number(kind)


def _is_text(kind: Any) -> bool:
    return isinstance(kind, pd.StringDtype | pd.ArrowDtype) and pd.api.types.is_string_dtype(kind)


def _is_time(kind: Any) -> bool:
    if isinstance(kind, pd.ArrowDtype):
        import pyarrow as pa

        return pa.types.is_temporal(kind.pyarrow_dtype)
    return getattr(kind, "kind", None) in ("M", "m")


def _each(read: Reader, column: Any) -> NDArray[Any]:
    """Each cell as a Python object. A point in time that cannot be one is missing."""
    try:
        cells = column.astype(object).to_numpy()
    except Exception:
        cells = each_item(column.array)
    return each(lambda cell: read(_without_imaginary(cell)), cells)


def _without_imaginary(cell: Any) -> Any:
    """A real number is complex beside one that is not real."""
    return cell.real if isinstance(cell, complex | np.complexfloating) and cell.imag == 0 else cell


def _itself(cell: Any) -> Any:
    return cell


def _number(cell: Any) -> float | None:
    """A number, or one that Dask made text of."""
    if isinstance(cell, str):
        return float(cell) if cell.isascii() and "_" not in cell else None
    return float(cell) if isinstance(cell, Real | np.bool_) else None


def _float32(cell: Any) -> float | None:
    number = _number(cell)
    return None if number is None else float(np.float32(number))


def _whole_number(cell: Any) -> int | None:
    if isinstance(cell, str):
        cell = int(cell) if _WHOLE.fullmatch(cell) else _number(cell)
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return int(cell)
    number = _number(cell)
    return int(number) if number is not None and number.is_integer() and abs(number) < EXACT else None


def _small_whole_number(cell: Any) -> int | None:
    number = _whole_number(cell)
    return None if number is None or abs(number) >= EXACT else number


def _small_number_or_itself(cell: Any) -> Any:
    """Of a column of objects: numbers may have been others, the rest is what it is."""
    if isinstance(cell, Real | np.integer | np.floating) and not isinstance(cell, bool | np.bool_):
        return None if EXACT <= abs(float(cell)) < np.inf else cell
    return cell


def _truth(cell: Any) -> bool | None:
    known = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
    return known.get(str(cell).lower())


def _text(cell: Any) -> str | None:
    """A text, or a whole number, which another partition may have as text."""
    if isinstance(cell, str):
        return cell
    number = _small_whole_number(cell)
    return None if number is None else str(number)
