"""Cells of a workbook at which the library that reads it fails as a whole, made harmless before it sees them.

It knows some errors only (not `#SPILL!`), and panics, in words on stderr, at some numbers that are shown as dates. So
an error becomes #N/A, which is missing all the same, and a number that no date has loses its format. Each cell is
looked at alone. Only workbooks of XML (.xlsx, .xlsm) can be mended so.
"""

import re
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

_SHEET = re.compile(r"xl/worksheets/[^/]*\.xml", re.I)
_PIECE = 1 << 24  # bytes looked at together, or one row if that is longer
_VALUE = rb"[^>]*>(?:\s|<(?:\w+:)?f\b[^>]*>(?:[^<]*</(?:\w+:)?f>)?)*<(?:\w+:)?v\b[^>]*>"  # what is before it
_ERROR = re.compile(rb"(\st=[\"']e[\"']" + _VALUE + rb")[^<]*")
# The last day that Excel shows, in the year 9999, has seven digits.
_HUGE = re.compile(
    rb"(<(?:\w+:)?c\s[^>]*?)\ss=[\"'][0-9]*[\"'](" + _VALUE + rb"\s*[-+]?(?:[0-9]{8}|[0-9.]+[eE]\+?[0-9]|(?i:inf|nan)))"
)


def mended(path: Path) -> BytesIO | None:
    """The workbook without such cells; None if it has none, or is of another kind."""
    try:
        with zipfile.ZipFile(path) as archive:
            sheets = [name for name in archive.namelist() if _SHEET.fullmatch(name)]
            if not any(_is_odd(archive, name) for name in sheets):
                return None
            return _rewritten(archive, set(sheets))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error):
        return None  # damaged, or protected: the library tells


def _is_odd(archive: zipfile.ZipFile, name: str) -> bool:
    with archive.open(name) as file:
        return any(_ERROR.search(piece) or _HUGE.search(piece) for piece in _pieces(file))


def _rewritten(archive: zipfile.ZipFile, sheets: set[str]) -> BytesIO:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name in dict.fromkeys(archive.namelist()):
            with archive.open(name) as file, out.open(name, "w", force_zip64=True) as sink:
                for piece in _pieces(file):
                    sink.write(_HUGE.sub(rb"\1\2", _ERROR.sub(rb"\1#N/A", piece)) if name in sheets else piece)
    made.seek(0)
    return made


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """All bytes, cut between rows."""
    begun = b""
    while more := file.read(_PIECE):
        begun += more
        if end := begun.rfind(b"row>") + 1:
            yield begun[: end + 3]
            begun = begun[end + 3 :]
    yield begun
