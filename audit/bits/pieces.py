"""Chunks, layouts of memory and threads reach no statistic."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import FunctionType
from typing import Any
from unittest.mock import patch

import numpy as np

import privreg.data.tables
from audit.bits.cases import Finding, cases, compare, finding, fit
from privreg._types import Float64
from privreg.engines import base, memory
from privreg.kernels import boosting, pairs, ranks


def chunks(names: Sequence[str] | None = None, sizes: Sequence[int] = (1, 7, 97)) -> Finding:
    """Where a chunk ends depends on the record's place, which another record shifts."""
    wrong, seen = [], 0
    for case in cases(names):
        base, _ = fit(case)
        for size in sizes:
            with chunked(size):
                wrong += compare(case, base, f"chunks of {size}")
            seen += 1
    what = (
        "Chunks of records, blocks inside compiled loops, columns read together and the choice of counting kernel set "
        f"to small numbers ({', '.join(map(str, sizes))}), those loops being run uncompiled: every statistic is the "
        "same bit for bit."
    )
    return finding(what, seen, wrong)


@contextmanager
def chunked(size: int) -> Iterator[None]:
    """Everything that is done in pieces is done in pieces of about this size.

    Compiled code keeps its constants, and its cache on disk does not know them: so they are never changed in place.
    Such functions are copied with other constants, and not compiled.
    """
    settings: list[tuple[Any, str, Any]] = [
        (base, "ROWS", size),
        (memory, "_ENTRIES", 9 * size),
        (memory, "_CHUNK", 3 * size),
        (boosting, "_residual_sums", _rebuilt(boosting._residual_sums.py_func, _BLOCK=size)),
        (privreg.data.tables, "_ROWS", size),
        (privreg.data.tables, "copy_columns", _rebuilt(ranks.copy_columns.py_func, {2048: size})),
        (ranks, "_BLOCK", 1 + size % 3),
        (ranks, "_two_valued", _rebuilt(ranks._two_valued.py_func, {4096: size})),
        (pairs, "_pair", _rebuilt(pairs._pair, FEW=2 + size % 5)),
    ]
    with ExitStack() as stack:
        for module, name, value in settings:
            stack.enter_context(patch.object(module, name, value))
        yield


def _rebuilt(function: Any, constants: dict[int, int] | None = None, **names: Any) -> Any:
    """A copy of a function with other numbers in its code, or other global names."""
    known = constants or {}
    code = function.__code__
    missing = set(known) - {c for c in code.co_consts if type(c) is int}
    assert not missing, f"{function.__name__} has no {missing} in it any more"
    assert all(name in function.__globals__ for name in names)
    code = code.replace(co_consts=tuple(known.get(c, c) if type(c) is int else c for c in code.co_consts))
    return FunctionType(code, {**function.__globals__, **names}, function.__name__, None, function.__closure__)


def layouts(names: Sequence[str] | None = None) -> Finding:
    """The same numbers in another layout of memory are read by other code."""
    import pandas as pd

    made: dict[str, Callable[[Float64], Any]] = {
        "by columns": np.asfortranarray,
        "every other row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
        "a data frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    }
    wrong, seen = [], 0
    for case in cases(names):
        base, _ = fit(case)
        for how, change in made.items():
            wrong += compare(replace(case, X=change(case.X)), base, how)
            seen += 1
    return finding("The same table in another layout of memory: every statistic is the same bit for bit.", seen, wrong)


def threads(names: Sequence[str] | None = None, jobs: Sequence[int] = (2, 3, 7), repeats: int = 2) -> Finding:
    """Threads take chunks in any order, and no two runs are alike."""
    wrong, seen = [], 0
    for case in cases(names):
        base, _ = fit(case)
        with chunked(41):  # so that there is something to share out
            for n_jobs in [n for n in jobs for _ in range(repeats)]:
                wrong += compare(case, base, f"{n_jobs} threads", n_jobs)
                seen += 1
    listed = ", ".join(map(str, jobs))
    return finding(f"With {listed} threads every statistic is the same bit for bit as with one.", seen, wrong)
