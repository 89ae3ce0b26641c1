"""Lines of delimited text cut into cells. A line is a record, whatever quotes it has: no record reaches into another.

A cell that begins with a quote goes on to the next single quote in its line, and a doubled quote in it is one; what
follows up to the separator belongs to it too. A line with a quote that is not closed, with another number of cells
than asked for, or of `longest` bytes or more is odd: its cells are null. Empty lines, and lines of nothing but blanks
that have not the right number of cells, are no records. So ``\\r\\n`` may be taken for two ends of lines.
"""

import numpy as np
from numpy.typing import NDArray

from privreg._types import Int32, Int64
from privreg.kernels.bytes16 import SIZE, copy16, ends16
from privreg.kernels.cache import kernel
from privreg.kernels.cells import is_blank, is_utf8
from privreg.kernels.numbers import Bytes

_QUOTE = 34
_NULL = -1  # as the end of a cell


@kernel
def last_end(block: Bytes, first: int) -> int:
    """The place after the last end of a line at or after `first`; 0 if there is none."""
    for i in range(block.size - 1, first - 1, -1):
        if _is_end(block[i]):
            return i + 1
    return 0


@kernel
def most_lines(block: Bytes) -> int:
    """A number of lines, empty ones left out, that a block has not more of."""
    ends, before = 1, True
    for byte in block:
        end = (byte == 10) | (byte == 13)
        ends += end and not before
        before = end
    return ends


@kernel
def find_cells(block: Bytes, separator: int, slots: Int64, longest: int, places: NDArray[np.int32]) -> int:
    """Write where the cells of each record begin and end; returns the number of records.

    `slots` has a number for each cell of a line: its place in a row of `places`, or -1 if nobody asked for it.
    """
    row = i = 0
    while i < block.size:
        if _is_end(block[i]):
            i += 1
            continue
        first, cells, closed = i, 0, True
        while True:
            begin, end, i, closed = _next_cell(block, i, separator)
            if cells < slots.size and slots[cells] >= 0:
                places[row, slots[cells], 0] = begin
                places[row, slots[cells], 1] = end
            cells += 1
            if i == block.size or block[i] != separator:
                break
            i += 1
        if not closed or cells != slots.size or i - first >= longest:
            if i - first < longest and _all_blank(block, first, i):
                continue
            places[row, :, 1] = _NULL
        row += 1
    return row


@kernel
def gather(block: Bytes, places: NDArray[np.int32]) -> tuple[Int32, Bytes, int, Bytes]:
    """The cells of a column one after another: offsets, bytes, how many are null, and the bits of those that are not.

    A cell that is not UTF-8 is null.
    """
    offsets, data, high = _gathered(block, places)
    if high and _drop_other_than_utf8(data, offsets, places):
        offsets, data, _ = _gathered(block, places)
    valid, nulls = np.full((len(places) + 7) // 8, 255, np.uint8), 0
    for i in range(len(places)):
        if places[i, 1] == _NULL:
            valid[i >> 3] &= ~np.uint8(1 << (i & 7))
            nulls += 1
    return offsets, data, nulls, valid


@kernel(forceinline=True)
def _next_cell(block: Bytes, i: int, separator: int) -> tuple[int, int, int, bool]:
    """Where a cell begins and ends, where what follows it does, and whether its quotes, if any, are closed.

    Quotes around a cell are left out; but if there are more in it, or something after them, all of it is meant, and
    its beginning b is written as -1 - b.
    """
    if i == block.size or block[i] != _QUOTE:
        end = _cell_end(block, i, separator)
        return i, end, end, True
    closing = _closing(block, i)
    closed = closing < block.size and block[closing] == _QUOTE
    after = _cell_end(block, closing + closed, separator)
    if after == closing + 1 and _cell_end(block, i + 1, _QUOTE) == closing:
        return i + 1, closing, after, closed
    return -1 - i, after, after, closed


@kernel
def _gathered(block: Bytes, places: NDArray[np.int32]) -> tuple[Int32, Bytes, bool]:
    """Offsets and bytes of a column, and whether any byte is not ASCII."""
    rows = len(places)
    offsets, size = np.empty(rows + 1, np.int32), 0
    for i in range(rows):
        offsets[i] = size
        begin, end = places[i, 0], places[i, 1]
        if end != _NULL:
            size += end - begin if begin >= 0 else _unquoted_size(block, -1 - begin, end)
    offsets[rows] = size
    data = np.empty(size, np.uint8)
    for i in range(rows):
        begin, end = places[i, 0], places[i, 1]
        if end != _NULL and begin >= 0:
            _copy(block, begin, end, data, offsets[i])
        elif end != _NULL:
            _unquote(block, -1 - begin, end, data, offsets[i])
    high = np.uint8(0)
    for byte in data:
        high |= byte
    return offsets, data, bool(high >= 128)


@kernel
def _drop_other_than_utf8(data: Bytes, offsets: Int32, places: NDArray[np.int32]) -> bool:
    """Make null what is not UTF-8; returns whether anything is."""
    dropped = False
    for i in range(len(places)):
        if not is_utf8(data, offsets[i], offsets[i + 1]):
            places[i, 1] = _NULL
            dropped = True
    return dropped


@kernel
def _copy(block: Bytes, begin: int, end: int, data: Bytes, at: int) -> None:
    """Copy some bytes. What comes after them in `data` may be overwritten."""
    i = np.int64(begin)
    shift = at - i
    while i < end and i + SIZE <= block.size and i + shift + SIZE <= data.size:
        copy16(data, i + shift, block, i)
        i += SIZE
    while i < end:
        data[i + shift] = block[i]
        i += 1


@kernel
def _cell_end(block: Bytes, i: int, separator: int) -> int:
    """The place of the next separator or end of a line, else the end of the block."""
    while i + SIZE <= block.size:
        step = ends16(block, i, separator)
        i += step
        if step < SIZE:
            return i
    while i < block.size and block[i] != separator and not _is_end(block[i]):
        i += 1
    return i


@kernel
def _is_end(byte: int) -> bool:
    return byte == 10 or byte == 13


@kernel
def _closing(block: Bytes, i: int) -> int:
    """The place of the quote that closes the one here; else of the end of the line."""
    while True:
        i = _cell_end(block, i + 1, _QUOTE)
        if i + 1 >= block.size or block[i] != _QUOTE or block[i + 1] != _QUOTE:
            return i
        i += 1


@kernel
def _all_blank(block: Bytes, begin: int, end: int) -> bool:
    for i in range(begin, end):  # noqa: SIM110
        if not is_blank(block[i]):
            return False
    return True


@kernel
def _unquoted_size(block: Bytes, begin: int, end: int) -> int:
    closing, doubled, i = _closing(block, begin), 0, begin + 1
    while i < closing:
        pair = block[i] == _QUOTE
        doubled += pair
        i += 1 + pair
    return end - begin - 2 - doubled


@kernel
def _unquote(block: Bytes, begin: int, end: int, data: Bytes, at: int) -> None:
    closing, i = _closing(block, begin), begin + 1
    while i < end:
        if i == closing:
            i += 1
            continue
        data[at] = block[i]
        at += 1
        i += 1 + (i < closing and block[i] == _QUOTE)
