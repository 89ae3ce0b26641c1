"""Settings that a caller may have changed, put back while private data is looked at.

With `np.seterr(all="raise")`, `warnings.simplefilter("error")` or an option of pandas, one value could turn a fit into
an exception or a warning, and so show itself. In here numpy is silent, warnings go nowhere, and the options of data
frame libraries are their defaults. What is to be said about a fit is said outside.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock
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


class _Settings:
    """Settings of the whole process: put back by the first of several fits in threads, and by the last returned."""

    def __init__(self) -> None:
        self._lock, self._inside, self._stack = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._stack = ExitStack()
                self._stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                self._stack.enter_context(_pandas_defaults())
                self._stack.enter_context(_polars_defaults())
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._stack.close()


_SETTINGS = _Settings()


@contextmanager
def isolated() -> Iterator[None]:
    """Whatever the caller has set, no value in here raises or warns by it. May be nested, and used in threads."""
    with np.errstate(all="ignore"), _SETTINGS:
        yield


@contextmanager
def _pandas_defaults() -> Iterator[None]:
    pandas = sys.modules.get("pandas")
    with ExitStack() as stack:
        if pandas is not None:
            for option, value in _PANDAS_OPTIONS.items():
                with suppress(KeyError, AttributeError):  # pandas' own error for an unknown option is one of both
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
