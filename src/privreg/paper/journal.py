"""An append-only file of JSON lines: what is in it survives whatever happens to the process that wrote it."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from privreg.errors import DataError

Row = dict[str, Any]

_BEYOND = 2**30  # Windows lets nobody read a locked byte: this one lies behind every journal, as SQLite's does


def read(file: Path) -> list[Row]:
    """The rows of a journal, in the order written. A last line that was cut off is left out."""
    return _parse(file.read_bytes(), file.name)[0]


class Journal:
    """A journal that this process alone may write to."""

    def __init__(self, stream: BinaryIO, rows: list[Row]) -> None:
        self.rows = rows
        self._stream = stream

    def append(self, row: Row) -> None:
        """Add a row. It is on the disk when this returns."""
        self._stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.rows.append(row)


@contextmanager
def writing(file: Path) -> Iterator[Journal]:
    """Open a journal to go on with it, or begin one."""
    with file.open("a+b") as stream:
        try:
            _lock(stream)
        except (BlockingIOError, PermissionError):
            raise DataError(f"another run is writing to {file}") from None
        stream.seek(0)
        rows, length = _parse(stream.read(), file.name)
        stream.truncate(length)
        yield Journal(stream, rows)


def _lock(stream: BinaryIO) -> None:
    """Lock a file until it is closed, or its process ends, however that happens. OSError if another holds the lock."""
    if sys.platform == "win32":
        import msvcrt

        stream.seek(_BEYOND)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _parse(text: bytes, name: str) -> tuple[list[Row], int]:
    """The rows, and how many bytes of the text they take."""
    *lines, rest = text.split(b"\n")
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise DataError(f"line {number} of {name} is damaged; without it, its trial will be run again")
        rows.append(row)
    return rows, len(text) - len(rest)
