"""A fixed grid of values that covers every scale, and counts of records on it.

The grid is 0 and ±2^e(1 + j/2^MANTISSA) for the exponents LOWEST … HIGHEST. Its values are numbered by integer codes,
in order: 0 for zero, 1 … LARGEST for the positive ones. A float's code is a rounding of its leading bits, so
that nothing here depends on the data beyond the record at hand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int32, Int64
from privreg.kernels.cache import kernel
from privreg.kernels.totals import Column, Counts, T, Values, total_of

MANTISSA = 16
LOWEST, HIGHEST = -40, 59
LARGEST = (HIGHEST - LOWEST + 1) << MANTISSA  # the highest code

# Bins of |x − m|: half octaves, bin b beginning at 2^((b + FIRST_BIN)/2). Smaller values are put into the first one
# and larger ones into the last.
FIRST_BIN = -90
BINS = 210

FULL = 2**15 - 1  # a winsorised column at its limit

_SHIFT = 52 - MANTISSA
_BELOW = ((1023 + LOWEST) << MANTISSA) - 1
_CELL = 12  # codes are counted by cells of 2^_CELL first
_CELLS = ((2 * LARGEST + 1) >> _CELL) + 1
_MASK = np.uint64((1 << 63) - 1)
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_HALF = np.uint64(1 << (_SHIFT - 1))
_ROOT = np.uint64(0x6A09E667F3BCD)  # the mantissa bits of √2, rounded up


@kernel
def code_of(value: float) -> int:
    """The code of the nearest grid value; 0 for anything that rounds to less than the smallest, ±LARGEST beyond."""
    bits = np.float64(value).view(np.uint64)
    code = np.int64(((bits & _MASK) + _HALF) >> np.uint64(_SHIFT)) - _BELOW
    code = np.int64(min(max(code, np.int64(0)), np.int64(LARGEST)))
    return int(-code if bits >> np.uint64(63) else code)


def value_of(code: int) -> float:
    """The grid value of a code."""
    if code == 0:
        return 0.0
    size = np.uint64((abs(code) + _BELOW) << _SHIFT).view(np.float64)
    return float(-size if code < 0 else size)


def codes_near(values: Values, low: int, high: int) -> tuple[int, Int32, Int64]:
    """The codes of all records with at least `low` and fewer than `high` records below them, and perhaps some more.

    Returns the number of records below, the distinct codes in order, and how often each occurs. Linear in n.
    """
    below, window = window_near(total_of(values, count_cells), low, high)
    found = total_of(values, window)
    return below, found.codes, found.counts


@dataclass(frozen=True)
class Window:
    """Counts the codes from `begin` up to `end`."""

    begin: int
    end: int

    def __call__(self, values: Float64) -> Counts:
        return Counts(*np.unique(_codes_between(values, self.begin, self.end), return_counts=True))


def window_near(cells: Int64, low: int, high: int) -> tuple[int, Window]:
    """How many records lie below, and the window of all with at least `low` and fewer than `high` records below."""
    ends = np.cumsum(cells)
    first = int(np.searchsorted(ends, low, side="right"))
    last = max(int(np.searchsorted(ends, high, side="left")), first)
    below = int(ends[first - 1]) if first else 0
    return below, Window((first << _CELL) - LARGEST, ((last + 1) << _CELL) - LARGEST)


@kernel
def count_cells(values: Float64) -> Int64:
    """How many records have their code in each cell."""
    cells = np.zeros(_CELLS, np.int64)
    for i in range(values.size):
        cells[(code_of(values[i]) + LARGEST) >> _CELL] += 1
    return cells


@kernel
def _codes_between(values: Float64, begin: int, end: int) -> Int32:
    codes = np.empty(values.size, np.int32)
    found = 0
    for i in range(values.size):
        code = code_of(values[i])
        if begin <= code < end:
            codes[found] = code
            found += 1
    return codes[:found]


@dataclass(frozen=True)
class Away:
    """How far the values of a column lie from a centre, as a column. Those in its own grid cell lie at it."""

    values: Column
    centre: float

    @property
    def size(self) -> int:
        return self.values.size

    def total(self, task: Callable[[Float64], T]) -> T:
        return self.values.total(OfDistances(task, self.centre))


@dataclass(frozen=True)
class OfDistances(Generic[T]):
    """A task that is given distances from a centre in place of values."""

    task: Callable[[Float64], T]
    centre: float

    def __call__(self, values: Float64) -> T:
        return self.task(distances_from(values, self.centre))


@dataclass(frozen=True)
class Distances:
    """`count_distances` from this centre."""

    centre: float

    def __call__(self, values: Float64) -> Int64:
        return count_distances(values, self.centre)


@kernel
def count_distances(values: Float64, centre: float) -> Int64:
    """How many records have |x − centre| in each bin. Those in the centre's own grid cell are in none."""
    bins = np.zeros(BINS, np.int64)
    own = code_of(centre)
    for i in range(values.size):
        if code_of(values[i]) == own:
            continue
        bits = np.float64(values[i] - centre).view(np.uint64) & _MASK
        exponent = np.int64(bits >> np.uint64(52)) - 1023
        upper = np.int64((bits & np.uint64((1 << 52) - 1)) >= _ROOT)
        bins[int(min(max(2 * exponent + upper - FIRST_BIN, np.int64(0)), np.int64(BINS - 1)))] += 1
    return bins


@kernel
def distances_from(values: Float64, centre: float) -> Float64:
    """|x − centre|, never above the largest float; 0 in the centre's own grid cell."""
    distances = np.zeros(values.size)
    own = code_of(centre)
    for i in range(values.size):
        if code_of(values[i]) != own:
            distances[i] = min(abs(values[i] - centre), _LARGEST_FLOAT)
    return distances


@kernel
def winsorise(values: Float64, centre: float, limit: float, out: NDArray[np.int16]) -> None:
    """out = (x − centre)/limit, clipped to ±1, in whole multiples of 1/FULL."""
    for i in range(values.size):
        out[i] = np.int16(np.rint(min(max((values[i] - centre) / limit, -1.0), 1.0) * FULL))
