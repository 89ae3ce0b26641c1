"""Data frames of pandas, polars and pyarrow, read through narwhals: types and declared levels. Nothing else knows them.

No value may make a function here fail: casts are unsafe on purpose, comparisons are made between like kinds only, and
what cannot be used becomes a missing value. Cells that are Python objects are read one by one, and none changes how
another is read.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64
from privreg.data.features import Feature, level_feature
from privreg.errors import SchemaError

Categories = Mapping[Any, Sequence[Any]]
Codes = NDArray[np.int32]


def columns_of(
    frame: nw.DataFrame[Any], categories: Categories
) -> tuple[list[Feature], dict[int, Float64], dict[int, Codes]]:
    """The features, the values of the numeric columns, and the level codes of the others, by column number."""
    unknown = [name for name in categories if name not in frame.columns]
    if unknown:
        raise SchemaError(f"categories were declared for {unknown[0]!r}, but the table has no such column")
    features: list[Feature] = []
    numeric: dict[int, Float64] = {}
    codes: dict[int, Codes] = {}
    for source, (name, series) in enumerate(zip(frame.columns, frame.iter_columns(), strict=True)):
        levels = categories[name] if name in categories else declared_levels(series, name)
        if isinstance(levels, str):
            raise SchemaError(f"the levels of column {name!r} must be a list, got the text {levels!r}")
        if levels is None:
            numeric[source] = numbers(series, f"column {name!r}")
            features.append(Feature(str(name), source))
        else:
            levels = [level.item() if isinstance(level, np.generic) else level for level in levels]
            codes[source] = _codes(series, levels, name)
            features += [level_feature(name, level, source, code) for code, level in enumerate(levels)]
    return features, numeric, codes


def numbers(series: nw.Series[Any], what: str) -> Float64:
    """A numeric or boolean column as float64, NaN where a value is missing."""
    if is_untyped(series) or not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise SchemaError(f"{what} is {kind_of(series)}, which is not numeric; convert it to numbers")
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


def declared_levels(series: nw.Series[Any], name: Any) -> list[Any] | None:
    """The levels that a column's *type* declares; None if the column is numeric.

    Not `Series.cat.get_categories`: that lists the levels present in the data.
    """
    dtype = series.dtype
    advice = f"declare its levels with categories={{{name!r}: [...]}}"
    if dtype == nw.Boolean:
        return [False, True]
    if isinstance(dtype, nw.Enum):
        return list(dtype.categories)
    if dtype == nw.Categorical and is_arrow(series):
        return _arrow_levels(series, name, advice)
    if dtype == nw.Categorical and series.implementation.is_pandas_like():
        return list(series.to_native().cat.categories)
    if dtype == nw.Categorical:
        raise SchemaError(
            f"column {name!r} is a polars Categorical, whose levels come from the data; {advice}, or cast it to pl.Enum"
        )
    if dtype.is_numeric():
        return None
    raise SchemaError(
        f"column {name!r} is {kind_of(series)}; convert it to numbers, or {advice} "
        "(levels read off the data would reveal who is in it)"
    )


def undeclared(frame: nw.DataFrame[Any], categories: Categories) -> list[str]:
    """Columns whose levels came with their type, which cannot tell whether they were read off the data."""
    columns = zip(frame.columns, frame.iter_columns(), strict=True)  # not by name, which may be a number
    return [str(name) for name, series in columns if name not in categories and _is_category(series)]


def _is_category(series: nw.Series[Any]) -> bool:
    """A polars Enum is none: its levels are written down before there is data. An ordered pandas category is."""
    is_enum = isinstance(series.dtype, nw.Enum) and not series.implementation.is_polars()
    return series.dtype == nw.Categorical or is_enum


def _arrow_levels(series: nw.Series[Any], name: Any, advice: str) -> list[Any]:
    """Arrow keeps the dictionary with each chunk; it counts as declared if every chunk has the same one."""
    dictionaries = [chunk.dictionary for chunk in chunks_of(series).chunks]
    if not dictionaries or any(not d.equals(dictionaries[0]) for d in dictionaries):
        raise SchemaError(f"column {name!r} has no single arrow dictionary for all its chunks; {advice}")
    return list(dictionaries[0].to_pylist())


def _codes(series: nw.Series[Any], levels: list[Any], name: Any) -> Codes:
    if not levels:
        raise SchemaError(f"column {name!r} is a category without levels; declare at least one")
    if len(set(levels)) < len(levels):
        raise SchemaError(f"a level of column {name!r} is declared twice")
    if is_untyped(series):
        return _untyped_codes(series.to_native().to_numpy(), levels)
    if is_arrow(series):
        series = decoded(series)
    codes = np.full(len(series), -1, np.int32)
    for code, level in enumerate(levels):
        fits = False
        with suppress(Exception):  # each library has its own; none is kept in the chain of ours
            _equal(series[:0], level)  # whether the types can be compared shows without a value
            fits = True
        if not fits:
            raise SchemaError(f"level {level!r} does not fit the type of column {name!r}, {kind_of(series)}")
        with suppress(Exception):  # no value is an error; what does not fit the level is another
            codes[_equal(series, level)] = code
    return codes


def _untyped_codes(values: NDArray[Any], levels: list[Any]) -> Codes:
    """Python objects one by one. Only values of one sort are compared, and what cannot be is no level."""
    known = {(_sort_of(level), level): code for code, level in enumerate(levels)}
    return each(lambda value: known.get((_sort_of(value), value), -1), values, -1).astype(np.int32)


def _equal(series: nw.Series[Any], level: Any) -> NDArray[np.bool_]:
    """Which values are the level. The level takes the type of the column, never the column that of the level."""
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        if not isinstance(level, Real) or not isfinite(level):
            raise TypeError
        return np.asarray(numbers(series, "") == float(level), bool)
    if series.dtype == nw.String and not isinstance(level, str):
        raise TypeError
    if is_arrow(series):
        import pyarrow as pa
        import pyarrow.compute as pc

        chunks = chunks_of(series)
        return np.asarray(pc.fill_null(pc.equal(chunks, pa.scalar(level, chunks.type)), False).to_numpy(), bool)
    if series.implementation.is_polars():
        import polars as pl

        native = series.to_native()
        return np.asarray((native == pl.Series([level], dtype=native.dtype)).fill_null(False).to_numpy(), bool)
    return np.asarray((series == level).fill_null(False).to_numpy(), bool)


def _sort_of(value: Any) -> str:
    """Values of one sort can be compared without anything going wrong."""
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, Real | np.bool_) else "other"


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
