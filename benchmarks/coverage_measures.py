"""What a private fit says about its coefficients, its R² and new records, beside what is so: for coverage_study.py.

The estimand of a fit is least squares, with an intercept, on a table in which every column of the model is clipped to
its `linear_range_` and the target to `prediction_range()`. Columns are those with such a range, one for each level but
the reference. They are read from the table by the schema of the fit, as `predict` reads them, so that levels, other
values and missing ones are exactly what the fit made of them.
"""

from dataclasses import dataclass, replace
from math import log, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg import PrivateLinearRegression
from privreg.data.tables import read_table
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.results.release import TOGETHER

Array = NDArray[np.float64]

Z95 = 1.959964
DEPENDENT = 1e-7  # of the largest singular value: directions below are not determined by the table
INVOLVED = 1e-14  # squared part of a column in such directions from which its coefficient is not, either
ENOUGH = 50  # p^1.5 < S/ENOUGH: few columns for the data


@dataclass(frozen=True)
class LeastSquares:
    """With an intercept. NaN where the table does not determine a coefficient."""

    slopes: Array
    errors: Array  # standard errors that allow for unequal variances (HC1)
    intercept: float
    r2: float
    residual_error: float


def least_squares(X: Array, y: Array) -> LeastSquares:
    """Exact, also for columns on very different scales. There must be a column."""
    n, means = len(X), X.mean(axis=0)
    centred = X - means
    scales = np.sqrt((centred**2).mean(axis=0))
    scales[scales < 1e-12 * np.abs(means)] = np.inf  # constants, but for rounding
    scales[scales == 0] = np.inf
    q, r = np.linalg.qr(centred / scales)
    u, values, v = np.linalg.svd(r)
    seen = values > DEPENDENT * max(values.max(initial=0.0), 1e-300)
    frame = q @ u[:, seen]  # orthonormal
    back = v[seen].T / values[seen]
    target = y - y.mean()
    moved = frame.T @ target
    residuals = target - frame @ moved
    free = max(n - int(seen.sum()) - 1, 1)
    spread = back @ ((frame * residuals[:, None] ** 2).T @ frame) @ back.T * n / free
    slopes, errors = back @ moved / scales, np.sqrt(np.diag(spread)) / scales
    lost = np.isinf(scales) | ((v[~seen] ** 2).sum(axis=0) > INVOLVED)
    slopes[lost] = errors[lost] = np.nan
    left, all_of_it = float(residuals @ residuals), float(target @ target)
    intercept = float(y.mean() - slopes @ means)
    return LeastSquares(slopes, errors, intercept, 1 - left / all_of_it if all_of_it else 0.0, sqrt(left / free))


@dataclass(frozen=True)
class Design:
    """The columns of a fitted model in a table, complete records only."""

    rows: list[int]  # their places in `conf_int()`
    sources: list[int]  # the numbers of the table's columns that they come from
    X: Array
    y: Array
    ranges: Array  # low and high end of each column
    target: tuple[float, float]

    def plain(self) -> LeastSquares:
        return least_squares(self.X, self.y)

    def clipped(self) -> LeastSquares:
        """The estimand."""
        return least_squares(np.clip(self.X, *self.ranges.T), np.clip(self.y, *self.target))


def design_of(model: PrivateLinearRegression, X: Any, y: Array) -> Design:
    """The columns of the model in this table; none if it is a constant."""
    table = read_table(X, model.schema_)
    complete = np.flatnonzero(table.complete() & np.isfinite(y))
    known = np.isfinite(np.asarray(model.linear_range_)[:, 0])
    used = [feature for feature in table.features if known[feature.row]]
    rows = [feature.row for feature in used]
    values = table.choose_rows(rows).rows(complete)
    target = model.prediction_range() or (-np.inf, np.inf)
    return Design(rows, [feature.source for feature in used], values, y[complete], model.linear_range_[rows], target)


