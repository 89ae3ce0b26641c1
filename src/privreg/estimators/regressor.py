"""What the regressors share: coefficients, prediction, and the one `Release` from which everything is shown."""

from abc import abstractmethod
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from privreg._format import count_of
from privreg._types import Float64
from privreg.data.tables import Table
from privreg.estimators.base import PrivateEstimator
from privreg.estimators.schema_notes import assumption_notes, date_notes, formula_notes, origin_notes, reference_notes
from privreg.estimators.shown import Shown
from privreg.results.cards import model_card
from privreg.results.model_file import save_model
from privreg.results.release import WARNING, Coefficient, Release, Saved
from privreg.results.summary import Summary


class ReleasedModel(Shown):
    """A fitted private model. What is shown or written of it comes from its `Release` alone."""

    def _card(self) -> str:
        return model_card(self._release())

    def summary(self) -> Summary:
        """The model, what to know about it, and what it cost.

        Returns
        -------
        Summary
            Text when it is printed, HTML in a notebook.
        """
        return Summary(self._release())

    def report(self, path: str | PathLike[str]) -> None:
        """Write a report of the fit as one HTML page. The file is written whole or not at all.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        from privreg import write_report

        write_report(self, path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as plain JSON, which `load_model` reads.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        save_model(self._release(), path)

    @abstractmethod
    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        """`target` and `method` are names to show, if they were told."""


class PrivateRegressor(ReleasedModel, RegressorMixin, PrivateEstimator):
    """A scikit-learn regressor whose coefficients were released privately.

    After `fit`: `coef_` (one for each column), `intercept_`, `receipt_`, `summary()`, `report(path)`, `save(path)`.
    """

    coef_: Float64
    intercept_: float

    def predict(self, X: Any, *, inverse: bool = False) -> NDArray[np.float64]:
        """Predict the target for each row; NaN where a value that the model needs is missing.

        Predictions cost no budget.

        Parameters
        ----------
        X : array, data frame or file
            New rows, with the columns that the model was fitted on.
        inverse : bool, default False
            If the target of the formula is a function of a column, such as log(pay), predictions are of log(pay).
            `inverse` undoes the function. The result is a median-type prediction of pay, not a prediction of its mean.

        Returns
        -------
        ndarray
            One prediction for each row. For a Dask data frame, a series that is computed where its partitions are.
        """
        return self._over(X, self._predict, inverse)

    def _predict(self, table: Table) -> Float64:
        return linear(table, self.coef_[self._used], self.intercept_)

    def _card(self) -> str:
        return model_card(self._release(), None if self.ledger is None else float(self.delta))

    def _place(self, rows: list[int], count: int) -> None:
        self.coef_ = placed(self.coef_, rows, count)

    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        check_is_fitted(self)
        told: dict[str, Any] = {"released": getattr(self, "released_", True), "shrunk_to": self._shrunk_to()}
        return linear_release(
            self, target, method, self._names, self._facts() + self._about_columns(self._used), **told
        )

    def _facts(self, features: int | None = None) -> list[str]:
        """Plain sentences about this fit, from released values only. `features` is their number, if not all."""
        return [f"A linear model of {self._count(features)}."]

    def _about_columns(self, rows: list[int]) -> list[str]:
        """What to know to read the coefficients of these rows."""
        schema = self.schema_
        compared = reference_notes(schema, rows) + date_notes(schema, rows)
        return formula_notes(schema) + compared + assumption_notes(schema) + origin_notes(schema)

    def _count(self, features: int | None) -> str:
        """Of all that were offered, as in a report. `features` is their number, if it is not that of this model."""
        used, offered = len(self._used), len(self._names)
        if features is not None or used == offered:
            return count_of(used if features is None else features, "feature")
        return f"{used:,} of {count_of(offered, 'feature')}"

    def _shrunk_to(self) -> float | None:
        """Norm to which rows are shrunk before prediction, if they are."""
        return None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on a few dozen records noise is larger than any signal
        return tags


def placed(values: Float64, rows: list[int], count: int) -> Float64:
    """Values at these places among zeros."""
    full = np.zeros(count)
    full[rows] = values
    return full


def linear(table: Table, coef: Float64, intercept: float) -> Float64:
    """intercept + Σ coef_j·column_j over the columns with a coefficient."""
    result = np.full(table.n_rows, float(intercept))
    for j in np.flatnonzero(coef):
        result += coef[j] * table[int(j)]
    return result


def linear_release(
    model: Any,
    target: str | None,
    method: str | None,
    names: list[str],
    facts: list[str],
    *,
    chosen: list[int] | None = None,
    released: bool = True,
    shrunk_to: float | None = None,
) -> Release:
    """The release of a linear model without standard errors. `chosen` are its columns in order; None for all."""
    content = {
        "coefficients": model.coef_.tolist(),
        "intercept": model.intercept_,
        "chosen": chosen,
        "shrunk_to": shrunk_to,
        "released": released,
        "notes": facts + [WARNING + text for text in model.warnings_],
    }
    columns = model._used if chosen is None else chosen
    return Release(
        *shown_names(model, target, method),
        list(names),
        [Coefficient(names[j], float(model.coef_[j])) for j in columns] if released else [],
        Coefficient("(intercept)", model.intercept_),
        None,
        None,
        facts if released else [],
        model.warnings_ if released else [*facts, *model.warnings_],
        model.receipt_,
        shrunk_to=shrunk_to,
        saved=saved(model, target, content),
        origin=model.schema_.origin,
        typed=model.schema_.typed,
    )


def shown_names(model: Any, target: str | None, method: str | None) -> tuple[str, str]:
    """Method and target: as told, as the file has them, or the class and "y"."""
    method = method or getattr(model, "method_name_", None) or type(model).__name__
    return method, target or getattr(model, "target_name_", None) or "y"


def saved(model: Any, target: str | None, content: dict[str, Any]) -> Saved | None:
    """What a model file holds beside the release; None for a subclass, which may predict in a way of its own."""
    if not type(model).__module__.startswith("privreg."):
        return None
    return Saved(
        getattr(model, "estimator_", type(model).__name__),
        target or getattr(model, "target_name_", None),
        hasattr(model, "feature_names_in_"),
        model.schema_,
        content,
    )
