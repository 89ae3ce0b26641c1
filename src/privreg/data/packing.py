"""Compressed files, told by their first bytes: gzip, bzip2, xz and zstd, with any number of parts one after another.

What cannot be unpacked is damage of the file, not a value: it is one error, which says nothing else of the contents.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from privreg.errors import SchemaError

_DAMAGE = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)  # an error of the system, too, is an OSError


def _zstd(file: BinaryIO) -> Any:
    import pyarrow as pa  # Python itself knows no zstd before 3.14

    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


_PACKINGS: dict[bytes, tuple[str, Callable[[BinaryIO], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
}


def packing_of(start: bytes) -> str | None:
    """How a file that starts so is compressed; None if it is not."""
    return next((name for magic, (name, _) in _PACKINGS.items() if start.startswith(magic)), None)


class Unpacked:
    """The bytes of a file, unpacked if it is compressed, in order. Close it after use."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("rb")
        start = self._file.read(8)
        self._file.seek(0)
        opener = next((opener for magic, (_, opener) in _PACKINGS.items() if start.startswith(magic)), None)
        self._contents: Any = self._file if opener is None else opener(self._file)
        self.packed = opener is not None

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, or as much of it as is left; returns how much that is."""
        done, view = 0, memoryview(buffer)
        while done < len(view) and (got := self._some(view[done:])):
            done += got
        return done

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer)])

    def close(self) -> None:
        if self.packed:
            self._contents.close()
        self._file.close()

    def _some(self, view: memoryview) -> int:
        try:
            return int(self._contents.readinto(view) or 0)
        except _DAMAGE as error:
            if not self.packed or (isinstance(error, OSError) and error.errno is not None):
                raise
            raise SchemaError(f"{self._path} is damaged: it cannot be unpacked") from None
