"""Regressors against their peers, as ratios measured in one run. `make bench`; writes benchmarks/regression.json.

- TukeyRegression (published calibration) against a loop of scikit-learn `LinearRegression` fits and the same mechanism
  in plain numpy;
- BoostedAdaSSP against the plain algorithm on float64 arrays: one X·θ and one Xᵀg a round;
- details: memory, and where BoostedAdaSSP's time goes.
"""

import warnings
from collections.abc import Callable
from math import log, sqrt
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from measure import ROUNDS, memory, taking_turns, timed, write
from privreg import BoostedAdaSSP, NotPrivateWarning, TukeyRegression

EPSILON, DELTA = log(3), 1e-5


def numpy_tukey(X: Any, y: Any, models: int) -> Any:
    """One scikit-learn fit for each block of a shuffle, then depth volumes, test and draw in numpy."""
    rng = np.random.default_rng(0)
    n = len(y)
    a = np.column_stack([X, np.ones(n)])
    order = rng.permutation(n)
    size = n // models
    theta = np.empty((models, a.shape[1]))
    for g in range(models):
        block = order[g * size : (g + 1) * size]
        theta[g] = LinearRegression(fit_intercept=False).fit(a[block], y[block]).coef_
    columns = np.sort(theta.T, axis=1)
    half = models // 2
    volumes = np.log(columns[:, ::-1][:, :half] - columns[:, :half]).sum(axis=0)  # of depth 1, 2, …
    eta, t = EPSILON * 0.95 / 2, models // 4
    inner = eta * np.arange(1, half) + volumes[:-1] + np.log1p(-np.exp(volumes[1:] - volumes[:-1]))
    weights = np.logaddexp.accumulate(inner[::-1])[::-1]
    k = np.arange(t - 1)
    safe = volumes[t - k - 2] + eta * (t + k + 1) - weights[t + k - 2] <= log(DELTA / 8) - eta
    assert safe.sum() + rng.laplace(scale=1 / eta) >= log(1 / (2 * DELTA)) / eta
    p = t + int(np.argmax(inner[t - 1 :] + rng.gumbel(size=half - t)))
    low, high = columns[:, p - 1], columns[:, -p]
    return rng.uniform(low, high)


def tukey() -> dict[str, float]:
    n, models = 500_000, 83_333
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    y = X @ [5.0, 4.0, 3.0, 2.0, 1.0] + 2 + rng.normal(size=n)

    def fit(jobs: int) -> Any:
        model = TukeyRegression(EPSILON, DELTA, calibration="paper", n_records=n, n_jobs=jobs, random_state=0)
        return model.fit(X, y)

    ours = fit(1)
    seconds = taking_turns({"one": lambda: fit(1), "two": lambda: fit(2)})
    peer, theirs = timed(lambda: numpy_tukey(X, y, models))
    assert ours.released_
    assert np.abs(ours.coef_ - theirs[:5]).max() < 0.1, "both must find the model"
    return {
        "privreg, 1 thread (s)": seconds["one"],
        "privreg, 2 threads (s)": seconds["two"],
        "scikit-learn loop (s)": peer,
        "times faster than scikit-learn, 1 thread": peer / seconds["one"],
        "times faster than scikit-learn, 2 threads": peer / seconds["two"],
    }


def numpy_adassp(X: Any, y: Any, rounds: int, mu: float) -> Any:
    """The plain algorithm on float64, BLAS with all cores."""
    rng = np.random.default_rng(0)
    a = np.column_stack([X, np.ones(len(y))])
    a *= np.minimum(1, 1 / np.linalg.norm(a, axis=1))[:, None]
    d = a.shape[1]
    sigma = sqrt(3) / mu
    product = a.T @ a
    lowest = np.linalg.eigvalsh(product)[0]
    noise = rng.normal(scale=sigma, size=(d, d))
    noise = np.triu(noise) + np.triu(noise, 1).T
    ridge = max(0.0, sqrt(d * log(2 * d * d / 0.05)) * sigma - lowest)
    inverse = np.linalg.inv(product + noise + ridge * np.eye(d))
    theta = np.zeros(d)
    for _ in range(rounds):
        g = np.clip(y - a @ theta, -1, 1)
        theta += inverse @ (a.T @ g + rng.normal(scale=sigma * sqrt(rounds), size=d))
    return theta


def adassp() -> tuple[dict[str, float], dict[str, float]]:
    n, d, rounds = 500_000, 20, 100
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d - 1))
    y = X[:, :5] @ [0.5, 0.4, 0.3, 0.2, 0.1] + 0.2 + 0.1 * rng.normal(size=n)

    def fit(jobs: int, rounds: int = rounds, rows: int = n) -> Any:
        return BoostedAdaSSP(EPSILON, DELTA, rounds=rounds, n_jobs=jobs, random_state=0).fit(X[:rows], y[:rows])

    ours, theirs = fit(1), numpy_adassp(X, y, rounds, 0.28)
    np.testing.assert_allclose(ours.coef_, theirs[:-1], atol=0.05)
    tasks: dict[str, Callable[[], Any]] = {
        "one": lambda: fit(1),
        "two": lambda: fit(2),
        "numpy": lambda: numpy_adassp(X, y, rounds, 0.28),
        "no data": lambda: fit(1, rows=100),
        "one round": lambda: fit(1, rounds=1),
    }
    seconds = taking_turns(tasks, 2 * ROUNDS)
    return {
        "privreg, 1 thread (s)": seconds["one"],
        "privreg, 2 threads (s)": seconds["two"],
        "numpy, 2 threads (s)": seconds["numpy"],
        "times faster than numpy, 1 thread": seconds["numpy"] / seconds["one"],
        "times faster than numpy, 2 threads": seconds["numpy"] / seconds["two"],
    }, {
        "plan and noise alone, 100 records (s)": seconds["no data"],
        "one round, 1 thread (s)": seconds["one round"],
    }


def main() -> None:
    warnings.simplefilter("ignore", NotPrivateWarning)
    boosted, parts = adassp()
    results = {
        "TukeyRegression, n = 500,000, d = 6, 83,333 models": tukey(),
        "BoostedAdaSSP, n = 500,000, d = 20, 100 rounds": boosted,
    }
    details = {
        "BoostedAdaSSP, where the time goes": parts,
        "memory of TukeyRegression, n = 500,000, d = 6, 2 threads": memory(
            "from privreg import TukeyRegression",
            "TukeyRegression(calibration='paper', n_jobs=2).fit(rng.normal(size=(9000, 5)), rng.normal(size=9000))",
            "X, y = rng.normal(size=(500_000, 5)), rng.normal(size=500_000)",
            "TukeyRegression(calibration='paper', n_jobs=2, n_records=500_000).fit(X, y)",
        ),
        "memory of BoostedAdaSSP, n = 500,000, d = 20, 2 threads": memory(
            "from privreg import BoostedAdaSSP",
            "BoostedAdaSSP(n_jobs=2).fit(rng.normal(size=(9000, 19)), rng.normal(size=9000))",
            "X, y = rng.normal(size=(500_000, 19)), rng.normal(size=500_000)",
            "BoostedAdaSSP(n_jobs=2).fit(X, y)",
        ),
    }
    write(__file__, results, details)


if __name__ == "__main__":
    main()
