"""What the text of a cell stands for, found in the bytes of arrow's text columns: each cell alone decides.

A cell is what is left without the ASCII blanks around it. Its class is one of

- `MISSING`: null, or one of the words that a caller gives, in any ASCII case;
- `WHOLE`, `POINT`, `COMMA`, `EITHER_POINT`, `EITHER_COMMA`: a number, as numbers.py tells;
- `DATE`: ``YYYY-MM-DD``, perhaps with ``T`` or a space and ``HH:MM[:SS[.fff…]]``, then perhaps ``Z``, ``±HH``,
  ``±HHMM`` or ``±HH:MM``; only days that the calendar has;
- `TRUTH`: true, false, yes, no in any ASCII case;
- `TEXT`: everything else.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int64
from privreg.kernels.cache import kernel
from privreg.kernels.classes import CLASSES, DATE, MISSING, TEXT, TRUTH
from privreg.kernels.numbers import EASY, Bytes, is_digit, may_be_number, plain_class, value, written_class

_WORD = 7  # longest word: with its length it fills 8 bytes
_MONTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_BEFORE = np.cumsum(np.append(0, _MONTHS[:-1]))  # days of a common year before each month
_EPOCH = 719_162  # days from 0001-01-01 to 1970-01-01
_NO_ZONE = -(10**6)  # instead of a difference in seconds
_FRACTION = 15  # decimals of a second that are looked at
_POWERS = np.array([10.0**i for i in range(_FRACTION + 1)])


class Cells(NamedTuple):
    """The buffers of a column of text: cell i is data[offsets[i]:offsets[i + 1]], null if bit i + shift is 0."""

    offsets: NDArray[np.int32] | NDArray[np.int64]
    data: Bytes
    valid: Bytes  # empty if no cell is null
    shift: int


def packed(word: str) -> int:
    """A word as one number, as the kernels compare it."""
    text = word.lower().encode("ascii")
    if len(text) > _WORD:
        raise ValueError(f"no word of more than {_WORD} letters")
    return int.from_bytes(bytes([len(text)]) + text, "big")


_TRUE, _YES, _FALSE, _NO = map(packed, ("true", "yes", "false", "no"))


@kernel
def classes(cells: Cells, missing: Int64, out: Bytes) -> None:
    """Write the class of each cell. `missing` are the packed words for a missing value."""
    offsets, data, valid, shift = cells
    for i in range(offsets.size - 1):
        out[i] = MISSING
        if _is_there(valid, i + shift):
            out[i] = _class(data, offsets[i], offsets[i + 1], missing)


@kernel
def count_classes(cells: Cells, missing: Int64) -> Int64:
    """How many cells are of each class."""
    offsets, data, valid, shift = cells
    counts = np.zeros(CLASSES, np.int64)
    for i in range(offsets.size - 1):
        if _is_there(valid, i + shift):
            counts[_class(data, offsets[i], offsets[i + 1], missing)] += 1
        else:
            counts[MISSING] += 1
    return counts


@kernel
def numbers(cells: Cells, mark: int, values: Float64, how: Bytes) -> bool:
    """Write the numbers with this decimal mark (a byte), NaN elsewhere, and how they are to be read.

    Those that are not `EASY` are left to others, who round numbers of any length correctly. Returns whether any of
    these has blanks around it.
    """
    blank = False
    offsets, data, valid, shift = cells
    for i in range(offsets.size - 1):
        values[i], how[i] = np.nan, EASY
        if _is_there(valid, i + shift):
            begin, end = _bare(data, offsets[i], offsets[i + 1])
            if end > begin:
                values[i], how[i] = value(data, begin, end, mark)
                blank |= how[i] != EASY and end - begin < offsets[i + 1] - offsets[i]
    return blank


@kernel
def days(cells: Cells, out: Float64) -> None:
    """Write days since 1970-01-01 of each date, in UTC if it has a zone; NaN elsewhere."""
    offsets, data, valid, shift = cells
    for i in range(offsets.size - 1):
        out[i] = np.nan
        if _is_there(valid, i + shift):
            begin, end = _bare(data, offsets[i], offsets[i + 1])
            out[i] = _days(data, begin, end)


@kernel
def truths(cells: Cells, out: NDArray[np.int8]) -> None:
    """Write 1 for true and yes, 0 for false and no, -1 elsewhere."""
    offsets, data, valid, shift = cells
    for i in range(offsets.size - 1):
        out[i] = -1
        if _is_there(valid, i + shift):
            begin, end = _bare(data, offsets[i], offsets[i + 1])
            word = _packed(data, begin, end)
            if word in (_TRUE, _YES):
                out[i] = 1
            elif word in (_FALSE, _NO):
                out[i] = 0


@kernel
def usable_texts(cells: Cells, missing: Int64, usable: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Write whether a cell is text that is there and UTF-8. Returns whether any has blanks around it, or is foreign.

    Foreign is a character from U+0300 on: without one, text is in Unicode's normal form C.
    """
    offsets, data, valid, shift = cells
    blank = foreign = False
    for i in range(offsets.size - 1):
        usable[i] = False
        if not _is_there(valid, i + shift):
            continue
        begin, end = _bare(data, offsets[i], offsets[i + 1])
        usable[i] = not _is_word(_packed(data, begin, end), missing) and is_utf8(data, begin, end)
        blank |= end - begin < offsets[i + 1] - offsets[i]
        for j in range(begin, end):
            foreign |= data[j] >= 0xCC
    return blank, foreign


