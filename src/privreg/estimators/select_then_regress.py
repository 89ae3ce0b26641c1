"""Private feature selection followed by private regression on the chosen columns, within one budget."""

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg._types import Float64
from privreg.data.schema import Schema
from privreg.data.tables import Table
from privreg.engines.base import Engine, Source
from privreg.estimators.base import set_all
from privreg.estimators.boosted_adassp import BoostedAdaSSP, linear_on_shrunk
from privreg.estimators.dp_kendall import DPKendall
from privreg.estimators.known import Known
from privreg.estimators.regressor import PrivateRegressor, linear, linear_release, placed
from privreg.estimators.schema_notes import left_out_notes
from privreg.estimators.spending import Spending
from privreg.estimators.sub_lasso import SubLasso
from privreg.estimators.tukey import TukeyRegression
from privreg.mechanisms.depth import PAPER
from privreg.privacy.accountant import Budget, for_each_record, total
from privreg.privacy.events import Event, round_down
from privreg.privacy.noise import Noise, noise_for, split_state
from privreg.results.release import Release

SHARE = Fraction(1, 20)  # of ε, for the selection, and again for a count of the records


@dataclass(eq=False, repr=False)
class SelectThenRegress(PrivateRegressor):
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
    categories, missing, ranges, schema, rows_per_person, ledger, dataset, purpose, progress, n_jobs, random_state :
        as in `PrivateLinearRegression`; the ledger is charged once for both parts.

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

    def _unit(self, people: bool) -> str:
        return PAPER.unit if self._of_a_model() else super()._unit(people)

    def _noise(self) -> Noise:
        return noise_for(split_state(self.random_state)[0])

    def _check_parameters(self, budget: Budget) -> None:
        """What is wrong with the second part must show before the first has spent."""
        self._selector(budget)._check_parameters(budget)
        least = Budget(round_down((1 - 2 * SHARE) * Fraction(budget.epsilon)), budget.delta)
        regressor = self._regressor(least, None, budget)
        regressor._check_parameters(least)
        if isinstance(regressor, TukeyRegression):  # its plan may not fit a tiny epsilon
            regressor._plan(least, self.k)

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        selector = self._selector(budget)
        return selector._plan(Budget(selector.epsilon, selector.delta), columns)

    def _carry_out(self, spending: Spending, source: Source, known: Known, people: bool) -> None:
        schema = known.completed(known.schema or spending.read(source, known.public, people))
        engine = spending.records(source, schema, people)
        inner = for_each_record(spending.rest, spending.rows)
        selector = self._selector(inner)
        plan = self._plan(inner, len(engine))
        selector._learn(spending.carry_out(plan, spending.noise), engine)
        chosen = np.sort(selector.ranking_).tolist()
        spent = total(plan, Budget(selector.epsilon, selector.delta))[0]
        rest = Budget(round_down(Fraction(inner.epsilon) - Fraction(spent)), inner.delta)
        counted = selector.n_models_ * (self.k + 1) if hasattr(selector, "n_models_") else None
        regressor = self._regressor(rest, counted, inner)
        later = noise_for(split_state(self.random_state)[1])
        account = spending.carry_out(regressor._plan(rest, len(chosen)), later)
        regressor._learn(account, engine.choose(chosen))
        self._keep(schema, selector, regressor, [feature.row for feature in engine.features])

    def _keep(self, schema: Schema, selector: DPKendall | SubLasso, regressor: Any, rows: list[int]) -> None:
        """The fitted attributes, with one entry for each row that is shown."""
        self.warnings_ = [*schema.warnings, *left_out_notes(schema)]
        set_all(selector, {n: v for n, v in vars(self).items() if n in ("feature_names_in_", "n_features_in_")})
        selector._place(rows, len(schema.rows))
        selector._remember(schema)
        regressor._remember(replace(schema, columns=(), formula=None))
        self.selector_, self.regressor_ = selector, regressor
        self.selected_features_ = selector.selected_features_
        self.coef_ = placed(regressor.coef_, np.sort(selector.ranking_).tolist(), len(schema.rows))
        self.intercept_ = regressor.intercept_
        self._remember(schema)

    def _learn(self, account: Any, engine: Engine) -> None:
        """Not used: there are two accounts."""
        raise NotImplementedError

    def _warnings_to_give(self) -> list[tuple[str, type[Warning]]]:
        return [*self.regressor_._warnings_to_give(), *super()._warnings_to_give()]

    def _predict(self, table: Table) -> Float64:
        chosen = table.choose_rows(np.sort(self.selector_.ranking_).tolist())
        coef, shrunk_to = self.regressor_.coef_, self.regressor_._shrunk_to()
        if shrunk_to is None:
            return linear(chosen, coef, self.intercept_)
        return linear_on_shrunk(chosen, coef, self.intercept_, shrunk_to)

    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        check_is_fitted(self)
        last = self.regressor_
        return linear_release(
            self,
            target,
            method,
            self._names,
            self._facts() + self._about_columns(self.selector_.ranking_.tolist()),
            chosen=self.selector_.ranking_.tolist(),
            released=getattr(last, "released_", True),
            shrunk_to=last._shrunk_to(),
        )

    def _facts(self, features: int | None = None) -> list[str]:  # noqa: ARG002
        return self.regressor_._facts(len(self.selector_.ranking_))

    def _selector(self, budget: Budget) -> DPKendall | SubLasso:
        share = SHARE * Fraction(budget.epsilon)
        if self.selection == "kendall":
            return DPKendall(self.k, round_down(share))
        if self.selection == "sublasso":
            return SubLasso(self.k, round_down(2 * share), group_size=self.k + 1)
        raise ValueError(f'selection must be "kendall" or "sublasso", got {self.selection!r}')

    def _regressor(self, rest: Budget, counted: int | None, whole: Budget) -> TukeyRegression | BoostedAdaSSP:
        if self.regression == "adassp":
            return BoostedAdaSSP(rest.epsilon, rest.delta, ridge=self.ridge)
        if self.regression == "tukey":
            share = float(SHARE * Fraction(whole.epsilon) / Fraction(rest.epsilon))
            return TukeyRegression(
                rest.epsilon, rest.delta, calibration=self.calibration, n_records=counted, count_share=share
            )
        raise ValueError(f'regression must be "tukey" or "adassp", got {self.regression!r}')
