"""Dense ranks of a column by radix sort: done once per column, everything after works on integers."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privreg.kernels.threads import share_out

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

MAX_RECORDS = 2**30 - 1  # record numbers, and twice a count of them, are int32

_SIGN = np.uint64(1 << 63)
_INDEX_BITS = np.uint64(32)
_INSERTION_REACH = 16
_BLOCK = 2  # columns read together: neighbours in a row-major array share cache lines


class SupportsColumns(Protocol):
    """Anything that hands out its columns a few at a time."""

    @property
    def n_records(self) -> int: ...
    def __len__(self) -> int: ...
    def block(self, first: int, last: int, out: Float64) -> Iterable[Float64]: ...


class Ranks(NamedTuple):
    """A column reduced to what pair counting needs.

    `rank[i]` is the number of distinct values below that of record i. `starts[r]` is the number of records of rank
    below r, with one entry past the end; it is left empty when every value is distinct, where it would read 0, 1, …, n.
    """

    rank: Int32
    starts: Int32
    distinct: int


def rank_column(values: Float64, scratch: NDArray[np.uint64] | None = None, out: Int32 | None = None) -> Ranks:
    """Rank finite float64 values; −0.0 and 0.0 are equal. O(n log n) at worst, a few linear passes as a rule.

    `scratch` (2 × n) and `out` (n) save the cost of fresh memory when many columns are ranked.
    """
    values = np.require(values, np.float64, ["C", "W"])  # numba would compile again for read-only arrays
    rank = np.empty(values.size, np.int32) if out is None else out
    starts = _two_valued(values, rank)
    if starts.size == 0:
        if scratch is None:
            scratch = np.empty((2, values.size), np.uint64)
        starts = _dense_ranks(values, scratch, rank).copy()
    distinct = starts.size - 1 if starts.size else values.size
    return Ranks(rank, starts if distinct < values.size else starts[:0], distinct)


@njit(nogil=True, cache=True)
def copy_columns(array: Float64, first: int, out: Float64) -> None:
    """out[c] = column first + c of a row-major array, in chunks of rows that stay in the cache."""
    n = array.shape[0]
    for begin in range(0, n, 2048):
        for c in range(out.shape[0]):
            for i in range(begin, min(begin + 2048, n)):
                out[c, i] = array[i, first + c]


def rank_columns(columns: SupportsColumns, n_jobs: int | None = None) -> list[Ranks]:
    """Rank every column, on `n_jobs` threads that each hold O(n) extra memory."""
    out = np.empty((len(columns), columns.n_records), np.int32)
    ranks: list[Ranks | None] = [None] * len(columns)

    def work(blocks: Iterator[int]) -> None:
        scratch = np.empty((2, columns.n_records), np.uint64)
        copies = np.empty((_BLOCK, columns.n_records))  # one buffer: fresh memory costs as much as sorting
        for block in blocks:
            first, last = block * _BLOCK, min((block + 1) * _BLOCK, len(columns))
            for j, values in enumerate(columns.block(first, last, copies), first):
                ranks[j] = rank_column(values, scratch, out[j])

    share_out(work, -(-len(columns) // _BLOCK), n_jobs)
    return cast(list[Ranks], ranks)


@njit(nogil=True, cache=True)
def _two_valued(values: Float64, rank: Int32) -> Int32:
    """Ranks of a column with at most two values. Returns starts; none if a third value turns up."""
    n = values.size
    if n == 0:
        return np.zeros(1, np.int32)
    low = high = values[0]
    for i in range(n):
        if values[i] != values[0]:
            low, high = min(low, values[i]), max(high, values[i])
            break
    upper = np.int64(0)
    for begin in range(0, n, 4096):
        known = np.int64(0)
        for i in range(begin, min(begin + 4096, n)):  # without branches, so that it is vectorised
            is_upper = np.int32(values[i] == high)
            known += is_upper | np.int32(values[i] == low)
            upper += is_upper
            rank[i] = is_upper
        if known < min(begin + 4096, n) - begin:
            return np.empty(0, np.int32)
    if low == high:
        rank[:] = 0
        return np.array([0, n], np.int32)
    return np.array([0, n - upper, n], np.int32)


@njit(nogil=True, cache=True)
def _sortable(bits: np.uint64) -> np.uint64:
    """Order-preserving map from the bits of a float64 to unsigned integers, with −0.0 sent to 0.0."""
    if bits == _SIGN:
        bits = np.uint64(0)
    return bits ^ (np.uint64(np.int64(bits) >> 63) | _SIGN)  # no branch on the sign, which is as good as random


@njit(nogil=True, cache=True)
def _dense_ranks(values: Float64, scratch: NDArray[np.uint64], rank: Int32) -> Int32:
    """Fills `rank` and returns starts, which live in the scratch; none if all values are distinct."""
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
    packed, spare = _radix_sort(raw, lowest, dropped, scratch[0], scratch[1])
    return _rank_sorted(packed, raw, rank, spare.view(np.int32))


@njit(nogil=True, cache=True)
def _radix_sort(
    raw: NDArray[np.uint64],
    lowest: np.uint64,
    dropped: np.uint64,
    packed: NDArray[np.uint64],
    spare: NDArray[np.uint64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """(leading bits, record number) sorted by the leading bits, and the other of the two arrays."""
    n = raw.size
    mask = np.uint64(255)
    place = np.zeros(4 * 256, np.uint32)  # how often each digit occurs in each of the four bytes
    for i in range(n):
        lead = (_sortable(raw[i]) - lowest) >> dropped
        place[lead & mask] += np.uint32(1)
        place[np.uint64(256) + ((lead >> np.uint64(8)) & mask)] += np.uint32(1)
        place[np.uint64(512) + ((lead >> np.uint64(16)) & mask)] += np.uint32(1)
        place[np.uint64(768) + (lead >> np.uint64(24))] += np.uint32(1)
    for p in range(4):
        total = np.uint32(0)
        for digit in range(256 * p, 256 * (p + 1)):
            count = place[digit]
            place[digit] = total
            total += count
    for i in range(n):
        lead = (_sortable(raw[i]) - lowest) >> dropped
        at = place[lead & mask]
        place[lead & mask] = at + np.uint32(1)
        packed[at] = (lead << _INDEX_BITS) | np.uint64(i)
    for p in range(1, 4):
        shift = np.uint64(32 + 8 * p)
        free = place[256 * p : 256 * (p + 1)]
        for i in range(n):
            key = packed[i]
            digit = (key >> shift) & mask
            at = free[digit]
            free[digit] = at + np.uint32(1)
            spare[at] = key
        packed, spare = spare, packed
    return packed, spare


@njit(nogil=True, cache=True)
def _rank_sorted(packed: NDArray[np.uint64], raw: NDArray[np.uint64], rank: Int32, starts: Int32) -> Int32:
    """Dense ranks from records sorted by their leading bits: each run of equal ones is sorted by value first.

    Values are looked up, at random places, only inside such runs.
    """
    n = packed.size
    mask = np.uint64(0xFFFFFFFF)
    ties = False
    i = 1
    while i < n:
        if packed[i] >> _INDEX_BITS == packed[i - 1] >> _INDEX_BITS:
            begin = i - 1
            while i < n and packed[i] >> _INDEX_BITS == packed[begin] >> _INDEX_BITS:
                i += 1
            ties |= _sort_run(packed[begin:i], raw)
        i += 1
    if not ties:
        for i in range(n):
            rank[packed[i] & mask] = i
        return starts[:0]
    current = np.int32(-1)
    for i in range(n):
        record = packed[i] & mask
        if (
            i == 0
            or packed[i] >> _INDEX_BITS != packed[i - 1] >> _INDEX_BITS
            or _sortable(raw[record]) != _sortable(raw[packed[i - 1] & mask])
        ):
            current += np.int32(1)
            starts[current] = i
        rank[record] = current
    starts[current + 1] = n
    return starts[: current + 2]


@njit(nogil=True, cache=True)
def _sort_run(run: NDArray[np.uint64], raw: NDArray[np.uint64]) -> bool:
    """Sort records by value; tells whether two values are equal."""
    mask = np.uint64(0xFFFFFFFF)
    ties = False
    for i in range(1, run.size):
        moving = run[i]
        key = _sortable(raw[moving & mask])
        j = i - 1
        while j >= 0 and _sortable(raw[run[j] & mask]) > key:
            if i - j > _INSERTION_REACH:  # not nearly sorted
                run[j + 1] = moving
                _merge_sort_run(run, raw)
                return True  # or not: the caller looks again
            run[j + 1] = run[j]
            j -= 1
        ties |= j >= 0 and _sortable(raw[run[j] & mask]) == key
        run[j + 1] = moving
    return ties


@njit(nogil=True, cache=True)
def _merge_sort_run(run: NDArray[np.uint64], raw: NDArray[np.uint64]) -> None:
    mask = np.uint64(0xFFFFFFFF)
    keys = np.empty(run.size, np.uint64)
    for i in range(run.size):
        keys[i] = _sortable(raw[run[i] & mask])
    run[:] = run[np.argsort(keys, kind="mergesort")]
