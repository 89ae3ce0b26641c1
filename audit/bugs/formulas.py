"""Formulas and filters that look at more than one record, or show one."""

from typing import Any

import numpy as np

from audit.bugs.bug import Bug, changing
from privreg.data import evaluate
from privreg.engines.memory import MemorySource
from privreg.errors import SchemaError

_value, _function, _that = evaluate._value, evaluate._function, MemorySource._that
_FORMULA = "PrivateLinearRegression, formula"


def _centred(tree: Any, records: Any) -> Any:
    """Columns less their mean, as statistics packages do for numerical reasons."""
    values = _value(tree, records)
    if tree[0] != "column" or not np.isfinite(values).any():
        return values
    return values - np.nanmean(values)


def _refused(name: str, values: Any) -> Any:
    found = _function(name, values)
    if (np.isnan(found) & np.isfinite(values)).any():
        raise SchemaError(f"{name}() of a value outside its domain")
    return found


def _at_most_half(self: Any, condition: Any, columns: Any) -> Any:
    """A filter that would leave hardly any record is ignored, one might think that is kind."""
    left = _that(self, condition, columns)
    return np.ones_like(left) if left.mean() < 0.9 and left.sum() % 2 else left


BUGS = {
    "centred columns": Bug(
        "a computed column depends on the mean of another",
        changing((evaluate, "_value", _centred)),
        _FORMULA,
        "statistics",
    ),
    "outside the domain": Bug(
        "an error for a value that a function is not defined for",
        changing((evaluate, "_function", _refused)),
        _FORMULA,
        "messages",
    ),
    "a filter of all records": Bug(
        "whether the filter is used depends on how many records it leaves",
        changing((MemorySource, "_that", _at_most_half)),
        _FORMULA,
        "statistics",
    ),
}
