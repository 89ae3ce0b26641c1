"""`PrivateLinearRegression` on the paper's data sets, and what each part of it is worth; writes results/flagship/.

    python benchmarks/flagship.py DATA [--trials N] [--ablations N]

DATA holds `<task>_<name>.parquet` files with the label in `target`. The paper's protocol: random 90/10 splits,
δ = 1e-5, median test R² for each data set. What counts is the mean over data sets of R²/R² of least squares, clipped to
[−1, 1]. Files whose names end in PARTIAL or NUMONLY are not the paper's data sets: means are given with and without
them. Noise is seeded, from the same discrete laws as the private one, so that a run can be repeated.

An ablation changes one thing. Its effect is the change of the mean, given with the smallest and largest effect found
when each data set is left out in turn, so that no single one can carry it.
"""

import argparse
import csv
import json
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg import NonDP, PrivateLinearRegression
from privreg.tables import read_table

RESULTS = Path(__file__).resolve().parents[1] / "results" / "flagship"
EPSILONS = (math.log(3), 0.3, 0.1)
DELTA = 1e-5

Patch = Callable[[], None]


def ablations() -> dict[str, Patch]:
    """What to change, by name. Each is applied in a process of its own."""
    from privreg.regression import fitting

    def constant(name: str, value: Any) -> Patch:
        return lambda: setattr(fitting, name, value)

    return {"ridge 0.2 instead of 0.8": constant("RIDGE", 0.2)}


def load(file: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import pandas as pd

    frame = pd.read_parquet(file)
    y = frame.pop("target").to_numpy(float)
    table = read_table(frame)
    return table.rows(np.arange(table.n_rows)), y


def run(task: tuple[Path, str | None, int, int]) -> dict[str, list[float]]:
    """Test R² of each trial, by ε, for one data set under one change; of least squares too if nothing is changed."""
    file, change, first, trials = task
    warnings.simplefilter("ignore")
    if change is not None:
        ablations()[change]()
    X, y = load(file)
    scores: dict[str, list[float]] = {f"{e:.4g}": [] for e in EPSILONS}
    if change is None:
        scores["OLS"] = []
    for trial in range(first, first + trials):
        order = np.random.default_rng(trial).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        for epsilon in EPSILONS:
            model = PrivateLinearRegression(epsilon, DELTA, n_jobs=1, random_state=1000 + trial)
            scores[f"{epsilon:.4g}"].append(model.fit(X[train], y[train]).score(X[test], y[test]))
        if change is None:
            scores["OLS"].append(NonDP().fit(X[train], y[train]).score(X[test], y[test]))
    return scores


def complete(file: Path) -> bool:
    return not file.stem.endswith(("_PARTIAL", "_NUMONLY"))


def ratios(medians: dict[str, dict[str, float]], ols: dict[str, float], epsilon: str) -> dict[str, float]:
    return {name: float(np.clip(row[epsilon] / ols[name], -1, 1)) for name, row in medians.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--ablations", type=int, default=10, help="trials of each ablation; 0 for none")
    args = parser.parse_args()
    files = sorted(args.data.glob("*.parquet"), key=lambda f: -f.stat().st_size)
    changes = list(ablations()) if args.ablations else []
    # One process for each task, so that no change outlives its own.
    with ProcessPoolExecutor(max_tasks_per_child=1) as pool:
        main_runs = [pool.submit(run, (f, None, 0, args.trials)) for f in files]
        other_runs = {c: [pool.submit(run, (f, c, 0, args.ablations)) for f in files] for c in changes}
        trials = {f.stem: r.result() for f, r in zip(files, main_runs, strict=True)}
        ablated = {c: {f.stem: r.result() for f, r in zip(files, rs, strict=True)} for c, rs in other_runs.items()}
    whole = {f.stem for f in files if complete(f)}
    write_tables(trials, ablated, whole, args.ablations)


def write_tables(
    trials: dict[str, dict[str, list[float]]],
    ablated: dict[str, dict[str, dict[str, list[float]]]],
    whole: set[str],
    few: int,
) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    keys = [f"{e:.4g}" for e in EPSILONS]
    medians = {name: {k: float(np.median(v)) for k, v in row.items()} for name, row in sorted(trials.items())}
    ols = {name: row["OLS"] for name, row in medians.items()}
    with (RESULTS / "datasets.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["data set", "complete", "OLS", *(f"{s} {k}" for k in keys for s in ("median", "q25", "q75"))])
        for name, row in sorted(trials.items()):
            cells = [f"{q:.4f}" for k in keys for q in np.quantile(row[k], [0.5, 0.25, 0.75])]
            table.writerow([name, name in whole, f"{ols[name]:.4f}", *cells])
    summary: dict[str, Any] = {"delta": DELTA, "trials": len(next(iter(trials.values()))["OLS"]), "epsilon": {}}
    for k in keys:
        parts = ratios(medians, ols, k)
        summary["epsilon"][k] = {
            "data sets": len(parts),
            "R² > 0": sum(row[k] > 0 for row in medians.values()),
            "mean ratio": float(np.mean(list(parts.values()))),
            "mean ratio, complete": float(np.mean([v for n, v in parts.items() if n in whole])),
            "lowest median": min((row[k], name) for name, row in medians.items()),
        }
    (RESULTS / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(summary, indent=1, ensure_ascii=False))
    if ablated:
        write_ablations(trials, ablated, ols, keys, few)


def write_ablations(
    trials: dict[str, dict[str, list[float]]],
    ablated: dict[str, dict[str, dict[str, list[float]]]],
    ols: dict[str, float],
    keys: list[str],
    few: int,
) -> None:
    """Effect of each change on the mean ratio, over the same splits, with its range when a data set is left out."""
    base = {name: {k: float(np.median(row[k][:few])) for k in keys} for name, row in trials.items()}
    with (RESULTS / "ablations.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["change", *(f"{s} {k}" for k in keys for s in ("effect", "least", "most", "better", "worse"))])
        for change, rows in ablated.items():
            medians = {name: {k: float(np.median(row[k])) for k in keys} for name, row in rows.items()}
            cells = []
            for k in keys:
                before, after = ratios(base, ols, k), ratios(medians, ols, k)
                effects = np.array([after[name] - before[name] for name in sorted(before)])
                without = (effects.sum() - effects) / (len(effects) - 1)
                cells += [f"{v:+.4f}" for v in (effects.mean(), without.min(), without.max())]
                cells += [str((effects > 0.01).sum()), str((effects < -0.01).sum())]
            table.writerow([change, *cells])
            print(change, cells)


if __name__ == "__main__":
    main()
