"""Dense ranks of a column by radix sort: done once per column, everything after works on integers."""

from typing import NamedTuple, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numba import njit
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]

MAX_RECORDS = 2**31 - 2  # record numbers and ranks are int32

_SIGN = np.uint64(1 << 63)
_INDEX_BITS = np.uint64(32)
_DIGIT = 11
_PASSES = 3  # 3 digits of 11 bits cover the 32 bits that are radix sorted
_INSERTION_REACH = 16


class SupportsColumns(Protocol):
    """Anything that hands out its columns one at a time."""

    @property
    def n_records(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Float64: ...


class Ranks(NamedTuple):
    """A column reduced to what pair counting needs.

    `rank[i]` is the number of distinct values below that of record i. `starts[r]` is the number of records of rank
    below r, with one entry past the end; it is left empty when every value is distinct, where it would read 0, 1, …, n.
    """

    rank: Int32
    starts: Int32
    distinct: int


def rank_column(values: Float64, scratch: NDArray[np.uint64] | None = None) -> Ranks:
    """Rank finite float64 values; −0.0 and 0.0 are equal. O(n log n) at worst, a few linear passes as a rule.

    `scratch` (2 × n) saves the cost of fresh memory when many columns are ranked.
    """
    values = np.require(values, np.float64, ["C", "W"])  # numba would compile again for read-only arrays
    rank, starts = _two_valued(values)
    if starts.size == 0:
        if scratch is None:
            scratch = np.empty((2, values.size), np.uint64)
        rank, starts = _dense_ranks(values, scratch)
    distinct = starts.size - 1
    starts = starts.copy() if distinct < values.size else np.empty(0, np.int32)
    return Ranks(rank, starts, distinct)


def rank_columns(columns: SupportsColumns, n_jobs: int | None = None) -> list[Ranks]:
    """Rank every column, on `n_jobs` threads that each hold one scratch of 16 bytes a record."""
    workers = effective_n_jobs(n_jobs)

    def share(worker: int) -> list[Ranks]:
        scratch = np.empty((2, columns.n_records), np.uint64)
        return [rank_column(columns[j], scratch) for j in range(worker, len(columns), workers)]

    shares = Parallel(n_jobs=workers, prefer="threads")(delayed(share)(w) for w in range(workers))
    return [shares[j % workers][j // workers] for j in range(len(columns))]


@njit(nogil=True, cache=True)
def _two_valued(values: Float64) -> tuple[Int32, Int32]:
    """Ranks of a column with at most two values; `starts` comes back empty if a third one turns up."""
    n = values.size
    rank = np.empty(n, np.int32)
    if n == 0:
        return rank, np.zeros(1, np.int32)
    low = high = values[0]
    upper = 0
    for i in range(n):
        v = values[i]
        if v != low and v != high:
            if low != high:
                return rank[:0], np.empty(0, np.int32)
            if v > low:
                high = v
            else:  # all earlier records were the upper value
                low = v
                rank[:i] = 1
                upper = i
        is_upper = v != low
        rank[i] = is_upper
        upper += is_upper
    if low == high:
        return rank, np.array([0, n], np.int32)
    return rank, np.array([0, n - upper, n], np.int32)


@njit(nogil=True, cache=True)
def _sortable(bits: np.uint64) -> np.uint64:
    """Order-preserving map from the bits of a float64 to unsigned integers, with −0.0 sent to 0.0."""
    if bits == _SIGN:
        bits = np.uint64(0)
    return ~bits if bits & _SIGN else bits | _SIGN


@njit(nogil=True, cache=True)
def _dense_ranks(values: Float64, scratch: NDArray[np.uint64]) -> tuple[Int32, Int32]:
    """Ranks and starts; `starts` lives in the scratch."""
    n = values.size
    raw = values.view(np.uint64)
    lowest, highest = ~np.uint64(0), np.uint64(0)
    for i in range(n):
        key = _sortable(raw[i])
        lowest = min(lowest, key)
        highest = max(highest, key)
    # The 32 leading bits that differ are radix sorted, with the record number carried below them.
    dropped = np.uint64(0)
    while ((highest - lowest) >> dropped) >> np.uint64(32):
        dropped += np.uint64(1)
    packed, spare = scratch[0], scratch[1]
    for i in range(n):
        packed[i] = (((_sortable(raw[i]) - lowest) >> dropped) << _INDEX_BITS) | np.uint64(i)
    packed, spare = _radix_sort(packed, spare)
    return _rank_runs(packed, raw, spare.view(np.int32))


@njit(nogil=True, cache=True)
def _radix_sort(
    packed: NDArray[np.uint64], spare: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Sort by the upper 32 bits, stable in the lower 32; returns the sorted array and the other one."""
    n = packed.size
    mask = np.uint64((1 << _DIGIT) - 1)
    place = np.empty(1 << _DIGIT, np.uint32)
    for p in range(_PASSES):
        shift = np.uint64(32 + p * _DIGIT)
        place[:] = 0
        for i in range(n):
            place[(packed[i] >> shift) & mask] += np.uint32(1)
        if place[(packed[0] >> shift) & mask] == n:
            continue  # every key has the same digit
        total = np.uint32(0)
        for digit in range(place.size):
            count = place[digit]
            place[digit] = total
            total += count
        for i in range(n):
            key = packed[i]
            digit = (key >> shift) & mask
            at = place[digit]
            place[digit] = at + np.uint32(1)
            spare[at] = key
        packed, spare = spare, packed
    return packed, spare


@njit(nogil=True, cache=True)
def _rank_runs(
    packed: NDArray[np.uint64], raw: NDArray[np.uint64], starts: Int32
) -> tuple[Int32, Int32]:
    """Dense ranks from records sorted by their leading bits: a run of equal ones is sorted by value first.

    The random look-ups into the values are made only inside such runs.
    """
    n = packed.size
    rank = np.empty(n, np.int32)
    mask = np.uint64(0xFFFFFFFF)
    current = np.int32(0)
    begin = 0
    while begin < n:
        lead = packed[begin] >> _INDEX_BITS
        end = begin + 1
        while end < n and packed[end] >> _INDEX_BITS == lead:
            end += 1
        if end - begin > 1:
            _sort_run(packed[begin:end], raw)
        starts[current] = begin
        rank[packed[begin] & mask] = current
        for i in range(begin + 1, end):
            if _sortable(raw[packed[i] & mask]) != _sortable(raw[packed[i - 1] & mask]):
                current += np.int32(1)
                starts[current] = i
            rank[packed[i] & mask] = current
        current += np.int32(1)
        begin = end
    starts[current] = n
    return rank, starts[: current + 1]


@njit(nogil=True, cache=True)
def _sort_run(run: NDArray[np.uint64], raw: NDArray[np.uint64]) -> None:
    mask = np.uint64(0xFFFFFFFF)
    for i in range(1, run.size):
        moving = run[i]
        key = _sortable(raw[moving & mask])
        j = i - 1
        while j >= 0 and _sortable(raw[run[j] & mask]) > key:
            if i - j > _INSERTION_REACH:  # not nearly sorted
                run[j + 1] = moving
                _merge_sort_run(run, raw)
                return
            run[j + 1] = run[j]
            j -= 1
        run[j + 1] = moving


@njit(nogil=True, cache=True)
def _merge_sort_run(run: NDArray[np.uint64], raw: NDArray[np.uint64]) -> None:
    mask = np.uint64(0xFFFFFFFF)
    keys = np.empty(run.size, np.uint64)
    for i in range(run.size):
        keys[i] = _sortable(raw[run[i] & mask])
    run[:] = run[np.argsort(keys, kind="mergesort")]
