"""A copy of a ledger's file, written whole or not at all.

SQLite has to write the copy itself, under a name: a file that is copied by other means while somebody writes to it may
hold half of an entry. So the copy grows under a temporary name beside its place, and takes it when it is complete.
"""

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from time import time_ns

from privreg.errors import LedgerError

_LEFTOVERS = ("-journal", "-wal")  # of a database that was there: SQLite would apply them to the copy


def check_place(source: Path, path: Path, force: bool) -> None:
    """Raise if a copy at `path` would destroy something, or could not be written."""
    if path.exists() and os.path.samefile(source, path):
        raise LedgerError(f"{path} is the ledger itself; choose another place for the copy")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not _place(path).parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(path))
    if path.exists() and not path.is_file():
        raise LedgerError(f"{path} is not a regular file, so it cannot hold a ledger")
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, "the file already exists; --force (force=True) replaces it", str(path))
    for end in _LEFTOVERS:
        left = Path(f"{_place(path)}{end}")
        if left.exists():
            raise LedgerError(
                f"{left} belongs to a ledger that was in use at {path} and would damage a copy there; choose another "
                "place for the copy"
            )


def write_copy(file: sqlite3.Connection, path: Path, mode: int, check: Callable[[sqlite3.Connection], None]) -> None:
    """Copy an open ledger, whose file has this mode. `check` raises if the copy is damaged; then nothing is left."""
    place = _place(path)
    temporary = place.with_name(f".privreg-{os.getpid()}-{time_ns()}.tmp")
    try:
        # Who may not read the ledger may not read its copy, either, while it is written or later.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, (mode & 0o777) | 0o600))
        with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous = EXTRA")
            file.backup(copy)
            if copy.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise sqlite3.DatabaseError("its integrity check fails")
            check(copy)
        _to_disk(temporary)
        os.replace(temporary, place)
    except sqlite3.Error as error:
        raise LedgerError(f"no copy of the ledger was made: {error}") from error
    finally:
        for left in (temporary, *(Path(f"{temporary}{end}") for end in _LEFTOVERS)):
            with suppress(OSError):
                left.unlink()
    with suppress(OSError):  # not every system can do that; the file is complete either way
        _to_disk(place.parent)


def _place(path: Path) -> Path:
    """A link stays, and what it points to is replaced."""
    return Path(os.path.realpath(path))


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
