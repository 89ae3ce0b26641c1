"""A released linear model without the method that made it: what a model file gives back."""

from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privreg._types import Float64
from privreg.data.tables import Categories, Table, read_table
from privreg.estimators.base import TableEstimator
from privreg.estimators.boosted_adassp import BoostedAdaSSP, linear_on_shrunk
from privreg.estimators.regressor import PrivateRegressor, Savable, describe, linear, marked, order_chosen
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.privacy.receipt import Receipt


class LoadedModel(Savable, RegressorMixin, TableEstimator):
    """A linear model from a file. Predicts and prints as the fitted one did, to the last bit; cannot be fitted again.

    Attributes
    ----------
    coef_, intercept_ : one coefficient for each column, 0 if it was not chosen.
    selected_features_ : names (or column numbers) in the order chosen, if the method chooses.
    shrunk_to_ : norm to which rows are shrunk before prediction; None if they are not.
    released_ : whether there is a model at all.
    notes_ : plain sentences about the fit.
    receipt_ : what was spent.
    estimator_ : name of the class that was fitted.
    method_name_, target_name_ : names to show; the target's is None if it was not told.
    """

    coef_: Float64
    intercept_: float
    shrunk_to_: float | None
    released_: bool
    notes_: list[str]
    receipt_: Receipt
    estimator_: str
    method_name_: str
    target_name_: str | None

    _chosen: list[int] | None  # in the order chosen; None if the method uses every column

    def __init__(self, *, categories: Categories | None = None) -> None:
        self.categories = categories

    @classmethod
    def of(cls, model: PrivateRegressor | SelectThenRegress) -> Self:
        """What a fitted model released."""
        check_is_fitted(model)
        selected = isinstance(model, SelectThenRegress)
        first, last = (model.selector_, model.regressor_) if selected else (model, model)
        copy = cls(categories=model.categories)
        copy.coef_, copy.intercept_ = model.coef_, model.intercept_
        copy.shrunk_to_ = float(last.clip_x) if isinstance(last, BoostedAdaSSP) else None
        copy.released_ = getattr(last, "released_", True)
        copy.notes_ = last._facts() + marked(model.warnings_)
        copy.receipt_ = model.receipt_
        copy.estimator_ = copy.method_name_ = type(model).__name__
        copy.target_name_ = None
        copy.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            copy.feature_names_in_ = model.feature_names_in_
        copy._chosen = model.selector_.ranking_.tolist() if selected else None
        copy._features, copy._names = first._features, first._names
        return copy

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Not possible: a file has the model, not the method that made it."""
        raise NotImplementedError(
            "a model from a file cannot be fitted; make a new estimator, for instance with privreg.paper.make_method"
        )

    @property
    def selected_features_(self) -> list[Any]:
        """The chosen columns in order: names, or numbers for an array."""
        check_is_fitted(self)
        if self._chosen is None:
            raise AttributeError(f"{self.method_name_} uses every column, so it has no selected_features_")
        return self._labels(self._chosen)

    def predict(self, X: Any) -> Float64:
        """The model's prediction for each row, NaN where a value that it needs is missing."""
        return self._over(X, self._predict)

    def _predict(self, table: Table) -> Float64:
        coef = self.coef_
        if self._chosen is not None:  # the very operations of a selector and a regressor, for the very same bits
            columns = sorted(self._chosen)
            table, coef = read_table(np.column_stack([table[j] for j in columns])), coef[columns]
        if self.shrunk_to_ is None:
            return linear(table, coef, self.intercept_)
        return linear_on_shrunk(table, coef, self.intercept_, self.shrunk_to_)

    def summary(self) -> str:
        """The model, what to know about it, and what it cost, as text."""
        check_is_fitted(self)
        columns = list(range(len(self._names))) if self._chosen is None else sorted(self._chosen)
        notes = [] if self._chosen is None else [order_chosen(self.selected_features_)]
        return describe(notes + self.notes_, self._labels(columns), self.coef_[columns], self.intercept_, self.receipt_)
