"""A median without bounds: the exponential mechanism on a fixed grid of values that covers every scale.

Proof: docs/proofs/median.md. Exact check: tests/mechanisms/test_median.py.
"""

from functools import cache
from math import ceil
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int64
from privreg.engines.base import PreparedColumns
from privreg.errors import BudgetError
from privreg.kernels.totals import Values
from privreg.kernels.values import HIGHEST, LARGEST, LOWEST, MANTISSA, codes_near, count_cells, value_of, window_near
from privreg.privacy.account import Account
from privreg.privacy.events import About, EarlyPick, Pick

GRID = 2**20  # scores are whole multiples of 1/GRID
REACH = 60  # in units of 1/ε: utilities further below the best possible are all alike
_LOG_ERROR = 2.0**-40  # more than the floating-point error of a logarithm below 64 and of a sum of 2^12 weights
SMALLEST_EPSILON = 2.0**-34  # scores of a smaller one would overflow
# The prior, which only has to leave no scale out: octave 2^e has weight 1/(1 + ((e − 2)/10)²), so that an octave of
# values near 1e15 or 1e-15 costs about ln 25 more than one near 4; zero, which many columns hold, has 3 % of all.
MIDDLE_OCTAVE, OCTAVES = 2, 10
ZERO = 0.03


def plan_median(name: str, epsilon: float, left_after: float = 0.0, **about: Unpack[About]) -> Pick:
    """The event that costs `epsilon` of bounded range. One record moves the utility by at most 1/2, up or down."""
    if epsilon < SMALLEST_EPSILON:
        raise BudgetError("the budget is too small for a median: raise epsilon, or lower rows_per_person")
    scale = GRID / epsilon
    # A run's weight is known up to 1 + scale·_LOG_ERROR grid steps, a block's too, on both data sets.
    slack = 8 * ceil(1 + scale * _LOG_ERROR)
    return EarlyPick.of_range(name, GRID + slack, epsilon, left_after, GRID, **about)


def noisy_median(account: Account, event: Pick, values: Values, per_record: int = 1) -> float:
    """A grid value v, picked with weight prior(v)·exp(ε·u(v)).

    u(v) = −max(0, #{x<v} − n/2, n/2 − #{x≤v}), but not below −reach. Where each record has several of the n values,
    u is divided by their number.
    """
    starts, utilities = runs(values, reach_of(event) * per_record)
    masses = np.diff(mass_below(np.append(starts, LARGEST + 1)))
    scores = utilities * (GRID // (2 * per_record)) + np.rint(event.scale * np.log(masses)).astype(np.int64)
    total = account.pick_within(
        event, scores, lambda i: (mass_at(int(starts[i])), mass_at(int(starts[i])) + int(masses[i]))
    )
    return value_of(code_at(total))


def reach_of(event: Pick) -> int:
    """How many records from the middle utilities still differ."""
    return ceil(REACH * event.scale / GRID)


def in_reach(n: int, reach: int) -> tuple[int, int]:
    """From how many records below a value, and up to how many, its utility matters."""
    return max(n // 2 - reach, 0), min(n - n // 2 + reach + 1, n)


def prepare_medians(columns: PreparedColumns, event: Pick) -> None:
    """Two passes over all the columns find what `noisy_median` with such an event asks of each."""
    reach = in_reach(columns[0].size, reach_of(event)) if columns else (0, 0)
    columns.prepare([window_near(cells, *reach)[1] for cells in columns.prepare([count_cells] * len(columns))])


def runs(values: Values, reach: int) -> tuple[Int64, Int64]:
    """Stretches of grid values that have the same utility: their first codes, and twice the utility."""
    n = values.size
    below, codes, counts = codes_near(values, *in_reach(n, reach))
    up_to = below + np.cumsum(counts)
    # Below the first code, then alternately at a code and between it and the next.
    starts = np.empty(2 * codes.size + 1, np.int64)
    starts[0], starts[1::2], starts[2::2] = -LARGEST, codes, codes + 1
    less = np.empty(starts.size, np.int64)
    less[0], less[1::2], less[2::2] = below, up_to - counts, up_to
    most = np.empty(starts.size, np.int64)
    most[0], most[1::2], most[2::2] = below, up_to, up_to
    utilities = -np.maximum(np.maximum(2 * less - n, n - 2 * most), 0)
    used = np.append(starts[1:], LARGEST + 1) > starts
    return starts[used], np.maximum(utilities, -2 * reach)[used]


def far_from_middle(exponents: NDArray[Any]) -> Float64:
    """How unlikely octaves are beforehand: the weight of one is 1/(1 + this)."""
    return ((exponents - MIDDLE_OCTAVE) / OCTAVES) ** 2


@cache
def _prior() -> tuple[Int64, Int64, Int64]:
    """Integer weights of the octaves, the same added up, and those of the mantissas of one octave added up.

    Octaves fall off slowly from the middle one. In an octave half of the weight is even and half is shared equally by
    the dyadic levels of the mantissa, so that round numbers, where many records may sit, are found.
    """
    exponents = np.arange(LOWEST, HIGHEST + 1)
    octaves = np.rint(2.0**20 / (1 + far_from_middle(exponents))).astype(np.int64)
    mantissa = np.arange(2**MANTISSA, dtype=np.int64)
    lowest_bit = np.where(mantissa == 0, 2 ** (MANTISSA - 1), mantissa & -mantissa)
    weights = MANTISSA + 1 + 2 * lowest_bit
    zero = np.zeros(1, np.int64)
    return np.append(octaves, zero), np.append(zero, np.cumsum(octaves)), np.append(zero, np.cumsum(weights))


@cache
def _totals() -> tuple[int, int]:
    """The weight of all positive values, and of zero."""
    _, octaves, mantissas = _prior()
    positive = int(octaves[-1]) * int(mantissas[-1])
    return positive, round(positive * 2 * ZERO / (1 - ZERO))


def mass_below(codes: Int64) -> Int64:
    """The prior's integer weight of all grid values with lower codes; codes from −LARGEST to LARGEST + 1."""
    weights, octaves, mantissas = _prior()
    positive, zero = _totals()
    place = np.where(codes > 0, codes - 1, -codes)  # for c ≤ 0: the values below are those above −c
    octave, mantissa = place >> MANTISSA, place & (2**MANTISSA - 1)
    inner = octaves[octave] * mantissas[-1] + weights[octave] * mantissas[mantissa]
    return np.where(codes > 0, positive + zero + inner, positive - inner)


def mass_at(code: int) -> int:
    return int(mass_below(np.array([code]))[0])


def code_at(mass: int) -> int:
    """The code whose stretch of the cumulative prior contains `mass`."""
    low, high = -LARGEST, LARGEST + 1  # mass_below(low) ≤ mass < mass_below(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mass_at(middle) <= mass else (low, middle)
    return low
