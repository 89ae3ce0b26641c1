"""The one statistic that is a float's: a smallest eigenvalue by LAPACK, and the true one, exactly."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privreg._types import Int64
from privreg.estimators.boosted_adassp import EIGEN_ERROR, EIGEN_UNIT, _smallest_eigenvalue
from privreg.kernels.boosting import NORM

ALLOWED = EIGEN_ERROR // EIGEN_UNIT // 2 + 1  # grid steps from the truth that the sensitivity allows for


def products(number: int) -> list[Int64]:
    """Σ a·aᵀ over up to 2^30 records, of widths up to 24, some of them singular or nearly so."""
    rng = np.random.default_rng(6)
    found = []
    for i in range(number):
        width = int(rng.integers(2, 25))
        rows = rng.normal(size=(width + int(rng.integers(-1, 40)), width)) * 2.0 ** -rng.integers(0, 12, width)
        rows *= (NORM - width) / np.sqrt((rows**2).sum(axis=1, keepdims=True))
        whole = np.rint(rows).astype(np.int64).astype(object)
        times = max(2**30 // len(whole) // 2 ** int(rng.integers(0, 24)), 1)
        found.append(((whole.T * times) @ whole).astype(np.int64) if i else np.zeros((3, 3), np.int64))
    return found


def computed(matrices: Sequence[Int64]) -> list[int]:
    """As the product computes them, in grid steps."""
    return [int(_smallest_eigenvalue(matrix)[0]) for matrix in matrices]


def error(runs: Sequence[Sequence[int]], matrices: Sequence[Int64]) -> float:
    """How far from the truth any process came out, in grid steps."""
    true = [lowest(matrix) for matrix in matrices]
    return max(abs(v * EIGEN_UNIT - t) / EIGEN_UNIT for values in runs for v, t in zip(values, true, strict=True))


def apart(runs: Sequence[Sequence[int]]) -> int:
    """How far any process came out from the first."""
    return max(abs(a - b) for values in runs for a, b in zip(runs[0], values, strict=True))


def lowest(matrix: Int64) -> int:
    """The smallest eigenvalue rounded up to an integer: exactly, by the signs of integer determinants."""
    whole = matrix.astype(object)
    guess = int(np.floor(np.linalg.eigvalsh(matrix.astype(np.float64))[0]))
    reach = 1
    while not _is_positive(whole, guess - reach):
        reach *= 2
    low, reach = guess - reach, 1
    while _is_positive(whole, guess + reach):
        reach *= 2
    high = guess + reach
    while high - low > 1:  # low < the eigenvalue ≤ high
        middle = (low + high) // 2
        low, high = (middle, high) if _is_positive(whole, middle) else (low, middle)
    return high


def _is_positive(matrix: NDArray[np.object_], shift: int) -> bool:
    """Whether matrix − shift is positive definite: all leading determinants, by elimination without fractions."""
    a = matrix - shift * np.eye(len(matrix), dtype=np.int64).astype(object)
    last = 1
    for k in range(len(a)):
        if a[k, k] <= 0:
            return False
        a[k + 1 :, k + 1 :] = (a[k + 1 :, k + 1 :] * a[k, k] - np.outer(a[k + 1 :, k], a[k, k + 1 :])) // last
        last = a[k, k]
    return True
