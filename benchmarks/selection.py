"""Selection against its peers, as ratios measured in one run. `make bench`; writes benchmarks/selection.json.

- DPKendall against the same selection with one `scipy.stats.kendalltau` call per pair, as the paper's authors do;
- DPKendall on binary columns against continuous ones;
- SubLasso against a loop of scikit-learn `Lasso` fits over the same groups;
- details: one pair of columns by kind, and memory.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from measure import ROUNDS, memory, timed, write
from privreg import DPKendall, NotPrivateWarning, SubLasso
from privreg.estimators.dp_kendall import ranges
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import rank_column
from privreg.mechanisms.screening import GRID


def scipy_selection(X: Any, y: Any, k: int, epsilon: float, between: Callable[[], None]) -> tuple[float, list[int]]:
    """Equation (1) with scipy's correlations and the same Gumbel scales; continuous data, so τ-b is τ.

    Returns its seconds and its choice. `between` runs outside the clock after each round.
    """
    n, d = X.shape
    rng = np.random.default_rng(0)

    def scores(columns: Any, other: Any) -> tuple[float, Any]:
        return timed(lambda: np.array([abs(scipy.stats.kendalltau(X[:, j], other).statistic) * n / 2 for j in columns]))

    left = np.arange(d)
    seconds, label = scores(left, y)
    redundancy = np.zeros(d)
    chosen: list[int] = []
    for t, width in enumerate(ranges(k)):
        between()
        total = label[left] - redundancy[left] / max(t, 1)
        at = int(np.argmax(total + rng.gumbel(size=left.size) * width / GRID * k / epsilon))
        chosen.append(int(left[at]))
        left = np.delete(left, at)
        if t + 1 < k:
            more, correlations = scores(left, X[:, chosen[-1]])
            seconds += more
            redundancy[left] += correlations
    return seconds, chosen


def dp_kendall() -> dict[str, float]:
    """Ours and scipy's take turns, because the speed of a shared machine drifts within a minute."""
    n, d, k = 500_000, 50, 5
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    y = X[:, :5] @ [5.0, 4.0, 3.0, 2.0, 1.0] + rng.normal(size=n)
    binary = (X > 0).astype(np.float64)

    def fit(data: Any, jobs: int) -> Any:
        return DPKendall(k=k, epsilon=1.0, n_jobs=jobs, random_state=0).fit(data, y[: len(data)])

    variants = {"one": (X, 1), "two": (X, 2), "binary": (binary, 1)}
    seconds: dict[str, list[float]] = {name: [] for name in variants}

    def ours() -> None:
        # Whoever comes first after scipy finds cold caches and returned memory: each in turn.
        first = len(seconds["one"])
        for name in [list(variants)[(first + i) % 3] for i in range(3)]:
            data, jobs = variants[name]
            seconds[name].append(timed(partial(fit, data, jobs))[0])

    for data, jobs in variants.values():
        fit(data[:1000], jobs)  # compile
    peer, theirs = scipy_selection(X, y, k, 1.0, ours)
    assert fit(X, 2).ranking_.tolist() == theirs, "both must do the same work"
    one, two, binary_one = (float(np.median(seconds[name])) for name in variants)
    return {
        "privreg, 1 thread (s)": one,
        "privreg, 2 threads (s)": two,
        "privreg, 1 thread, binary columns (s)": binary_one,
        "scipy (s)": peer,
        "times faster than scipy, 1 thread": peer / one,
        "times faster than scipy, 2 threads": peer / two,
        "times cheaper, binary than continuous": one / binary_one,
    }


def one_pair() -> dict[str, float]:
    """Counting one pair of ranked columns, by the kind of the second column."""
    n = 500_000
    rng = np.random.default_rng(3)
    label = rank_column(rng.normal(size=n))
    kinds = {
        "continuous": rng.normal(size=n),
        "250,000 levels": rng.integers(0, 250_000, n),
        "1000 levels": rng.integers(0, 1000, n),
        "10 levels": rng.integers(0, 10, n),
        "2 levels": rng.integers(0, 2, n),
    }
    figures = {}
    for kind, values in kinds.items():
        columns = [rank_column(values.astype(np.float64))] * 8
        concordance(label, columns, 1)
        seconds, _ = timed(partial(concordance, label, columns, 1), ROUNDS)
        figures[f"{kind} (ms)"] = seconds / len(columns) * 1e3
    return figures


def sub_lasso() -> dict[str, float]:
    n, d, k = 50_000, 30, 5
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    y = X[:, :5] @ [5.0, 4.0, 3.0, 2.0, 1.0] + rng.normal(size=n)

    def fit(jobs: int) -> Any:
        return SubLasso(k=k, epsilon=1.0, n_jobs=jobs, random_state=0).fit(X, y)

    def loop(models: int) -> Any:
        group = np.random.default_rng(0).integers(models, size=n)
        augmented = np.column_stack([X, np.ones(n)])
        votes = np.zeros(d)
        order = np.argsort(group, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            model = Lasso(alpha=1.0, fit_intercept=False, tol=1e-10)
            model.fit(augmented[members], y[members])
            votes[np.argsort(-np.abs(model.coef_[:d]))[:k]] += 1
        return votes

    fit(1)
    one, ours = timed(lambda: fit(1), ROUNDS)
    two, _ = timed(lambda: fit(2), ROUNDS)
    peer, votes = timed(lambda: loop(ours.n_models_))
    assert set(np.argsort(-votes)[:5]) == set(ours.ranking_), "both must find the same features"
    return {
        "privreg, 1 thread (s)": one,
        "privreg, 2 threads (s)": two,
        "scikit-learn loop (s)": peer,
        "times faster than scikit-learn, 1 thread": peer / one,
        "times faster than scikit-learn, 2 threads": peer / two,
    }


def main() -> None:
    warnings.simplefilter("ignore", NotPrivateWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = {
        "DPKendall, n = 500,000, d = 50, k = 5": dp_kendall(),
        "SubLasso, n = 50,000, d = 30, k = 5": sub_lasso(),
    }
    details = {
        "one pair of columns, n = 500,000, 1 thread": one_pair(),
        "memory of DPKendall, n = 1,000,000, d = 30, 2 threads": memory(
            "from privreg import DPKendall",
            "DPKendall(k=3, n_jobs=2).fit(rng.normal(size=(1000, 30)), rng.normal(size=1000))",
            "X, y = rng.normal(size=(1_000_000, 30)), rng.normal(size=1_000_000)",
            "DPKendall(k=3, n_jobs=2).fit(X, y)",
        ),
    }
    write(__file__, results, details)


if __name__ == "__main__":
    main()
