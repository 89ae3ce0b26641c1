"""A trial splits a data set, fits a method on nine tenths and scores it on the rest. Trials run in processes of their
own: one that dies costs its trial, not the run.
"""

import multiprocessing
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from math import inf, isnan
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from joblib import cpu_count
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from privreg.data.schema import Schema
from privreg.errors import DataError
from privreg.estimators.methods import REGISTRY, Method, make_method
from privreg.paper.datasets import DataSet, load
from privreg.paper.results import KEY, as_json

JITTER = 1e-6  # by which the published runs perturbed features to break ties
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit threads and locks


@dataclass(frozen=True)
class Trial:
    """What is to be run. k and ε are None for a method that does not depend on them."""

    task: int
    file: Path
    method: str
    k: int | None
    epsilon: float | None
    trial: int
    delta: float
    seed: int
    jitter: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """As in the journal."""
        return tuple(getattr(self, name) for name in KEY)

    def row(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """A line of the journal."""
        return dict(zip(KEY, self.key, strict=True)) | outcome


def run_trial(trial: Trial, load: Callable[[Path], DataSet], threads: int) -> dict[str, Any]:
    """The line for the journal: R² on the test records, or why there is none."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):  # a seed, and that nothing was released, are written down
            outcome = _outcome(trial, load(trial.file), threads)
    except Exception as error:
        message = (str(error).splitlines() or [""])[0]
        seconds = round(time.perf_counter() - start, 4)
        outcome = {"error": f"{type(error).__name__}: {message}", "seconds": seconds}
    return trial.row(outcome)


def _outcome(trial: Trial, data: DataSet, threads: int) -> dict[str, Any]:
    # The data are public, and a comparison must be repeatable: the same split and perturbation for every method.
    rng = np.random.default_rng([trial.seed, trial.task, trial.trial])
    train, test = data.split(rng)
    if test.size < 2:
        raise DataError("fewer than 20 records, too few to test on a tenth of them")
    X = data.X + rng.uniform(-JITTER, JITTER, data.X.shape) if trial.jitter else data.X
    way = crc32(f"{trial.method} {trial.k} {trial.epsilon!r}".encode())  # the noise differs for each of them
    noise = np.random.SeedSequence([trial.seed, trial.task, trial.trial, way]).generate_state(1)[0]
    model = make_method(
        trial.method,
        k=trial.k or 0,
        epsilon=trial.epsilon or 0.0,
        delta=trial.delta,
        n_jobs=threads,
        random_state=int(noise),
    )
    if "schema" in model.get_params():
        model.set_params(schema=Schema.numbers(X.shape[1]))  # nothing has to be found out about public data
    features, target = X[train], data.y[train]
    start = time.perf_counter()
    model.fit(features, target)
    seconds = time.perf_counter() - start
    released = getattr(getattr(model, "regressor_", model), "released_", True)
    predicted = model.predict(X[test])
    usable = released and np.isfinite(predicted).all()
    score = float(r2_score(data.y[test], predicted)) if usable else -inf
    if isnan(score):
        raise DataError("R² is not defined")
    outcome: dict[str, Any] = {"r2": as_json(score), "seconds": round(seconds, 4)}
    if hasattr(model, "selected_features_"):
        outcome["chosen"] = [data.names[j] for j in model.selected_features_]
    return outcome


def run_all(trials: Iterable[Trial], jobs: int, started: Callable[[Trial], None]) -> Iterator[dict[str, Any]]:
    """The rows of all trials, in the order in which they end. Whoever stops listening ends the processes."""
    pending = iter(trials)
    threads = max(1, cpu_count() // jobs)  # so that all processes together use each core once
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
        self.process = _SPAWN.Process(target=_start, args=(theirs, self.threads, REGISTRY), daemon=True)
        # Inherited: Ctrl-C is for the parent, which ends the others.
        ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
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


def _start(connection: Connection, threads: int, methods: dict[str, Method]) -> None:
    """The life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows does not pass it on to new processes
    REGISTRY.update(methods)  # also those that were added since the package was loaded
    _work(connection, threads)


def _work(connection: Connection, threads: int) -> None:
    """Run trials until the other end of the connection is gone."""
    load_once = lru_cache(maxsize=1)(load)  # trials come sorted by data set
    with threadpool_limits(threads), suppress(EOFError, OSError):
        while True:
            connection.send(run_trial(connection.recv(), load_once, threads))
