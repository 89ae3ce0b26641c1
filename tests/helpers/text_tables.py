"""Text files with given rows, and what is read from them."""

import csv
import math
import re
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from privreg.data.files import open_file
from privreg.errors import SchemaError

slow_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


BLANKS = " \t\n\r\v\f"


LEVELS = ["north", "south", "east"]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path, **options) -> dict[str, list]:
    file = open_file(path)
    return file.read(list(file.columns), **options).to_pydict()


def rows_of(path: Path, rows, header=("a", "b"), delimiter=",") -> Path:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def message(function, *arguments) -> str:
    with pytest.raises(SchemaError) as caught:
        function(*arguments)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in str(error)
    return str(error)


def number(cell: str) -> float | None:
    """The documented rule, written once more: what Python's float takes, less its extras."""
    cell = cell.strip(BLANKS)
    if "_" in cell or not cell.isascii() or cell != cell.strip() or set(cell) - set(string.digits + "+-.eE"):
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


texts = st.text(max_size=12)


numberlike = st.text(alphabet="0123456789+-.eE _,xX\t", max_size=12)


floats = st.floats(allow_nan=True).map(str)


decimals = st.decimals(allow_nan=False, allow_infinity=False).map(str)


raw = st.binary(max_size=8).map(lambda b: b.decode("utf-8", "surrogateescape"))  # also what is not UTF-8


odd_numbers = [
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "inf",
    "nan",
    "infinity",
    "0x10",
    "1d5",
    "1_0",
    "+1",
    "+-1",
    "1.",
]


fixed = st.sampled_from(odd_numbers)


cells = st.one_of(texts, numberlike, floats, decimals, fixed, raw).map(lambda cell: re.sub(r"[\r\n]", "", cell))
