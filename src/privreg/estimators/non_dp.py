"""Ordinary least squares without privacy, to compare with."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from privreg._types import Float64
from privreg.engines.base import OpenOptions
from privreg.engines.memory import MemoryEngine
from privreg.engines.registry import kind_of
from privreg.estimators.base import set_all
from privreg.estimators.inputs import read_inputs, usable_types
from privreg.estimators.known import columns_in
from privreg.estimators.regressor import linear, placed
from privreg.estimators.settled import Categories, public_schema
from privreg.estimators.table_estimator import TableEstimator

_CHUNK = 2**20  # matrix entries looked at together
_DEPENDENT = 1e-11  # directions weaker than this part of the strongest are left out


class NonDP(RegressorMixin, TableEstimator):
    """Least squares with an intercept, right on badly scaled and on dependent columns. **Not private.**

    Columns are centred and scaled to unit length, the table is reduced to a triangle by QR chunk by chunk, and the
    triangle is solved for the coefficients of least norm. A constant column gets the coefficient 0.

    Parameters
    ----------
    categories : declared levels of text or code columns of a data frame, by column name.
    """

    coef_: Float64
    intercept_: float

    def __init__(self, *, categories: Categories = None) -> None:
        self.categories = categories

    def fit(self, X: Any, y: Any = None, *, formula: str | None = None, where: str | None = None) -> Self:
        """Fit the exact model. `y`, `formula` and `where` as in `PrivateLinearRegression`."""
        if not kind_of(X).in_memory:
            raise TypeError("NonDP needs its table in memory")
        inputs = read_inputs(X, y, None, formula, where)
        types = usable_types(inputs)
        source = kind_of(inputs.X).open(inputs.X, inputs.y, types, OpenOptions(1, where=inputs.where))
        set_all(self, ({} if inputs.formula is not None else columns_in(inputs.X, types)) | inputs.remembered)
        schema = public_schema(types, "dtype" if self.categories is None else self.categories, False, inputs.formula)
        engine = source.open(schema)
        assert isinstance(engine, MemoryEngine)
        with np.errstate(over="ignore", invalid="ignore"):  # coefficients of columns near 1e308 may be inf
            self.coef_, self.intercept_ = _least_squares(engine)
        self.coef_ = placed(self.coef_, [feature.row for feature in engine.features], len(schema.rows))
        self._remember(schema)
        return self

    def predict(self, X: Any) -> Float64:
        """The model's prediction for each row, NaN where a value that it needs is missing."""
        return linear(self._table(X), self.coef_[self._used], self.intercept_)


def _least_squares(engine: MemoryEngine) -> tuple[Float64, float]:
    n, d = engine.n_records, len(engine)
    if n == 0:
        return np.zeros(d), 0.0
    step = max(_CHUNK // (d + 1), d + 1)
    chunks = [np.arange(a, min(a + step, n)) for a in range(0, n, step)]

    def rows(index: Any) -> Float64:
        """Half of each value, so that differences do not overflow; the target last."""
        return np.column_stack([engine.rows(index), engine.target[index]]) / 2

    # Relative to the first record: the mean of a constant column is then exactly that constant.
    first = rows(np.arange(1))
    shift, scale = np.zeros(d + 1), np.zeros(d + 1)
    for c in chunks:
        shift += ((rows(c) - first) / n).sum(axis=0)
    centre = first[0] + shift
    for c in chunks:
        scale = np.maximum(scale, np.abs(rows(c) - centre).max(axis=0))
    scale[scale == 0] = 1.0
    triangle: Float64 = np.zeros((0, d + 1))
    for c in chunks:
        block = (rows(c) - centre) / scale
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    length = np.sqrt((triangle[:, :d] ** 2).sum(axis=0))
    length[length == 0] = 1.0
    unit = np.linalg.lstsq(triangle[:, :d] / length, triangle[:, d], rcond=_DEPENDENT)[0]
    coef = unit / length / scale[:d] * scale[d]
    return coef, float(2 * (centre[d] - coef @ centre[:d]))
