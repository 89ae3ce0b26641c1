"""Records in groups: whole groups of rows, gathered in chunks and shared out over threads."""

from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

from privreg.kernels.ranks import Float64, Int64
from privreg.kernels.threads import share_out
from privreg.tables import Records

_CHUNK = 2**18  # matrix entries gathered at a time by each worker


@njit(nogil=True, cache=True)
def sort_by_group(group: Int64, groups: int) -> tuple[Int64, Int64]:
    """Record numbers sorted by group, in their old order within a group, and where each group begins and the last ends.

    Empty groups are included: group g holds order[bounds[g] : bounds[g + 1]].
    """
    bounds = np.zeros(groups + 1, np.int64)
    for g in group:
        bounds[g + 1] += 1
    for g in range(groups):
        bounds[g + 1] += bounds[g]
    place = bounds.copy()
    order = np.empty(group.size, np.int64)
    for i in range(group.size):
        order[place[group[i]]] = i
        place[group[i]] += 1
    return order, bounds


def over_groups(
    records: Records,
    order: Int64,
    bounds: Int64,
    work: Callable[[int, Float64, Float64, Int64], None],
    n_jobs: int | None,
) -> None:
    """Call work(first group, rows, target, bounds within rows) for consecutive chunks of whole groups, in threads."""
    per_chunk = max(_CHUNK // len(records), 1)
    # A chunk ends with the first group that reaches a multiple of the chunk size.
    cuts = np.searchsorted(bounds[1:], np.arange(per_chunk, bounds[-1], per_chunk)) + 1
    cuts = np.unique(np.concatenate([[0], cuts, [bounds.size - 1]]))

    def loop(chunks: Iterator[int]) -> None:
        for c in chunks:
            first, last = int(cuts[c]), int(cuts[c + 1])
            members = order[bounds[first] : bounds[last]]
            local = bounds[first : last + 1] - bounds[first]
            work(first, records.rows(members), records.target[members], local)

    share_out(loop, len(cuts) - 1, n_jobs)
