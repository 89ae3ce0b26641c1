"""Cells that are Python objects, read one by one: no value is an error, and none changes how another is read."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64


def each(read: Callable[[Any], Any], cells: NDArray[Any], otherwise: Any = None) -> NDArray[Any]:
    """What `read` makes of each cell, or `otherwise` where it fails, as objects."""

    def one(cell: Any) -> Any:
        try:
            return read(cell)
        except Exception:  # of the user's own classes, too
            return otherwise

    with np.errstate(all="ignore"):  # a long double, or a signalling NaN, would warn
        return np.asarray(np.frompyfunc(one, 1, 1)(cells), np.object_)


def each_item(values: Any) -> NDArray[Any]:
    """The items of a sequence that cannot be converted as a whole; None where one cannot be had."""
    return each(lambda i: values[i], np.arange(len(values), dtype=np.object_))


def numbers_in(cells: NDArray[Any]) -> Float64:
    """What is no number, or one beyond float64, is missing."""
    return each(_number, cells, np.nan).astype(np.float64)


def _number(cell: Any) -> float:
    return float(cell) if isinstance(cell, Real | np.bool_) else np.nan
