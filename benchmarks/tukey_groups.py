"""Why the strict Tukey calibration is set as it is; writes benchmarks/tukey_groups.json.

    python benchmarks/tukey_groups.py [DATA]

- needed: how many models must there be for the test to pass, by the depth t (as a part of the models) and the test's
  share of ε, if models were distributed like Student's t with 3 degrees of freedom in 6 dimensions;
- measured, if DATA holds the paper's data sets as `<task>_<name>.parquet`: median test R² of 5 seeded splits with the 5
  features that Kendall selection picks without noise, by records in a group for each coefficient. Means are of R²
  clipped to [−1, 1]; a fit that released nothing counts as −1. Files that end in PARTIAL or NUMONLY are skipped.
"""

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from privreg import DPKendall, TukeyRegression
from privreg.kernels.volumes import log_volumes
from privreg.mechanisms.depth import STRICT, distance_to_unsafety, plan_draw
from privreg.paper.datasets import marked

EPSILONS = (0.5, log(3), 2.0)
DEPTHS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
SHARES = (0.15, 0.2, 0.3, 0.4, 0.5)
SIZES = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)


def models_needed(epsilon: float, depth: float, share: float, dimension: int = 6) -> int:
    """The fewest models whose distance exceeds the threshold by three noise scales."""
    calibration = replace(STRICT, depth=Fraction(depth), test_share=Fraction(share))
    step = plan_draw("draw", Fraction(epsilon), 1e-5, dimension, calibration)

    def passes(m: int) -> bool:
        quantiles = stats.t(3).ppf((np.arange(m) + 0.5) / m)
        volumes = log_volumes(np.tile(quantiles, (dimension, 1)))
        return distance_to_unsafety(volumes, m, dimension, step, calibration) >= step.threshold + 3 * step.scale

    low, high = 20, 40
    while not passes(high):
        low, high = high, 2 * high
    while high - low > max(low // 100, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def run(file: Path) -> tuple[str, dict[str, dict[str, float]]]:
    import pandas as pd

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(file)
    y = frame.pop("target").to_numpy(float)
    scores: dict[tuple[float, str], list[float]] = {}
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        selector = DPKendall(k=5, epsilon=1e6, n_jobs=1).fit(frame.iloc[train], y[train])
        X, new = selector.transform(frame.iloc[train]), selector.transform(frame.iloc[test])
        options: dict[str, dict[str, Any]] = {str(s): {"group_size": s * 6} for s in SIZES}
        options |= {"auto": {}, "paper calibration": {"calibration": "paper"}}
        for epsilon in EPSILONS:
            for name, option in options.items():
                model = TukeyRegression(epsilon, 1e-5, n_jobs=1, random_state=seed, **option).fit(X, y[train])
                score = model.score(new, y[test]) if model.released_ else -np.inf
                scores.setdefault((epsilon, name), []).append(score)
    table: dict[str, dict[str, float]] = {}
    for (epsilon, name), values in scores.items():
        table.setdefault(f"{epsilon:.3g}", {})[name] = round(float(np.clip(np.median(values), -1, 1)), 3)
    return file.stem, table


def main(data: Path | None) -> None:
    needed = {
        f"epsilon = {epsilon:.3g}": {
            f"share {share:g}": {f"t = {depth:g} m": models_needed(epsilon, depth, share) for depth in DEPTHS}
            for share in SHARES
        }
        for epsilon in EPSILONS
    }
    result: dict[str, Any] = {"models needed": needed}
    if data:
        files = [f for f in sorted(data.glob("*.parquet")) if not marked(f)]
        with ProcessPoolExecutor() as pool:
            tables = dict(pool.map(run, files))
        names = list(next(iter(tables.values()))[f"{EPSILONS[0]:.3g}"])
        result["mean over data sets"] = {
            f"epsilon = {e:.3g}": {
                n: round(float(np.mean([t[f"{e:.3g}"][n] for t in tables.values()])), 3) for n in names
            }
            for e in EPSILONS
        }
        result["by data set"] = tables
    Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps({k: v for k, v in result.items() if k != "by data set"}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
