"""What the selectors share: reading the table, the public attributes of a fitted selector, and `transform`."""

from abc import abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import noise_for
from privreg.privacy.receipt import Receipt
from privreg.privacy.steps import Step
from privreg.tables import Categories, Records, read_table, read_target


class PrivateSelector(SelectorMixin, BaseEstimator):
    """A scikit-learn selector that chooses `k` feature columns privately and keeps a receipt.

    After `fit`: `ranking_` (column numbers in the order chosen), `selected_features_` (their names, or numbers for an
    array), `receipt_`. Columns are counted after categories have been spread into one column per level.
    """

    k: int
    epsilon: float
    delta: float
    categories: Categories | None
    n_jobs: int | None
    random_state: Any

    ranking_: NDArray[np.int64]
    selected_features_: list[Any]
    receipt_: Receipt
    _names: list[str]

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the columns. Spends the budget, unless k covers all columns."""
        budget = Budget(self.epsilon, self.delta)
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
            raise ValueError(f"k must be a whole number of features, at least 1, got {self.k!r}")
        self._check_parameters()
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        table = read_table(X, self.categories)
        validate_data(self, X, reset=True, skip_check_array=True)
        records = Records(table, read_target(y))

        everything = self.k >= len(table)
        plan = [] if everything else self._plan(budget)
        account = Account(plan, budget, noise_for(self.random_state))
        try:
            chosen = list(range(len(table))) if everything else self._select(account, plan, records)
        finally:
            self.receipt_ = account.receipt()  # a fit that dies has spent

        self.ranking_ = np.array(chosen, np.int64)
        self._names = table.names
        named = hasattr(self, "feature_names_in_")
        self.selected_features_ = [table.names[j] for j in chosen] if named else chosen
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The chosen columns of X in their original order, float64, NaN where a value is missing."""
        check_is_fitted(self)
        table = read_table(X, self.categories)
        validate_data(self, X, reset=False, skip_check_array=True)
        if table.names != self._names:
            raise ValueError("X has other feature columns or declared levels than the table this was fitted on")
        chosen = np.flatnonzero(self._get_support_mask())
        return np.column_stack([table[int(j)] for j in chosen])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the chosen columns, in their original order."""
        check_is_fitted(self)
        fitted = getattr(self, "feature_names_in_", None)
        if input_features is not None and fitted is not None and list(input_features) != list(fitted):
            raise ValueError("input_features is not equal to feature_names_in_")
        return np.array(self._names, np.object_)[self._get_support_mask()]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(len(self._names), np.bool_)
        mask[self.ranking_] = True
        return mask

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ranking_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags

    def _check_parameters(self) -> None:
        """Raise ValueError, naming the parameter, for those that only this selector has."""

    @abstractmethod
    def _plan(self, budget: Budget) -> list[Step]:
        """The releases that `_select` will make: public, decided before the data is looked at."""

    @abstractmethod
    def _select(self, account: Account, plan: list[Step], records: Records) -> list[int]:
        """Carry out the plan and return the chosen columns in order."""
