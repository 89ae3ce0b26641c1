"""What public rows are worth to `PrivateLinearRegression` on the paper's data sets; writes results/public/.

    python benchmarks/public_rows.py DATA [--trials N]

DATA holds `<task>_<name>.parquet` files with the column to predict in `target`. In each random 90/10 split a tenth of
the training records, at most 1,000, are public: only their features are used, and they are no private records any more.
Compared are the median test R² of a fit to the private records alone, of the same with the public rows, of the same
with at most 100 of these, and of a fit to all training records, none of them public. δ = 1e-5. What counts is the mean
over data sets of R²/R² of least squares, clipped to [−1, 1]. Noise is seeded, so that a run can be repeated.
"""

import argparse
import csv
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from privreg import NonDP, PrivateLinearRegression
from privreg.paper.datasets import load, marked

RESULTS = Path(__file__).resolve().parents[1] / "results" / "public"
EPSILONS = (0.1, 0.03)
DELTA = 1e-5
MOST, FEW = 1000, 100  # public rows
ALONE, WITH, WITH_FEW, ALL = "private rows alone", "with public rows", "with 100 public rows", "all rows private"
WAYS = (ALONE, WITH, WITH_FEW, ALL)

Scores = dict[str, list[float]]  # by the way and ε, for each trial


def key(way: str, epsilon: float) -> str:
    return f"{way}, {epsilon:g}"


def run(task: tuple[Path, int]) -> tuple[str, Scores]:
    """Test R² of each trial for one data set, and of least squares."""
    file, trials = task
    warnings.simplefilter("ignore")
    data = load(file)
    X, y = data.X, data.y
    scores: Scores = {"OLS": [], **{key(way, epsilon): [] for way in WAYS for epsilon in EPSILONS}}
    for trial in range(trials):
        train, test = data.split(np.random.default_rng(trial))
        count = min(MOST, len(train) // 10)
        open_rows, rest = X[train[:count]], train[count:]
        given = {ALONE: (rest, None), WITH: (rest, open_rows), WITH_FEW: (rest, open_rows[:FEW]), ALL: (train, None)}
        scores["OLS"].append(NonDP().fit(X[train], y[train]).score(X[test], y[test]))
        for epsilon in EPSILONS:
            for way, (records, public) in given.items():
                model = PrivateLinearRegression(epsilon, DELTA, n_jobs=1, random_state=1000 + trial)
                model.fit(X[records], y[records], public=public)
                scores[key(way, epsilon)].append(model.score(X[test], y[test]))
    return file.stem, scores


def summary_of(medians: dict[str, dict[str, float]], trials: int) -> dict[str, Any]:
    """Mean ratios to least squares, and on how many data sets public rows help or harm."""
    found: dict[str, Any] = {"delta": DELTA, "trials": trials, "data sets": len(medians), "epsilon": {}}
    for epsilon in EPSILONS:
        ratios = {
            way: [float(np.clip(row[key(way, epsilon)] / row["OLS"], -1, 1)) for row in medians.values()]
            for way in WAYS
        }
        gains = np.array([row[key(WITH, epsilon)] - row[key(ALONE, epsilon)] for row in medians.values()])
        found["epsilon"][f"{epsilon:g}"] = {
            **{way: float(np.mean(values)) for way, values in ratios.items()},
            "R² higher by 0.01": int((gains > 0.01).sum()),
            "R² lower by 0.01": int((gains < -0.01).sum()),
            "lowest median with public rows": min((row[key(WITH, epsilon)], name) for name, row in medians.items()),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    args = parser.parse_args()
    files = sorted(args.data.glob("*.parquet"), key=lambda file: -file.stat().st_size)
    with ProcessPoolExecutor() as pool:
        trials = dict(sorted(pool.map(run, [(file, args.trials) for file in files])))
    whole = {file.stem for file in files if not marked(file)}
    medians = {name: {k: float(np.median(v)) for k, v in row.items()} for name, row in trials.items()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "datasets.csv").open("w", newline="") as out:
        table = csv.writer(out)
        names = ["OLS", *(key(way, epsilon) for epsilon in EPSILONS for way in WAYS)]
        table.writerow(["data set", "complete", *names])
        for name, row in medians.items():
            table.writerow([name, name in whole, *(f"{row[column]:.4f}" for column in names)])
    summary = summary_of(medians, args.trials)
    (RESULTS / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(summary, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
