"""Threads for compiled code that releases the GIL."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from joblib import effective_n_jobs


def share_out(work: Callable[[Iterator[int]], None], tasks: int, n_jobs: int | None) -> None:
    """Call work(queue) in as many threads as joblib makes of `n_jobs`; they take task numbers from one queue.

    joblib's own thread pool polls every ten milliseconds, longer than most of the work here takes. The calling thread
    works too: waking another one up can take a millisecond.
    """
    queue = iter(range(tasks))  # its steps are atomic under the GIL
    helpers = min(effective_n_jobs(n_jobs), max(tasks, 1)) - 1
    if helpers == 0:
        work(queue)
        return
    with ThreadPoolExecutor(helpers) as pool:
        others = [pool.submit(work, queue) for _ in range(helpers)]
        work(queue)
        for done in others:
            done.result()
