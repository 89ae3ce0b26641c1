"""Records in a rotated frame, on an integer grid, and exact integer sums over them.

Columns are 16-bit integers. A public matrix maps a record's columns to the rotated frame; it is rounded to integers
too, so that the products are exact in float64 whatever order BLAS adds them in, and a record's row does not depend on
where it stands. Everything after is done record by record, by the same operations in the same order
(docs/proofs/moments.md). All this is for a block of at most `MOST_ROWS` records; sums of blocks are added as integers.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privreg._types import Float64, Int16, Int64
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.cache import kernel

_ENTRY = 2**22  # largest entry of a rounded matrix: 2^22 · 2^15 · 2^14 columns stay below 2^53
_MOST_RESIDUAL = 2**24  # of a rounded residual, however short its row
PARTS = 1024  # in which the share of the products is told
MOST_ROWS = 2**22  # in a block: sums of so many products below 2^30 are exact in float64 too


class Rows(NamedTuple):
    """Records in a rotated frame: shrunk to a radius, in whole multiples of radius/grid_for(width)."""

    values: Int16  # width × records
    factors: Float64  # what each row was multiplied by
    squares: Int64  # squared norms of the rounded rows: never above NORM²


@dataclass(frozen=True)
class Sums:
    """Exact sums over records. Of the gradient there is one for each clip."""

    products: Int64  # Σ u·uᵀ
    gradients: Int64  # Σ u·r

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.products + other.products, self.gradients + other.gradients)


def rotate(columns: Int16, matrix: Float64, radius: float) -> Rows:
    """Rows of the rotated frame; `matrix` has a row for each column."""
    whole, units = _round_matrix(matrix)
    return scale(whole.T @ columns.astype(np.float64), units, radius)


def scale(whole: Float64, units: Float64, radius: float) -> Rows:
    """Rows of whole numbers, each column of them in units of its own, shrunk to the radius."""
    width, n = whole.shape
    rows, factors, squares = np.empty((width, n), np.int16), np.empty(n), np.zeros(n, np.int64)
    _shrink(whole, units, radius, grid_for(width), rows, factors, squares)
    return Rows(rows, factors, squares)


def linear_scores(columns: Int16, theta: Float64) -> Float64:
    """θ·columns for each record."""
    whole, units = _round_matrix(theta[:, None])
    return np.asarray(whole[:, 0] @ columns.astype(np.float64) * units[0])


@kernel
def round_residuals(residuals: Float64, clips: Float64, squares: Int64, products: int) -> Float64:
    """Residuals in whole multiples of clip/NORM, with |u|²r² ≤ NORM⁴ − products/PARTS·|u|⁴ exactly.

    A row of the result for each of the clips, float64 for the sake of BLAS.
    """
    whole = np.empty((clips.size, residuals.size))
    for i in range(residuals.size):
        fourth = squares[i] * squares[i]
        taken = products * (fourth // PARTS) + (products * (fourth % PARTS) + PARTS - 1) // PARTS
        room = np.int64(NORM**4) - taken
        most = np.int64(np.sqrt(np.float64(room) / np.maximum(squares[i], 1)))
        while most > 0 and most * most * squares[i] > room:  # the root may be rounded up
            most -= 1
        limit = np.float64(min(most, np.int64(_MOST_RESIDUAL)))
        for c in range(clips.size):
            value = residuals[i] / clips[c] * NORM
            whole[c, i] = np.rint(min(max(value, -limit), limit)) if value == value else 0  # NaN counts for nothing
    return whole


def moment_sums(rows: Rows, residuals: Float64, clips: Float64, products: int) -> Sums:
    """The sums of a block of records, residuals rounded with each of the clips."""
    _check_size(residuals)
    values, whole = rows.values.astype(np.float64), round_residuals(residuals, clips, rows.squares, products)
    # Integers up to 2^52: exact in any order.
    return Sums((values @ values.T).astype(np.int64), (whole @ values.T).astype(np.int64))


def gradient_sums(rows: Rows, residuals: Float64, clip: float) -> Int64:
    """Σ u·r of a block of records, with |u|²r² ≤ NORM⁴."""
    _check_size(residuals)
    whole = round_residuals(residuals, np.array([clip]), rows.squares, 0)
    return np.asarray(rows.values.astype(np.float64) @ whole[0]).astype(np.int64)  # exact, as above


def _check_size(residuals: Float64) -> None:
    if residuals.size > MOST_ROWS:
        raise ValueError(f"a block may have {MOST_ROWS} records")


def _round_matrix(matrix: Float64) -> tuple[Float64, Float64]:
    """Whole numbers of at most 22 bits, and the unit of each column."""
    units = np.maximum(np.abs(matrix).max(axis=0), 1e-300) / _ENTRY
    return np.rint(matrix / units), units


@kernel
def _shrink(
    whole: Float64,
    units: Float64,
    radius: float,
    grid: float,
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
        factors[i] = norms[i]
    for k in range(width):
        for i in range(n):
            entry = np.int64(np.rint(whole[k, i] * units[k] * norms[i] / radius * grid))
            squares[i] += entry * entry
            rows[k, i] = entry
    for i in range(n):
        if squares[i] > NORM * NORM:  # cannot happen; if it does, the record counts for nothing
            rows[:, i] = 0
            squares[i] = 0
