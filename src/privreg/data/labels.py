"""Results with labels: series and frames of pandas if it can be imported, otherwise plain arrays in the same order."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np


def labelled_series(values: Any, labels: Sequence[str], name: str) -> Any:
    """One value for each label."""
    if not _has_pandas():
        return np.asarray(values)
    import pandas as pd

    return pd.Series(np.asarray(values), list(labels), name=name)


def labelled_frame(columns: Mapping[str, Any], labels: Any = None) -> Any:
    """Columns of equal length; rows are labelled by a sequence, or as pandas numbers them. An array has no labels."""
    if not _has_pandas():
        return np.column_stack([np.asarray(values) for values in columns.values()])
    import pandas as pd

    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()}, labels, list(columns))


def labelled_square(values: Any, labels: Sequence[str]) -> Any:
    """A matrix with the same labels on both sides."""
    square = np.asarray(values, np.float64).reshape(len(labels), len(labels))
    if not _has_pandas():
        return square
    import pandas as pd

    return pd.DataFrame(square, list(labels), list(labels))


def row_labels(X: Any) -> Any:
    """The labels of the rows of a pandas frame; None for any other table."""
    if not _has_pandas():
        return None
    import pandas as pd

    return X.index if isinstance(X, pd.DataFrame) else None


def _has_pandas() -> bool:
    return find_spec("pandas") is not None
