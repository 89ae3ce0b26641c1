"""Tables larger than memory: time, memory and where the time goes; writes scaling.json.

    python benchmarks/scaling.py FOLDER [--most 30000000]

Generates Parquet files in FOLDER (about 250 bytes a row) and runs each fit once, in a process of its own. Noise is
OpenDP's. Reading, ranking and counting are timed inside the fit, in each thread, and shared out over two threads.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

from measure import Figures, write
from scaling_data import COLUMNS, generate

THREADS = 2
SIZES = (3_000_000, 30_000_000)
FITS = {
    "PrivateLinearRegression(k=10)": "PrivateLinearRegression(k=10, n_jobs=2)",
    "PrivateLinearRegression()": "PrivateLinearRegression(n_jobs=2)",
    "DPKendall(k=5)": "DPKendall(5, n_jobs=2)",
}
STAGES = (10**5, 10**6, 3 * 10**6, 3 * 10**7, 5 * 10**7)

_FIT = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from clocks import Clock
from privreg import DPKendall, ParquetTable, PrivateLinearRegression
from privreg.kernels import pairs
from privreg.engines import streamed

X = np.random.default_rng(0).normal(size=(5000, 12))
PrivateLinearRegression(k=3, random_state=0).fit(X, X.sum(axis=1))  # compiles
DPKendall(2, random_state=0).fit(X, X.sum(axis=1))
clocks = {}
clocks["reading"] = Clock.of_iterator(ParquetTable, "part_tables")
clocks["ranking"] = Clock.of_function(streamed, "rank_column")
clocks["counting"] = Clock.of_function(pairs, "_pair")
table = ParquetTable(sys.argv[1])
start = time.perf_counter()
model = MODEL.fit(table, "y")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "peak": peak, "pairs": clocks["counting"].calls,
                  **{name: clock.seconds for name, clock in clocks.items()}}))
"""

_DASK = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from privreg import DPKendall, ParquetTable, PrivateLinearRegression
from privreg.engines.dask.opening import OnCluster, cluster

if __name__ == "__main__":
    table = ParquetTable(sys.argv[1])
    with cluster(None, 2) as client:
        small = ParquetTable(sys.argv[2])
        PrivateLinearRegression(k=3, random_state=0).fit(OnCluster(small, client), "y")  # compiles, and connects
        start = time.perf_counter()
        MODEL.fit(OnCluster(table, client), "y")
        print(json.dumps({"seconds": time.perf_counter() - start}))
"""


def run(script: str, model: str, *folders: Path) -> dict[str, float]:
    """What a fresh process measured."""
    command = [sys.executable, "-c", script.replace("MODEL", model), *map(str, folders)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def reading_once(folder: Path) -> float:
    """Seconds to read every column once, with two threads: the fewest bytes that can be needed."""
    script = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from privreg import ParquetTable
table = ParquetTable(sys.argv[1])
def read(part):
    for _ in table.part_tables(part, list(table.columns), {}):
        pass
start = time.perf_counter()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(read, table.parts))
print(json.dumps({"seconds": time.perf_counter() - start}))
"""
    return run(script, "", folder)["seconds"]


def whole_fits(folder: Path, sizes: tuple[int, ...], wanted: str, results: Figures) -> None:
    """The fits whose title has the text `wanted`."""
    for n in sizes:
        data = generate(folder, n)
        fits = {name: model for name, model in FITS.items() if wanted in f"{name}, n = {n:,}, d = {COLUMNS}"}
        once = reading_once(data) if fits else 0.0
        for name, model in fits.items():
            found = run(_FIT, model, data)
            reading, ranking, counting = (found[k] / THREADS for k in ("reading", "ranking", "counting"))
            results[f"{name}, n = {n:,}, d = {COLUMNS}"] = {
                "seconds": found["seconds"],
                "peak resident memory (MB)": found["peak"],
                "reading every column once (s)": once,
                "reading, all passes (s)": reading,
                "ranking columns (s)": ranking,
                "counting pairs (s)": counting,
                "pairs of columns counted": found["pairs"],
                "everything else (s)": found["seconds"] - reading - ranking - counting,
                "times (reading once + counting)": found["seconds"] / (once + counting),
                "times (reading + ranking + counting)": found["seconds"] / (reading + ranking + counting),
                "nanoseconds per row and column": 1e9 * found["seconds"] / n / COLUMNS,
            }
            print(name, n, json.dumps(results[f"{name}, n = {n:,}, d = {COLUMNS}"], indent=1), flush=True)
    small, large = (f"n = {n:,}, d = {COLUMNS}" for n in (sizes[0], sizes[-1]))
    per_cell = "nanoseconds per row and column"
    results[f"growth from {small} to {large}"] = {
        f"{name}, per row and column": results[f"{name}, {large}"][per_cell] / results[f"{name}, {small}"][per_cell]
        for name in FITS
    }


def on_dask(folder: Path, results: Figures, sizes: tuple[int, ...]) -> None:
    """Two single-threaded workers against two threads, on the same files."""
    name = "PrivateLinearRegression(k=10)"
    for n in sizes:
        seconds = run(_DASK, FITS[name], generate(folder, n), generate(folder, 10**5))["seconds"]
        local = results[f"{name}, n = {n:,}, d = {COLUMNS}"]["seconds"]
        results[f"Dask, {name}, n = {n:,}, d = {COLUMNS}"] = {
            "seconds, 2 workers with 1 thread": seconds,
            "seconds, out of core with 2 threads": local,
            "times out of core": seconds / local,
        }
        print(n, seconds, seconds / local, flush=True)


def stages(folder: Path, sizes: tuple[int, ...]) -> Figures:
    """Seconds of each stage by itself, for the cost model."""
    found: Figures = {}
    for n in sizes:
        script = (Path(__file__).parent / "scaling_stages.py").read_text()
        found[f"stages, n = {n:,}"] = run(script, "", generate(folder, n))
        print(n, found[f"stages, n = {n:,}"], flush=True)
    return found


def fitted_costs(found: Figures) -> dict[str, float]:
    """Nanoseconds for each row: the mean over tables of a million rows and more, if there are such."""
    costs = {}
    for name in next(iter(found.values())):  # the smallest table has all stages, those of wide models too
        known = [figures for figures in found.values() if name in figures]
        large = [figures for figures in known if figures["rows"] >= 10**6] or known
        if name != "rows":
            costs[name] = 1e9 * float(np.mean([figures[name] / figures["rows"] for figures in large]))
    return costs


def main(folder: Path, most: int = SIZES[-1], only: str = "", fit: str = "") -> None:
    sizes, steps = tuple(n for n in SIZES if n <= most), tuple(n for n in STAGES if n <= max(most, 10**6))
    file = Path(__file__).with_suffix(".json")
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    results, details = known.get("results", {}), known.get("details", {})
    start = time.perf_counter()
    if only in ("", "fits"):
        whole_fits(folder, sizes, fit, results)
        write(__file__, results, details)
    if only in ("", "dask"):
        on_dask(folder, results, sizes[-1:])
        write(__file__, results, details)
    if only in ("", "stages"):
        details |= stages(folder, steps)
        details["nanoseconds per row, fitted"] = fitted_costs(
            {k: v for k, v in details.items() if k.startswith("stages")}
        )
        write(__file__, results, details)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    typer.run(main)
