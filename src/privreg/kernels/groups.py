"""Records in groups."""

import numpy as np

from privreg._types import Int64
from privreg.kernels.cache import kernel


@kernel
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
