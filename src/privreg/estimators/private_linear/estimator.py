"""`PrivateLinearRegression`: the estimator with nothing to choose."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import sqrt
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg._format import about, number
from privreg._types import Float64
from privreg.data.labels import labelled_frame, row_labels
from privreg.data.schema import Schema
from privreg.data.tables import Table
from privreg.engines.base import Engine, Source
from privreg.engines.registry import kind_of
from privreg.estimators.base import is_whole
from privreg.estimators.budgets import check_budget
from privreg.estimators.known import Known
from privreg.estimators.private_linear.fitting import fit
from privreg.estimators.private_linear.inference import Inference, quantile
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.readable import ReadableModel
from privreg.estimators.reading import ADAPTIVE
from privreg.estimators.regressor import PrivateRegressor, saved, shown_names
from privreg.estimators.schema_notes import incomplete, left_out_notes
from privreg.estimators.settled import Public
from privreg.estimators.spending import Spending
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, check_delta, less_delta, reserved_delta
from privreg.privacy.events import Gaussian
from privreg.results.release import Release

INTERVAL = ("prediction", "lower", "upper")
LIMITS = ("narrow", "wide")


@dataclass(eq=False, repr=False)
class PrivateLinearRegression(ReadableModel, PrivateRegressor):
    """Linear regression under differential privacy, without data bounds and with nothing to tune.

    The table may be as it is: numbers, text, categories, dates, missing values. What each column holds, and which
    values of text are common, is found out privately first. Levels are compared with a reference.

    A private count of the records sets a schedule for the budget. Centre and spread of the target and of each column
    are found on fixed grids that cover every scale, and values are winsorised there. If the data cannot carry all
    columns at this budget, the most telling ones are chosen by rank correlation, half of them with what the first half
    leaves unexplained. Three phases of least squares on noisy moments follow, each in a frame that the one before
    made well-conditioned; the last is shrunk by how much of it may be noise.

    The model is linear where every feature lies in its `linear_range_`; beyond, a feature counts as if it were at the
    end of the range. Predictions stay in the target's own range. Coefficients to read estimate least squares on the
    table with all values clipped like that.

    Proof: docs/proofs/flagship.md, docs/proofs/adaptive.md. Exact check: tests/audit/test_replay.py.

    Parameters
    ----------
    epsilon, delta : the budget, for adding or removing one record (or one person, see `fit`); delta must be positive.
    k : the most features to use; "auto" uses as many as the data can carry at this budget.
    max_rows_for_selection : if features are chosen, and there are more records than this, they are chosen by samples
        of about so many: much faster for tens of millions of records, at a loss of accuracy that docs/scaling.md
        measures. None uses all records.
    limits : where values are clipped. "narrow" is best for predictions, and for intervals at small budgets. With "wide"
        only values far out are clipped, further out the more data there are: coefficients are closer to plain least
        squares on the table as it is, at the price of wider intervals (docs/uncertainty.md).
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
    params, bse, tvalues, pvalues : estimates to read, their standard errors, z values and p-values, named as in
        statsmodels: one row for each column, or for each level but the reference, "(intercept)" last; NaN if the column
        is not in the model or its coefficient is not determined at this budget (`status_` says which).
    coef_, intercept_ : what `predict` uses: the model in the units of the data, shrunk, one coefficient for each
        column, or for each level but the reference; 0 if it was not chosen or is left out.
    standard_error_, intercept_error_ : `bse` as an array, without the intercept, and that of the intercept.
    r2_, r2_error_ : R² of `predict` on the clipped target, estimated privately, and its standard error; NaN for a
        constant.
    residual_error_, residual_error_se_ : residual standard error in the units of the target, and its standard error.
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
    limits: str = "narrow"

    @property
    def selected_features_(self) -> list[Any]:
        """The features of the model in the order chosen: names, or numbers for an array."""
        check_is_fitted(self)
        return self._labels(self._chosen())

    def _chosen(self) -> list[int]:
        """The columns of the model in the order chosen."""
        return list(dict.fromkeys(term.column for term in self.model_.terms if term.sure))

    def predict(self, X: Any, *, inverse: bool = False, interval: float | None = None) -> Any:
        """The model's prediction for each row, NaN where a value that it needs is missing.

        `interval`, such as 0.95, adds a prediction interval: a frame with columns "prediction", "lower" and "upper",
        between which a new target lies with that probability, if errors are normal and the model is right.

        If the target of a formula is a function of a column, such as log(pay), predictions are of log(pay); `inverse`
        undoes it, also for the ends of intervals. What comes of it is a median-type prediction of pay, not of its mean.
        Of a Dask data frame a series, or a frame, that is computed where its partitions are.
        """
        if interval is None:
            return super().predict(X, inverse=inverse)
        width = self._interval_width(interval)

        def ends(table: Table) -> Float64:
            middle, reach = self.model_.predict(table), width * self.model_.prediction_error(table)
            low = middle - reach
            return np.column_stack([middle, np.maximum(low, 0) if inverse and self._is_root() else low, middle + reach])

        values = self._over(X, ends, inverse, INTERVAL, interval=interval)
        return values if kind_of(X).lazy else labelled_frame(dict(zip(INTERVAL, values.T, strict=True)), row_labels(X))

    def _interval_width(self, interval: float) -> float:
        """Standard errors to either side of a prediction."""
        check_is_fitted(self)
        if not isinstance(interval, Real) or not 0 < interval < 1:
            raise ValueError(f"interval must be between 0 and 1, for instance 0.95, got {interval!r}")
        if self.model_.estimates is None:
            raise ValueError("the model is a constant, and how far it may be off is not known: it has no interval")
        return quantile(1 - interval)

    def _is_root(self) -> bool:
        """Whether the target is a square root, which is never negative."""
        formula = self.schema_.formula
        return formula is not None and formula.target.tree[:2] == ("call", "sqrt")

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
        if self.limits not in LIMITS:
            raise ValueError(f"limits must be one of {', '.join(LIMITS)}, got {self.limits!r}")
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
        fitted = fit(account, engine, wanted, self.max_rows_for_selection, wide=self.limits == "wide")
        self.n_records_ = fitted.records
        told = [*schema.warnings, *left_out_notes(schema), *incomplete(schema, fitted.counted, _count_noise(account))]
        self.warnings_ = told + fitted.warnings
        self._set(fitted.model.placed([feature.row for feature in engine.features]), len(schema.rows))
        self._remember(schema)

    def _set(self, model: WinsorisedModel, columns: int) -> None:
        """The attributes that follow from the model."""
        self.model_ = model
        values, errors = model.in_units(columns) @ model.theta, Inference(model, columns).errors
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
        return Release(
            *shown_names(self, target, method),
            list(self._names),
            *self._shown_coefficients(sorted(self._chosen())),
            self.prediction_range(),
            self.n_records_,
            self._facts(),
            list(self.warnings_),
            self.receipt_,
            chosen=[self._names[j] for j in self._chosen()],
            statistics=self._statistics(target),
            saved=saved(self, target, self._saved()),
        )

    def _saved(self) -> dict[str, Any]:
        """The model as in a model file."""
        return {
            "k": self.k if self.k == "auto" else int(self.k),
            "limits": self.limits,
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
        if self.limits == "wide":
            facts.append("Limits are wide: close to plain least squares, at the price of wider intervals.")
        facts += self._about_columns(self._chosen())
        return facts


def _count_noise(account: AdaptiveAccount) -> float:
    """The noise of all counts of records together."""
    counts = [event for event in account.receipt().events if isinstance(event, Gaussian) and event.purpose == "count"]
    return sqrt(sum((event.scale / event.grid) ** 2 for event in counts))
