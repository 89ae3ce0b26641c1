"""Bytes as choices, so that whoever makes bytes makes inputs."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices read off bytes; zeros after their end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        self._at += size
        return part.ljust(size, b"\0")

    def number(self, limit: int) -> int:
        return int.from_bytes(self.take(1 if limit <= 256 else 3), "little") % limit

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]

    def rest(self) -> bytes:
        return self._data[self._at :]


def damaged(draw: Draw, content: bytes) -> bytes:
    """Bytes changed, put in, cut out or repeated, at up to eight places."""
    for _ in range(draw.number(8) + 1):
        at = draw.number(len(content) + 1)
        edit = draw.number(5)
        size = draw.number(32)
        if edit < 2:
            content = content[:at] + draw.take(1 + edit) + content[at + 1 + edit :]
        elif edit == 2:
            content = content[:at] + draw.take(size) + content[at:]
        elif edit == 3:
            content = content[:at] + content[at + size :]
        else:
            content = content[:at] + content[at : at + size] * 2 + content[at + size :]
    return content
