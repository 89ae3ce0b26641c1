"""How often 95 % intervals cover the true coefficient, by simulation; writes results/flagship/coverage.json.

    python benchmarks/intervals.py [--tables N]

Well-specified linear models, ε = 1, δ = 1e-6, noise seeded. `independent` and `correlated` (0.7^|i−j|) columns are
what the intervals are made for; `collinear` (a random square mixing of normal columns) and `skewed` (log-normal
columns, whose tails are winsorised) show where they fail.
"""

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from privreg import PrivateLinearRegression

RESULTS = Path(__file__).resolve().parents[1] / "results" / "flagship" / "coverage.json"
DESIGNS = ("independent", "correlated", "collinear", "skewed")


def table(design: str, n: int, d: int, r2: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n, d, DESIGNS.index(design)])
    X = rng.normal(size=(n, d))
    if design == "correlated":
        X = X @ np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(range(d), range(d)))).T
    elif design == "collinear":
        X = X @ rng.normal(size=(d, d))
    elif design == "skewed":
        X = np.exp(0.7 * X)
    truth = rng.normal(size=d)
    signal = X @ truth
    return X, signal + rng.normal(size=n) * signal.std() * np.sqrt(1 / r2 - 1) + 5, truth


def covered(task: tuple[str, int, int, float, int]) -> tuple[int, int]:
    """How many of a fit's intervals cover, and how many there are."""
    warnings.simplefilter("ignore")
    X, y, truth = table(*task)
    model = PrivateLinearRegression(1.0, 1e-6, random_state=task[-1], n_jobs=1).fit(X, y)
    low, high = np.asarray(model.conf_int())[:-1].T
    return int(((low <= truth) & (truth <= high)).sum()), int(np.isfinite(low).sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=100)
    tables = parser.parse_args().tables
    rows = []
    with ProcessPoolExecutor() as pool:
        for design in DESIGNS:
            for n in (2000, 20_000):
                for d in (5, 10, 20):
                    for r2 in (0.3, 0.8):
                        tasks = [(design, n, d, r2, seed) for seed in range(tables)]
                        hits, intervals = np.sum(list(pool.map(covered, tasks)), axis=0).tolist()
                        rows.append({"design": design, "n": n, "d": d, "R²": r2, "coverage": hits / intervals})
                        print(rows[-1], flush=True)
    content = {"epsilon": 1.0, "delta": 1e-6, "tables": tables, "results": rows}
    RESULTS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
