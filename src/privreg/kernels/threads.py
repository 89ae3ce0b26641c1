"""Threads for compiled code that releases the GIL."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from joblib import effective_n_jobs


def share_out(task: Callable[[int, int], None], n_jobs: int | None) -> None:
    """Run task(worker, workers) for each worker, in as many threads as joblib makes of `n_jobs`.

    joblib's own thread pool polls every ten milliseconds, longer than most of the work here takes.
    """
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        task(0, 1)
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(task, worker, workers) for worker in range(workers)]:
            done.result()
