"""How often 95 % intervals of `PrivateLinearRegression` hold what they are for; writes results/coverage/.

    python benchmarks/coverage_study.py DATA [--seeds N] [--quick] [--as-arrays] [--jobs N] [--out FOLDER]

DATA holds `<task>_<name>.parquet` files with the label in `target`. They are given to the estimator as the data frames
that they are, categories and all. Columns that the columns before them determine are left out, so that least squares is
unique. With --as-arrays, every level but the first is a number of its own, and all columns are declared to be numbers.
Files whose names end in PARTIAL or NUMONLY are not the paper's data sets: means are given with and without them.

Each seed fits a random 90 % of the records. Its intervals are compared with the estimand, which is least squares on
these records clipped at the ranges that the fit released, and with plain least squares of the same columns; its
prediction intervals with the other 10 %. A second fit, on records drawn with replacement, is compared with the same two
on the whole table: this includes the error of sampling. Simulated tables are new for each seed, and the true
coefficients of a model with all columns are known. A coefficient in the model that has no interval is "not determined",
and counted apart.

Noise is seeded, from the same discrete laws as the private one, so that a run can be repeated.
"""

import argparse
import csv
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coverage_designs import SIMULATED, Simulated, simulate
from coverage_measures import coefficients, predictions, quality
from privreg import PrivateLinearRegression, Schema
from privreg.paper.datasets import TARGET, find, marked, name_of
from privreg.report.charts import svg
from results_charts import coverage_shares, draw_coverage

RESULTS = Path(__file__).resolve().parents[1] / "results" / "coverage"
EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-6
SEEDS = 20
SIMULATED_SEEDS = 2  # times as many: simulated tables have few columns, and are small
DEPENDENT = 1e-3  # of a column's spread: what is left of one that the columns before it determine

HIGHEST_IS_WORST = ("not determined", "width", "R² error", "residual error")
MEASURES = {
    "estimand": "its estimand",
    "estimand, resampled": "its estimand, records drawn with replacement",
    "least squares": "least squares",
    "least squares, resampled": "least squares, records drawn with replacement",
    "truth": "the true coefficient",
    "intercept": "the intercept of its estimand",
    "predictions": "new records, by prediction intervals",
    "R²": "R² of its estimand",
    "R² error": "mean absolute error of R²",
    "residual error": "mean absolute error of the logarithm of the residual error",
    "not determined": "share of coefficients that are not determined",
    "width": "width, as a multiple of that of least squares (robust, HC1)",
}
FACTS = {"columns": "columns in the model", "few columns": "share of fits in which p^1.5 < S/50"}

Array = NDArray[np.float64]
Measures = dict[str, float]


@dataclass(frozen=True)
class Task:
    """A table at one budget. What to do with it is the same in every process."""

    table: Path | Simulated
    epsilon: float
    seeds: int
    arrays: bool = False

    @property
    def name(self) -> str:
        if isinstance(self.table, Simulated):
            return f"{self.table.design}, n = {self.table.n:,}"
        return name_of(self.table)

    @property
    def kind(self) -> str:
        if isinstance(self.table, Simulated):
            return "simulated"
        return "partial" if marked(self.table) else "complete"


@dataclass(frozen=True)
class Row:
    """What was found for a table at one budget: means over the fits that have a value."""

    name: str
    kind: str
    epsilon: float
    measures: Measures


def load(file: Path, arrays: bool) -> tuple[pd.DataFrame, Array]:
    """Complete records of a file, without columns that others determine, and the target."""
    frame = pd.read_parquet(file).dropna()
    target = frame.pop(TARGET).to_numpy(np.float64)
    if arrays:
        frame = pd.get_dummies(frame, drop_first=True, dtype=float).astype(float)
    return independent(frame.reset_index(drop=True)), target


def independent(frame: pd.DataFrame) -> pd.DataFrame:
    """The table without columns of which a feature is a linear function of the columns before."""
    features = {name: _features(frame[name]) for name in frame}
    basis = np.empty((len(frame), 1 + sum(block.shape[1] for block in features.values())), order="F")
    basis[:, 0], known, kept = 1 / sqrt(len(frame)), 1, []
    for name, block in features.items():
        size = known
        for column in block.T:
            rest = column - column.mean()
            spread = np.linalg.norm(rest)
            for _ in range(2):  # once more, for what rounding left
                rest = rest - basis[:, :size] @ (basis[:, :size].T @ rest)
            if np.linalg.norm(rest) <= DEPENDENT * spread:
                break
            basis[:, size] = rest / np.linalg.norm(rest)
            size += 1
        else:
            known = size
            kept.append(name)
    return frame[kept]


