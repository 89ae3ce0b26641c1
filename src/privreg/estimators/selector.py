"""What the selectors share: the public attributes of a fitted selector, and `transform`."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from privreg._format import shortened
from privreg._notebook import card, caution, facts, folded, note, table
from privreg.engines.registry import kind_of
from privreg.estimators.base import PrivateEstimator, is_whole
from privreg.estimators.schema_notes import origin_notes
from privreg.estimators.shown import Shown
from privreg.privacy.accountant import Budget
from privreg.privacy.events import gaussian_cost
from privreg.privacy.receipt_card import promise, receipt_badge, spending

MOST_ACCOUNTED = 10_000  # picks


class PrivateSelector(Shown, SelectorMixin, PrivateEstimator):
    """A scikit-learn selector that chooses `k` feature columns privately and keeps a receipt.

    After `fit`: `ranking_` (column numbers in the order chosen), `selected_features_` (their names, or numbers for an
    array), `receipt_`. If there are no more than k columns, all are chosen and nothing is spent.
    """

    k: int

    ranking_: NDArray[np.int64]

    @property
    def selected_features_(self) -> list[Any]:
        """The chosen columns, in the order chosen: names, or numbers for an array."""
        check_is_fitted(self)
        return self._labels(self.ranking_.tolist())

    def _card(self) -> str:
        target, receipt = getattr(self, "target_name_", None) or "y", self.receipt_
        places = [
            (str(feature), str(i) if receipt.chose else "") for i, feature in enumerate(self.selected_features_, 1)
        ]
        taken = note("There are no more columns than were asked for, so all were taken.")
        return card(
            f"{shortened(target, 100)}: features chosen by {type(self).__name__}",
            *map(caution, self.warnings_),
            table(("feature", "chosen"), places),
            *([] if receipt.chose else [taken]),
            *map(note, origin_notes(self.schema_)),
            facts(promise(receipt)),
            folded("Where the budget went", *spending(receipt)),
            badge=receipt_badge(receipt),
        )

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Take the chosen columns out of a table; **not private**, as it shows the data.

        Parameters
        ----------
        X : array, data frame or file
            A table with the columns that the selector was fitted on.

        Returns
        -------
        ndarray of shape (n_records, k)
            The chosen columns in their original order, as float64; NaN where a value is missing.
        """
        if kind_of(X).lazy:
            raise TypeError(
                "transform does not take a Dask data frame; use X[selector.selected_features_] or map_partitions"
            )
        chosen = np.flatnonzero(self._get_support_mask()).tolist()
        return np.concatenate([t.choose_rows(chosen).rows(np.arange(t.n_rows)) for t in self._tables(X)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the chosen columns, in their original order.

        Parameters
        ----------
        input_features : list of str or None, default None
            If given, must be the names that the selector was fitted on.

        Returns
        -------
        ndarray of str
        """
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

    def _place(self, rows: list[int], count: int) -> None:  # noqa: ARG002
        self.ranking_ = np.array(rows, np.int64)[self.ranking_]

    def _check_parameters(self, budget: Budget) -> None:  # noqa: ARG002
        if not is_whole(self.k):
            raise ValueError(f"k must be a whole number of features, at least 1, got {self.k!r}")

    def _mu_squared(self, budget: Budget) -> Fraction | None:
        """The cost of choosing: that there are no more than k columns is not known yet."""
        if self.k > MOST_ACCOUNTED:
            return None
        costs = [gaussian_cost(event) for event in self._plan(budget, self.k + 1)]
        return None if None in costs else sum((c for c in costs if c is not None), Fraction())
