"""Numbers in bytes of text, as programs and as people write them: their class and their value.

A plain number has an optional sign, digits with no decimal mark, or with one before, among or after them, and an
optional exponent. People also write

- thousands in groups of three digits (`1,234.50`, `1.234,50`, `1'234.50`, `1 234,50`), with one kind of separator: a
  comma or a point, whichever is not the decimal mark, an apostrophe or a space (also U+2019, U+00A0, U+202F);
- a currency sign (`$ € £ ¥ ₹`) before or after it, or a per cent sign after it, perhaps with a space in between;
- a minus as U+2212, or parentheses instead of it.

What a cell is worth may depend on the decimal mark of its column, and its class tells how:

- `WHOLE`: it does not;
- `POINT`, `COMMA`: it is a number with this decimal mark only;
- `EITHER_POINT`, `EITHER_COMMA`: one to three digits, a point (a comma), three digits, and no leading zero. With this
  decimal mark it has three decimals, with the other one it is thousands.

The same in plain Python: data/written_numbers.py.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg.kernels.bytes16 import SIZE, digits16
from privreg.kernels.cache import kernel
from privreg.kernels.classes import COMMA, EITHER_COMMA, EITHER_POINT, POINT, TEXT, WHOLE

Bytes = NDArray[np.uint8]

EASY, PLAIN, ODD = range(3)  # read here; too long to be exact here; written in an unusual way, too

_QUICK = 18  # digits that surely fit into 64 bits
_EXACT = 2**53  # whole numbers up to here, and powers of ten up to 10^22, are float64s: one operation rounds once
_POWERS = np.array([10.0**i for i in range(23)])
_SHORT = 64  # bytes of a plain number
_HUGE = 100_000  # an exponent beyond any range


@kernel
def is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@kernel(forceinline=True)
def may_be_number(byte: int) -> bool:
    """Whether a number may begin so: with a digit, a sign, a mark, a parenthesis, or a sign that is not ASCII."""
    return byte <= 57 or byte == 0xE2 or byte == 0xC2


@kernel(forceinline=True)
def plain_class(data: Bytes, i: int, end: int) -> int:
    """The class of a plain number; TEXT if this is none."""
    found, decimals = WHOLE, 0
    if data[i] == 43 or data[i] == 45:  # + -
        i += 1
    first = i
    i = _digits_end(data, i, end)
    before = i - first
    if i < end and (data[i] == 46 or data[i] == 44):  # . ,
        found = POINT if data[i] == 46 else COMMA
        after = _digits_end(data, i + 1, end)
        decimals, i = after - i - 1, after
    if before + decimals == 0:
        return TEXT
    if i == end:
        if decimals == 3 and 1 <= before <= 3 and data[first] != 48:
            return EITHER_POINT if found == POINT else EITHER_COMMA
        return found
    return found if _is_exponent(data, i, end) else TEXT


@kernel(forceinline=True)
def _is_exponent(data: Bytes, i: int, end: int) -> bool:
    if data[i] != 69 and data[i] != 101:  # E e
        return False
    i += 1
    if i < end and (data[i] == 43 or data[i] == 45):
        i += 1
    return i < end and _digits_end(data, i, end) == end


@kernel
def written_class(data: Bytes, begin: int, end: int) -> int:
    """The class of a number that is not plain; TEXT if this is none."""
    begin, end, _ = _undecorated(data, begin, end)
    return _unsigned_class(data, begin, end)


@kernel
def value(data: Bytes, begin: int, end: int, mark: int) -> tuple[float, int]:
    """The value of a cell that is not empty, NaN if it is no number with this mark; and how it is to be read."""
    found = plain_class(data, begin, end)
    if found == TEXT or found == (EITHER_COMMA if mark == 46 else EITHER_POINT):
        return _written_value(data, begin, end, mark) if may_be_number(data[begin]) else (np.nan, EASY)
    signed = data[begin] == 43 or data[begin] == 45
    number, how = _digits_value(data, begin + signed, end, mark, found, False)
    return (-number if data[begin] == 45 else number), (ODD if how == PLAIN and data[begin] == 43 else how)


@kernel
def _written_value(data: Bytes, begin: int, end: int, mark: int) -> tuple[float, int]:
    """The same of a number that is not plain, or is thousands."""
    begin, end, negative = _undecorated(data, begin, end)
    number, how = _digits_value(data, begin, end, mark, _unsigned_class(data, begin, end), True)
    return (-number if negative else number), (ODD if how == PLAIN else how)


@kernel(forceinline=True)
def _digits_value(data: Bytes, i: int, end: int, mark: int, found: int, apart: bool) -> tuple[float, int]:
    """The same of a number without signs, whose class is known, and whether something may separate its digits."""
    if found == TEXT or found == (COMMA if mark == 46 else POINT):
        return np.nan, EASY
    first, marked = i, False
    digits, scale, seen = np.int64(0), 0, 0  # the value is digits times ten to the scale
    while i < end and data[i] != 69 and data[i] != 101:
        if data[i] == mark:
            marked = True
        elif not apart or is_digit(data[i]):
            seen += seen > 0 or data[i] != 48
            digits = digits * 10 + (data[i] - 48) if seen <= _QUICK else digits
            scale -= marked
        i += 1
    places = 0  # of the exponent
    if i < end:
        i += 1
        negative = data[i] == 45
        i += negative or data[i] == 43
        places = end - i
        exponent: Any = 0
        while i < end:
            exponent = min(exponent * 10 + np.int64(data[i]) - 48, _HUGE)
            i += 1
        scale += -exponent if negative else exponent
    if seen <= _QUICK and (digits == 0 or (digits <= _EXACT and -22 <= scale <= 22)):
        number = np.float64(digits)
        if digits > 0:
            number = number * _POWERS[scale] if scale >= 0 else number / _POWERS[-scale]
        return number, EASY
    return np.nan, (PLAIN if places <= 2 and end - first < _SHORT else ODD)


@kernel
def _undecorated(data: Bytes, begin: int, end: int) -> tuple[int, int, bool]:
    """Where the digits begin and end, without signs, and whether a sign is a minus. Nothing if there are too many."""
    signed = end - begin > 2 and data[begin] == 40 and data[end - 1] == 41  # ( )
    negative = signed
    begin, end = begin + signed, end - signed
    size = _sign(data, begin, end)
    if size > 0:
        if signed:
            return end, end, False
        signed, negative = True, data[begin] != 43
        begin += size
    size = _currency(data, begin, end)
    if size > 0:
        begin += size
        begin += _space(data, begin, end)
        sign = _sign(data, begin, end)
        if sign > 0:
            if signed:
                return end, end, False
            negative = data[begin] != 43
            begin += sign
        return begin, end, negative
    size = 1 if end > begin and data[end - 1] == 37 else _ending_currency(data, begin, end)  # %
    if size > 0:
        end -= size
        end -= _ending_space(data, begin, end)
    return begin, end, negative


@kernel
def _unsigned_class(data: Bytes, begin: int, end: int) -> int:
    if begin >= end or not (is_digit(data[begin]) or data[begin] == 46 or data[begin] == 44):
        return TEXT
    found = plain_class(data, begin, end)
    return found if found != TEXT else _grouped_class(data, begin, end)


@kernel
def _grouped_class(data: Bytes, i: int, end: int) -> int:
    """The class of digits with thousands in groups; those with one separator and no decimals are plain, too."""
    first = _digits_end(data, i, end)
    if not 1 <= first - i <= 3 or data[i] == 48 or first == end:
        return TEXT
    i = first
    size = 1 if data[i] == 44 or data[i] == 46 or data[i] == 39 else _space(data, i, end)  # , . '
    if size == 0 and end - i > 3 and data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0x99:
        size = 3
    if size == 0:
        return TEXT
    groups = 0
    while end - i >= size + 3 and _same(data, first, i, size):
        if _digits_end(data, i + size, end) != i + size + 3:
            return TEXT
        i += size + 3
        groups += 1
    if groups == 0:
        return TEXT
    own = POINT if data[first] == 44 else COMMA if data[first] == 46 else WHOLE
    if i == end:
        return own
    found = POINT if data[i] == 46 else COMMA if data[i] == 44 else TEXT
    if i + 1 == end or _digits_end(data, i + 1, end) != end or (own != WHOLE and own != found):
        return TEXT
    return found


@kernel
def _same(data: Bytes, i: int, j: int, size: int) -> bool:
    for k in range(size):  # noqa: SIM110
        if data[i + k] != data[j + k]:
            return False
    return True


@kernel
def _sign(data: Bytes, i: int, end: int) -> int:
    """How many bytes a sign has here: plus, minus, or U+2212; 0 if there is none."""
    if i < end and (data[i] == 43 or data[i] == 45):
        return 1
    return 3 * (end - i > 3 and data[i] == 0xE2 and data[i + 1] == 0x88 and data[i + 2] == 0x92)


@kernel
def _currency(data: Bytes, i: int, end: int) -> int:
    """How many bytes a currency sign has here."""
    if i < end and data[i] == 36:
        return 1
    if end - i >= 2 and data[i] == 0xC2 and (data[i + 1] == 0xA3 or data[i + 1] == 0xA5):
        return 2
    return 3 * (end - i >= 3 and data[i] == 0xE2 and data[i + 1] == 0x82 and data[i + 2] in (0xAC, 0xB9))


@kernel
def _space(data: Bytes, i: int, end: int) -> int:
    """How many bytes a space has here, an ordinary one or one that breaks no line."""
    if i < end and data[i] == 32:
        return 1
    if end - i >= 2 and data[i] == 0xC2 and data[i + 1] == 0xA0:
        return 2
    return 3 * (end - i >= 3 and data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0xAF)


@kernel
def _ending_currency(data: Bytes, begin: int, end: int) -> int:
    for size in range(1, 4):
        if end - begin > size and _currency(data, end - size, end) == size:
            return size
    return 0


@kernel
def _ending_space(data: Bytes, begin: int, end: int) -> int:
    for size in range(1, 4):
        if end - begin > size and _space(data, end - size, end) == size:
            return size
    return 0


@kernel(forceinline=True)
def _digits_end(data: Bytes, i: int, end: int) -> int:
    """The place of the first byte from here on that is not a digit."""
    while i < end and i + SIZE <= data.size:
        step = digits16(data, i)
        i += step
        if step < SIZE:
            break
    if i + SIZE > data.size:
        while i < end and is_digit(data[i]):
            i += 1
    return min(i, end)