@kernel
def is_utf8(data: Bytes, begin: int, end: int) -> bool:
    """Whether bytes are UTF-8: no overlong form, no surrogate, nothing beyond U+10FFFF."""
    i = begin
    while i < end:
        first = data[i]
        i += 1
        if first < 0x80:
            continue
        low, high = 0x80, 0xBF  # of the second byte
        if 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            low = 0xA0 if first == 0xE0 else 0x80
            high = 0x9F if first == 0xED else 0xBF
        elif 0xF0 <= first <= 0xF4:
            more = 3
            low = 0x90 if first == 0xF0 else 0x80
            high = 0x8F if first == 0xF4 else 0xBF
        else:
            return False
        if i + more > end or not low <= data[i] <= high:
            return False
        for j in range(i + 1, i + more):
            if not 0x80 <= data[j] <= 0xBF:
                return False
        i += more
    return True


@kernel(forceinline=True)
def _is_there(valid: Bytes, bit: int) -> bool:
    return valid.size == 0 or (valid[bit >> 3] >> (bit & 7)) & 1 == 1


@kernel(forceinline=True)
def _bare(data: Bytes, first: int, last: int) -> tuple[Any, Any]:
    """Where a cell begins and ends without blanks."""
    begin, end = np.int64(first), np.int64(last)
    while begin < end and is_blank(data[begin]):
        begin += 1
    while begin < end and is_blank(data[end - 1]):
        end -= 1
    return begin, end


@kernel
def is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@kernel(forceinline=True)
def _class(data: Bytes, first: int, last: int, missing: Int64) -> int:
    begin, end = _bare(data, first, last)
    if begin < end and may_be_number(data[begin]):
        found = plain_class(data, begin, end)
        if found != TEXT:
            return found
        if not np.isnan(_days(data, begin, end)):
            return DATE
        found = written_class(data, begin, end)
        if found != TEXT:
            return found
    if end - begin <= _WORD:
        word = _packed(data, begin, end)
        if _is_word(word, missing):
            return MISSING
        if word in (_TRUE, _YES, _FALSE, _NO):
            return TRUTH
    return TEXT


@kernel
def _packed(data: Bytes, begin: int, end: int) -> int:
    """A short cell in lower case as one number; -1 for a long one."""
    if end - begin > _WORD:
        return -1
    word: Any = end - begin
    for i in range(begin, end):
        byte = np.int64(data[i])
        word = (word << 8) | (byte + 32 if 65 <= byte <= 90 else byte)
    return word


@kernel
def _is_word(word: int, words: Int64) -> bool:
    for known in words:  # noqa: SIM110
        if word == known:
            return True
    return False


@kernel
def _days(data: Bytes, i: int, end: int) -> float:
    """Days since 1970-01-01; NaN if this is no date."""
    if end - i < 10 or data[i + 4] != 45 or data[i + 7] != 45:
        return np.nan
    year, month, day = _digits(data, i, 4), _digits(data, i + 5, 2), _digits(data, i + 8, 2)
    if year < 1 or not 1 <= month <= 12:
        return np.nan
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTHS[month] + (leap and month == 2):
        return np.nan
    past = year - 1
    number = past * 365 + past // 4 - past // 100 + past // 400 + _BEFORE[month] + (leap and month > 2) + day - 1
    if end - i == 10:
        return float(number - _EPOCH)
    return number - _EPOCH + _time(data, i + 10, end) / 86400


@kernel
def _time(data: Bytes, i: int, end: int) -> float:
    """Seconds since midnight, in UTC if a zone is given; NaN if this is no time with what separates it from a day."""
    if end - i < 6 or (data[i] != 84 and data[i] != 32) or data[i + 3] != 58:  # T, a space; a colon
        return np.nan
    hour, minute, second, fraction = _digits(data, i + 1, 2), _digits(data, i + 4, 2), 0, 0.0
    i += 6
    if i < end and data[i] == 58:
        second = _digits(data, i + 1, 2) if end - i >= 3 else -1
        i += 3
        if i < end and data[i] == 46:
            i += 1
            parts: Any = 0
            first = i
            while i < end and is_digit(data[i]):
                if i - first < _FRACTION:
                    parts = parts * 10 + np.int64(data[i]) - 48
                i += 1
            if i == first:
                return np.nan
            fraction = parts / _POWERS[min(i - first, _FRACTION)]
    zone = _zone(data, i, end)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59) or zone == _NO_ZONE:
        return np.nan
    return hour * 3600 + minute * 60 + second - zone + fraction


@kernel
def _zone(data: Bytes, i: int, end: int) -> int:
    """What a zone is ahead of UTC in seconds: 0 if there is none."""
    size = end - i
    if size <= 0 or (size == 1 and data[i] == 90):  # Z
        return 0 if size >= 0 else _NO_ZONE
    if (data[i] != 43 and data[i] != 45) or not (size == 3 or size == 5 or (size == 6 and data[i + 3] == 58)):
        return _NO_ZONE
    hour, minute = _digits(data, i + 1, 2), 0 if size == 3 else _digits(data, end - 2, 2)
    if not (0 <= hour <= 23 and 0 <= minute <= 59):
        return _NO_ZONE
    seconds = hour * 3600 + minute * 60
    return -seconds if data[i] == 45 else seconds


@kernel
def _digits(data: Bytes, i: int, size: int) -> int:
    """So many digits as a number; -1 if one is none."""
    number: Any = 0
    for j in range(i, i + size):
        if not is_digit(data[j]):
            return -1
        number = number * 10 + np.int64(data[j]) - 48
    return number
