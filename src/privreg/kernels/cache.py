"""Compiles kernels, and keeps their machine code between runs only where nobody else could have put it.

Cached files are executed, so a folder counts as ours only if no other account but root can write to it or swap it for
another. Where there is no such folder that can be written to, kernels are compiled in each process.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache

_NAME = "privreg-kernels"


def kernel(function: Any = None, **options: Any) -> Any:
    """Decorate a function: compiled on its first call, runs without the GIL, cached on disk where that is safe."""
    if function is None:
        return partial(kernel, **options)
    compiled = njit(nogil=True, **options)(function)
    folder = cache_folder()
    if folder is not None:
        with _numba_cache_in(folder), suppress(RuntimeError, OSError):  # numba finds no file of this source, or no room
            kept = _KernelCache(function)
            if folder in Path(kept.cache_path).parents:
                compiled._cache = kept
    return compiled


@cache
def cache_folder() -> Path | None:
    """A folder that only this account can use; None if there is none. Made if need be."""
    for place in _places():
        with suppress(OSError):
            if (folder := _private_folder(place)) is not None:
                return folder
    return None


class _KernelCache(FunctionCache):
    """A cache that can be lost: a fit that has spent its budget must not die of a damaged file or a full disk."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception:  # a pickle that was cut off raises almost anything
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        with suppress(Exception):
            super().save_overload(signature, compiled)


def _places() -> Iterator[Path]:
    """Where numba would look too, in this order. On Windows, where modes say nothing, in the user's profile only."""
    if os.name == "nt":
        if local := os.environ.get("LOCALAPPDATA"):
            yield Path(local) / "privreg"
        return
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "privreg"


def _private_folder(place: Path) -> Path | None:
    place = Path(os.path.realpath(place))
    for folder in (place.parent, place):  # not more: a home that is missing stays so
        with suppress(FileExistsError):
            folder.mkdir(0o700)
    if not all(map(_is_held, place.parents)) or _writers(os.stat(place)):
        return None
    folder = place / _NAME
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    return folder if _is_private(os.lstat(folder)) and os.access(folder, os.W_OK | os.X_OK) else None


def _is_private(found: os.stat_result) -> bool:
    """Whether nobody else can even enter: numba's own files in there have whatever mode the umask gives."""
    if os.name == "nt":
        return True  # permissions are kept elsewhere, and profiles are private
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077 == 0


def _is_held(folder: Path) -> bool:
    """Whether nobody else can rename what is in a folder: in /tmp, for one, everybody only what is theirs."""
    found = os.stat(folder)
    writers = _writers(found)
    if writers == stat.S_IWGRP and _is_own_group(found.st_gid):
        return True
    return not writers or (_is_trusted(found) and bool(found.st_mode & stat.S_ISVTX))


def _writers(found: os.stat_result) -> int:
    """The bits of a mode that let others write; of a stranger's folder, all of them."""
    if os.name == "nt":
        return 0
    others = stat.S_IWGRP | stat.S_IWOTH
    return found.st_mode & others if _is_trusted(found) else others


def _is_trusted(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())


def _is_own_group(number: int) -> bool:
    """Whether a group has this user only, as most Linux systems give everyone."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


@contextmanager
def _numba_cache_in(folder: Path) -> Iterator[None]:
    """For what is decorated meanwhile; functions of other packages keep their place."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
