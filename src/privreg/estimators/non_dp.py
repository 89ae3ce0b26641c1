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
    """Ordinary least squares with an intercept, to compare with; **not private**.

    It is accurate on badly scaled and on dependent columns. Columns are centred and scaled to unit length, the table is
    reduced to a triangle by QR chunk by chunk, and the triangle is solved for the coefficients of least norm. A
    constant column gets the coefficient 0.

    Parameters
    ----------
    categories : dict of str to list, "dtype" or None, default None
        Levels of columns of a data frame, by name. With None, as with "dtype", they are taken from the columns' types.

    Attributes
    ----------
    coef_ : ndarray
        The coefficients: one for each column, or for each level except the reference.
    intercept_ : float
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import NonDP
    >>> X = np.arange(10.0).reshape(-1, 1)
    >>> model = NonDP().fit(X, 3 * X[:, 0] + 1)
    >>> np.allclose([*model.coef_, model.intercept_], [3, 1])
    True
    """

    coef_: Float64
    intercept_: float

    def __init__(self, *, categories: Categories = None) -> None:
        self.categories = categories

    def fit(self, X: Any, y: Any = None, *, formula: str | None = None, where: str | None = None) -> Self:
        """Fit the exact model; **not private**.

        Parameters
        ----------
        X : array or data frame
            The table: one row for each record.
        y : array, series, str or None, default None
            The target, or the name of its column in X. Not needed with a `formula`.
        formula : str or None, default None
            Target and terms of the model, as in `PrivateLinearRegression.fit`.
        where : str or None, default None
            A condition that records must meet to be used.

        Returns
        -------
        self
        """
        if not kind_of(X).in_memory:
            raise TypeError("NonDP needs the table in memory; pass a data frame or an array")
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
        """Predict the target for each row; NaN where a value that the model needs is missing.

        Parameters
        ----------
        X : array or data frame
            New rows, with the columns that the model was fitted on.

        Returns
        -------
        ndarray
            One prediction for each row.
        """
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
