"""The bytes of a text file as UTF-8: unpacked, and from another encoding if the file or the user says so.

A byte order mark decides first, then what the user says, then it is UTF-8. Of other encodings those will do in which
each byte is a character, the ASCII ones as in ASCII, and UTF-16: so a line ends where a line ends, whatever a record
holds. What is not valid in the encoding becomes bytes that are not valid in UTF-8, in the same place: the cell that has
them is missing, and no other is.
"""

import codecs
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from privreg.data.packing import Unpacked
from privreg.errors import SchemaError

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF8, _UTF16 = ("utf-8", "utf-8-sig"), ("utf-16", "utf-16-le", "utf-16-be")
_PIECE = 1 << 20  # bytes that are converted at a time


def checked_encoding(name: str) -> str:
    """The name of an encoding as Python spells it; ValueError if lines could not be told apart in it."""
    try:
        known = codecs.lookup(name).name
        usable = known in (*_UTF8, *_UTF16) or _one_byte_each(known)
    except (LookupError, ValueError):  # UnicodeError is a ValueError; a name with a zero byte is one, too
        usable = False
    if not usable:
        raise ValueError(
            f"encoding {name!r} cannot be used; use utf-8, utf-16, latin-1, cp1252 or another single-byte "
            "encoding, or save the file as UTF-8"
        )
    return known


@cache
def _one_byte_each(name: str) -> bool:
    """Whether every byte is decoded alone, whatever is beside it, and those of ASCII as in ASCII."""
    alone = [bytes([byte]).decode(name, "surrogateescape") for byte in range(256)]
    pairs = [(a, b) for a in range(256) for b in range(256)]
    together = b"".join(bytes([a, b, 10]) for a, b in pairs).decode(name, "surrogateescape")
    ascii_too = "".join(alone[:128]) == bytes(range(128)).decode("ascii")
    return ascii_too and together == "".join(alone[a] + alone[b] + "\n" for a, b in pairs)


class TextStream:
    """Text as UTF-8, without a mark of the byte order, in order. What was read too much can be put back."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self._ahead = b""  # is read first
        asked = None if encoding is None else checked_encoding(encoding)
        self._file = Unpacked(path)
        try:
            self._begin(path, asked)
        except BaseException:
            self.close()
            raise

    def _begin(self, path: Path, asked: str | None) -> None:
        start = self._file.read(3)
        mark = next((mark for mark in _MARKS if start.startswith(mark)), b"")
        if not mark and asked == "utf-16":
            raise SchemaError(
                f"{path} has no byte order mark; if it is UTF-16, give the encoding as utf-16-le or utf-16-be"
            )
        self.encoding = _MARKS.get(mark, asked or "utf-8")
        self._decoder: Any = None
        if self.encoding not in _UTF8:
            # Lone surrogates stand for what is not valid, and are not valid in UTF-8.
            errors = "surrogatepass" if self.encoding in _UTF16 else "surrogateescape"
            self._decoder = codecs.getincrementaldecoder(self.encoding)(errors)
        rest = start[len(mark) :]
        self._ahead = rest if self._decoder is None else self._converted(rest, not rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def put_back(self, data: bytes) -> None:
        """These bytes are read next."""
        self._ahead = data + self._ahead

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, or as much of it as is left; returns how much that is."""
        done, view = 0, memoryview(buffer)
        while done < len(view):
            if not self._ahead and self._decoder is None:
                return done + self._file.readinto(view[done:])
            if not self._ahead and not self._convert():
                break
            part = self._ahead[: len(view) - done]
            self._ahead = self._ahead[len(part) :]
            view[done : done + len(part)] = part
            done += len(part)
        return done

    def _convert(self) -> bool:
        """Put some more bytes ahead; False at the end."""
        while not self._ahead:
            raw = self._file.read(_PIECE)
            self._ahead = self._converted(raw, not raw)
            if not raw:
                break
        return bool(self._ahead)

    def _converted(self, raw: bytes, last: bool) -> bytes:
        if not last:
            return bytes(self._decoder.decode(raw).encode("utf-8", "surrogatepass"))
        begun, _ = self._decoder.getstate()  # of a character
        self._decoder.reset()
        return b"\xff" if begun else b""
