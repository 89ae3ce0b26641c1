"""Volumes of nested boxes, in integer logarithms whose every operation is monotone.

A logarithm is an integer number of 1/GRID. `log_width` and `log_add` approximate the true functions to within a proven
error, and never decrease when an argument grows: so inequalities between the volumes of neighbouring data sets hold
exactly for the computed numbers too, and not just up to rounding (docs/proofs/tukey.md).
"""

from math import log, log1p

import numpy as np

from privreg._types import Float64, Int64
from privreg.kernels.cache import kernel

GRID = 2**36
NOTHING = -(2**62)  # the logarithm of zero; any sum below half of it stands for zero as well

_KNOTS = 13  # the mantissa's first bits choose a knot of the table, the others interpolate
_LN2 = round(GRID * log(2))
_LOG = np.array([round(GRID * log1p(i / 2**_KNOTS)) for i in range(2**_KNOTS)] + [_LN2], np.int64)

_STEP = 25  # log_add: knots of ln(1 + e^(−z)) at whole multiples of 2^25 grid steps (2^−11), up to z = 40
_SUM = np.array([int(GRID * log1p(np.exp(-i / 2**11))) for i in range(40 * 2**11)] + [0, 0], np.int64)

# |log_width(x)/GRID − ln x|: 1074 roundings of ln 2 by half a grid step each, two of table entries and the
# interpolation's, and the bend of the logarithm between knots, (2^−13)²/8.
WIDTH_ERROR = (1074 / 2 + 3) / GRID + 2.0**-29
# log_add(a, b)/GRID exceeds the true value by less than this: the bend between knots, (2^−11)²/32, and two roundings.
# It falls below it by at most two grid steps and e^−40.
ADD_EXCESS = 2.0**-26


@kernel
def log_width(width: float, view: Float64) -> int:
    """GRID·ln(width), for a finite width ≥ 0. `view` is scratch space for one number."""
    if width <= 0:
        return NOTHING
    shift = 0
    if width < 2.0**-1000:  # subnormal numbers are made normal: exact
        width *= 2.0**100
        shift = 100
    view[0] = width
    bits = view.view(np.int64)[0]
    exponent = (bits >> 52) - 1023 - shift
    mantissa = bits & ((1 << 52) - 1)
    knot = mantissa >> (52 - _KNOTS)
    part = (mantissa & ((1 << (52 - _KNOTS)) - 1)) >> 12
    return exponent * _LN2 + _LOG[knot] + (((_LOG[knot + 1] - _LOG[knot]) * part) >> (40 - _KNOTS))


@kernel
def log_add(a: int, b: int) -> int:
    """GRID·ln(e^(a/GRID) + e^(b/GRID))."""
    high, low = max(a, b), min(a, b)
    z = high - low
    if low < NOTHING // 2 or z >= 40 * GRID:
        return high
    knot = z >> _STEP
    part = z & ((1 << _STEP) - 1)
    return high + _SUM[knot] - (((_SUM[knot] - _SUM[knot + 1]) * part) >> _STEP)


@kernel
def log_volumes(columns: Float64) -> Int64:
    """Logarithm of the volume of each region of depth ≥ p, for p = 0 … ⌊m/2⌋ + 1. `columns` is d × m, each row sorted.

    The region is the box between the p-th smallest and p-th largest value of every coordinate. Entry 0 is unused: that
    region is the whole space. The last entry is zero volume.
    """
    d, m = columns.shape
    view = np.empty(1)
    logs = np.zeros(m // 2 + 2, np.int64)
    logs[-1] = NOTHING
    for p in range(1, m // 2 + 1):
        for j in range(d):
            width = log_width(columns[j, m - p] - columns[j, p - 1], view)
            if width == NOTHING:
                logs[p] = NOTHING
                break
            logs[p] += width
    return logs


@kernel
def log_weights(volumes: Int64, rate: int, growth: int) -> Int64:
    """Logarithm of u(p) = ∫ over depth ≥ p of e^(η·(depth − p)), for every p of `volumes`.

    `rate` is GRID·η and `growth` GRID·ln(e^η − 1). Uses u(p) = V_p + (e^η − 1)·s(p + 1), s(p) = V_p + e^η·s(p + 1).
    """
    result = np.full(volumes.size, NOTHING, np.int64)
    total = NOTHING
    for p in range(volumes.size - 2, 0, -1):
        deeper = total + growth if total > NOTHING // 2 else NOTHING
        result[p] = log_add(volumes[p], deeper)
        total = log_add(volumes[p], total + rate if total > NOTHING // 2 else NOTHING)
    return result
