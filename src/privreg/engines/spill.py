"""Temporary files for what does not fit into memory: without a name, and gone with the process that wrote them."""

import os
import tempfile
from threading import Lock
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Place(NamedTuple):
    """Where an array lies in a file."""

    offset: int
    shape: tuple[int, ...]
    dtype: DTypeLike


class Spill:
    """Arrays in a file that has no name, for threads. Nobody else can open it, and nothing of it stays behind."""

    def __init__(self) -> None:
        file = tempfile.TemporaryFile(buffering=0, dir=spill_folder(), prefix="privreg-")  # noqa: SIM115
        self._file = file
        finalize(self, file.close)
        self._end, self._lock = 0, Lock()

    def write(self, array: NDArray[Any]) -> Place:
        data = np.ascontiguousarray(array)
        with self._lock:
            place = Place(self._end, data.shape, data.dtype)
            self._end += data.nbytes
        view, at = _bytes_of(data), place.offset
        while view:  # a write may stop short, at 2 GB for one
            written = self._write_at(view, at)
            view, at = view[written:], at + written
        return place

    def read(self, place: Place, out: NDArray[Any] | None = None) -> NDArray[Any]:
        array = np.empty(place.shape, place.dtype) if out is None else out
        view, at = _bytes_of(array), place.offset
        while view:
            got = self._read_at(view, at)
            if got == 0:
                raise OSError("a temporary file is shorter than it was")
            view, at = view[got:], at + got
        return array

    def _write_at(self, view: memoryview, at: int) -> int:
        if hasattr(os, "pwrite"):
            return os.pwrite(self._file.fileno(), view, at)
        with self._lock:  # Windows: a file has one position for all threads
            self._file.seek(at)
            return self._file.write(view)

    def _read_at(self, view: memoryview, at: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], at)
        with self._lock:
            self._file.seek(at)
            return self._file.readinto(view)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(array.data).cast("B") if array.size else memoryview(b"")


def spill_folder() -> str:
    """TMPDIR if that is set; else /var/tmp, which is on a disk, where /tmp may be a part of the memory."""
    if "TMPDIR" not in os.environ and os.access("/var/tmp", os.W_OK):
        return "/var/tmp"
    return tempfile.gettempdir()
