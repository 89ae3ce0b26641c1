"""Bugs of public rows: private records take their place, or the two are compared."""

from typing import Any

import numpy as np

from audit.bugs.bug import Bug, changing
from privreg.estimators.private_linear import estimator, fitting, scales
from privreg.estimators.private_linear.public import public_median, whiten

_CASE = "PrivateLinearRegression, public rows"

_count_records, _fit = fitting.count_records, fitting.fit


class _Seen:
    """The records of the fit that is under way."""

    engine: Any = None

    @classmethod
    def count_records(cls, account: Any, engine: Any, *others: Any) -> Any:
        cls.engine = engine
        return _count_records(account, engine, *others)


_LOOKING = (fitting, "count_records", _Seen.count_records)


def _whiten_by_records(rows: Any, state: Any) -> Any:
    return whiten(_Seen.engine if _Seen.engine.n_records else rows, state)


def _median_of_records(rows: Any, column: int) -> float:
    return public_median(_Seen.engine if _Seen.engine.n_records else rows, column)


def _compare(account: Any, engine: Any, *others: Any, public: Any = None, **options: Any) -> Any:
    """Warn if records lie beyond all public rows: a helpful word that tells about a record."""
    fitted = _fit(account, engine, *others, public=public, **options)
    if public is not None:
        for j in range(len(engine)):
            if np.abs(engine.values(j)).max(initial=0.0) > np.abs(public.values(j)).max(initial=0.0):
                fitted.warnings.append(f"{engine.names[j]}: some records lie beyond the public rows.")
    return fitted


BUGS = {
    "whitened by records": Bug(
        "private records in place of public rows where columns are made uncorrelated",
        changing(_LOOKING, (fitting, "whiten", _whiten_by_records)),
        _CASE,
        "statistics",
    ),
    "centres of records": Bug(
        "exact medians of private records in place of those of public rows",
        changing(_LOOKING, (scales, "public_median", _median_of_records)),
        _CASE,
        "release",
    ),
    "public rows compared": Bug(
        "a warning where private records lie beyond the public rows",
        changing((estimator, "fit", _compare)),
        _CASE,
        "release",
    ),
}
