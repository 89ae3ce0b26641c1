"""`PrivateLinearRegression`: the estimator with nothing to choose."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import isfinite, sqrt
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg._format import about, listed, number
from privreg._types import Float64
from privreg.data.schema import Schema
from privreg.data.tables import Table
from privreg.engines.base import Engine, Source
from privreg.estimators.base import is_whole
from privreg.estimators.budgets import check_budget
from privreg.estimators.known import Known
from privreg.estimators.private_linear.fitting import fit
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.reading import ADAPTIVE
from privreg.estimators.regressor import PrivateRegressor, saved, shown_names
from privreg.estimators.schema_notes import incomplete, left_out_notes
from privreg.estimators.settled import Public
from privreg.estimators.spending import Spending
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, check_delta, less_delta, reserved_delta
from privreg.privacy.events import Gaussian
from privreg.results.release import Coefficient, Release

Z95 = 1.959964  # standard errors to either side of a 95 % interval


@dataclass(eq=False, repr=False)
class PrivateLinearRegression(PrivateRegressor):
    """Linear regression under differential privacy, without data bounds and with nothing to tune.

    The table may be as it is: numbers, text, categories, dates, missing values. What each column holds, and which
    values of text are common, is found out privately first. Levels are compared with a reference.

    A private count of the records sets a schedule for the budget. Centre and spread of the target and of each column
    are found on fixed grids that cover every scale, and values are winsorised there. If the data cannot carry all
    columns at this budget, the most telling ones are chosen by rank correlation, half of them with what the first half
    leaves unexplained. Three phases of least squares on noisy moments follow, each in a frame that the one before
    made well-conditioned; the last is shrunk by how much of it may be noise.

    The model is linear where every feature lies in its `linear_range_`; beyond, a feature counts as if it were at the
    end of the range (or, for columns with long tails, with another slope). Predictions stay in the target's own range.

    Proof: docs/proofs/flagship.md, docs/proofs/adaptive.md. Exact check: tests/audit/test_replay.py.

    Parameters
    ----------
    epsilon, delta : the budget, for adding or removing one record (or one person, see `fit`); delta must be positive.
    k : the most features to use; "auto" uses as many as the data can carry at this budget.
    max_rows_for_selection : if features are chosen, and there are more records than this, they are chosen by samples
        of about so many: much faster for tens of millions of records, at a loss of accuracy that docs/scaling.md
        measures. None uses all records.
    categories : levels of columns, by name, if they are public: `{"town": ["north", "south"]}`. The first one is the
        reference. "dtype" takes the levels in the types of columns as public. None: common values are found privately.
    missing : "drop" leaves out a record with a missing value; "fill" keeps it, and counts a missing number as the
        centre of its column, a missing category as a level of its own.
    ranges : where values lie, by column, if that is known from outside the data: `{"age": (0, 120)}`. Values beyond are
        clipped.
    schema : what an earlier fit (`schema_`) or a `SchemaReader` found out about the columns: nothing is spent on it
        again.
    rows_per_person : the most records of one person that are kept if `fit` is given `groups`. More than one is paid for
        by group privacy: noise grows in proportion.
    ledger, dataset : a `Ledger` and the name of a data set in it, whose budget the fit spends from. What the fit may
        cost is written there before noise is drawn; without room for it, the fit raises `BudgetRefusedError`. The
        ledger keeps a tenth of delta for its own accounting.
    purpose : what the fit is for, in the words of the ledger's entry; by default its class.
    progress : called with the name of each stage, for instance `print`.
    n_jobs : number of threads as in scikit-learn; −1 uses every core. Results do not depend on it.
    random_state : None for private noise; a seed makes the run repeatable and **not private**.

    Attributes
    ----------
    schema_ : what was found out about the columns: kinds, levels, what is left out and why. Public.
    coef_, intercept_ : the model in the units of the data, one coefficient for each column, or for each level but the
        reference; 0 if it was not chosen or is left out.
    standard_error_, intercept_error_ : standard errors that cover sampling and privacy noise; NaN if not chosen.
    linear_range_ : low and high end of the range in which the model is linear, for each column; NaN if not chosen.
    selected_features_ : names (or column numbers) in the order chosen.
    n_records_ : an estimate of the number of records, a cautious (low) one, released privately.
    warnings_ : plain sentences about what may be wrong with this fit, from released values only.
    receipt_ : what was spent.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    k: int | str = "auto"
    max_rows_for_selection: int | None = None

    @property
    def selected_features_(self) -> list[Any]:
        """The features of the model in the order chosen: names, or numbers for an array."""
        check_is_fitted(self)
        return self._labels(self._chosen())

    def _chosen(self) -> list[int]:
        """The columns of the model in the order chosen."""
        return list(dict.fromkeys(term.column for term in self.model_.terms if term.sure))

    def confidence_interval(self, z: float = Z95) -> Float64:
        """Low and high end for each column: coefficient ± z standard errors (95 % unless told). NaN if not chosen."""
        check_is_fitted(self)
        return self.coef_[:, None] + np.outer(self.standard_error_, [-z, z])

    def intercept_interval(self, z: float = Z95) -> tuple[float, float, float]:
        """Standard error of the intercept, and its interval; NaN if the model is a constant."""
        margin = z * self.intercept_error_
        return self.intercept_error_, self.intercept_ - margin, self.intercept_ + margin

    def prediction_range(self) -> tuple[float, float] | None:
        """All predictions lie in this range; None if the model is a constant."""
        target = self.model_.target
        return (target.centre - target.limit, target.centre + target.limit) if self.model_.terms else None

    def _check_parameters(self, budget: Budget) -> None:
        if self.k != "auto" and not is_whole(self.k):
            raise ValueError(f'k must be "auto" or a whole number of features, at least 1, got {self.k!r}')
        most = self.max_rows_for_selection
        if most is not None and not is_whole(most):
            raise ValueError(f"max_rows_for_selection must be None or a whole number of at least 1, got {most!r}")
        check_delta(budget)

    def _inner(self, budget: Budget, rows: int) -> Budget:
        check_budget(budget, rows)
        return budget

    def _has_to_read(self, public: Public) -> bool:  # noqa: ARG002
        return True

    def _check_plan(self, budget: Budget, public: Public, schema: Schema | None, rows: int) -> None:
        """Steps are chosen on the way."""

    def _reading_epsilon(self, budget: Budget) -> None:
        """A part of the events, which are counted together."""

    def _costs(self, budget: Budget, reads: bool, finds: bool, rows: int) -> tuple[Fraction, Fraction]:
        """All that the budget allows."""
        del rows  # have been counted by the account
        extra = reserved_delta(budget) if reads and finds else 0.0
        return adaptive_budget(less_delta(budget, extra)), Fraction(extra)

    def _carry_out(self, spending: Spending, source: Source, known: Known, people: bool) -> None:
        account = spending.adaptive(reserved_delta(spending.budget) if known.finds else 0.0)
        schema = known.schema or spending.read_with(account, source, known.public, people, ADAPTIVE)
        schema = known.completed(schema)
        engine = spending.records(source, schema, people)
        wanted = None if self.k == "auto" else int(self.k)
        fitted = fit(account, engine, wanted, self.max_rows_for_selection)
        self.n_records_ = fitted.records
        told = [*schema.warnings, *left_out_notes(schema), *incomplete(schema, fitted.counted, _count_noise(account))]
        self.warnings_ = told + fitted.warnings
        self._set(fitted.model.placed([feature.row for feature in engine.features]), len(schema.rows))
        self._remember(schema)

    def _set(self, model: WinsorisedModel, columns: int) -> None:
        """The attributes that follow from the model."""
        self.model_ = model
        in_units = model.in_units(columns)
        values = in_units @ model.theta
        errors = np.full(columns + 1, np.nan)
        if model.estimates is not None:
            own = in_units[:, model.estimates.places]
            used = (own != 0).any(axis=1)
            errors[used] = np.sqrt(np.einsum("ij,jk,ik->i", own, model.estimates.covariance, own))[used]
        self.coef_, self.intercept_ = values[:-1], float(values[-1]) + model.target.centre
        self.standard_error_, self.intercept_error_ = errors[:-1], float(errors[-1])
        self.linear_range_ = model.intervals(columns)

    def _predict(self, table: Table) -> Float64:
        return self.model_.predict(table)

    def _learn(self, account: Any, engine: Engine) -> None:
        """Not used: what is learned comes with what it is shown as."""
        raise NotImplementedError

    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        check_is_fitted(self)
        interval, outer = self.confidence_interval(), self.model_.outer()
        coefficients = [
            Coefficient(
                self._names[j],
                float(self.coef_[j]),
                _finite(self.standard_error_[j]),
                *map(_finite, (*interval[j], *self._linear(j))),
                *outer.get(j, (None, None, None)),
                level=self._features[j].category is not None,
            )
            for j in self._chosen()
        ]
        return Release(
            *shown_names(self, target, method),
            list(self._names),
            coefficients,
            Coefficient("(intercept)", self.intercept_, *map(_finite, self.intercept_interval())),
            self.prediction_range(),
            self.n_records_,
            self._facts(),
            list(self.warnings_),
            self.receipt_,
            saved=saved(self, target, self._saved()),
        )

    def _linear(self, row: int) -> Float64:
        """Where the model is linear in a number; a level is 0 or 1."""
        nothing = np.full(2, np.nan)
        return nothing if self._features[row].category is not None else self.linear_range_[row]

    def _saved(self) -> dict[str, Any]:
        """The model as in a model file."""
        return {
            "k": self.k if self.k == "auto" else int(self.k),
            "rows_per_person": int(self.rows_per_person),
            "people": self.receipt_.protects_people,
            "n_records": float(self.n_records_),
            **self.model_.to_dict(),
            "warnings": self.warnings_,
        }

    def _facts(self, features: int | None = None) -> list[str]:  # noqa: ARG002
        used, ends = len(self._chosen()), self.prediction_range()
        records = about(self.n_records_)
        if ends is None:
            return [f"A constant, from about {records} records."]
        facts = [
            f"A linear model of {used} of {len(self._used)} features, from about {records} records.",
            f"Predictions lie between {number(ends[0])} and {number(ends[1])}.",
        ]
        bent = [self._names[j] for j in self.model_.outer()]
        if bent:
            facts.append(f"With another slope beyond the range, up to a second limit: {listed(bent)}.")
        facts += self._about_columns(self._chosen())
        return facts


def _count_noise(account: AdaptiveAccount) -> float:
    """The noise of all counts of records together."""
    counts = [event for event in account.receipt().events if isinstance(event, Gaussian) and event.purpose == "count"]
    return sqrt(sum((event.scale / event.grid) ** 2 for event in counts))


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
