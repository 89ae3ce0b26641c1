"""Partitions of a Dask data frame, read as the frame declares its columns (its meta), cell by cell.

One missing value is enough to make pandas store a partition's booleans as objects, its integers as floats, or a whole
column as nothing at all; Dask may then turn objects into text, or refuse the partition. So the type that a partition
happens to have decides nothing: each cell is read as the declared type, and what does not fit is missing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr._expr import ArrowStringConversion
from dask.dataframe.dask_expr.io import FromPandas
from dask.dataframe.dask_expr.io._delayed import FromDelayed
from numpy.typing import NDArray

from privreg.identities import numbered
from privreg.kernels.ranks import Int64
from privreg.tables import read_identities

EXACT = 2**53  # beyond, floats do not tell whole numbers apart
_WHOLE = re.compile("-?[0-9]{1,400}")


def unconverted(frame: Any) -> Any:
    """The frame without Dask's conversion of objects to text and its checks of partitions: one value can fail them."""
    expr = frame.expr
    while (node := next(iter(expr.find_operations(ArrowStringConversion)), None)) is not None:
        expr = expr.substitute(node, node.frame)
    for kind, option in ((FromPandas, "pyarrow_strings_enabled"), (FromDelayed, "verify_meta")):
        for node in list(expr.find_operations(kind)):
            if node.operand(option):
                expr = expr.substitute(node, node.substitute_parameters({option: False}))
    return new_collection(expr)


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
    return pd.Series(_cells(column), column.index, dtype=object)


def identities(frames: Sequence[Any], kind: Any) -> Int64:
    """A number for each row of partitions with one column, the same for one person and −1 for missing ones.

    Numbers of numpy's types are known up to 2⁵³ only, in every partition: one that is missing makes floats of the
    others in its partition, and of no others.
    """
    columns = [frame.iloc[:, 0] for frame in frames]
    limited = isinstance(kind, np.dtype) and kind.kind in "iuf"
    if all(column.dtype == kind for column in columns) and not limited:
        return read_identities(pd.concat(columns, ignore_index=True))
    return numbered(np.concatenate([_each(_reader(kind, limited), column) for column in columns]))


def _reader(kind: Any, limited: bool) -> Callable[[Any], Any]:
    if pd.api.types.is_bool_dtype(kind):
        return _truth
    if _is_number(kind):
        return partial(_whole_number if pd.api.types.is_integer_dtype(kind) else _exact_number, limited=limited)
    return _text if isinstance(kind, pd.StringDtype | pd.ArrowDtype) and pd.api.types.is_string_dtype(kind) else _itself


def _is_number(kind: Any) -> bool:
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def _is_plain_number(kind: Any) -> bool:
    """Those that everybody reads; one odd value may have made the column complex, or of long doubles."""
    if isinstance(kind, np.dtype):
        return kind.kind in "iu" or kind in (np.float32, np.float64)
    return _is_number(kind) and not isinstance(kind, pd.SparseDtype)


def _cells(column: Any) -> NDArray[Any]:
    """Python objects. A point in time that cannot be one is missing."""
    try:
        return column.astype(object).to_numpy()
    except Exception:
        return np.fromiter((_cell(column.array, i) for i in range(len(column))), np.object_, len(column))


def _cell(values: Any, row: int) -> Any:
    try:
        return values[row]
    except Exception:
        return None


def _each(read: Callable[[Any], Any], column: Any) -> NDArray[Any]:
    def one(cell: Any) -> Any:
        try:
            return read(cell)
        except Exception:  # no value is an error
            return None

    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(one, 1, 1)(_cells(column)), np.object_)


def _itself(cell: Any) -> Any:
    return cell


def _number(cell: Any) -> float | None:
    """A number, or one that Dask made text of."""
    if isinstance(cell, str):
        return float(cell) if cell.isascii() and "_" not in cell else None
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:  # beside one that is not real
        return float(cell.real)
    return float(cell) if isinstance(cell, Real | np.bool_) else None


def _exact_number(cell: Any, limited: bool) -> int | float | None:
    """The same for identifiers. Floats beyond 2⁵³ may have been other whole numbers."""
    if isinstance(cell, str):
        cell = int(cell) if _WHOLE.fullmatch(cell) else _number(cell)
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return None if limited and abs(int(cell)) >= EXACT else int(cell)
    number = _number(cell)
    return None if number is None or EXACT <= abs(number) < np.inf else number


def _whole_number(cell: Any, limited: bool) -> int | float | None:
    number = _exact_number(cell, limited)
    return number if number is not None and float(number).is_integer() else None


def _truth(cell: Any) -> bool | None:
    known = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
    return known.get(str(cell).lower())


def _text(cell: Any) -> str | None:
    """A text, or a whole number, which another partition may have as text."""
    if isinstance(cell, str):
        return cell
    number = _whole_number(cell, limited=False)
    return None if number is None else str(int(number))
