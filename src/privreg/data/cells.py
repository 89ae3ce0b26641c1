"""Columns of text as arrow has them, whatever they come from; each cell is read by a fixed rule that looks at it alone.

- Blanks (ASCII) around a cell are no part of it. Its class is one of nine, as kernels/cells.py tells.
- A number is what kernels/numbers.py tells (``-1``, ``+.5``, ``2e-3``, ``$1,234.50``, ``1.234,50 €``, ``12 %``); its
  value is the nearest float64, and beyond its range it is missing. That of 12 % is 12.
- Text is missing if it is one of the words for it (`MISSING` of text_header.py), or if it is not UTF-8.

No value raises or warns, whatever bytes a cell has, and nothing depends on how the column is cut into chunks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privreg._types import Float64, Int64
from privreg.data.arrow_types import is_text
from privreg.data.text_header import BLANKS
from privreg.data.text_header import MISSING as _WORDS
from privreg.data.written_numbers import read_number
from privreg.kernels import cells as kernels
from privreg.kernels.classes import (
    CLASSES,
    COMMA,
    DATE,
    EITHER_COMMA,
    EITHER_POINT,
    MISSING,
    POINT,
    TEXT,
    TRUTH,
    WHOLE,
)
from privreg.kernels.numbers import ODD, PLAIN

__all__ = [
    "CLASSES",
    "COMMA",
    "DATE",
    "EITHER_COMMA",
    "EITHER_POINT",
    "MISSING",
    "POINT",
    "TEXT",
    "TRUTH",
    "WHOLE",
    "is_text",
]

_MISSING = np.array([kernels.packed(word) for word in _WORDS], np.int64)


def classes(cells: pa.Array | pa.ChunkedArray) -> NDArray[np.uint8]:
    """The class of each cell."""

    def work(chunk: pa.Array, out: Any) -> None:
        kernels.classes(_buffers(chunk), _MISSING, out)

    return _values(cells, work, np.uint8, MISSING)


def count_classes(cells: pa.Array | pa.ChunkedArray) -> Int64:
    """How many cells are of each class."""
    total = np.zeros(CLASSES, np.int64)
    for chunk in _chunks(cells):
        if pa.types.is_dictionary(chunk.type):
            total += np.bincount(classes(chunk), minlength=CLASSES)
        else:
            total += kernels.count_classes(_buffers(chunk), _MISSING)
    return total


def as_numbers(cells: pa.Array | pa.ChunkedArray, mark: str) -> Float64:
    """The numbers with this decimal mark, a point or a comma; NaN where a cell is none, or beyond the range."""

    def work(chunk: pa.Array, out: Any) -> None:
        how = np.empty(out.size, np.uint8)
        blank = kernels.numbers(_buffers(chunk), ord(mark), out, how)
        for kind, read in ((PLAIN, _plain_numbers), (ODD, _odd_numbers)):
            if (which := how == kind).any():
                texts = chunk.filter(pa.array(which))
                out[which] = read(pc.ascii_trim(texts, BLANKS) if blank else texts, mark)

    return _values(cells, work, np.float64, np.nan)


def as_days(cells: pa.Array | pa.ChunkedArray) -> Float64:
    """Days since 1970-01-01, with fractions: in UTC if a cell has a zone, else as written; NaN where it is no date."""

    def work(chunk: pa.Array, out: Any) -> None:
        kernels.days(_buffers(chunk), out)

    return _values(cells, work, np.float64, np.nan)


def as_truths(cells: pa.Array | pa.ChunkedArray) -> NDArray[np.int8]:
    """1 for true and yes, 0 for false and no, -1 where a cell is none of them."""

    def work(chunk: pa.Array, out: Any) -> None:
        kernels.truths(_buffers(chunk), out)

    return _values(cells, work, np.int8, -1)


def as_texts(cells: pa.Array | pa.ChunkedArray, levels: Sequence[str] = ()) -> pa.DictionaryArray:
    """The cells without blanks around them and in Unicode's normal form C; null where there is no text, or not UTF-8.

    A word for a missing value that is one of the levels is text.
    The values of the dictionary differ from each other, and none is null or without a cell. Their order is not defined.
    """
    places, values = _distinct(_chunks(cells))
    usable = np.empty(len(values), np.bool_)
    words = [word for word in _WORDS if word not in {level.lower() for level in levels}]
    missing = np.array([kernels.packed(word) for word in words], np.int64) if levels else _MISSING
    blank, foreign = kernels.usable_texts(_buffers(values), missing, usable)
    if not usable.all():
        values = pc.if_else(pa.array(usable), values, pa.scalar(None, values.type))
    if blank:
        values = pc.ascii_trim(values, BLANKS)
    if foreign:
        values = pc.utf8_normalize(values, "NFC")
    if blank or foreign or not usable.all():
        merged = values.dictionary_encode()
        places, values = merged.indices.take(places), merged.dictionary
    return pa.DictionaryArray.from_arrays(places, values)


def bare_texts(texts: pa.Array) -> pa.Array:
    """Texts as `as_texts` gives them, one by one: without blanks around them and in normal form C."""
    return pc.utf8_normalize(pc.ascii_trim(texts, BLANKS), "NFC")


def _plain_numbers(texts: pa.Array, mark: str) -> Float64:
    """Numbers that arrow surely reads like Python; about "+" and the ends of the range its versions differ."""
    pointed = texts if mark == "." else pc.replace_substring(texts, mark, ".")
    return pc.cast(pointed, pa.float64()).to_numpy(zero_copy_only=False)


def _odd_numbers(texts: pa.Array, mark: str) -> list[float]:
    found = [read_number(text, mark) for text in texts.to_pylist()]
    return [np.nan if value is None else value for value in found]


def _values(cells: pa.Array | pa.ChunkedArray, work: Callable[[pa.Array, Any], None], kind: Any, absent: float) -> Any:
    """What `work` writes for each chunk, in one array. Of a dictionary, the values are looked at, and not the cells."""
    out = np.empty(len(cells), kind)
    begin, known, found = 0, None, out
    for chunk in _chunks(cells):
        part = out[begin : begin + len(chunk)]
        begin += len(chunk)
        if not pa.types.is_dictionary(chunk.type):
            work(chunk, part)
            continue
        if known is None or not chunk.dictionary.equals(known):
            known = chunk.dictionary
            found = np.append(_values(known, work, kind, absent), np.array(absent, kind))
        part[:] = found[_places(chunk)]
    return out


def _places(chunk: pa.DictionaryArray) -> Int64:
    """The places of cells in their dictionary, -1 for those that are null."""
    return pc.fill_null(pc.cast(chunk.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)


def _distinct(chunks: list[pa.Array]) -> tuple[pa.Array, pa.Array]:
    """For each cell, its place among the values that occur, bytes as they are; and these values."""
    if chunks and pa.types.is_dictionary(chunks[0].type):
        return _distinct_entries(chunks)
    encoded = pa.chunked_array(map(_large, chunks), pa.large_string()).dictionary_encode()
    if not encoded.num_chunks:
        return pa.array([], pa.int32()), pa.array([], pa.large_string())
    return pa.concat_arrays([chunk.indices for chunk in encoded.chunks]), encoded.chunk(0).dictionary


def _distinct_entries(chunks: list[pa.DictionaryArray]) -> tuple[pa.Array, pa.Array]:
    """The same for columns that have dictionaries, perhaps one for each chunk, with values that no cell has."""
    dictionaries: list[pa.Array] = []
    entries, first = [], 0
    for chunk in chunks:
        if not dictionaries or not chunk.dictionary.equals(dictionaries[-1]):
            first += len(dictionaries[-1]) if dictionaries else 0
            dictionaries.append(chunk.dictionary)
        entries.append(pc.add(pc.cast(chunk.indices, pa.int64()), first))
    places, values = _distinct([part for dictionary in dictionaries for part in _chunks(dictionary)])
    places = places.take(pa.concat_arrays(entries))
    used = np.zeros(len(values), np.bool_)
    used[places.drop_null().to_numpy()] = True
    shifted = pa.array(np.cumsum(used, dtype=np.int32) - np.int32(1), pa.int32())
    return shifted.take(places), values.filter(pa.array(used))


def _chunks(cells: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    """The chunks, in types whose buffers the kernels know, or dictionaries."""
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    return [_large(chunk) if str(chunk.type) == "string_view" else chunk for chunk in chunks]


def long_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of text in a type that all of arrow's functions know."""
    return (
        pa.chunked_array(map(_large, column.chunks), pa.large_string()) if hasattr(column, "chunks") else _large(column)
    )


