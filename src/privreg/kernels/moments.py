"""Records in a rotated frame, on an integer grid, and exact integer sums over them.

Columns are 16-bit integers. A public matrix maps a record's columns to the rotated frame; it is rounded to integers
too, so that the products are exact in float64 whatever order BLAS adds them in, and a record's row does not depend on
where it stands. Everything after is done record by record, by the same operations in the same order
(docs/proofs/moments.md). Chunks of records are shared out over threads.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from privreg.kernels.boosting import NORM, Int16, grid_for
from privreg.kernels.ranks import Float64, Int64
from privreg.kernels.threads import share_out, single_threaded_blas

_ENTRY = 2**22  # largest entry of a rounded matrix: 2^22 · 2^15 · 2^14 columns stay below 2^53
_CHUNK = 2**13  # records looked at together; sums of so many products below 2^30 are exact in float64 too


def rotate(columns: Int16, matrix: Float64, radius: float, n_jobs: int | None) -> tuple[Int16, Float64]:
    """Rows of the rotated frame shrunk to norm `radius`, in whole multiples of radius/grid, and the shrinking factors.

    `matrix` has a row for each column. The squared norm of a rounded row never exceeds NORM².
    """
    width, n = matrix.shape[1], columns.shape[1]
    rows, factors = np.empty((width, n), np.int16), np.empty(n)
    whole, units = _round_matrix(matrix)

    def work(first: int, last: int) -> None:
        chunk = whole.T @ columns[:, first:last].astype(np.float64)
        _shrink(chunk, units, radius, grid_for(width), first, rows, factors)

    _in_chunks(work, n, n_jobs)
    return rows, factors


def linear_scores(columns: Int16, theta: Float64, n_jobs: int | None) -> Float64:
    """θ·columns for each record."""
    result = np.empty(columns.shape[1])
    whole, units = _round_matrix(theta[:, None])

    def work(first: int, last: int) -> None:
        result[first:last] = whole[:, 0] @ columns[:, first:last].astype(np.float64) * units[0]

    _in_chunks(work, result.size, n_jobs)
    return result


def round_residuals(residuals: Float64, clip: float) -> Int16:
    """Residuals clipped to ±clip, in whole multiples of clip/NORM."""
    return np.rint(np.clip(residuals / clip, -1.0, 1.0) * NORM).astype(np.int16)


def joint_sums(rows: Int16, residuals: Int16, n_jobs: int | None) -> tuple[Int64, Int64, int]:
    """Σ u·uᵀ, Σ u·r and Σ r², exactly."""
    width, n = rows.shape
    totals = [np.zeros((width + 1, width + 1), np.int64)]

    def work(first: int, last: int) -> None:
        block = np.empty((width + 1, last - first))
        block[:-1], block[-1] = rows[:, first:last], residuals[first:last]
        totals.append((block @ block.T).astype(np.int64))  # integers below 2^43: exact in any order

    _in_chunks(work, n, n_jobs)
    total = np.sum(totals, axis=0)
    return total[:-1, :-1], total[:-1, -1], int(total[-1, -1])


def _round_matrix(matrix: Float64) -> tuple[Float64, Float64]:
    """Whole numbers of at most 22 bits, and the unit of each column."""
    units = np.maximum(np.abs(matrix).max(axis=0), 1e-300) / _ENTRY
    return np.rint(matrix / units), units


def _in_chunks(work: Callable[[int, int], None], n: int, n_jobs: int | None) -> None:
    def loop(chunks: Iterator[int]) -> None:
        for c in chunks:
            work(c * _CHUNK, min((c + 1) * _CHUNK, n))

    with single_threaded_blas():
        share_out(loop, -(-n // _CHUNK), n_jobs)


@njit(nogil=True, cache=True)
def _shrink(
    whole: Float64, units: Float64, radius: float, grid: float, first: int, rows: Int16, factors: Float64
) -> None:
    width, n = whole.shape
    norms = np.zeros(n)
    for k in range(width):
        for i in range(n):
            value = whole[k, i] * units[k]
            norms[i] += value * value
    for i in range(n):
        norms[i] = min(1.0, radius / np.sqrt(max(norms[i], 1e-300)))
        factors[first + i] = norms[i]
    squares = np.zeros(n, np.int64)
    for k in range(width):
        for i in range(n):
            entry = np.int64(np.rint(whole[k, i] * units[k] * norms[i] / radius * grid))
            squares[i] += entry * entry
            rows[k, first + i] = entry
    for i in range(n):
        if squares[i] > NORM * NORM:  # cannot happen; if it does, the record counts for nothing
            rows[:, first + i] = 0
