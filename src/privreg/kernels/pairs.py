"""Exact C − D (concordant minus discordant pairs) of two ranked columns, ties counting nothing.

Records are visited in the order of one column; counters over the ranks of the other tell how many visited records lie
below the current one. Three kernels, cheapest first:

- either column two-valued: a weighted sum of ranks, one sequential pass;
- few distinct values in one column: two levels of counters over its ranks;
- otherwise a bitmap of the visited ranks under a tree of counters. Tied ranks are first given consecutive numbers in
  the visiting order, which makes the tied pairs concordant, and their number is taken off at the end.

Counters come in nodes of 16 or 32 that keep *prefix* counts: a query reads one counter per level, an insertion adds one
to the counters after its own, which is a few vector instructions. Everything that grows with n² is int64, and exact.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from privreg._types import Int32, Int64
from privreg.kernels.cache import kernel
from privreg.kernels.ranks import Ranks
from privreg.kernels.threads import share_out

FEW = 256  # distinct values up to which plain counters are cheaper than the bitmap
_NODE = np.uint64(4)  # 16 counters to a node


class Pivot(NamedTuple):
    """A column that others are compared with: its ranks, and each record's place when sorted by them."""

    ranks: Ranks
    slots: Int32


def make_pivot(ranks: Ranks) -> Pivot:
    return Pivot(ranks, _slots(ranks.rank, ranks.starts) if ranks.distinct > 2 else ranks.rank)


def count_pairs(pivot: Pivot, column: Ranks) -> int:
    """C − D of two columns."""
    return _pair(*pivot, column, np.empty_like(column.rank))


def concordance(pivot: Ranks, columns: Sequence[Ranks], n_jobs: int | None = None) -> Int64:
    """C − D of `pivot` with each of `columns`, on `n_jobs` threads that each hold O(n) extra memory."""
    made = make_pivot(pivot)
    counts = np.zeros(len(columns), np.int64)

    def work(queue: Iterator[int]) -> None:
        ordered = np.empty_like(pivot.rank)
        for j in queue:
            counts[j] = _pair(*made, columns[j], ordered)

    share_out(work, len(columns), n_jobs)
    return counts


def _pair(pivot: Ranks, slots: Int32, column: Ranks, ordered: Int32) -> int:
    if pivot.distinct < 2 or column.distinct < 2:
        return 0
    if pivot.distinct == 2:
        return int(_two_valued(pivot.rank, column.rank, column.starts))
    if column.distinct == 2:
        return int(_two_valued(column.rank, pivot.rank, pivot.starts))
    if pivot.distinct <= FEW < column.distinct:
        pivot, column, slots = column, pivot, _slots(column.rank, column.starts)
    _in_order(column.rank, slots, ordered)
    if column.distinct <= FEW:
        return int(_few_levels(ordered, pivot.starts))
    broken = 0 if column.starts.size == 0 else int(_break_ties(ordered, column.starts, pivot.starts))
    return int(_distinct(ordered, pivot.starts)) - broken


@kernel
def _slots(rank: Int32, starts: Int32) -> Int32:
    """Each record's place when sorted by rank (a counting sort); the rank itself when all are distinct."""
    if starts.size == 0:
        return rank
    free = starts.copy()
    slots = np.empty_like(rank)
    for i in range(rank.size):
        r = np.uint64(rank[i])
        slots[i] = free[r]
        free[r] += np.int32(1)
    return slots


@kernel
def _in_order(rank: Int32, slots: Int32, ordered: Int32) -> None:
    for i in range(rank.size):
        ordered[np.uint64(slots[i])] = rank[i]


@kernel
def _two_valued(upper: Int32, rank: Int32, starts: Int32) -> np.int64:
    """Σ over records with the upper value of (records below − records above) in the other column.

    Pairs inside the upper group cancel, so the sum over all other records equals that over the lower group.
    """
    n = rank.size
    total = np.int64(0)
    if starts.size == 0:
        for i in range(n):
            total += np.int64(upper[i]) * (2 * np.int64(rank[i]) + 1 - n)
    else:
        for i in range(n):
            r = np.uint64(rank[i])
            total += np.int64(upper[i]) * (np.int64(starts[r]) + np.int64(starts[r + np.uint64(1)]) - n)
    return total


