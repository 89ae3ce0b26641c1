"""Data frames of pandas, polars and pyarrow, read through narwhals: types and values. Nothing else knows them.

No value may make a function here fail: casts are unsafe on purpose, comparisons are made between like kinds only, and
what cannot be used becomes a missing value. Cells that are Python objects are read one by one, and none changes how
another is read.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64
from privreg.errors import SchemaError


def numbers(series: nw.Series[Any], what: str) -> Float64:
    """A numeric or boolean column as float64, NaN where a value is missing."""
    check_numeric(series, what)
    if series.dtype == nw.Boolean:
        series = series.cast(nw.Int8)
    if is_arrow(series):
        import pyarrow.compute as pc

        chunks = chunks_of(series)
        array = chunks.chunk(0) if chunks.num_chunks == 1 else series.to_arrow()  # which would copy a single chunk
        # An integer that float64 cannot hold exactly is rounded, not refused.
        return np.asarray(pc.cast(array, "float64", safe=False).to_numpy(zero_copy_only=False), np.float64)
    with np.errstate(invalid="ignore"):  # a signalling NaN would warn
        return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def check_numeric(series: nw.Series[Any], what: str) -> None:
    """Raise SchemaError for a column that by its type has no numbers. Its values are not looked at."""
    if is_untyped(series) or not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise SchemaError(f"{what} is {kind_of(series)}, which is not numeric; convert it to numbers")


def is_untyped(series: nw.Series[Any]) -> bool:
    return bool(series.implementation.is_pandas_like() and series.to_native().dtype == object)


def is_arrow(series: nw.Series[Any]) -> bool:
    if series.implementation.is_pyarrow():
        return True
    return bool(series.implementation.is_pandas_like() and type(series.to_native().dtype).__name__ == "ArrowDtype")


def decoded(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of arrow's as such, without a dictionary."""
    import pyarrow as pa

    chunks = chunks_of(series)
    if pa.types.is_dictionary(chunks.type):
        chunks = pa.chunked_array([chunk.dictionary_decode() for chunk in chunks.chunks], chunks.type.value_type)
    return nw.from_native(chunks, series_only=True)


def chunks_of(series: nw.Series[Any]) -> Any:
    native = series.to_native()
    return native.array.__arrow_array__() if series.implementation.is_pandas_like() else native


def kind_of(series: nw.Series[Any]) -> str:
    """How errors call a column's type. Whether an object column is all text depends on its values: same words."""
    return "text (or untyped)" if is_untyped(series) or series.dtype == nw.String else f"of type {series.dtype}"


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
    return each(lambda cell: float(cell) if isinstance(cell, Real | np.bool_) else np.nan, cells, np.nan).astype(float)
