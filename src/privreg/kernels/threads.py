"""Threads for compiled code that releases the GIL."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

from joblib import effective_n_jobs

from privreg._isolation import isolated


def share_out(work: Callable[[Iterator[int]], None], tasks: int, n_jobs: int | None) -> None:
    """Call work(queue) in as many threads as joblib makes of `n_jobs`; they take task numbers from one queue.

    joblib's own thread pool polls every ten milliseconds, longer than most of the work here takes. The calling thread
    works too, and its helpers are kept for the next call: starting or waking one takes a good part of a millisecond.
    """
    queue = iter(range(tasks))  # its steps are atomic under the GIL
    helpers = min(effective_n_jobs(n_jobs), max(tasks, 1)) - 1
    others = [_pool(helpers, os.getpid()).submit(_isolated, work, queue) for _ in range(helpers)]
    try:
        work(queue)
    finally:
        for _ in queue:  # after an error, or Ctrl-C: nothing is left to begin
            pass
        wait(others)  # nobody may write into a caller's arrays after it has left
    for done in others:
        done.result()


def _isolated(work: Callable[[Iterator[int]], None], queue: Iterator[int]) -> None:
    with isolated():  # a setting of the calling thread
        work(queue)


def single_threaded_blas() -> Any:
    """Context in which BLAS uses the calling thread only: for many small products in threads of our own.

    BLAS threads wait for each other by spinning, which takes far longer on a busy machine.
    """
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _pool(helpers: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work. A forked process has none of its parent's, hence its number in the key."""
    return ThreadPoolExecutor(helpers, thread_name_prefix=f"privreg-{process}")