def _vector_bump(width: int, lanes: int, own: bool = False) -> Any:
    """`bump(counters, at)`: add one to the counters after `at` inside its aligned node of `lanes` counters.

    With `own`, add two to those after `at` and one to its own. Written as vector instructions because LLVM unrolls the
    plain loop into scalar ones, which is three times slower.
    """

    @intrinsic
    def bump(typing_context: Any, counters: Any, at: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            number = ir.IntType(width)
            vector = ir.VectorType(number, lanes)
            undefined = ir.Constant(vector, ir.Undefined)
            lane = builder.and_(arguments[1], ir.Constant(ir.IntType(64), lanes - 1))
            node = builder.gep(array.data, [builder.sub(arguments[1], lane)])
            node = builder.bitcast(node, ir.PointerType(vector))
            spread = builder.insert_element(undefined, builder.trunc(lane, number), ir.Constant(ir.IntType(32), 0))
            spread = builder.shuffle_vector(
                spread, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
            )
            counts = builder.load(node, align=width // 8, typ=vector)
            for comparison in (">", ">=") if own else (">",):
                after = builder.icmp_signed(comparison, ir.Constant(vector, list(range(lanes))), spread)
                counts = builder.sub(counts, builder.sext(after, vector))
            builder.store(counts, node, align=width // 8)
            return context.get_dummy_value()

        return types.void(counters, types.uint64), generate

    return bump


@intrinsic
def _popcount(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_bump_16x16 = _vector_bump(16, 16)
_bump_16x32 = _vector_bump(16, 32)
_bump_32x16 = _vector_bump(32, 16)
_bump_own_32x16 = _vector_bump(32, 16, own=True)


@kernel
def _levels(size: int) -> tuple[NDArray[np.uint64], Int32]:
    """A tree of 16-counter nodes over `size` leaves: where each level begins, and the zeroed counters."""
    begins = np.empty(16, np.uint64)
    total = 0
    depth = 0
    while True:
        begins[depth] = total
        depth += 1
        nodes = (size + 15) // 16
        total += 16 * nodes
        if nodes <= 1:
            return begins[:depth], np.zeros(max(total, 16), np.int32)
        size = nodes


@kernel(inline="always")
def _below(begins: NDArray[np.uint64], counters: Int32, leaf: np.uint64) -> np.int64:
    below = np.int64(0)
    for level in range(begins.size):
        below += counters[begins[level] + leaf]
        leaf >>= np.uint64(4)
    return below


@kernel(inline="always")
def _insert(begins: NDArray[np.uint64], counters: Int32, leaf: np.uint64) -> None:
    for level in range(begins.size):
        _bump_32x16(counters, begins[level] + leaf)
        leaf >>= np.uint64(4)


@kernel
def _few_levels(ranks: Int32, starts: Int32) -> np.int64:
    """Counters for a column of at most FEW distinct ranks; `starts` bounds the tied groups of the visiting order.

    A leaf counter holds twice the visited records below its rank in the node plus those of its rank. Added to twice the
    node's counter at the top, that is (below + equal) + below = visited + below − above.
    """
    if starts.size == 0:
        return _few_levels_in_parts(ranks)
    leaves = np.zeros(FEW, np.int32)
    top = np.zeros(16, np.int32)
    total = np.int64(0)
    for group in range(starts.size - 1):
        first, last = np.int64(starts[group]), np.int64(starts[group + 1])
        for i in range(first, last):
            r = np.uint64(ranks[i])
            total += np.int64(leaves[r]) + 2 * np.int64(top[r >> _NODE]) - first
        for i in range(first, last):
            r = np.uint64(ranks[i])
            _bump_own_32x16(leaves, r)
            _bump_32x16(top, r >> _NODE)
    return total


@kernel
def _few_levels_in_parts(ranks: Int32) -> np.int64:
    """The same for a visiting order without ties: four parts are counted side by side, then against each other.

    Successive records mostly meet in the same counters, and each addition waits for the one before it; four
    independent chains keep the processor busy.
    """
    size = ranks.size // 4
    leaves = np.zeros(4 * FEW, np.int32)
    top = np.zeros(4 * 16, np.int32)
    total = np.int64(0)
    for i in range(size):
        for part in range(4):
            r = np.uint64(ranks[part * size + i])
            leaf = r + np.uint64(part * FEW)
            node = (r >> _NODE) + np.uint64(part * 16)
            total += np.int64(leaves[leaf]) + 2 * np.int64(top[node]) - i
            _bump_own_32x16(leaves, leaf)
            _bump_32x16(top, node)
    for i in range(4 * size, ranks.size):
        r = np.uint64(ranks[i])
        total += (
            np.int64(leaves[r + np.uint64(3 * FEW)]) + 2 * np.int64(top[(r >> _NODE) + np.uint64(48)]) - i + 3 * size
        )
        _bump_own_32x16(leaves, r + np.uint64(3 * FEW))
        _bump_32x16(top, (r >> _NODE) + np.uint64(48))

    earlier = np.zeros(FEW, np.int64)
    mine = np.zeros(FEW, np.int64)
    below = np.int64(0)
    for part in range(4):
        for level in range(FEW):
            if level % 16 == 0:
                below = np.int64(0)
            mine[level] = leaves[part * FEW + level] - 2 * below
            below += mine[level]
        below = np.int64(0)
        above = earlier.sum()
        for level in range(FEW):
            above -= earlier[level]
            total += mine[level] * (below - above)
            below += earlier[level]
        earlier += mine
    return total


@kernel
def _break_ties(ranks: Int32, own_starts: Int32, starts: Int32) -> np.int64:
    """Give tied ranks consecutive numbers in the visiting order, in place.

    Pairs tied here that are not tied in the visiting order then count as concordant; returns how many those are.
    """
    free = own_starts.copy()
    pairs = np.int64(0)
    groups = ranks.size if starts.size == 0 else starts.size - 1
    for group in range(groups):
        first = group if starts.size == 0 else np.int64(starts[group])
        last = group + 1 if starts.size == 0 else np.int64(starts[group + 1])
        for i in range(first, last):
            r = np.uint64(ranks[i])
            pairs += np.int64(free[r] - own_starts[r])
        for i in range(first, last):
            r = np.uint64(ranks[i])
            ranks[i] = free[r]
            free[r] += np.int32(1)
    return pairs


# The distinct kernel's levels: 64 ranks to a bitmap word, 16 words to a node, 32 nodes to a node, 16 of those to a
# node; counts up to 2^15 fit 16 bits. Beyond 2^19 records further levels follow as in `_levels`.
_WORD = np.uint64(6)
_LOWER = np.uint64(10)
_UPPER = np.uint64(15)
_TOP = np.uint64(19)


@kernel
def _distinct(ranks: Int32, starts: Int32) -> np.int64:
    """Bitmap and tree over the ranks 0 … n−1 of a column without ties."""
    n = ranks.size
    words = np.zeros((n >> 6) + 1, np.uint64)
    lower = np.zeros(((n >> 10) + 1) * 16, np.uint16)
    upper = np.zeros(((n >> 15) + 1) * 32, np.uint16)
    top = np.zeros(((n >> 19) + 1) * 16, np.int32)
    total = np.int64(0)
    if starts.size == 0 and n <= 1 << 19:  # the usual case, kept free of anything it does not need
        for i in range(n):
            r = np.uint64(ranks[i])
            total += 2 * _visited_below(words, lower, upper, top, r) - i
            _visit(words, lower, upper, top, r)
        return total
    begins, rest = _levels((n >> 19) + 1)
    groups = n if starts.size == 0 else starts.size - 1
    for group in range(groups):
        first = group if starts.size == 0 else np.int64(starts[group])
        last = group + 1 if starts.size == 0 else np.int64(starts[group + 1])
        for i in range(first, last):
            r = np.uint64(ranks[i])
            below = _visited_below(words, lower, upper, top, r) + _below(begins, rest, r >> _TOP)
            total += 2 * below - first
        for i in range(first, last):
            r = np.uint64(ranks[i])
            _visit(words, lower, upper, top, r)
            _insert(begins, rest, r >> _TOP)
    return total


@kernel(inline="always")
def _visited_below(words: Any, lower: Any, upper: Any, top: Any, r: np.uint64) -> np.int64:
    bit = np.uint64(1) << (r & np.uint64(63))
    in_word = np.int64(_popcount(words[r >> _WORD] & (bit - np.uint64(1))))
    in_nodes = np.int64(lower[r >> _WORD]) + np.int64(upper[r >> _LOWER]) + np.int64(top[r >> _UPPER])
    return in_word + in_nodes


@kernel(inline="always")
def _visit(words: Any, lower: Any, upper: Any, top: Any, r: np.uint64) -> None:
    words[r >> _WORD] |= np.uint64(1) << (r & np.uint64(63))
    _bump_16x16(lower, r >> _WORD)
    _bump_16x32(upper, r >> _LOWER)
    _bump_32x16(top, r >> _UPPER)