def _features(column: Any) -> Array:
    """A number as it is; a 0/1 column for each level of a category but the first."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.remove_unused_categories()
    return pd.get_dummies(column.to_frame(), drop_first=True).to_numpy(np.float64)


def fitted(task: Task, X: Any, y: Array, seed: int) -> PrivateLinearRegression:
    schema = None
    if task.arrays:
        schema = Schema.numbers(list(X.columns) if isinstance(X, pd.DataFrame) else X.shape[1])
    return PrivateLinearRegression(task.epsilon, DELTA, schema=schema, n_jobs=1, random_state=seed).fit(X, y)


def split_fit(task: Task, X: Any, y: Array, seed: int, truth: Array | None = None) -> Measures:
    """A fit on 90 % of the records, which are compared with its intervals, and the others with its predictions."""
    order = np.random.default_rng(seed).permutation(len(y))
    new, old = np.split(order, [len(y) // 10])
    rows = (lambda index: X.iloc[index]) if isinstance(X, pd.DataFrame) else X.__getitem__
    model = fitted(task, rows(old), y[old], 1000 + seed)
    return quality(model, rows(old), y[old], truth) | predictions(model, rows(new), y[new])


def resampled_fit(task: Task, X: pd.DataFrame, y: Array, seed: int) -> Measures:
    """A fit on records drawn with replacement, compared with the whole table."""
    drawn = np.random.default_rng([seed, 1]).integers(len(y), size=len(y))
    model = fitted(task, X.iloc[drawn], y[drawn], 2000 + seed)
    return {f"{name}, resampled": value for name, value in coefficients(model, X, y).items()}


def trials(task: Task) -> Iterator[Measures]:
    """What is measured with each seed."""
    if isinstance(task.table, Simulated):
        for seed in range(SIMULATED_SEEDS * task.seeds):
            X, y, truth = simulate(task.table, seed)
            yield split_fit(task, X, y, seed, truth)
        return
    frame, target = load(task.table, task.arrays)
    for seed in range(task.seeds):
        yield split_fit(task, frame, target, seed) | resampled_fit(task, frame, target, seed)


def run(task: Task) -> Row:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(trials(task))
    means = {name: _mean(trial.get(name) for trial in found) for name in (*FACTS, *MEASURES)}
    known = {name: value for name, value in means.items() if value is not None}
    return Row(task.name, task.kind, task.epsilon, known)


def study(tasks: list[Task], jobs: int) -> list[Row]:
    """All tasks, in their order; the others are told of as they come."""
    found = {}
    for done, (task, row) in enumerate(_each(tasks, jobs), 1):
        found[task] = row
        share = row.measures.get("estimand")
        told = "a constant" if share is None else f"{100 * share:.1f} % of the intervals hold their estimand"
        print(f"[{done}/{len(tasks)}] {task.name}, ε = {task.epsilon:g}: {told}", flush=True)
    return [found[task] for task in tasks]


def _each(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Row]]:
    if jobs == 1:
        yield from ((task, run(task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(run, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()


def summary(rows: list[Row], seeds: int, arrays: bool) -> dict[str, Any]:
    """Means over tables, the worst table, and each simulated one, by ε."""
    tables = [row for row in rows if row.kind != "simulated"]
    by_epsilon: dict[str, Any] = {}
    for epsilon in dict.fromkeys(row.epsilon for row in tables):
        here = [row for row in tables if row.epsilon == epsilon]
        few = [row for row in here if row.measures.get("few columns", 0) > 0.5]
        by_epsilon[f"{epsilon:g}"] = {
            "tables": len(here),
            "complete": sum(row.kind == "complete" for row in here),
            "few columns": len(few),
            "measures": {name: found for name in MEASURES if (found := _means(here, few, name))},
        }
    simulated: dict[str, Any] = {}
    for row in rows:
        if row.kind == "simulated":
            simulated.setdefault(row.name, {})[f"{row.epsilon:g}"] = row.measures
    return {
        "delta": DELTA,
        "seeds": seeds,
        "seeds, simulated": SIMULATED_SEEDS * seeds,
        "tables as": "arrays" if arrays else "data frames",
        "epsilon": by_epsilon,
        "simulated": simulated,
    }


def _means(rows: list[Row], few: list[Row], name: str) -> dict[str, Any]:
    """Of one measure: over all tables, the complete ones, those with few columns for their size; and the worst."""
    values = {row.name: row.measures[name] for row in rows if name in row.measures}
    if not values:
        return {}
    worst = max if name in HIGHEST_IS_WORST else min
    return {
        "all": float(np.mean(list(values.values()))),
        "median": float(np.median(list(values.values()))),
        "complete": _mean(row.measures.get(name) for row in rows if row.kind == "complete"),
        "few columns": _mean(row.measures.get(name) for row in few),
        "worst": worst((value, table) for table, value in values.items()),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and isfinite(value)]
    return float(np.mean(known)) if known else None


def write(rows: list[Row], seeds: int, arrays: bool, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "tables.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["table", "kind", "epsilon", *FACTS, *MEASURES])
        for row in rows:
            cells = [f"{row.measures[name]:.4g}" if name in row.measures else "" for name in (*FACTS, *MEASURES)]
            table.writerow([row.name, row.kind, f"{row.epsilon:g}", *cells])
    found = summary(rows, seeds, arrays)
    (folder / "summary.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    tell(found)
    (folder / "chart.svg").write_bytes(svg(draw_coverage(*coverage_shares(folder))))


def tell(found: dict[str, Any]) -> None:
    """The summary in a few lines."""
    for epsilon, here in found["epsilon"].items():
        print(f"ε = {epsilon}: {here['tables']} tables, {here['complete']} of them complete")
        for name, values in here["measures"].items():
            worst, table = values["worst"]
            print(f"  {name:25} {values['all']:.3f}, worst {worst:.3f} ({table})")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="two seeds: to see that it works")
    parser.add_argument("--as-arrays", action="store_true", help="every level a number of its own, all declared")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args(arguments)
    seeds = 2 if args.quick else args.seeds
    files = sorted(find(args.data).values(), key=lambda file: -file.stat().st_size)  # the longest first
    tables: list[Path | Simulated] = [*files, *SIMULATED]
    tasks = [Task(table, epsilon, seeds, args.as_arrays) for table in tables for epsilon in EPSILONS]
    write(study(tasks, args.jobs), seeds, args.as_arrays, args.out)


if __name__ == "__main__":
    main()