def covered(intervals: Array, truth: Array) -> float:
    """The share of intervals, a row each, that hold the truth. Only where there are both; NaN if that is nowhere."""
    (low, high), both = intervals.T, np.isfinite(intervals[:, 0]) & np.isfinite(truth)
    return float(np.mean((low[both] <= truth[both]) & (truth[both] <= high[both]))) if both.any() else nan


def coefficients(model: PrivateLinearRegression, X: Any, y: Array) -> dict[str, float]:
    """How often intervals hold the estimand, and plain least squares, both computed on this table."""
    design = design_of(model, X, y)
    if not design.rows:
        return {}
    intervals = _intervals(model)[design.rows]
    exact, plain = design.clipped(), design.plain()
    return {"estimand": covered(intervals, exact.slopes), "least squares": covered(intervals, plain.slopes)}


def quality(model: PrivateLinearRegression, X: Any, y: Array, truth: Array | None = None) -> dict[str, float]:
    """What is measured of a fit on the records that it was made on.

    `truth` has a slope for each column, if known; it is that of the model only if all columns are in it.
    """
    design = design_of(model, X, y)
    if not design.rows:
        return {"columns": 0.0}
    exact, intervals = design.clipped(), _intervals(model)
    if TOGETHER in model.warnings_:
        exact = of_weighted_sums(exact, model, X, y)
    slopes, intercept = intervals[design.rows], intervals[-1:]
    size = len(y) * sqrt(adaptive_budget(Budget(model.epsilon, model.delta)))
    found = {
        "columns": float(len(design.rows)),
        "few columns": float((len(design.rows) + 1) ** 1.5 < size / ENOUGH),
        "not determined": float(np.isnan(slopes[:, 0]).mean()),
        "estimand": covered(slopes, exact.slopes),
        "least squares": covered(slopes, design.plain().slopes),
        "intercept": covered(intercept, np.array([exact.intercept])),
        "width": _width(slopes[:, 1] - slopes[:, 0], exact.errors),
        "R²": float(abs(model.r2_ - exact.r2) <= Z95 * model.r2_error_),
        "R² error": float(abs(model.r2_ - exact.r2)),
        "residual error": _ratio(model.residual_error_, exact.residual_error),
    }
    if truth is not None and len(design.sources) == len(truth):
        found["truth"] = covered(slopes, truth[design.sources])
    return found


def of_weighted_sums(exact: LeastSquares, model: PrivateLinearRegression, X: Any, y: Array) -> LeastSquares:
    """With R² and errors of the model itself, and the mean of the target.

    Where columns are used together, that is what it tells: least squares in all columns would explain far more.
    """
    predicted, (low, high) = np.asarray(model.predict(X)), model.prediction_range() or (-np.inf, np.inf)
    target = np.clip(y, low, high)
    complete = np.isfinite(predicted) & np.isfinite(target)
    left, mean = (target - predicted)[complete], float(target[complete].mean())
    squares, all_of_it = float(left @ left), float(((target[complete] - mean) ** 2).sum())
    return replace(exact, intercept=mean, r2=1 - squares / all_of_it, residual_error=sqrt(squares / left.size))


def predictions(model: PrivateLinearRegression, X: Any, y: Array) -> dict[str, float]:
    """How often 95 % prediction intervals hold the target of new records; nothing if the model is a constant."""
    if model.prediction_range() is None:
        return {}
    bounds = model.predict(X, interval=0.95)
    return {"predictions": covered(bounds[["lower", "upper"]].to_numpy(np.float64), y)}


def _intervals(model: PrivateLinearRegression) -> Array:
    """Low and high end for each row of the schema; the intercept last."""
    return np.asarray(model.conf_int(), np.float64)


def _width(widths: Array, errors: Array) -> float:
    """Of a private interval, as a multiple of that of least squares: the median over coefficients."""
    known = np.isfinite(widths) & (errors > 0)
    return float(np.median(widths[known] / (2 * Z95 * errors[known]))) if known.any() else nan


def _ratio(found: float, exact: float) -> float:
    """How far two positive numbers are apart, as a logarithm; NaN if one of them is not positive."""
    return float(abs(log(found / exact))) if found > 0 and exact > 0 else nan
