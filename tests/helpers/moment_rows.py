"""Records of any size, and blocks of every size for any number of threads."""

import numpy as np
import pytest
from hypothesis import strategies as st

from privreg.engines import base
from public_tables import array_engine

int16 = st.one_of(st.sampled_from([0, 1, -1, 32767, -32767, -32768]), st.integers(-32768, 32767))


ONE = np.array([1.0])  # the only clip


BLOCKS = [(1, 1), (1, 3), (7, 1), (7, 2), (64, 2), (350, 3), (499, 1), (8192, 1), (8192, 2)]  # records, threads


def in_blocks(task, records, size, jobs):
    """The sum of task(numbers of records) over blocks of at most `size`, on so many threads, as in a fit."""
    numbers = np.arange(records, dtype=float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "ROWS", size)
        found = array_engine(numbers[:, None], numbers, jobs)
        return found.total(lambda block: task(block.target.astype(int)), [])


number = st.one_of(st.sampled_from([0.0, 5e-324, 1.0, -1.0, 1.7e308, -1.7e308, np.inf]), st.floats(-1e6, 1e6))
