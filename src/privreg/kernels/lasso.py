"""Many small Lasso problems: the k strongest coefficients of each group of records, counted.

Each problem is min ‖y − Xw‖²/(2n) + α‖w‖₁ on the group's rows with a column of ones appended, penalised like the rest
(scikit-learn's `Lasso(alpha, fit_intercept=False)`). Coordinate descent does not converge on unscaled columns, so this
is an active-set method in the manner of Lawson and Hanson: a QR factorisation of the active columns grows and shrinks
by one column at a time, and the answer is exact up to rounding after finitely many steps.
"""

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int64
from privreg.kernels.cache import kernel

_ROUNDING = 1e-12  # a correlation counts as above its penalty only beyond this
_DEPENDENT = 1e-7  # a unit column this close to the span of the active ones counts as inside it


@kernel
def count_votes(rows: Float64, target: Float64, bounds: Int64, k: int, alpha: float) -> Int64:
    """For each column, in how many groups it is among the k largest nonzero |coefficients|; the intercept never is.

    Group g holds the rows bounds[g] … bounds[g + 1] − 1. Equal coefficients are taken in column order.
    """
    d = rows.shape[1]
    votes = np.zeros(d, np.int64)
    for g in range(bounds.size - 1):
        w = np.abs(solve(rows[bounds[g] : bounds[g + 1]], target[bounds[g] : bounds[g + 1]], alpha)[:d])
        for _ in range(k):
            best = -1
            for j in range(d):
                if w[j] > 0 and (best < 0 or w[j] > w[best]):
                    best = j
            if best < 0:
                break
            votes[best] += 1
            w[best] = 0.0
    return votes


@kernel
def solve(rows: Float64, target: Float64, alpha: float) -> Float64:
    """The Lasso coefficients of one problem, the intercept's last. No finite input raises or gives NaN."""
    n, d = rows.shape
    scale = np.abs(target).max() if n else 0.0
    if scale == 0:
        return np.zeros(d + 1)
    y = target / scale
    units, norms = _unit_columns(rows)
    penalty = np.empty(d + 1)
    for j in range(d + 1):
        penalty[j] = n * alpha / norms[j] / scale if norms[j] > 0 else np.inf

    v = np.zeros(d + 1)  # coefficients of the unit columns
    sign = np.zeros(d + 1)
    blocked = np.zeros(d + 1, np.bool_)
    active = np.empty(d + 1, np.int64)
    size = 0
    q = np.empty((min(n, d + 1) + 1, n))
    r = np.zeros((q.shape[0], q.shape[0]))
    residual = y.copy()
    for _ in range(20 * (n + d + 1)):
        j = _most_violating(units, residual, penalty, sign, blocked)
        if j < 0:
            break
        sign[j] = 1.0 if _dot(units[j], residual) > 0 else -1.0
        if not _append(units[j], q, r, size):
            before = v.copy(), sign.copy(), active.copy(), q.copy(), r.copy(), size
            leaving = _slide(r, size, v, sign, active, j)
            if leaving >= 0:
                size = _remove(q, r, active, sign, v, size, leaving)
            if leaving < 0 or not _append(units[j], q, r, size):
                # Nearly dependent in more than one way: leave everything as it was.
                v, sign, active, q, r, size = before
                sign[j] = 0.0
                blocked[j] = True
                continue
        active[size] = j
        size += 1
        progress = False
        while size > 0:
            aim = _minimiser(q, r, size, y, penalty, sign, active)
            step = 1.0
            leaving = -1
            for a in range(size):
                i = active[a]
                if aim[a] * sign[i] <= 0:
                    reach = v[i] / (v[i] - aim[a]) if v[i] != aim[a] else 0.0
                    if leaving < 0 or reach < step:
                        step, leaving = reach, a
            for a in range(size):
                v[active[a]] += step * (aim[a] - v[active[a]])
            progress |= step > 0
            if leaving < 0:
                break
            size = _remove(q, r, active, sign, v, size, leaving)
        if progress:
            blocked[:] = False
        else:
            blocked[j] = True
        residual[:] = y
        for a in range(size):
            residual -= v[active[a]] * units[active[a]]
    w = np.zeros(d + 1)
    for a in range(size):
        w[active[a]] = v[active[a]] / norms[active[a]] * scale
    return w


@kernel
def _dot(a: Float64, b: Float64) -> float:
    """Not BLAS: the same group must give the same bits whatever the alignment or number of threads."""
    even = odd = 0.0
    for i in range(0, a.size - 1, 2):
        even += a[i] * b[i]
        odd += a[i + 1] * b[i + 1]
    if a.size % 2:
        even += a[-1] * b[-1]
    return even + odd


