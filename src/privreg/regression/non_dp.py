"""Ordinary least squares without privacy, to compare with."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from privreg.kernels.ranks import Float64
from privreg.regression.base import linear
from privreg.tables import Categories, Records, read_table, read_target

_CHUNK = 2**20  # matrix entries looked at together
_DEPENDENT = 1e-11  # directions weaker than this part of the strongest are left out


class NonDP(RegressorMixin, BaseEstimator):
    """Least squares with an intercept, right on badly scaled and on dependent columns. **Not private.**

    Columns are centred and divided by their standard deviation, the table is reduced to a triangle by QR chunk by
    chunk, and the triangle is solved for the coefficients of least norm.

    Parameters
    ----------
    categories : declared levels of text or code columns of a data frame, by column name.
    """

    coef_: Float64
    intercept_: float

    def __init__(self, *, categories: Categories | None = None) -> None:
        self.categories = categories

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the exact model."""
        table = read_table(X, self.categories)
        validate_data(self, X, reset=True, skip_check_array=True)
        records = Records(table, read_target(y))
        n, d = records.n_records, len(records)
        step = max(_CHUNK // (d + 1), d + 1)
        chunks = [np.arange(a, min(a + step, n)) for a in range(0, n, step)]

        def rows(index: Any) -> Float64:
            return np.column_stack([records.rows(index), records.target[index]])

        # Halves and shares of the mean: columns of 1e308 do not overflow.
        centre, scale = np.zeros(d + 1), np.zeros(d + 1)
        for c in chunks:
            centre += (rows(c) / n).sum(axis=0)
        for c in chunks:
            scale = np.maximum(scale, np.abs(rows(c) / 2 - centre / 2).max(axis=0))
        scale[scale == 0] = 1.0
        triangle: Float64 = np.zeros((0, d + 1))
        for c in chunks:
            block = (rows(c) / 2 - centre / 2) / scale
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
        length = np.sqrt((triangle[:, :d] ** 2).sum(axis=0))
        length[length == 0] = 1.0
        unit = np.linalg.lstsq(triangle[:, :d] / length, triangle[:, d], rcond=_DEPENDENT)[0] if n else np.zeros(d)
        self.coef_ = unit / length / scale[:d] * scale[d]
        self.intercept_ = float(centre[d] - self.coef_ @ centre[:d])
        self._names = table.names
        return self

    def predict(self, X: Any) -> Float64:
        """The model's prediction for each row, NaN where a value is missing."""
        check_is_fitted(self)
        table = read_table(X, self.categories)
        validate_data(self, X, reset=False, skip_check_array=True)
        if table.names != self._names:
            raise ValueError("X has other feature columns or declared levels than the table this was fitted on")
        return linear(table, self.coef_, self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
