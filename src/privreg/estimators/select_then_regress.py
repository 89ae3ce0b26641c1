"""Private feature selection followed by private regression on the chosen columns, within one budget."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from privreg._isolation import isolated
from privreg._types import Float64
from privreg.data.tables import rows_as_array, without_column
from privreg.engines.registry import kind_of
from privreg.estimators.base import columns_in, forget_fit, open_table, set_all
from privreg.estimators.boosted_adassp import BoostedAdaSSP
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.dp_kendall import DPKendall
from privreg.estimators.regressor import ReleasedModel, linear_release
from privreg.estimators.sub_lasso import SubLasso
from privreg.estimators.tukey import TukeyRegression
from privreg.mechanisms.depth import PAPER
from privreg.privacy.accountant import Budget
from privreg.privacy.events import round_down
from privreg.privacy.noise import split_state
from privreg.privacy.receipt import Receipt
from privreg.results.release import Release

SHARE = Fraction(1, 20)  # of ε, for the selection, and again for a count of the records


@dataclass(eq=False, repr=False)
class SelectThenRegress(ReleasedModel, Budgeted, RegressorMixin, BaseEstimator):
    """Choose k features privately, then fit a private linear model to them: the paper's L- and K- methods.

    The selection gets 5 % of epsilon, a count of the records 5 % where one is needed, and the regression the rest and
    all of delta. What the selection did not spend, because there are no more than k columns, goes to the regression.
    SubLasso's count of the records serves the Tukey mechanism too: m = ⌊ñ/(k + 1)⌋ models for both, unless the strict
    calibration takes larger groups.

    Parameters
    ----------
    selection : "kendall" or "sublasso".
    regression : "tukey" or "adassp".
    k : number of features to choose.
    epsilon, delta : the whole budget.
    calibration, ridge : passed to `TukeyRegression` and `BoostedAdaSSP`.
    categories, ledger, dataset, purpose, progress, n_jobs, random_state : as in `PrivateLinearRegression`; the ledger
        is charged once for both parts.

    Attributes
    ----------
    selector_, regressor_ : the fitted parts.
    selected_features_ : names (or column numbers) in the order chosen.
    coef_, intercept_ : one coefficient for each column, 0 if it was not chosen.
    receipt_ : the steps of both parts.
    """

    selection: str = "kendall"
    regression: str = "tukey"
    k: int = 5
    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    calibration: str = "strict"
    ridge: str = "adassp"

    def _of_a_model(self) -> bool:
        return self.regression == "tukey" and self.calibration == PAPER.name

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features, then fit. Spends the budget."""
        self._warn_if_weak()
        budget = self._budget()
        seeds = split_state(self.random_state)
        selector = self._selector(budget, seeds[0])
        self._check_regression(budget)
        first = selector._checked_budget()
        self.ask_ledger()
        noise, X, y = selector._noise(), rows_as_array(X), without_column(y)
        engine = open_table(X, y, selector)  # what is wrong with the table must show before it is entered
        columns = columns_in(X, engine, True)
        parts: list[DPKendall | SubLasso | TukeyRegression | BoostedAdaSSP] = [selector]
        with self._entered() as entry:
            forget_fit(self)
            self.ledger_entry_ = entry.number
            try:
                with isolated():
                    selector._spend(engine, columns, first, noise)
                regressor = self._second(selector, budget, seeds[1])
                parts.append(regressor)
                self._regress(regressor, selector, X, y)
            finally:
                self._keep_receipt(parts, budget)
            entry.receipt = self.receipt_
        self.selector_, self.regressor_ = selector, regressor
        set_all(self, columns)
        self.selected_features_, self.warnings_ = selector.selected_features_, selector.warnings_
        self.coef_ = np.zeros(len(selector._names))
        self.coef_[selector.get_support()] = regressor.coef_
        self.intercept_ = regressor.intercept_
        regressor._tell()
        return self

    def _second(self, selector: DPKendall | SubLasso, budget: Budget, seed: Any) -> TukeyRegression | BoostedAdaSSP:
        """The regressor, with what the selection has left of the budget."""
        rest = Fraction(budget.epsilon) - Fraction(selector.receipt_.epsilon)
        counted = selector.n_models_ * (self.k + 1) if hasattr(selector, "n_models_") else None
        return self._regressor(Budget(round_down(rest), budget.delta), counted, seed)

    def _regress(
        self, regressor: TukeyRegression | BoostedAdaSSP, selector: DPKendall | SubLasso, X: Any, y: Any
    ) -> None:
        """Fit to the chosen columns."""
        if kind_of(X).in_memory:
            regressor._fit(selector.transform(X), y)
        else:
            regressor.categories = self.categories
            regressor._fit(X, y, only=np.flatnonzero(selector.get_support()).tolist())

    def _keep_receipt(self, parts: list[Any], budget: Budget) -> None:
        """Of the parts that have spent, also if one of them died."""
        receipts = [part.receipt_ for part in parts if hasattr(part, "receipt_")]
        if receipts:
            events = tuple(event for r in receipts for event in r.events)
            self.receipt_ = Receipt(events, budget, all(r.private for r in receipts), receipts[-1].unit)

    def predict(self, X: Any) -> Float64:
        """The model's prediction for each row, NaN where a value that it needs is missing."""
        check_is_fitted(self)
        if kind_of(X).lazy:
            predictions: Float64 = kind_of(X).map(X, self.predict)
            return predictions
        return self.regressor_.predict(self.selector_.transform(X))

    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        check_is_fitted(self)
        last = self.regressor_
        return linear_release(
            self,
            target,
            method,
            self.selector_._names,
            last._facts(),
            chosen=self.selector_.ranking_.tolist(),
            released=getattr(last, "released_", True),
            shrunk_to=last._shrunk_to(),
        )

    def _check_regression(self, budget: Budget) -> None:
        """What is wrong with the second part must show before the first has spent."""
        least = Budget(round_down((1 - 2 * SHARE) * Fraction(budget.epsilon)), budget.delta)
        regressor = self._regressor(least, None)
        regressor._check_parameters(least)
        if isinstance(regressor, TukeyRegression):  # its plan may not fit a tiny epsilon
            regressor._plan(least, self.k)

    def _common(self, seed: Any) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs, "progress": self.progress, "random_state": seed}

    def _selector(self, budget: Budget, seed: Any) -> DPKendall | SubLasso:
        options = {"categories": self.categories} | self._common(seed)
        share = SHARE * Fraction(budget.epsilon)
        if self.selection == "kendall":
            return DPKendall(self.k, round_down(share), **options)
        if self.selection == "sublasso":
            return SubLasso(self.k, round_down(2 * share), group_size=self.k + 1, **options)
        raise ValueError(f'selection must be "kendall" or "sublasso", got {self.selection!r}')

    def _regressor(self, rest: Budget, counted: int | None, seed: Any = None) -> TukeyRegression | BoostedAdaSSP:
        options = self._common(seed)
        if self.regression == "adassp":
            return BoostedAdaSSP(rest.epsilon, rest.delta, ridge=self.ridge, **options)
        if self.regression == "tukey":
            share = float(SHARE * Fraction(float(self.epsilon)) / Fraction(rest.epsilon))
            return TukeyRegression(
                rest.epsilon,
                rest.delta,
                calibration=self.calibration,
                n_records=counted,
                count_share=share,
                **options,
            )
        raise ValueError(f'regression must be "tukey" or "adassp", got {self.regression!r}')

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")  # set last

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags
