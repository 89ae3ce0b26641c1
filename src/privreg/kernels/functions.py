"""Functions of numbers, element by element: the same bits wherever a number stands in an array.

NumPy's own take other ways for a few numbers than for many, and for columns of a table; their last bits may differ.
What is not a finite number is missing (NaN), before and after.
"""

import math

import numpy as np

from privreg._types import Float64
from privreg.kernels.cache import kernel

NAMES = ("exp", "expm1", "log", "log10", "log1p", "log2")


def applied(name: str, values: Float64) -> Float64:
    """The function of this name; NaN outside its domain, and where the result is not finite."""
    out = np.empty(values.size)
    _apply(NAMES.index(name), np.ascontiguousarray(values), out)
    return out


def power(base: Float64, exponent: Float64) -> Float64:
    """base**exponent, of two arrays of one size."""
    out = np.empty(base.size)
    _power(np.ascontiguousarray(base), np.ascontiguousarray(exponent), out)
    return out


@kernel
def _apply(function: int, values: Float64, out: Float64) -> None:
    for i in range(values.size):
        x = values[i]
        y = math.nan
        if not math.isfinite(x):
            y = math.nan
        elif function == 0:
            y = math.exp(x)
        elif function == 1:
            y = math.expm1(x)
        elif function == 2:
            y = math.log(x) if x > 0 else math.nan
        elif function == 3:
            y = math.log10(x) if x > 0 else math.nan
        elif function == 4:
            y = math.log1p(x) if x > -1 else math.nan
        else:
            y = math.log2(x) if x > 0 else math.nan
        out[i] = y if math.isfinite(y) else math.nan


@kernel
def _power(base: Float64, exponent: Float64, out: Float64) -> None:
    for i in range(base.size):
        x, p = base[i], exponent[i]
        y = math.nan
        if math.isfinite(x) and math.isfinite(p) and not (x == 0 and p < 0) and (x >= 0 or p == math.floor(p)):
            y = x * x if p == 2 else math.pow(x, p)
        out[i] = y if math.isfinite(y) else math.nan
