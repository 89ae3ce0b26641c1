"""Trials in processes of their own. A process that dies costs its trial, not the run."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from privreg.paper.trials import Trial

_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit threads and locks


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(trials: Iterable[Trial], jobs: int, started: Callable[[Trial], None]) -> Iterator[dict[str, Any]]:
    """The rows of all trials, in the order in which they end. Whoever stops listening ends the processes."""
    pending = iter(trials)
    threads = max(1, cores() // jobs)  # so that all processes together use each core once
    workers: list[_Worker] = []
    try:
        for trial in pending:
            workers.append(_Worker(threads))
            workers[-1].give(trial, started)
            if len(workers) == jobs:
                break
        while busy := {w.connection: w for w in workers if w.trial}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                yield worker.take()
                for trial in islice(pending, 1):
                    worker.give(trial, started)
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()


@dataclass
class _Worker:
    threads: int
    trial: Trial | None = None
    begun: float = 0.0
    connection: Connection = field(init=False)
    process: BaseProcess = field(init=False)

    def __post_init__(self) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(theirs, self.threads), daemon=True)
        ours = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # inherited: Ctrl-C is for the parent, which ends the others
        try:
            self.process.start()
        finally:
            signal.signal(signal.SIGINT, ours)
        theirs.close()  # so that the end of the process ends the connection

    def give(self, trial: Trial, started: Callable[[Trial], None]) -> None:
        self.trial, self.begun = trial, time.perf_counter()
        with suppress(OSError):  # a process that died meanwhile is noticed by `take`
            self.connection.send(trial)
        started(trial)

    def take(self) -> dict[str, Any]:
        """The row of the trial that ended, also if it took the process with it; a new process then follows."""
        trial, self.trial = self.trial, None
        assert trial
        try:
            row: dict[str, Any] = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            seconds = time.perf_counter() - self.begun
            how = f"its process was ended (exit code {self.process.exitcode}), perhaps for lack of memory"
            row = trial.row({"error": f"ProcessDied: {how}", "seconds": round(seconds, 4)})
            self.__post_init__()
        return row


def _work(connection: Connection, threads: int) -> None:
    """Run trials until the other end of the connection is gone."""
    from threadpoolctl import threadpool_limits

    from privreg.paper.folder import load
    from privreg.paper.trials import run_trial

    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # not inherited there
    load_once = lru_cache(maxsize=1)(load)  # trials come sorted by data set
    with threadpool_limits(threads), suppress(EOFError, OSError):
        while True:
            connection.send(run_trial(connection.recv(), load_once, threads))
