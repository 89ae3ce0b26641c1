"""What the benchmarks share: clocks, memory of a fresh process, and the file they write."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS = 5  # our own runs are repeated and their median taken; the slow peers run once

Figures = dict[str, dict[str, float]]


def timed(task: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """Median seconds, and the last result."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = task()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def taking_turns(tasks: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each task; they alternate, because the speed of a shared machine drifts within a minute."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            seconds[name].append(timed(task)[0])
    return {name: float(np.median(s)) for name, s in seconds.items()}


def memory(imports: str, warm: str, data: str, fit: str) -> dict[str, float]:
    """Peak resident memory of a fresh process during `fit`, above what it held with its data X, y."""
    script = f"""
import warnings; warnings.simplefilter("ignore")
import numpy as np
{imports}
rng = np.random.default_rng(0)
{warm}
{data}
read = lambda field: next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(field)) / 1024
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of compiling
before = read("VmRSS")
{fit}
print(X.nbytes / 2**20, read("VmHWM") - before)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    size, extra = map(float, run.stdout.split())
    return {"data (MB)": size, "peak above the data (MB)": extra, "peak above the data / data": extra / size}


def write(script: str, results: Figures, details: Figures) -> None:
    """Print the figures and write them beside the script, with the machine they were measured on."""
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
    }
    for title, figures in (results | details).items():
        print(title)
        for name, value in figures.items():
            print(f"  {name:45s} {value:8.2f}")
    Path(script).with_suffix(".json").write_text(
        json.dumps({"machine": machine, "results": results, "details": details}, indent=1, ensure_ascii=False) + "\n"
    )
