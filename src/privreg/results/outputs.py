"""Files that are written whole or not at all."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from time import time_ns
from typing import BinaryIO

_TEMPORARY = ".privreg-"
_STREAMS = ("/dev/fd/", "/dev/std", "/proc/")  # names of open files: renaming onto them would lose what they hold


def check_place(path: str | PathLike[str]) -> None:
    """Raise OSError, naming the path, if a file could not be written there. Writes nothing."""
    path = Path(path)
    found = _status(path)
    if found is not None and S_ISDIR(found.st_mode):
        raise _error(errno.EISDIR, path)
    if _straight(path, found):
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        raise _error(errno.ENOENT, path, "the folder does not exist")
    if not folder.is_dir():
        raise _error(errno.ENOTDIR, path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _error(errno.EACCES, path, "the folder cannot be written to")
    if found is not None and not os.access(path, os.W_OK):
        raise _error(errno.EACCES, path, "the file exists and cannot be written to")


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None], data: Path, force: bool
) -> None:
    """Raise unless everything can be written, and nothing is lost by it. Files by what the user calls them."""
    places = {name: path for name, path in outputs.items() if path is not None}
    for path in places.values():
        check_place(path)
    replaced = {name: path for name, path in places.items() if not _straight(path, _status(path))}
    taken = {_identity(path): name for name, path in inputs.items() if path is not None}
    for name, path in replaced.items():
        place = _identity(path)
        if place in taken:
            raise ValueError(f"{name} and {taken[place]} are the same file, {path}")
        taken[place] = name
    check_outside(places, data)
    for path in () if force else replaced.values():
        if _status(path) is not None:
            raise _error(errno.EEXIST, path, "the file already exists; --force replaces it")


def check_outside(outputs: Mapping[str, Path], data: Path) -> None:
    """Raise ValueError if an output would be, or become, one of the files that a folder or a pattern stands for."""
    from privreg.data.files import files_at, format_of, has_end, stands_for_many

    if not stands_for_many(data):
        return
    ends = format_of(data).ends
    taken = {_identity(file) for file in files_at(data, ends)}
    for name, path in outputs.items():
        place = Path(os.path.realpath(path))
        inside = data.is_dir() and Path(os.path.realpath(data)) in place.parents and has_end(place, ends)
        if _identity(path) in taken or inside or place.match(os.path.realpath(data)):
            raise ValueError(f"{name} {path} would become one of the files of {data}; write it somewhere else")


def _identity(path: Path) -> tuple[int, int] | str:
    """The same for two names of one file, links of either kind included."""
    found = _status(path)
    return os.path.realpath(path) if found is None else (found.st_dev, found.st_ino)


def write_whole(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file so that it is complete at every moment, also if the machine stops: the old one or the new one."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when the block ends, and goes if the block raises.

    A link stays, and what it points to is replaced. A file that is replaced keeps its mode. A device or a pipe, which
    cannot be replaced, is written to as it is.
    """
    check_place(path)
    path = Path(path)
    found = _status(path)
    try:
        with open(path, "ab") if _straight(path, found) else _replacing(Path(os.path.realpath(path)), found) as file:
            yield file
    except OSError as error:
        name = error.filename
        if isinstance(name, str) and name != str(path) and not Path(name).name.startswith(_TEMPORARY):
            raise  # about another file
        # A full disk names no file, and the temporary one's name helps nobody.
        raise _error(error.errno or errno.EIO, path, error.strerror) from error


@contextmanager
def _replacing(target: Path, replaced: os.stat_result | None) -> Iterator[BinaryIO]:
    temporary = target.with_name(f"{_TEMPORARY}{os.getpid()}-{time_ns()}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replaced is not None:
            os.chmod(temporary, S_IMODE(replaced.st_mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """The new name on disk, too. Not every system can do that; the file is complete either way."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _status(path: Path) -> os.stat_result | None:
    """Of what a link points to; None if there is nothing yet."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _straight(path: Path, found: os.stat_result | None) -> bool:
    """Whether this is a stream or device, to be written to as it is."""
    special = found is not None and not S_ISREG(found.st_mode)
    return special or os.path.abspath(path).startswith(_STREAMS)


def _error(number: int, path: Path, text: str | None = None) -> OSError:
    return OSError(number, text or os.strerror(number), str(path))
