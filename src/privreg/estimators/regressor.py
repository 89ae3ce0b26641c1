"""What the regressors share: coefficients, prediction and the summary."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from privreg._format import number, text_table
from privreg._types import Float64
from privreg.data.tables import Table
from privreg.estimators.base import PrivateEstimator
from privreg.privacy.receipt import Receipt

WARNING = "Warning: "  # before a note that is one


class Savable:
    """A fitted private model that can be written to a file."""

    def save(self: Any, path: str | PathLike[str]) -> None:
        """Write the model as plain JSON; `privreg.load_model` reads it."""
        from privreg.results.model_file import save_model

        save_model(self, path)


class PrivateRegressor(Savable, RegressorMixin, PrivateEstimator):
    """A scikit-learn regressor whose coefficients were released privately.

    After `fit`: `coef_` (one for each column), `intercept_`, `receipt_`, `summary()`, `save(path)`.
    """

    coef_: Float64
    intercept_: float

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The model's prediction for each row, NaN where a value that it needs is missing.

        Of a Dask data frame a series that is computed where its partitions are.
        """
        return self._over(X, self._predict)

    def _predict(self, table: Table) -> Float64:
        return linear(table, self.coef_, self.intercept_)

    def summary(self) -> str:
        """The model, what to know about it, and what it cost, as text."""
        check_is_fitted(self)
        names = self._labels(list(range(len(self._names))))
        return describe(self._notes(), names, self.coef_, self.intercept_, self.receipt_)

    def _notes(self) -> list[str]:
        """Plain sentences about this fit, from released values only, and what may be wrong with it."""
        return self._facts() + marked(self.warnings_)

    def _facts(self) -> list[str]:
        return [f"A linear model of {len(self._names)} features."]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few dozen records noise is larger than any signal
        return tags


def marked(warnings: list[str]) -> list[str]:
    """Warnings as notes."""
    return [WARNING + text for text in warnings]


def linear(table: Table, coef: Float64, intercept: float) -> Float64:
    """intercept + Σ coef_j·column_j over the columns with a coefficient."""
    result = np.full(table.n_rows, float(intercept))
    for j in np.flatnonzero(coef):
        result += coef[j] * table[int(j)]
    return result


def order_chosen(features: list[Any]) -> str:
    """What a summary says about a selection."""
    return "Features in the order chosen: " + ", ".join(map(str, features)) + "."


def describe(notes: list[str], names: list[Any], coef: Float64, intercept: float, receipt: Receipt) -> str:
    """Notes, a table of coefficients and the receipt."""
    rows: list[tuple[str, ...]] = [("feature", "coefficient")]
    rows += [(str(name), number(value)) for name, value in zip(names, coef.tolist(), strict=True)]
    rows.append(("(intercept)", number(intercept)))
    return "\n".join([*notes, "", *text_table(rows), "", str(receipt)])
