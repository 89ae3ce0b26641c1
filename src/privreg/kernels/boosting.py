"""Clipped records on an integer grid, and exact integer sums over them.

A record's row, with a one appended for the intercept, is shrunk to norm `clip`, rounded to whole multiples of
clip/grid, and kept in 16 bits: its squared norm never exceeds NORM². Sums of products are exact in 64 bits whatever the
order, so one record moves them by its own product and by nothing else (docs/proofs/adassp.md).
"""

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privreg.kernels.ranks import Float64, Int64
from privreg.kernels.threads import share_out
from privreg.tables import Records

Int16 = NDArray[np.int16]

NORM = 2**15 - 1  # largest norm of a rounded row, and largest rounded residual

_BLOCK = 1024  # rows looked at together: their residuals stay in the cache
_CHUNK = 2**16  # rows handed over at a time; sums of 2^16 products below 2^30 are exact in float64 too


def grid_for(width: int) -> float:
    """Grid steps for one clipping norm, a little below NORM: rounding adds at most √width/2 to the norm of a row."""
    return NORM - 1.0 - np.sqrt(width) / 2


@njit(nogil=True, cache=True)
def shrink_factors(rows: Float64, clip: float) -> Float64:
    """For each row with a one appended, min(1, clip/norm)."""
    n, d = rows.shape
    factors = np.empty(n)
    for i in range(n):
        size = 1.0
        for j in range(d):
            size = max(size, abs(rows[i, j]))
        total = 1 / size / size
        for j in range(d):
            total += (rows[i, j] / size) * (rows[i, j] / size)
        factors[i] = min(1.0, clip / size / np.sqrt(total))
    return factors


@njit(nogil=True, cache=True)
def round_rows(rows: Float64, clip: float, grid: float, out: Int16) -> None:
    """Fill out[:, i] with row i clipped and rounded, the intercept last."""
    n, d = rows.shape
    factors = shrink_factors(rows, clip)
    for i in range(n):
        squares = np.int64(0)
        for j in range(d + 1):
            value = rows[i, j] if j < d else 1.0
            whole = np.int64(np.rint(value * factors[i] / clip * grid))
            squares += whole * whole
            out[j, i] = whole
        if squares > NORM * NORM:  # a factor near 1e-308 has few digits: such a record counts for nothing
            out[:, i] = 0


def read_rows(records: Records, clip: float, n_jobs: int | None) -> Int16:
    """All records clipped and rounded, one row of the result for each column and the intercept."""
    width = len(records) + 1
    result = np.empty((width, records.n_records), np.int16)
    grid = grid_for(width)
    size = max(2**18 // width, 1)

    def work(chunks: Iterator[int]) -> None:
        for c in chunks:
            index = np.arange(c * size, min((c + 1) * size, records.n_records))
            round_rows(records.rows(index), clip, grid, result[:, index[0] : index[-1] + 1])

    share_out(work, -(-records.n_records // size), n_jobs)
    return result


def gram(columns: Int16) -> Int64:
    """Σ a·aᵀ over the records, exactly. BLAS uses the cores it is given."""
    width, n = columns.shape
    total = np.zeros((width, width), np.int64)
    for first in range(0, n, _CHUNK):
        block = columns[:, first : first + _CHUNK].astype(np.float64)
        total += (block @ block.T).astype(np.int64)  # integers below 2^46: exact in any order
    return total


def residual_sums(columns: Int16, target: Float64, theta: Float64, clip: float, n_jobs: int | None) -> Int64:
    """Σ a·ρ, exactly, with ρ the residual target − θ·a clipped to ±clip and rounded to whole multiples of clip/NORM."""
    width, n = columns.shape
    totals = [np.zeros(width, np.int64)]

    def work(chunks: Iterator[int]) -> None:
        for c in chunks:
            totals.append(_residual_sums(columns, target, theta, clip, c * _CHUNK, min((c + 1) * _CHUNK, n)))

    share_out(work, -(-n // _CHUNK), n_jobs)
    return np.sum(totals, axis=0)


@njit(nogil=True, cache=True)
def _residual_sums(columns: Int16, target: Float64, theta: Float64, clip: float, first: int, last: int) -> Int64:
    # A record's residual is computed by the same operations in the same order wherever the record stands.
    width = columns.shape[0]
    sums = np.zeros(width, np.int64)
    rest = np.empty(_BLOCK)
    whole = np.empty(_BLOCK, np.int32)
    for at in range(first, last, _BLOCK):
        end = min(at + _BLOCK, last)
        size = end - at
        rest[:size] = target[at:end]
        j = 0
        while j + 4 <= width:  # four columns at a time: fewer passes over `rest`
            a, b, c, d = columns[j, at:end], columns[j + 1, at:end], columns[j + 2, at:end], columns[j + 3, at:end]
            s, t, u, v = theta[j], theta[j + 1], theta[j + 2], theta[j + 3]
            for i in range(size):
                rest[i] -= (s * a[i] + t * b[i]) + (u * c[i] + v * d[i])
            j += 4
        while j < width:
            a, s = columns[j, at:end], theta[j]
            for i in range(size):
                rest[i] -= s * a[i]
            j += 1
        for i in range(size):
            whole[i] = np.int32(np.rint(min(max(rest[i] / clip, -1.0), 1.0) * NORM))
        for j in range(width):
            a = columns[j, at:end]
            total = np.int64(0)
            for i in range(size):
                total += np.int64(np.int32(a[i]) * whole[i])
            sums[j] += total
    return sums
