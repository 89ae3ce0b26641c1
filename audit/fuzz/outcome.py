"""What may come out of the product: a value or an error of its own, soon and in silence."""

import atexit
import io
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.exceptions import DataConversionWarning

from privreg.errors import PrivregError

PATIENCE = 20.0  # seconds for one input: a watchdog, far above what any takes
ABOUT_NAMES = "X has feature names, but"  # scikit-learn's; like that about a column too many it tells of the schema


class Finding(AssertionError):
    """The product did not keep its word."""


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value, or the message of an error of the product."""

    value: Any = None
    message: str | None = None


def outcome(
    function: Callable[..., Any],
    *arguments: Any,
    allowed: type[Exception] = PrivregError,
    prints: bool = False,
) -> Outcome:
    """Call the product. Anything but a value or an allowed error, in silence, is a finding."""
    written = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, descriptors() as printed:
        warnings.simplefilter("always")
        with redirect_stdout(written), redirect_stderr(written):
            try:
                found = Outcome(function(*arguments))
            except (Finding, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # polars panics with one that is no Exception
                if not isinstance(error, PrivregError) and type(error) is not allowed:
                    raise Finding(f"{type(error).__name__}: {error}"[:300]) from error
                found = Outcome(message=_chain(error).replace(str(folder()), ""))
    for warning in warned:
        if warning.category is not DataConversionWarning and not str(warning.message).startswith(ABOUT_NAMES):
            raise Finding(f"warning: {warning.message}"[:300])
    if text := written.getvalue() * (not prints) + printed[0]:
        raise Finding(f"printed: {text[:300]}")
    return found


def _chain(error: BaseException | None) -> str:
    """What a traceback shows of an error and of those behind it."""
    told = []
    while error is not None:
        told.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(told)


@contextmanager
def descriptors() -> Iterator[list[str]]:
    """Catch what libraries not written in Python print: in the list, when the block ends."""
    sink, kept, printed = _sink(), (os.dup(1), os.dup(2)), list[str]()
    for descriptor in (1, 2):
        os.dup2(sink, descriptor)
    try:
        yield printed
    finally:
        for descriptor, old in zip((1, 2), kept, strict=True):
            os.dup2(old, descriptor)
            os.close(old)
        printed.append(os.pread(sink, 1000, 0).decode(errors="replace"))
        os.ftruncate(sink, 0)


@cache
def _sink() -> int:
    return os.open(folder() / "printed", os.O_RDWR | os.O_CREAT | os.O_APPEND)


def place() -> str | None:
    """Where folders are made: in memory rather than on a disk, unless told otherwise."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) and "TMPDIR" not in os.environ else None


@cache
def folder() -> Path:
    """The folder of this process."""
    made = tempfile.mkdtemp(prefix="privreg-fuzz-", dir=place())
    atexit.register(shutil.rmtree, made, True)
    return Path(made)


def input_file(content: bytes, end: str = "") -> Path:
    """The file that the product is to read next."""
    path = folder() / f"input{end}"
    path.write_bytes(content)
    return path


@contextmanager
def patience() -> Iterator[None]:
    """Raise if an input takes too long. Not under atheris, which has an alarm of its own."""

    def late(*_: Any) -> None:
        raise Finding(f"hang: no answer within {PATIENCE:g} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
