"""What `privreg plan` interpolates between: fits on made-up tables, for many sizes; writes the file that is shipped.

    python benchmarks/plan_surface.py [--jobs N]

The size of a table is S = n·μ. Tables have as many rows as make the error of sampling small, at a budget that gives
this S. Losses are made to fall with S, as they must. Then fresh tables at sizes between those of the grid are fitted,
and the file says how far interpolation is off in nine of ten cases.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from privreg.estimators.private_linear import outlook_surface
from privreg.estimators.private_linear.outlook_surface import FILE, Surface, from_dict
from privreg.estimators.private_linear.plan_trials import RICH, Trial, one_trial
from privreg.estimators.private_linear.planner import STRENGTHS
from privreg.privacy.accountant import Budget, adaptive_cost

SIZES = [50, 60, 75, 100, 150, 220, 330, 500, 800, 1300, 2200, 4000, 8000, 20_000, 100_000]
SMALL_SIZES = [2, 5, 10, 20, 35, 49]
COLUMNS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
DELTA = 1e-6
WORST = -2.0  # R² that counts as no worse
NARROWEST = 0.2  # of an interval without privacy: the least that noise is said to add
CHECKS = 60  # fresh tables


def rows_for(columns: int) -> int:
    return max(6000, 30 * columns)


def trials_for(columns: int) -> int:
    return 24 if columns <= 16 else 16 if columns <= 64 else 8


def budget_for(size: float, rows: int) -> Budget:
    return Budget(adaptive_cost(Fraction(size / rows) ** 2, DELTA), DELTA)


def simulate(task: tuple[float, int, float, int, int]) -> list[Trial]:
    size, columns, signal, trials, seed = task
    rows = rows_for(columns)
    budget = budget_for(size, rows)
    generators = (
        np.random.default_rng([seed, columns, round(100 * signal), round(10 * size), t]) for t in range(trials)
    )
    return [one_trial(rows, columns, signal, budget, generator) for generator in generators]


def losses(trials: list[Trial]) -> NDArray[np.float64]:
    return np.array([min(trial.exact - trial.private, trial.exact - WORST) for trial in trials])


def noise_width(trials: list[Trial], margin: float) -> float:
    """The part of half-widths that is not sampling and margins, in the middle; NaN if all trials gave a constant."""
    widths = np.concatenate([trial.widths for trial in trials])
    exact = np.concatenate([trial.exact_widths for trial in trials])
    if not widths.size:
        return float("nan")
    noise = np.sqrt(np.maximum(widths**2 - (margin * exact) ** 2, (NARROWEST * exact) ** 2))
    return float(np.median(noise))


def falling(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closest that does not rise along the first axis; where there is none, as at the next size."""
    flat = values.reshape(len(values), -1)
    order = np.arange(len(values))
    fitted = []
    for column in flat.T:
        known = np.isfinite(column)
        model = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(order[known], column[known])
        fitted.append(model.predict(order))
    return np.array(fitted).T.reshape(values.shape)


def measure(pool: ProcessPoolExecutor) -> dict[str, Any]:
    grid = [(p, signal) for p in COLUMNS for signal in STRENGTHS]
    rich = list(pool.map(simulate, [(RICH * rows_for(p) / 100, p, s, 2, 1) for p, s in grid]))
    margins = [float(np.median([trial.wider for trial in trials])) for trials in rich]
    exact = [np.median(np.concatenate([t.exact_widths for t in trials])) for trials in rich]
    sampling = [float(w) * rows_for(p) ** 0.5 for w, (p, _) in zip(exact, grid, strict=True)]
    tasks = [(size, p, s, trials_for(p), 0) for size in SIZES for p, s in grid]
    found = list(pool.map(simulate, tasks))
    shape = (len(SIZES), len(COLUMNS), len(STRENGTHS))
    quantiles = [np.quantile(losses(trials), [0.5, 0.1, 0.9]) for trials in found]
    widths = [log(noise_width(trials, margins[i % len(grid)])) for i, trials in enumerate(found)]
    values = np.column_stack([quantiles, widths]).reshape(*shape, 4)
    constants = [
        np.quantile([max(t.private, WORST) for t in simulate((s, 1, 0.3, 40, 2))], [0.5, 0.1, 0.9]) for s in SMALL_SIZES
    ]
    return {
        "sizes": SIZES,
        "columns": COLUMNS,
        "signals": list(STRENGTHS),
        "reached": rounded(falling(values)),
        "small_sizes": SMALL_SIZES,
        "constants": rounded(np.array(constants)),
        "sampling": rounded(np.array(sampling).reshape(shape[1:])),
        "margins": rounded(np.array(margins).reshape(shape[1:])),
    }


def rounded(values: NDArray[np.float64]) -> Any:
    return np.round(values, 4).tolist()


def check(pool: ProcessPoolExecutor, surface: Surface) -> dict[str, float]:
    """How far fresh fits, in the middle of several, are from what is interpolated: nine of ten are no further."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.uniform(log(60), log(20_000), CHECKS))
    columns = np.exp(rng.uniform(0, log(150), CHECKS)).round().astype(int)
    signals = rng.choice(STRENGTHS, CHECKS)
    tasks = [(float(s), int(p), float(g), 9, 7) for s, p, g in zip(sizes, columns, signals, strict=True)]
    off, wide = [], []
    for (size, p, signal, *_), trials in zip(tasks, pool.map(simulate, tasks), strict=True):
        reached = surface.at(size, p, signal)
        off.append(abs(float(np.median(losses(trials))) - reached.loss))
        widths = [np.median(t.widths) for t in trials if t.widths.size]
        if widths:
            half, _ = surface.interval(reached.width, rows_for(p), p, signal)
            wide.append(abs(log(float(np.median(widths)) / half)))
    return {"r2": round(float(np.quantile(off, 0.9)), 3), "width": round(exp(float(np.quantile(wide, 0.9))), 2)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=None)
    args = parser.parse_args()
    with ProcessPoolExecutor(args.jobs) as pool:
        record = measure(pool)
        record["errors"] = check(pool, from_dict(record | {"errors": {}}))
    home = Path(outlook_surface.__file__).parent / FILE
    home.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    print(record["errors"], home.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
