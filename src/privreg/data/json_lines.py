"""JSON lines: one object a line. There is no header, so the columns are those that the user names.

The keys of records are not public: one that only some of them have would tell of these. Each line is a record, read by
itself, and its cells are texts, as they would stand in a text file. A line that is no object, not UTF-8 or too long is
a record whose cells are all missing. A blank line is no record. No bytes of a line raise an error.
"""

import json
from collections.abc import Iterator, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from privreg.data.base import DataFile
from privreg.errors import SchemaError

_ROWS = 1 << 14  # records given at a time
_LONGEST = 1 << 28  # bytes of a line
_TRUTHS = {True: "true", False: "false"}

# Numbers stay the text that they are: no digit of them is lost, and none of them is too long. NaN and infinity, which
# are not JSON, are missing.
_decode = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=lambda _: None).raw_decode


class JsonLines(DataFile):
    """One JSON object a line, with the columns that were named."""

    path: Path

    def __init__(self, path: Path, columns: Sequence[str] = ()) -> None:
        if not columns:
            raise SchemaError(f"{path} has no header; name its columns with --features (columns= in Python)")
        super().__init__(path, dict.fromkeys(columns, "text"))

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        del identifiers  # text all the same
        return pa.schema([(name, pa.large_string()) for name in columns]).empty_table()

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        del identifiers
        with self.path.open("rb") as file:
            records = map(_record, _lines(file))
            while rows := list(islice(records, _ROWS)):
                yield pa.table({name: _texts([row.get(name) for row in rows]) for name in columns})


def _lines(file: BufferedReader) -> Iterator[bytes]:
    """The lines that are not blank; nothing instead of one that is too long."""
    if file.read(3) != b"\xef\xbb\xbf":
        file.seek(0)
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST and not line.endswith(b"\n"):
            while not line.endswith(b"\n") and (line := file.readline(_LONGEST)):
                pass
            yield b"-"  # no object
        elif not line.isspace():
            yield line


def _record(line: bytes) -> dict[str, Any]:
    """The object in a line; an empty one if there is none."""
    try:
        text = line.decode().strip(" \t\r\n")
        found, end = _decode(text)
    except (ValueError, RecursionError, MemoryError):
        return {}
    return found if type(found) is dict and end == len(text) else {}


def _texts(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells, pa.large_string())  # if all are text, or missing: the same, but fast
    except (pa.ArrowException, ValueError, TypeError):
        return pa.array(map(_text, cells), pa.large_string())


def _text(cell: Any) -> str | None:
    """A cell as text; None if it is missing, a list, an object, or half of a pair of surrogates."""
    if type(cell) is bool:
        return _TRUTHS[cell]
    return cell if type(cell) is str and _whole(cell) else None


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
