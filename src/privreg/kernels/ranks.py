"""Dense ranks of a column by hashing or radix sort: done once per column, everything after works on integers."""

from collections.abc import Iterable, Iterator
from math import frexp
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from privreg._types import Float64, Int32
from privreg.kernels.cache import kernel
from privreg.kernels.threads import share_out

_Bits = NDArray[np.uint64]
_Layout = tuple[np.uint64, np.uint64, np.uint64, np.uint64]  # floor and below of `_key`, dropped, index_bits

MAX_RECORDS = 2**30 - 1  # record numbers, and twice a count of them, are int32

_ONE, _HALF, _SIGN = np.uint64(1), np.uint64(32), np.uint64(1 << 63)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples spread over a hash table
_MOST_SLOTS, _MOST_PROBES = 1 << 16, 64  # of that table, so that it stays in the cache and no look-up is slow
_DIGIT = 10  # bits per radix pass: the inner caches hold about as many lines as there are digits
_SHORT_RUN = 64  # records that insertion puts in order sooner than a radix sort
_FEW_RANKS = 1 << 21  # fit the outer cache, where it matters little in which order they are written
_PARTS = 200  # no power of two, at which all parts would compete for the same cache lines
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


def rank_column(values: Float64, scratch: _Bits | None = None, out: Int32 | None = None) -> Ranks:
    """Rank finite float64 values; −0.0 and 0.0 are equal. A few linear passes.

    `scratch` (2 × n) and `out` (n) save the cost of fresh memory when many columns are ranked.
    """
    values = np.require(values, np.float64, ["C", "W"])  # numba would compile again for read-only arrays
    rank = np.empty(values.size, np.int32) if out is None else out
    starts = _two_valued(values, rank)
    if starts.size == 0:
        starts = _few_valued(values, rank)
    if starts.size == 0:
        scratch = np.empty((2, values.size), np.uint64) if scratch is None else scratch
        starts = _dense_ranks(values, scratch, rank)
    distinct = starts.size - 1
    return Ranks(rank, starts.copy() if distinct < values.size else np.empty(0, np.int32), distinct)


@kernel
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


@kernel
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


@kernel
def _few_valued(values: Float64, rank: Int32) -> Int32:
    """Ranks by way of a hash table of the distinct values. Returns starts; none if the table is too small."""
    raw = values.view(np.uint64)
    slot_bits = frexp(min(max(raw.size >> 5, 1), _MOST_SLOTS - 1))[1]
    level = np.full(1 << slot_bits, -1, np.int32)  # by slot, in the order of appearance
    value = np.empty(level.size, np.uint64)
    slots = np.empty(level.size >> 1, np.uint64)  # by level
    distinct = 0
    for i in range(raw.size):
        bits = raw[i] if raw[i] != _SIGN else np.uint64(0)  # −0.0 is 0.0
        slot = (bits * _GOLDEN) >> np.uint64(64 - slot_bits)
        probes = 0
        while level[slot] >= 0 and value[slot] != bits:
            slot = (slot + _ONE) & np.uint64(level.size - 1)
            probes += 1
        if level[slot] < 0:
            if distinct == slots.size or probes > _MOST_PROBES:
                return np.empty(0, np.int32)
            slots[distinct], value[slot], level[slot] = slot, bits, distinct
            distinct += 1
        rank[i] = level[slot]
    order = np.argsort(value[slots[:distinct]].view(np.float64))
    rank_of = np.argsort(order).astype(np.int32)
    starts = np.zeros(distinct + 1, np.int32)
    for i in range(rank.size):
        rank[i] = rank_of[rank[i]]
        starts[rank[i] + 1] += 1
    return np.cumsum(starts).astype(np.int32)


