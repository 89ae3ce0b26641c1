"""Many small least-squares problems: one model for each group of records, whatever its size or rank.

Columns (and one of ones, the intercept, last) are scaled to unit length within the group, factorised by Householder
reflections with column pivoting, and columns that depend on others to within rounding are taken out: the model is the
one of least norm in the scaled coordinates. A group's model is a function of that group's records alone, in the order
of the table: no BLAS, no tolerance that another group could influence.
"""

import numpy as np

from privreg._types import Float64, Int64
from privreg.kernels.cache import kernel

DEPENDENT = 1e-10  # a unit column this close to the span of the others counts as inside it
LARGEST = 2.0**1000  # no coefficient is larger, so that differences of two are finite


@kernel
def solve_groups(rows: Float64, target: Float64, bounds: Int64, models: Float64, units: Float64) -> None:
    """Fill models[g] with the coefficients of group g, the intercept's last, and units[g] with their natural units.

    Group g holds the rows bounds[g] … bounds[g + 1] − 1. A coefficient's unit is max|target|/max|column| in the group.
    """
    d = rows.shape[1]
    largest = 1
    for g in range(bounds.size - 1):
        largest = max(largest, bounds[g + 1] - bounds[g])
    a = np.empty((d + 1, largest))  # columns of the problem, as rows of the array
    y = np.empty(largest)
    for g in range(bounds.size - 1):
        first, n = bounds[g], bounds[g + 1] - bounds[g]
        top = 0.0
        for i in range(n):
            top = max(top, abs(target[first + i]))
        for j in range(d + 1):
            size = 1.0 if j == d else 0.0
            if j < d:
                for i in range(n):
                    a[j, i] = rows[first + i, j]
                    size = max(size, abs(a[j, i]))
            else:
                a[j, :n] = 1.0
            units[g, j] = min(top / size if size > 0 else top, LARGEST)
            scale = _unit(a[j], n, size)
            models[g, j] = 1 / scale if scale > 0 else 0.0  # kept here until the end: column length, or 0
        for i in range(n):
            y[i] = target[first + i] / top if top > 0 else 0.0
        x = _least_norm(a[:, :n], y[:n])
        for j in range(d + 1):
            size = units[g, j]
            value = x[j] * models[g, j] * size
            models[g, j] = min(max(value, -LARGEST), LARGEST) if value == value else 0.0  # NaN: 0


@kernel
def _unit(column: Float64, n: int, size: float) -> float:
    """Divide by `size` and then by the length, which is returned (0 for a column of zeros)."""
    if size == 0:
        return 0.0
    total = 0.0
    for i in range(n):
        column[i] /= size
        total += column[i] * column[i]
    length = np.sqrt(total)
    if length > 0:
        for i in range(n):
            column[i] /= length
    return length


@kernel
def _least_norm(a: Float64, y: Float64) -> Float64:
    """The least-squares solution of least norm for the columns a[0], a[1], … and the right side y; destroys both."""
    p, n = a.shape
    order = np.arange(p)
    diagonal = np.zeros(p)
    rank = 0
    for k in range(min(p, n)):
        best, longest = k, -1.0
        for j in range(k, p):
            left = 0.0
            for i in range(k, n):
                left += a[j, i] * a[j, i]
            if left > longest:
                best, longest = j, left
        if longest <= DEPENDENT * DEPENDENT:
            break
        if best != k:
            for i in range(n):
                a[k, i], a[best, i] = a[best, i], a[k, i]
            order[k], order[best] = order[best], order[k]
        # Reflect a[k, k:] onto the k-th axis; the reflection's vector stays in a[k, k:], the diagonal apart.
        length = np.sqrt(longest)
        diagonal[k] = -length if a[k, k] > 0 else length
        a[k, k] -= diagonal[k]
        half = -diagonal[k] * a[k, k]  # half the squared length of the vector
        for j in range(k + 1, p):
            _reflect(a[k], a[j], k, n, half)
        _reflect(a[k], y, k, n, half)
        rank += 1
    x = np.zeros(p)
    if rank == p:
        for k in range(p - 1, -1, -1):
            total = y[k]
            for j in range(k + 1, p):
                total -= a[j, k] * x[order[j]]
            x[order[k]] = total / diagonal[k]
        return x
    return _least_norm_of_rows(a, y, order, diagonal, rank)


@kernel(inline="always")
def _reflect(vector: Float64, other: Float64, k: int, n: int, half: float) -> None:
    along = 0.0
    for i in range(k, n):
        along += vector[i] * other[i]
    along /= half
    for i in range(k, n):
        other[i] -= along * vector[i]


@kernel
def _least_norm_of_rows(a: Float64, y: Float64, order: Int64, diagonal: Float64, rank: int) -> Float64:
    """The solution of least norm of the `rank` independent equations left by the factorisation."""
    p = order.size
    q = np.zeros((rank, p))  # the equations' rows, made orthonormal
    r = np.zeros((rank, rank))
    for k in range(rank):
        q[k, k] = diagonal[k]
        for j in range(k + 1, p):
            q[k, j] = a[j, k]
    z = np.empty(rank)
    # Last row first: it is the shortest, and each further row adds one new leading position.
    for k in range(rank - 1, -1, -1):
        for _ in range(2):  # the second pass removes what rounding left of the first
            for b in range(rank - 1, k, -1):
                along = 0.0
                for j in range(p):
                    along += q[b, j] * q[k, j]
                r[k, b] += along
                for j in range(p):
                    q[k, j] -= along * q[b, j]
        length = 0.0
        for j in range(p):
            length += q[k, j] * q[k, j]
        length = np.sqrt(length)
        r[k, k] = length
        for j in range(p):
            q[k, j] = q[k, j] / length if length > 0 else 0.0
        total = y[k]
        for b in range(rank - 1, k, -1):
            total -= r[k, b] * z[b]
        z[k] = total / length if length > 0 else 0.0
    x = np.zeros(p)
    for j in range(p):
        total = 0.0
        for k in range(rank):
            total += q[k, j] * z[k]
        x[order[j]] = total
    return x
