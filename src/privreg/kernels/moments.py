"""Records in a rotated frame, on an integer grid, and exact integer sums over them.

Columns are 16-bit integers. A public matrix maps a record's columns to the rotated frame; it is rounded to integers
too, so that the products are exact in float64 whatever order BLAS adds them in, and a record's row does not depend on
where it stands. Everything after is done record by record, by the same operations in the same order
(docs/proofs/moments.md). Chunks of records are shared out over threads.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from privreg.kernels.boosting import NORM, Int16, grid_for
from privreg.kernels.ranks import Float64, Int64
from privreg.kernels.threads import share_out, single_threaded_blas

_ENTRY = 2**22  # largest entry of a rounded matrix: 2^22 · 2^15 · 2^14 columns stay below 2^53
_MOST_RESIDUAL = 2**24  # of a rounded residual, however short its row
_CHUNK = 2**13  # records looked at together; sums of so many products below 2^30 are exact in float64 too


class Rows(NamedTuple):
    """Records in a rotated frame: shrunk to a radius, in whole multiples of radius/grid_for(width)."""

    values: Int16  # width × records
    factors: Float64  # what each row was multiplied by
    squares: Int64  # squared norms of the rounded rows: never above NORM²


def rotate(columns: Int16, matrix: Float64, radius: float, n_jobs: int | None) -> Rows:
    """Rows of the rotated frame; `matrix` has a row for each column."""
    width, n = matrix.shape[1], columns.shape[1]
    rows, factors, squares = np.empty((width, n), np.int16), np.empty(n), np.zeros(n, np.int64)
    whole, units = _round_matrix(matrix)

    def work(first: int, last: int) -> None:
        chunk = whole.T @ columns[:, first:last].astype(np.float64)
        _shrink(chunk, units, radius, grid_for(width), first, rows, factors, squares)

    _in_chunks(work, n, n_jobs)
    return Rows(rows, factors, squares)


def linear_scores(columns: Int16, theta: Float64, n_jobs: int | None) -> Float64:
    """θ·columns for each record."""
    result = np.empty(columns.shape[1])
    whole, units = _round_matrix(theta[:, None])

    def work(first: int, last: int) -> None:
        result[first:last] = whole[:, 0] @ columns[:, first:last].astype(np.float64) * units[0]

    _in_chunks(work, result.size, n_jobs)
    return result


@njit(nogil=True, cache=True)
def round_residuals(residuals: Float64, clip: float, squares: Int64) -> Int64:
    """Residuals in whole multiples of clip/NORM, with |u|·|r| ≤ NORM² exactly: clipped to ±clip where |u| = NORM."""
    whole = np.empty(residuals.size, np.int64)
    for i in range(residuals.size):
        most = np.int64(NORM * NORM / np.sqrt(np.maximum(squares[i], 1)))
        while most > 0 and most * most * squares[i] > NORM**4:  # the root may be rounded up
            most -= 1
        limit = np.float64(min(most, np.int64(_MOST_RESIDUAL)))
        value = residuals[i] / clip * NORM
        whole[i] = np.int64(np.rint(min(max(value, -limit), limit))) if value == value else 0  # NaN counts for nothing
    return whole


def sum_of_squares(residuals: Int64) -> int:
    """Σ ⌊(r/2)²⌋ for r clipped to ±2·NORM: one record adds at most NORM²."""
    clipped = np.minimum(np.abs(residuals), 2 * NORM)
    return int((clipped * clipped // 4).sum())


def joint_sums(rows: Int16, residuals: Int64, n_jobs: int | None) -> tuple[Int64, Int64]:
    """Σ u·uᵀ and Σ u·r, exactly."""
    width, n = rows.shape
    totals = [np.zeros((width, width + 1), np.int64)]

    def work(first: int, last: int) -> None:
        block = np.empty((width + 1, last - first))
        block[:-1], block[-1] = rows[:, first:last], residuals[first:last]
        totals.append((block[:-1] @ block.T).astype(np.int64))  # integers below 2^43: exact in any order

    _in_chunks(work, n, n_jobs)
    total = np.sum(totals, axis=0)
    return total[:, :-1], total[:, -1]


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
    whole: Float64,
    units: Float64,
    radius: float,
    grid: float,
    first: int,
    rows: Int16,
    factors: Float64,
    squares: Int64,
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
    for k in range(width):
        for i in range(n):
            entry = np.int64(np.rint(whole[k, i] * units[k] * norms[i] / radius * grid))
            squares[first + i] += entry * entry
            rows[k, first + i] = entry
    for i in range(first, first + n):
        if squares[i] > NORM * NORM:  # cannot happen; if it does, the record counts for nothing
            rows[:, i] = 0
            squares[i] = 0
