"""Numbers as people write them, in plain Python: the same rules as kernels/numbers.py, for a cell at a time."""

import math
import re
from functools import cache

_SIGN, _CURRENCY, _SPACE = "[+\u2212-]", "[$€£¥₹]", "[ \u00a0\u202f]"
_APART = "'\u2019 \u00a0\u202f"  # separate thousands, whatever the decimal mark is
# Without giving digits back: a long cell that is nearly a number would take time that grows with its square.
_PLAIN = r"(?:[0-9]++{mark}?[0-9]*+|{mark}[0-9]++)(?:[eE][+-]?[0-9]++)?"
_GROUPED = "[1-9][0-9]{{0,2}}(?P<apart>[{other}{apart}])[0-9]{{3}}(?:(?P=apart)[0-9]{{3}})*+(?:{mark}[0-9]++)?"
_WRITTEN = (
    f"(?P<sign>{_SIGN})?(?:(?P<before>{_CURRENCY}){_SPACE}?(?P<second>{_SIGN})?)?"
    f"(?P<number>{_PLAIN}|{_GROUPED})"
    f"(?:{_SPACE}?(?P<after>{_CURRENCY}|%))?"
)  # fmt: skip


def read_number(cell: str, mark: str = ".") -> float | None:
    """A finite number, written with this decimal mark; None if the cell is none."""
    value = _value(cell, mark)
    return value if value is not None and math.isfinite(value) else None


def is_number(cell: str, marks: str = ".,") -> bool:
    """Whether this is a number with one of these decimal marks, however large."""
    return any(_value(cell, mark) is not None for mark in marks)


def _value(cell: str, mark: str) -> float | None:
    enclosed = len(cell) > 2 and cell[0] == "(" and cell[-1] == ")"
    found = _pattern(mark).fullmatch(cell[1:-1] if enclosed else cell)
    if found is None:
        return None
    sign, second, before, after = found["sign"], found["second"], found["before"], found["after"]
    if enclosed + bool(sign) + bool(second) > 1 or (before and after):
        return None
    digits = found["number"]
    if found["apart"]:
        digits = digits.replace(found["apart"], "")
    value = float(digits.replace(mark, "."))
    return -value if enclosed or (sign or second or "+") != "+" else value


@cache
def _pattern(mark: str) -> re.Pattern[str]:
    other = "," if mark == "." else "."
    return re.compile(_WRITTEN.format(mark=re.escape(mark), other=other, apart=_APART))
