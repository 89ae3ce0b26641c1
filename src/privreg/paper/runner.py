"""The paper's evaluation: every method on every data set, so that it can be watched, stopped and resumed."""

import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from joblib import cpu_count

from privreg.errors import DataError
from privreg.estimators.methods import REGISTRY
from privreg.paper import journal
from privreg.paper.datasets import DataSet, find, kind, load, name_of, tasks
from privreg.paper.results import JOURNAL, NO_FILE, Results, ways, write_summary
from privreg.paper.trials import Trial, run_all
from privreg.paper.watch import Watch


@dataclass(frozen=True)
class Settings:
    """What to run. Methods that do not depend on k or ε are run once for all of them."""

    ks: tuple[int, ...]
    trials: int
    epsilons: tuple[float, ...]
    delta: float
    methods: tuple[str, ...]
    tasks: tuple[int, ...]  # none: all that are there
    seed: int
    jitter: bool
    jobs: int
    retry: bool  # trials that failed before

    def __post_init__(self) -> None:
        """Raise a ValueError that names the option."""
        for name, values in (("--k", self.ks), ("--trials", (self.trials,)), ("--jobs", (self.jobs,))):
            if not values or min(values) < 1:
                raise ValueError(f"{name} must be at least 1")
        if not self.epsilons or not all(0 < e < float("inf") for e in self.epsilons):
            raise ValueError("--epsilon must be positive")
        if not 0 < self.delta < 1:
            raise ValueError("--delta must lie between 0 and 1")
        if self.seed < 0:
            raise ValueError("--seed must not be negative")
        if not self.methods:
            raise ValueError("--methods names no method")
        for method in self.methods:
            if method not in REGISTRY:
                raise ValueError(f"--methods: {method!r} is none of {', '.join(REGISTRY)}")


def run(settings: Settings, folder: Path, out: Path, command: str, missing: dict[int, str], watch: Watch) -> Results:
    """Run what is not yet in `out`. `missing` says why the tasks that could not be fetched are not in the folder."""
    files = _choose(settings, find(folder))
    out.mkdir(parents=True, exist_ok=True)
    with journal.writing(out / JOURNAL) as log:
        header, files = _prepare(settings, command, files, missing, watch)
        _check_same(log.rows, header, watch)
        log.append({"run": header})
        before = Results(log.rows)
        done = {key for key, row in before.trials.items() if not (settings.retry and "error" in row)}
        wide = {int(task): row["d"] for task, row in header["data sets"].items()}
        planned = list(_trials(settings, files, wide))
        rest = [t for t in planned if t.key not in done]
        watch.plan(rest, len(planned) - len(rest))
        begun = time.monotonic()
        try:
            for row in run_all(rest, min(settings.jobs, max(len(rest), 1)), watch.started):
                log.append(row)
                watch.ended(row)
            log.append({"end": {"trials run": len(rest), "wall seconds": round(time.monotonic() - begun, 1)}})
        except BaseException:
            with suppress(OSError):  # a full disk is what ended the run
                write_summary(Results(log.rows), out)
            raise
        results = Results(log.rows)
        write_summary(results, out)
    return results


def _prepare(
    settings: Settings, command: str, files: dict[int, Path], missing: dict[int, str], watch: Watch
) -> tuple[dict[str, Any], dict[int, Path]]:
    """The header of the run, and the files that can be used: one that cannot does not stop the others."""
    sets: dict[str, Any] = {}
    reasons = dict(missing)
    for task, file in files.items():
        watch.reading(file.name)
        try:
            sets[str(task)] = _describe(task, file, load(file), watch)
        except DataError as error:
            reasons[task] = str(error)
            watch.say(str(error))
    if not sets:
        raise DataError(f"no data set can be run: {next(iter(reasons.values()), 'there is no file for these --tasks')}")
    absent = [t for t in settings.tasks or tasks() if t in tasks() and str(t) not in sets]
    without = f"{NO_FILE}, although --tasks names it" if settings.tasks else NO_FILE
    header = {
        "command": command,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "machine": _machine(),
        **{name: getattr(settings, name) for name in ("jobs", "seed", "jitter", "delta", "trials")},
        **{"k": list(settings.ks), "epsilon": list(settings.epsilons), "methods": list(settings.methods)},
        "data sets": sets,
        "missing": {str(t): reasons.get(t, without) for t in absent},
    }
    return header, {task: file for task, file in files.items() if str(task) in sets}


def _choose(settings: Settings, found: dict[int, Path]) -> dict[int, Path]:
    for task in settings.tasks:
        if task not in found and task not in tasks():
            raise DataError(f"--tasks: {task} is not one of the paper's tasks, and there is no file for it")
    return {task: file for task, file in found.items() if not settings.tasks or task in settings.tasks}


def _describe(task: int, file: Path, data: DataSet, watch: Watch) -> dict[str, Any]:
    """What the header says of a data set. That it differs from the paper's is said aloud."""
    n, d = data.y.size, data.d
    paper = tasks().get(task)
    if paper and (n, d) != (paper.n, paper.d):
        watch.say(f"{file.name} differs: n = {n}, d = {d}; published n = {paper.n}, d = {paper.d}")
    return {"name": name_of(file), "n": n, "d": d, "kind": kind(task, file, n, d), "digest": data.digest()}


def _trials(settings: Settings, files: dict[int, Path], wide: dict[int, int]) -> Iterator[Trial]:
    """Each data set's trials together, so that it is read once; all methods of a trial before the next trial."""
    for task, file in files.items():
        for trial in range(settings.trials):
            for way in ways(settings.methods, settings.ks, settings.epsilons, wide[task]):
                yield Trial(task, file, *way, trial, settings.delta, settings.seed, settings.jitter)


def _versions() -> dict[str, str]:
    """Of Python, of this package and of what it requires."""
    required = [re.split(r"[^\w-]", line)[0] for line in requires("privreg") or [] if "extra ==" not in line]
    return {"python": platform.python_version()} | {name: version(name) for name in ("privreg", *required)}


def _check_same(rows: list[dict[str, Any]], header: dict[str, Any], watch: Watch) -> None:
    """Trials that are not comparable do not belong into one journal. Another version may be, and is said aloud."""
    for earlier in (row["run"] for row in rows if "run" in row):
        before, now = (run["versions"]["privreg"] for run in (earlier, header))
        if before != now:
            watch.say(f"the folder has trials of privreg {before}; this is {now}")
        for name in ("seed", "jitter", "delta"):
            there, here = earlier[name], header[name]
            if there != here:
                raise DataError(f"the folder has trials with {name} = {there}, not {here}: choose another --out")
        for task, info in earlier["data sets"].items():
            if header["data sets"].get(task, info) != info:
                raise DataError(f"data set {task} is not the one of the earlier trials: choose another --out")


def _machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    memory = 0.0
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    with suppress(OSError, StopIteration):  # not Linux
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return {"cores": cpu_count(), "cpu": cpu, "memory (GB)": round(memory, 1), "system": platform.system()}
