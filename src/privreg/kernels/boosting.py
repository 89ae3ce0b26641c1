"""Clipped records on an integer grid, and exact integer sums over them.

A record's row, with a one appended for the intercept, is shrunk to norm `clip`, rounded to whole multiples of
clip/grid, and kept in 16 bits: its squared norm never exceeds NORM². Sums of products are exact in 64 bits whatever the
order, so one record moves them by its own product and by nothing else (docs/proofs/adassp.md).
"""

from dataclasses import dataclass

import numpy as np

from privreg._types import Float64, Int16, Int64
from privreg.kernels.cache import kernel

NORM = 2**15 - 1  # largest norm of a rounded row, and largest rounded residual

_BLOCK = 1024  # rows looked at together: their residuals stay in the cache


def grid_for(width: int) -> float:
    """Grid steps for one clipping norm, a little below NORM: rounding adds at most √width/2 to the norm of a row."""
    return NORM - 1.0 - np.sqrt(width) / 2


@kernel
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


@dataclass(frozen=True)
class RoundRows:
    """Rows (records × features) clipped and rounded, the intercept last: one row of the result for each column."""

    clip: float

    def __call__(self, rows: Float64) -> Int16:
        width = rows.shape[1] + 1
        out = np.empty((width, rows.shape[0]), np.int16)
        _round_rows(rows, self.clip, grid_for(width), out)
        return out


@kernel
def _round_rows(rows: Float64, clip: float, grid: float, out: Int16) -> None:
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


def gram(columns: Int16, target: Float64 | None = None) -> Int64:  # noqa: ARG001
    """Σ a·aᵀ over a block of records, exactly. The target plays no part."""
    block = columns.astype(np.float64)
    return np.asarray(block @ block.T).astype(np.int64)  # below 2^53 for up to 2^23 records: exact in any order


@dataclass(frozen=True)
class ResidualSums:
    """Σ a·ρ, exactly, with ρ the residual target − θ·a clipped to ±clip and rounded to whole multiples of clip/NORM."""

    theta: Float64
    clip: float

    def __call__(self, columns: Int16, target: Float64) -> Int64:
        return _residual_sums(columns, target, self.theta, self.clip)


@kernel
def _residual_sums(columns: Int16, target: Float64, theta: Float64, clip: float) -> Int64:
    # A record's residual is computed by the same operations in the same order wherever the record stands.
    width, n = columns.shape
    sums = np.zeros(width, np.int64)
    rest = np.empty(_BLOCK)
    whole = np.empty(_BLOCK, np.int32)
    for at in range(0, n, _BLOCK):
        end = min(at + _BLOCK, n)
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
