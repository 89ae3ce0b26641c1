"""What choosing features on samples costs in accuracy and saves in time; writes sampling.json.

A table of 40 columns, ten of which matter, less and less; k = 10. Accuracy is the median of several fits with seeded
noise, which has the law of the private one; seconds are those of a whole fit in memory.
"""

from functools import partial
from typing import Any

import numpy as np

from measure import Figures, timed, write
from privreg import PrivateLinearRegression

COLUMNS, MATTER, FITS = 40, 10, 9
SIZES = (10**5, 10**6)
PARTS = (1.0, 0.3, 0.1, 0.03, 0.01)
EPSILONS = (1.0, 0.1)


def table(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    return X, X[:, :MATTER] @ (0.8 ** np.arange(MATTER)) + rng.normal(size=n)


def main() -> None:
    results: Figures = {}
    for n in SIZES:
        X, y = table(n)
        test = slice(0, min(n, 50_000))
        PrivateLinearRegression(k=MATTER, random_state=0).fit(X[:5000], y[:5000])  # compiles
        for epsilon in EPSILONS:
            for part in PARTS:
                most = None if part == 1 else int(part * n)
                found, scores, seconds = [], [], []
                for seed in range(FITS):
                    model = PrivateLinearRegression(epsilon, k=MATTER, max_rows_for_selection=most, random_state=seed)
                    seconds.append(timed(partial(model.fit, X, y))[0])
                    found.append(len(set(model.selected_features_) & set(range(MATTER))))
                    scores.append(model.score(X[test], y[test]))
                results[f"n = {n:,}, ε = {epsilon:g}, part = {part:g}"] = {
                    "of the ten columns that matter, found": float(np.median(found)),
                    "R²": float(np.median(scores)),
                    "seconds": float(np.median(seconds)),
                }
    write(__file__, results, {})


if __name__ == "__main__":
    main()
