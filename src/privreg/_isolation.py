"""Settings that a caller may have changed, put back while private data is looked at.

With `np.seterr(all="raise")`, `warnings.simplefilter("error")` or an option of pandas, one value could turn a fit into
an exception or a warning, and so show itself. In here numpy is silent, warnings go nowhere, and the options of data
frame libraries are their defaults. What is to be said about a fit is said outside.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, local
from typing import Any

import numpy as np

# Options of pandas that change how values are read; which of them there are depends on its version.
_PANDAS_OPTIONS: dict[str, Any] = {
    "mode.chained_assignment": None,
    "mode.use_inf_as_na": False,
    "future.distinguish_nan_and_na": False,
    "future.python_scalars": False,
    "compute.use_numba": False,
}


class _Inside(local):
    """How deep this thread is inside. As the pattern of a warning filter it matches every text, in such threads only.

    Filters are those of the whole process. So none of the caller's is touched, and other threads warn as they did.
    """

    depth = 0

    def match(self, text: str) -> bool:  # noqa: ARG002
        return self.depth > 0


_INSIDE = _Inside()
_SILENCE: Any = ("ignore", _INSIDE, Warning, None, 0)


class _Process:
    """Settings of the whole process: put back by the first of several fits in threads, and by the last returned."""

    def __init__(self) -> None:
        self._lock, self._threads, self._options = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            warnings.filters.insert(0, _SILENCE)  # type: ignore[attr-defined]  # before what was set meanwhile
            if self._threads == 0:
                self._options = ExitStack()
                self._options.enter_context(_pandas_defaults())
                self._options.enter_context(_polars_defaults())
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                # All of them: a caller may have put back an older list of filters meanwhile.
                warnings.filters[:] = [f for f in warnings.filters if f is not _SILENCE]  # type: ignore[index]
                self._options.close()


_PROCESS = _Process()


@contextmanager
def isolated() -> Iterator[None]:
    """Whatever the caller has set, no value in here raises or warns by it. May be nested, and used in threads."""
    _INSIDE.depth += 1
    try:
        with np.errstate(all="ignore"), _PROCESS:
            yield
    finally:
        _INSIDE.depth -= 1


@contextmanager
def _pandas_defaults() -> Iterator[None]:
    pandas: Any = sys.modules.get("pandas")
    with ExitStack() as stack:
        for option, value in () if pandas is None else _PANDAS_OPTIONS.items():
            with suppress(KeyError, AttributeError):  # pandas' own error for an unknown option is both
                if pandas.get_option(option) != value:
                    stack.enter_context(pandas.option_context(option, value))
        yield


@contextmanager
def _polars_defaults() -> Iterator[None]:
    polars = sys.modules.get("polars")
    if polars is None:
        yield
        return
    with polars.Config() as config:
        config.restore_defaults()
        yield