@kernel
def _unit_columns(rows: Float64) -> tuple[Float64, Float64]:
    """The columns and one of ones, each as a unit vector, and their norms (0 for a column of zeros)."""
    n, d = rows.shape
    units = np.ones((d + 1, n))
    norms = np.empty(d + 1)
    for j in range(d + 1):
        largest = 1.0
        if j < d:
            largest = np.abs(rows[:, j]).max()
            if largest > 0:
                units[j] = rows[:, j] / largest
            else:
                units[j] = 0.0
        length = np.sqrt(_dot(units[j], units[j]))
        if length > 0:
            units[j] /= length
        norms[j] = largest * length
    return units, norms


@kernel
def _most_violating(
    units: Float64, residual: Float64, penalty: Float64, sign: Float64, blocked: NDArray[np.bool_]
) -> int:
    """The inactive column whose correlation with the residual exceeds its penalty most; −1 at the optimum."""
    best = -1
    excess = 0.0
    for j in range(penalty.size):
        if sign[j] == 0 and not blocked[j]:
            above = abs(_dot(units[j], residual)) - penalty[j] * (1 + _ROUNDING) - _ROUNDING
            if above > excess:
                best, excess = j, above
    return best


@kernel
def _append(column: Float64, q: Float64, r: Float64, size: int) -> bool:
    """Extend the factorisation by a unit column; False, with r[:size, size] set, if it depends on the active ones."""
    rest = column.copy()
    r[: size + 1, size] = 0.0
    for _ in range(2):  # the second pass removes what rounding left of the first
        for a in range(size):
            along = _dot(q[a], rest)
            r[a, size] += along
            rest -= along * q[a]
    length = np.sqrt(_dot(rest, rest))
    if length < _DEPENDENT or size == column.size:
        return False
    r[size, size] = length
    q[size] = rest / length
    return True


@kernel
def _slide(r: Float64, size: int, v: Float64, sign: Float64, active: Int64, j: int) -> int:
    """Move along the combination of active columns that replaces the dependent column j, until one reaches zero.

    The fit stays the same and the penalty falls. Returns the position of the column that reached zero, or −1.
    """
    direction = _back_substitute(r, size, r[:size, size].copy())
    step = np.inf
    leaving = -1
    for a in range(size):
        slope = -sign[j] * direction[a]
        if slope * v[active[a]] < 0 and -v[active[a]] / slope < step:
            step, leaving = -v[active[a]] / slope, a
    if leaving >= 0:
        for a in range(size):
            v[active[a]] -= step * sign[j] * direction[a]
        v[j] = step * sign[j]
    return leaving


@kernel
def _minimiser(
    q: Float64, r: Float64, size: int, y: Float64, penalty: Float64, sign: Float64, active: Int64
) -> Float64:
    """Coefficients of the active columns that minimise the objective while their signs are held."""
    right = np.empty(size)
    for a in range(size):  # forward substitution with the transpose of r
        total = penalty[active[a]] * sign[active[a]]
        for b in range(a):
            total -= r[b, a] * right[b]
        right[a] = total / r[a, a]
    for a in range(size):
        right[a] = _dot(q[a], y) - right[a]
    return _back_substitute(r, size, right)


@kernel
def _back_substitute(r: Float64, size: int, right: Float64) -> Float64:
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            right[a] -= r[a, b] * right[b]
        right[a] /= r[a, a]
    return right


@kernel
def _remove(q: Float64, r: Float64, active: Int64, sign: Float64, v: Float64, size: int, position: int) -> int:
    """Drop the active column at `position` by Givens rotations; returns the new number of active columns."""
    sign[active[position]] = 0.0
    v[active[position]] = 0.0
    for b in range(position, size - 1):
        active[b] = active[b + 1]
        for a in range(b + 2):
            r[a, b] = r[a, b + 1]
    for b in range(position, size - 1):
        length = np.hypot(r[b, b], r[b + 1, b])
        c, s = r[b, b] / length, r[b + 1, b] / length
        for k in range(b, size - 1):
            upper, lower = r[b, k], r[b + 1, k]
            r[b, k], r[b + 1, k] = c * upper + s * lower, c * lower - s * upper
        for i in range(q.shape[1]):
            upper, lower = q[b, i], q[b + 1, i]
            q[b, i], q[b + 1, i] = c * upper + s * lower, c * lower - s * upper
    return size - 1
