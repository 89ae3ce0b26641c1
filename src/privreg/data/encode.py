"""From raw cells to what a schema says of their column: numbers, or codes of levels. Each cell is read alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privreg._types import Float64
from privreg.data.cells import as_days, as_numbers, as_texts, as_truths, bare_texts
from privreg.data.raw import TEXT, Raw, level_text, texts_of
from privreg.data.schema import BOOLEAN, DATE, Column, Level

Codes = NDArray[np.int32]

_PIECE = 2**20  # cells of text looked at together: all of them may be different


def encoded(raw: Raw, column: Column, fill: bool) -> Any:
    """Codes of a category, numbers otherwise."""
    return read_codes(raw, column, fill) if column.has_levels else read_numbers(raw, column, fill)


def read_numbers(raw: Raw, column: Column, fill: bool) -> Float64:
    """The values of a number or date; NaN where one is missing, or what a missing one counts as."""
    values = numbers_in_raw(raw, column.mark, column.kind == DATE)
    if column.range is not None:
        values = np.clip(values, *column.range)
    if fill and column.centre is not None:
        values = np.where(np.isfinite(values), values, column.centre)
    return values


def numbers_in_raw(raw: Raw, mark: str = ".", days: bool = False) -> Float64:
    """Cells as numbers, or as days since 1970."""
    if raw.kind == TEXT:
        return as_days(raw.values) if days else as_numbers(raw.values, mark)
    if raw.kind == BOOLEAN:
        return np.where(raw.values < 0, np.nan, raw.values)
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes inf
        return np.asarray(raw.values, np.float64)


def read_codes(raw: Raw, column: Column, fill: bool) -> Codes:
    """Codes of levels, −1 where a record cannot be used.

    If the levels are compared with a reference, other values have a code of their own, or count as the reference; if
    each level has a feature, they are missing.
    """
    codes, missing = level_codes(raw, column.levels, column.found)
    reference = -1 if column.reference is None else column.reference
    codes = np.where(codes < 0, column.other_code if column.other else reference, codes)
    absent = column.missing_code if column.missing else reference
    return np.where(missing, absent if fill else -1, codes).astype(np.int32)


def level_codes(raw: Raw, levels: Sequence[Level], found: bool) -> tuple[Codes, NDArray[np.bool_]]:
    """The number of each cell's level, −1 for other values, and which cells are missing."""
    pieces = [raw.take(slice(a, a + _PIECE)) for a in range(0, max(len(raw), 1), _PIECE)]
    codes, missing = zip(*(_level_codes(piece, levels, found) for piece in pieces), strict=True)
    return np.concatenate(codes), np.concatenate(missing)


def _level_codes(raw: Raw, levels: Sequence[Level], found: bool) -> tuple[Codes, NDArray[np.bool_]]:
    if raw.kind != TEXT:
        if any(isinstance(level, str) for level in levels):
            return _level_codes(_spelled(raw), levels, found)
        return _matched(numbers_in_raw(raw), levels)
    if all(isinstance(level, bool) for level in levels) or (levels == ("no", "yes") and not found):
        truths = as_truths(raw.values)
        return _matched(np.where(truths < 0, np.nan, truths), [0.0, 1.0] if levels == ("no", "yes") else levels)
    if all(isinstance(level, int | float) for level in levels):
        return _matched(as_numbers(raw.values, "."), levels, missing=as_texts(raw.values))
    spelled = bare_texts(pa.array([level_text(level) for level in levels], pa.large_string()))
    texts = as_texts(raw.values, () if found else spelled.to_pylist())
    place = pc.index_in(texts.dictionary, spelled)
    known = np.append(pc.fill_null(place, -1).to_numpy(zero_copy_only=False).astype(np.int32), np.int32(-1))
    indices, missing = _indices(texts)
    return known[indices], missing


def _spelled(raw: Raw) -> Raw:
    """Numbers and booleans as text, as they would be in a column of objects."""
    values = numbers_in_raw(raw)
    different, place = np.unique(values, return_inverse=True)
    spelled = different.astype(np.object_)
    if raw.kind == BOOLEAN:
        spelled = np.array([None if np.isnan(value) else bool(value) for value in different], np.object_)
    return Raw(TEXT, pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), texts_of(spelled)))


def _matched(values: Float64, levels: Sequence[Any], missing: Any = None) -> tuple[Codes, NDArray[np.bool_]]:
    """Numbers compared with levels that are numbers. Text that is no number is another value, not a missing one."""
    codes = np.full(len(values), -1, np.int32)
    for code, level in enumerate(levels):
        codes[values == float(level)] = code
    return codes, ~np.isfinite(values) if missing is None else _indices(missing)[1]


def _indices(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The places in the dictionary, the last one for missing cells, and which these are."""
    missing = pc.is_null(texts.indices).to_numpy(zero_copy_only=False)
    indices = pc.fill_null(texts.indices, len(texts.dictionary)).to_numpy(zero_copy_only=False)
    return indices, missing


def tally(raw: Raw) -> tuple[Any, NDArray[np.int64]]:
    """The different values of some cells of text, and how often each occurs."""
    texts = as_texts((raw if raw.kind == TEXT else _spelled(raw)).values)
    indices, _ = _indices(texts)
    return texts.dictionary, np.bincount(indices, minlength=len(texts.dictionary) + 1)[:-1]
