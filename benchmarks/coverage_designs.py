"""Simulated tables for coverage_study.py: linear models of which the coefficients are known."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Simulated:
    """A kind of table, and its number of records."""

    design: str
    n: int

    @property
    def columns(self) -> int:
        return 60 if self.design == "wide" else 10


DESIGNS = {
    "independent": "normal columns",
    "correlated": "normal columns, correlation 0.7 to the power of |i − j|",
    "collinear": "normal columns, mixed by a random square matrix",
    "skewed": "log-normal columns",
    "heteroskedastic": "normal columns; the spread of errors grows with the first two",
    "rare": "0/1 columns, of which between 1 % and 30 % of the records are 1",
    "wide": "60 normal columns, correlation 0.5",
}
SIMULATED = tuple(Simulated(design, n) for design in DESIGNS for n in (2000, 20_000))
R2 = 0.5


def simulate(table: Simulated, seed: int) -> tuple[Array, Array, Array]:
    """Columns, target and true slopes. Half of the target's variance is explained."""
    d, n = table.columns, table.n
    rng = np.random.default_rng([seed, n, list(DESIGNS).index(table.design)])
    X = rng.normal(size=(n, d))
    match table.design:
        case "correlated":
            X = X @ np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(range(d), range(d)))).T
        case "collinear":
            X = X @ rng.normal(size=(d, d))
        case "skewed":
            X = np.exp(0.7 * X)
        case "rare":
            X = (rng.random((n, d)) < np.geomspace(0.01, 0.3, d)).astype(np.float64)
        case "wide":
            X = sqrt(0.5) * (X + rng.normal(size=(n, 1)))
    truth = rng.normal(size=d)
    errors = rng.normal(size=n)
    if table.design == "heteroskedastic":
        errors *= np.exp(0.5 * (X[:, 0] + X[:, 1]))
    signal = X @ truth
    return X, 5 + signal + errors / errors.std() * signal.std() * sqrt(1 / R2 - 1), truth