def _large(chunk: pa.Array) -> pa.Array:
    """Text with long offsets. By way of bytes: nobody looks whether they are UTF-8."""
    return chunk if pa.types.is_large_string(chunk.type) else pc.cast(chunk, pa.large_binary()).view(pa.large_string())


def _buffers(chunk: pa.Array) -> kernels.Cells:
    """A chunk of text for the kernels."""
    valid, offsets, data = chunk.buffers()
    integer = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    bounds = np.zeros(1, integer)
    if len(chunk):  # an empty one may be without buffers
        bounds = np.frombuffer(offsets, integer, len(chunk) + 1, chunk.offset * bounds.itemsize)
    nothing = np.empty(0, np.uint8)
    return kernels.Cells(
        _read_only(bounds),
        _read_only(np.frombuffer(data, np.uint8) if data is not None and data.size else nothing),
        _read_only(np.frombuffer(valid, np.uint8) if valid is not None and chunk.null_count else nothing),
        chunk.offset,
    )


def _read_only(array: Any) -> Any:
    """Kernels would be compiled once more for arrays that can be written to."""
    array.flags.writeable = False
    return array


def convert(array: pa.Array, identifier: bool, cast: bool) -> pa.Array:
    """A column of a file without dictionary and without text that is not UTF-8; perhaps all numbers as float64."""
    if pa.types.is_dictionary(array.type):
        if str(array.type.value_type) == "string_view":  # which arrow cannot decode
            array = pa.DictionaryArray.from_arrays(array.indices, _large(array.dictionary), safe=False)
        array = array.dictionary_decode()
    if is_text(array.type):
        array = valid_text(array)
    if identifier:
        return _identifier(array)
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type) or cast:
        array = pc.cast(array, pa.float64(), safe=False)
    return array


def valid_text(array: pa.Array) -> pa.Array:
    raw = pc.cast(array, pa.large_binary())
    try:
        return pc.cast(raw, pa.large_string())  # only if every cell is UTF-8
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _utf8(cell) for cell in raw.to_pylist()], pa.large_string())


def _utf8(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _identifier(array: pa.Array) -> pa.Array:
    """Decimals are not rounded; points in time are integers, since not all can be made into Python objects."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return pc.cast(array, pa.string())
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return stored_integers(array)
    return array


def stored_integers(array: pa.Array) -> pa.Array:
    """The numbers of days, seconds or parts of seconds that points in time are stored as."""
    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
