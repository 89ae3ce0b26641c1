"""Time and memory of `PrivateLinearRegression`, against scikit-learn in the same run; writes flagship_speed.json.

Noise is OpenDP's. The times after a warm-up, each the median of several fits that take turns with their peer.
"""

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from measure import Figures, memory, taking_turns, timed, write
from privreg import PrivateLinearRegression


def table(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def fit(X: Any, y: Any, jobs: int = -1) -> Any:
    return PrivateLinearRegression(1.0, 1e-6, n_jobs=jobs).fit(X, y)


def seconds_for(n: int, d: int, rounds: int) -> float:
    X, y = table(n, d)
    return timed(lambda: fit(X, y), rounds)[0]


def main() -> None:
    fit(*table(5000, 20))  # compiles
    results: Figures = {}
    results["n = 20,000, d = 20"] = {"seconds": seconds_for(20_000, 20, 9)}
    X, y = table(500_000, 50)
    seconds = taking_turns(
        {"two": lambda: fit(X, y), "one": lambda: fit(X, y, 1), "peer": lambda: LinearRegression().fit(X, y)}
    )
    results["n = 500,000, d = 50"] = {
        "seconds, 2 threads": seconds["two"],
        "seconds, 1 thread": seconds["one"],
        "seconds, scikit-learn LinearRegression": seconds["peer"],
        "times scikit-learn, 2 threads": seconds["two"] / seconds["peer"],
    }
    results["microseconds per row, d = 20"] = {
        f"n = {n:,}": 1e6 * seconds_for(n, 20, 3) / n for n in (10**4, 10**5, 10**6)
    }
    results["memory, n = 500,000, d = 50"] = memory(
        "from privreg import PrivateLinearRegression",
        "PrivateLinearRegression().fit(rng.normal(size=(2000, 50)), rng.normal(size=2000))",
        "X = rng.normal(size=(500_000, 50)); y = X @ rng.normal(size=50) + rng.normal(size=500_000)",
        "PrivateLinearRegression().fit(X, y)",
    )
    write(__file__, results, {})


if __name__ == "__main__":
    main()
