"""How bad `PrivateLinearRegression` can get at small budgets; writes results/flagship/small_budgets.csv.

With it small_ablations.csv: what each way to a target's scale is worth where data are scarce.

    python benchmarks/small_budgets.py DATA [--trials N]

Median test R² on each data set of DATA (as benchmarks/flagship.py has them), and on tables of 10 columns of pure noise,
whose target is normal, exponential, or 1 for one record in ten. A constant that is the mean has an R² of 0. S, the
number of records times μ, is what the data can carry; below 40 the model is a constant. The oracle knows the middle and
the scale of the target, spends the whole budget on its mean, clipped at three deviations, and knows no columns: below
its R² no method that releases a mean in this way can be expected to stay. δ = 1e-5. Noise is seeded.
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flagship import effect_cells
from privreg import PrivateLinearRegression
from privreg.estimators.private_linear import fitting, schedule
from privreg.paper.datasets import load
from privreg.privacy.accountant import Budget, adaptive_budget

RESULTS = Path(__file__).resolve().parents[1] / "results" / "flagship"
EPSILONS = (0.3, 0.1, 0.05, 0.03, 0.02, 0.01)
DELTA = 1e-5
NOISE = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "one in ten": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
}
ROWS = (1000, 5000, 20_000)  # of tables of noise
TESTED = 4000
CLIP = 3.0
HALF = 0.455  # the median of the square of a standard normal number


def _not_looked_for() -> None:
    schedule.LOOK = (0, 0.0)


def _histograms() -> None:
    schedule.MEDIAN_DISTANCE = schedule.NEAR_COUNT = (0, 0.0)


def _mean_first() -> None:
    def planned(*about: Any, **more: Any) -> schedule.Schedule:
        made = schedule.make_schedule(*about, **more)
        return replace(made, target_mean=made.target_mean + made.mean_at_end, mean_at_end=0.0)

    fitting.make_schedule = planned  # type: ignore[attr-defined]


CHANGES: dict[str, Callable[[], None]] = {
    "zeros and ones not looked for": _not_looked_for,
    "a histogram for every constant": _histograms,
    "the same for the mean, but first": _mean_first,
}


def run(task: tuple[Any, float, int]) -> list[str]:
    """One row of the table: what was fitted, ε, S, R² and the oracle's."""
    source, epsilon, trials = task
    warnings.simplefilter("ignore")
    data = load(source) if isinstance(source, Path) else None
    scores, used = [], 0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        if data is None:
            kind, used = source
            X, y = rng.normal(size=(used + TESTED, 10)), NOISE[kind](rng, used + TESTED)
            train, test = np.arange(used), np.arange(used, used + TESTED)
        else:
            X, y = data.X, data.y
            train, test = data.split(rng)
            used = len(train)
        model = PrivateLinearRegression(epsilon, DELTA, n_jobs=1, random_state=1000 + trial)
        scores.append(model.fit(X[train], y[train]).score(X[test], y[test]))
    size = used * float(adaptive_budget(Budget(epsilon, DELTA))) ** 0.5
    name = source.stem if isinstance(source, Path) else f"noise, {source[0]}, {source[1]} records"
    oracle = -HALF * (CLIP / size) ** 2
    return [name, f"{epsilon:g}", f"{size:.0f}", f"{np.median(scores):.4f}", f"{oracle:.4f}"]


def effect(before: list[list[str]], after: list[list[str]]) -> list[str]:
    """Of a change on R² (not below −1) where S is small: its mean, the range of that as a table is left out, counts."""
    old = {tuple(row[:2]): max(float(row[3]), -1.0) for row in before}
    found: dict[str, list[float]] = {}
    for name, epsilon, _, score, _ in after:
        found.setdefault(name, []).append(max(float(score), -1.0) - old[name, epsilon])
    return effect_cells(list(found.values()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    args = parser.parse_args()
    sources = [*sorted(args.data.glob("*.parquet")), *((kind, rows) for kind in NOISE for rows in ROWS)]
    tasks = [(source, epsilon, args.trials) for source in sources for epsilon in EPSILONS]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(run, tasks))
    scarce = [task for task, row in zip(tasks, rows, strict=True) if float(row[2]) < schedule.LITTLE]
    with (RESULTS / "small_ablations.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["change", "effect", "least", "most", "better", "worse"])
        for change, patch in CHANGES.items():
            with ProcessPoolExecutor(initializer=patch) as pool:
                table.writerow([change, *effect(rows, list(pool.map(run, scarce)))])
    with (RESULTS / "small_budgets.csv").open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["table", "epsilon", "S", "median R²", "oracle's constant"])
        table.writerows(rows)
    for epsilon in EPSILONS:
        low = [f"{row[0]} {row[3]} (S {row[2]})" for row in rows if row[1] == f"{epsilon:g}" and float(row[3]) < -0.02]
        print(f"ε = {epsilon:g}: below -0.02 in {len(low)}: {'; '.join(low)}", flush=True)


if __name__ == "__main__":
    main()
