"""Kendall's rank correlation, exact under ties. Not private: the private use of it is `DPKendall`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg.engines.base import TARGET, OpenOptions
from privreg.engines.registry import open_source
from privreg.estimators.settled import public_schema


def kendall_scores(X: Any, y: Any, *, n_jobs: int | None = -1) -> NDArray[np.float64]:
    """(C − D)/(n − 1) of each column of X with y; 0 for n < 2.

    C and D count the concordant and discordant pairs of records; a pair tied in either variable counts as neither.
    The value runs from −n/2 to n/2. Without ties it is the paper's scaled Kendall correlation; with ties it is the
    expectation of that under random tie-breaking, so a constant column scores 0. Records with a missing or non-finite
    value are left out. Exact in int64, one O(n log n) count per column on `n_jobs` threads.
    """
    types, source = open_source(X, y, OpenOptions(n_jobs))
    engine = source.open(public_schema(types, full=True))
    pairs = engine.ranking().concordance(TARGET, range(len(engine)))
    return pairs / max(engine.n_records - 1, 1)
