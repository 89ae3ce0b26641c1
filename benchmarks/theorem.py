"""Where the paper's recovery theorem sets in: the n from which DPKendall picks one feature of every informative group.

The setting is the theorem's: k independent standard Gaussians with equal weights, each with copies, further columns of
pure noise, and a label with Gaussian noise. Run with `make theory`; prints a table and writes benchmarks/theorem.json.
"""

import json
import warnings
from math import atan, log, sqrt
from pathlib import Path

import numpy as np

from privreg import DPKendall, NotPrivateWarning

COPIES, NOISE_COLUMNS, RUNS, ETA = 2, 5, 200, 0.05


def recovery_rate(n: int, k: int, epsilon: float, runs: int = RUNS, seed: int = 0) -> float:
    """Share of runs in which the k chosen columns come from k different groups."""
    rng = np.random.default_rng(seed)
    recovered = 0
    for run in range(runs):
        informative = rng.normal(size=(n, k))
        y = informative.sum(axis=1) + rng.normal(size=n)
        X = np.column_stack([np.repeat(informative, COPIES + 1, axis=1), rng.normal(size=(n, NOISE_COLUMNS))])
        chosen = DPKendall(k=k, epsilon=epsilon, random_state=seed + run, n_jobs=1).fit(X, y).ranking_
        recovered += sorted(chosen // (COPIES + 1)) == list(range(k))
    return recovered / runs


def theorem_n(k: int, epsilon: float) -> float:
    """The theorem's sample size without its constant: k·ln(dk/η)/(ε·arctan(1/√k)) for equal weights."""
    d = k * (COPIES + 1) + NOISE_COLUMNS
    return k * log(d * k / ETA) / (epsilon * atan(1 / sqrt(k)))


def main() -> None:
    warnings.simplefilter("ignore", NotPrivateWarning)
    rows = []
    print("k    ε   n (95 % recovered)   rate   n / (theorem without constant)")
    for k in (2, 5, 8):
        for epsilon in (0.3, 1.0, 3.0):
            n = 50
            rates = {}
            while (rate := recovery_rate(n, k, epsilon)) < 0.95:
                rates[n] = rate
                n = int(n * 1.5)
            rates[n] = rate
            ratio = n / theorem_n(k, epsilon)
            rows.append({"k": k, "epsilon": epsilon, "n": n, "rates": rates, "ratio_to_theorem": ratio})
            print(f"{k}  {epsilon:4.1f}  {n:10d}         {rate:10.3f}   {ratio:8.2f}")
    setting = {"copies": COPIES, "noise_columns": NOISE_COLUMNS, "runs": RUNS}
    out = Path(__file__).with_suffix(".json")
    out.write_text(json.dumps({"setting": setting, "results": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
