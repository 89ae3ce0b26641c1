"""Kendall's rank correlation, exact under ties. Not private: the private use of it is `DPKendall`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg.engines.base import TARGET, OpenOptions
from privreg.engines.registry import open_source
from privreg.estimators.settled import public_schema


def kendall_scores(X: Any, y: Any, *, n_jobs: int | None = -1) -> NDArray[np.float64]:
    """Scaled Kendall rank correlation of each column with the target; **not private**.

    The score is (C − D)/(n − 1), where C and D count the concordant and discordant pairs of records; a pair tied in
    either variable counts as neither. It runs from −n/2 to n/2, and is 0 for n < 2. Without ties it is the paper's
    scaled Kendall correlation; with ties it is the expectation of that under random tie-breaking, so a constant column
    scores 0. Records with a missing or non-finite value are left out. Exact in int64, with one O(n log n) count per
    column.

    Parameters
    ----------
    X : array, data frame or file
        The columns. Categories count as one column for each level.
    y : array, series or str
        The target, or the name of its column.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn; -1 uses every core.

    Returns
    -------
    ndarray
        One score for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg.kendall import kendall_scores
    >>> x = np.arange(5.0)
    >>> kendall_scores(np.column_stack([x, -x, np.ones(5)]), x).tolist()
    [2.5, -2.5, 0.0]
    """
    types, source = open_source(X, y, OpenOptions(n_jobs))
    engine = source.open(public_schema(types, full=True))
    pairs = engine.ranking().concordance(TARGET, range(len(engine)))
    return pairs / max(engine.n_records - 1, 1)
