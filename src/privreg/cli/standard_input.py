"""Data from standard input, which `-` stands for: kept in a temporary file, since a table is read more than once.

Only this user can read the file, and it goes when the command ends, also by an error or a signal that can be caught.
"""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import FrameType

import typer

NAME = "standard input"

_folders: list[Path] = []  # with a file that holds it


def data_path(path: Path) -> Path:
    """The file that an argument means."""
    return _kept() if str(path) == "-" else path


def said(message: str) -> str:
    """A message that calls the temporary file by what it holds."""
    for folder in _folders:
        message = message.replace(str(folder / NAME), NAME)
    return message


def _kept() -> Path:
    if sys.stdin is None:
        raise typer.BadParameter(f"{NAME} is closed.")
    folder = Path(tempfile.mkdtemp(prefix="privreg-"))  # for this user only
    _folders.append(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _catch_signals()
    try:
        with open(folder / NAME, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:  # a full disk
        raise typer.BadParameter(f"{NAME} cannot be kept in {folder.parent}: {error.strerror}.") from None
    return folder / NAME


def _catch_signals() -> None:
    """Those that end a process without a word, unless somebody has other plans with them, such as nohup."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not everywhere
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """As a signal does without us, but what is registered for the end is done."""
    del frame
    sys.exit(128 + number)