@kernel
def _dense_ranks(values: Float64, scratch: _Bits, rank: Int32) -> Int32:
    """Fills `rank` and returns starts, which live in the scratch."""
    n = values.size
    raw = values.view(np.uint64)
    floor, below, key_bits, zeros = _key_range(raw)
    # The leading bits of the keys are radix sorted, with the record number carried below and the top bit left free.
    # One digit more than it takes to number the records leaves few different values that look the same.
    index_bits = frexp(n - 1)[1]
    bits = min(key_bits - zeros, 63 - index_bits, -(-index_bits // _DIGIT) * _DIGIT + _DIGIT)
    layout = floor, below, np.uint64(key_bits - bits), np.uint64(index_bits)
    unsorted = scratch[0]
    for i in range(n):
        unsorted[i] = (_key(raw[i], floor, below) >> layout[2] << layout[3]) | np.uint64(i)
    packed, spare = _radix_sort(unsorted, scratch[1], index_bits, bits)
    if key_bits - bits > zeros:
        _settle_runs(packed, spare, raw, layout)
    return _write_ranks(packed, spare, layout[3], rank)


@kernel
def _key_range(raw: _Bits) -> tuple[np.uint64, np.uint64, int, int]:
    """What `_key` needs, the length in bits of the largest key and how many low bits are zero in all keys."""
    smallest, union, above, below = ~np.uint64(0), np.uint64(0), np.int64(0), np.uint64(0)
    for i in range(raw.size):
        magnitude = raw[i] & ~_SIGN
        smallest = min(smallest, magnitude - _ONE)  # zero, which does not count, wraps around
        union |= magnitude
        above, below = max(above, np.int64(raw[i])), max(below, raw[i])  # the sign is the top bit
    unit = union & (~union + _ONE)
    floor = smallest + _ONE - unit
    high, low = max(np.uint64(above), floor) - floor, max(below, floor | _SIGN) - (floor | _SIGN)
    return floor, low, frexp(np.float64(high + low))[1], frexp(np.float64(unit))[1] - 1  # or a bit longer


@kernel
def _key(bits: np.uint64, floor: np.uint64, below: np.uint64) -> np.uint64:
    """Order-preserving map from the bits of a float64 to unsigned integers, with −0.0 sent to 0.0.

    The gap between zero and the smallest magnitude is closed: most exponents, as a rule, do not occur.
    """
    sign = np.uint64(np.int64(bits) >> 63)  # no branch on the sign, which is as good as random
    return ((max(bits & ~_SIGN, floor) - floor) ^ sign) - sign + below


@kernel
def _radix_sort(packed: _Bits, spare: _Bits, shift: int, bits: int) -> tuple[_Bits, _Bits]:
    """Sort by the `bits` from `shift` on. Returns the sorted array and the other one."""
    passes = -(-bits // _DIGIT)
    width = -(-bits // passes)
    place = np.empty(1 << width, np.uint32)
    mask = np.uint64(place.size - 1)
    for p in range(passes, 0, -1):
        low = np.uint64(max(shift + bits - p * width, 0))  # may reach below `shift`, where the order is right already
        place[:] = 0
        for key in packed:
            place[(key >> low) & mask] += np.uint32(1)
        if place[(packed[0] >> low) & mask] == packed.size:
            continue  # the same digit everywhere
        total = np.uint32(0)
        for digit in range(place.size):
            total += place[digit]
            place[digit] = total - place[digit]
        for key in packed:
            at = place[(key >> low) & mask]
            place[(key >> low) & mask] = at + np.uint32(1)
            spare[at] = key
        packed, spare = spare, packed
    return packed, spare


@kernel
def _settle_runs(packed: _Bits, spare: _Bits, raw: _Bits, layout: _Layout) -> None:
    """Sort by value where leading bits are equal. Values are looked up, at random places, only there."""
    index_bits = layout[3]
    records = (_ONE << index_bits) - _ONE
    i, lead = 1, packed[0] >> index_bits
    while i < packed.size:
        previous, lead = lead, packed[i] >> index_bits
        if lead == previous:
            begin, first, differing = i - 1, raw[packed[i] & records], np.uint64(0)
            while i < packed.size and packed[i] >> index_bits == lead:
                i += 1
            for j in range(begin, i):
                differing |= raw[packed[j] & records] ^ first
            if differing:
                _settle_run(packed[begin:i], spare[begin:i], raw, layout)
        else:
            i += 1


@kernel
def _settle_run(run: _Bits, spare: _Bits, raw: _Bits, layout: _Layout) -> None:
    """Sort records of equal leading bits by value, and have the top bit alternate from each value to the next."""
    floor, below, dropped, index_bits = layout
    records, rest = (_ONE << index_bits) - _ONE, (_ONE << dropped) - _ONE
    lead = run[0] & ~records
    short = run.size <= _SHORT_RUN
    for i in range(run.size):
        record = run[i] & records
        key = ((_key(raw[record], floor, below) & rest) << index_bits) | record
        j = i
        while short and j > 0 and run[j - 1] > key:
            run[j] = run[j - 1]
            j -= 1
        run[j] = key
    ordered, _ = (run, spare) if short else _radix_sort(run, spare, np.int64(index_bits), np.int64(dropped))
    previous = ordered[0]
    for i in range(run.size):
        if (ordered[i] ^ previous) > records:
            lead ^= _SIGN
        previous = ordered[i]
        run[i] = lead | (previous & records)


@kernel
def _write_ranks(packed: _Bits, spare: _Bits, index_bits: np.uint64, rank: Int32) -> Int32:
    """A new rank wherever the bits above the record number change. Returns starts, written over the records read.

    Ranks are first sent to the right part of the column if they are many: writes all over memory cost more.
    """
    n = packed.size
    records = (_ONE << index_bits) - _ONE
    starts = packed.view(np.int32)
    scale = (_PARTS << 32) // n
    free = (-(-(np.arange(_PARTS if n > _FEW_RANKS else 0) << 32) // scale)).astype(np.uint32)  # where each part begins
    current = np.int64(-1)
    previous = ~packed[0]
    for i in range(n):
        this = packed[i]
        record = this & records
        current += np.int64((this ^ previous) > records)
        previous = this
        starts[current + 1] = i + 1  # until the rank is complete
        if n <= _FEW_RANKS:
            rank[record] = current
        else:
            part = (record * np.uint64(scale)) >> _HALF
            spare[free[part]] = (record << _HALF) | np.uint64(current)
            free[part] += np.uint32(1)
    if n > _FEW_RANKS:
        for pair in spare:
            rank[pair >> _HALF] = np.int32(pair & np.uint64(0xFFFFFFFF))
    starts[0] = 0
    return starts[: current + 2]
