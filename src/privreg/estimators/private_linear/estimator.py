"""`PrivateLinearRegression`: the estimator with nothing to choose."""

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from math import sqrt
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg._format import about, count_of
from privreg._types import Float64
from privreg.data.labels import labelled_frame, row_labels
from privreg.data.schema import Schema
from privreg.data.tables import Table
from privreg.engines.base import Engine, Source
from privreg.engines.memory import MemoryEngine
from privreg.engines.registry import kind_of
from privreg.estimators.base import is_whole
from privreg.estimators.budgets import check_budget
from privreg.estimators.dry_run import Check
from privreg.estimators.inputs import Inputs, read_inputs
from privreg.estimators.known import Known
from privreg.estimators.private_linear.fitting import fit
from privreg.estimators.private_linear.inference import Inference, quantile
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.readable import ReadableModel
from privreg.estimators.public_rows import FEWEST_ROWS, public_rows
from privreg.estimators.reading import ADAPTIVE
from privreg.estimators.regressor import PrivateRegressor, saved, shown_names
from privreg.estimators.schema_notes import incomplete, left_out_notes
from privreg.estimators.settled import Public
from privreg.estimators.spending import Spending
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget, check_delta, less_delta, reserved_delta
from privreg.privacy.events import Gaussian
from privreg.results.release import Release, public_note, range_note

INTERVAL = ("prediction", "lower", "upper")
LIMITS = ("narrow", "wide")
TOO_FEW_PUBLIC = f"The public rows were not used: fewer than {FEWEST_ROWS} of them are complete."


@dataclass(eq=False, repr=False)
class PrivateLinearRegression(ReadableModel, PrivateRegressor):
    """Linear regression with differential privacy: no data bounds to give, nothing to tune.

    The table may hold numbers, text, categories, dates and missing values. What each column holds, and which values of
    text columns are common, is found out privately first. Levels are compared with a reference level.

    A private count of the records sets a schedule for the budget. The centre and spread of the target and of each
    column are found on fixed grids that cover every scale, and values are clipped there. If the data cannot support all
    columns at this budget, the most informative ones are chosen privately: one half directly, the other half
    by what the first half leaves unexplained. If there are far more columns than that and they are alike, such as
    pixels, weighted sums of all of them are used; then no single coefficient is determined. Three phases of least
    squares on noisy moments follow, each in coordinates that the phase before made well-conditioned. The last one is
    shrunk by how much of it may be noise.

    The model is linear where every feature lies in its `linear_range_`. Beyond it, a feature counts as if it were at
    the end of the range. Predictions stay in the target's own range. The coefficients to read (`params`) estimate least
    squares on the table with all values clipped in this way.

    Proof: docs/proofs/flagship.md, docs/proofs/adaptive.md. Exact check: tests/audit/test_replay.py.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget ε, for adding or removing one record (or one person, see `fit`).
    delta : float, default 1e-6
        The privacy budget δ. Must be positive.
    k : int or "auto", default "auto"
        The most features to use. "auto" uses as many as the data can support at this budget, or, if there are far more
        that are alike, weighted sums of all of them.
    max_rows_for_selection : int or None, default None
        If features have to be chosen, and there are more records than this, they are chosen by ranks, on samples of
        about this many records; docs/scaling.md measures the loss of accuracy. None uses all records.
    limits : {"narrow", "wide"}, default "narrow"
        Where values are clipped. "narrow" is best for predictions, and for intervals at small budgets. With "wide",
        only extreme values are clipped, the further out the more data there are: coefficients are closer to plain least
        squares on the raw table, at the price of wider intervals (docs/uncertainty.md).
    categories : dict of str to list, "dtype" or None, default None
        Levels of columns, by name, if they are public: `{"town": ["north", "south"]}`. The first one is the reference.
        "dtype" treats the levels in the columns' types as public. With None, common values are found privately.
    missing : {"drop", "fill"}, default "drop"
        "drop" leaves out a record with a missing value. "fill" keeps it: a missing number counts as the centre of its
        column, a missing category as a level of its own.
    ranges : dict of str to (float, float) or None, default None
        The range of values of columns, by name, if it is known from outside the data: `{"age": (0, 120)}`. Values
        outside are clipped.
    schema : Schema or None, default None
        What an earlier fit (`schema_`) or a `SchemaReader` found out about the columns. Nothing is spent on it again.
    rows_per_person : int, default 1
        The most records of one person that are used, if `fit` is given `groups`. More than one is paid for by group
        privacy: noise grows in proportion.
    ledger : Ledger or None, default None
        The ledger whose budget the fit spends from. What the fit may cost is written there before noise is drawn. If
        there is no room for it, the fit raises `BudgetRefusedError`. The ledger keeps a tenth of delta for its own
        accounting.
    dataset : str or None, default None
        The name of the data set in the ledger. Pass it together with `ledger`.
    purpose : str or None, default None
        What the fit is for, in your own words; kept in the ledger's entry.
    progress : callable or None, default None
        Called with the name of each stage, for instance `print`.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn; -1 uses every core. Results do not depend on it.
    random_state : int, numpy random generator or None, default None
        None for private noise. A seed makes the run repeatable and **not private**.

    Attributes
    ----------
    schema_ : Schema
        What was found out about the columns: kinds, levels, which columns are left out and why. Public.
    params, bse, tvalues, pvalues : pandas.Series
        Estimates to read, their standard errors, z values and p-values, named as in statsmodels. One row for each
        column, or for each level except the reference, "(intercept)" last; NaN if the column is not in the model or its
        coefficient is not determined at this budget (`status_` says which). Arrays if pandas is not installed.
    coef_ : ndarray
        The shrunk coefficients that `predict` uses, in the units of the data: one for each column, or for each level
        except the reference; 0 if it was not chosen or is left out.
    intercept_ : float
        The intercept that `predict` uses.
    standard_error_ : ndarray
        `bse` without the intercept.
    intercept_error_ : float
        The standard error of the intercept.
    r2_, r2_error_ : float
        R² of `predict` on the clipped target, estimated privately, and its standard error. NaN for a constant.
    residual_error_, residual_error_se_ : float
        The residual standard error in the units of the target, and its standard error.
    linear_range_ : ndarray with two columns
        The low and high end of the range in which the model is linear, for each column; NaN if it was not chosen.
    selected_features_ : list of str or int
        Names of the features (or their numbers, for an array) in the order chosen.
    n_records_ : float
        A cautious (low) private estimate of the number of records.
    n_public_rows_ : int
        The number of public rows that centres, spreads and correlations of columns come from; 0 if there are none, or
        if the model is a constant for which they were not asked.
    warnings_ : list of str
        Plain sentences about what may be wrong with this fit, from released values only.
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import PrivateLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 3))
    >>> y = 2 * X[:, 0] - X[:, 2] + rng.normal(size=20_000)
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> len(model.params)  # three columns and the intercept
    4
    >>> model.predict(X[:2], interval=0.95).shape
    (2, 3)
    >>> model.receipt_.epsilon <= 1.0
    True
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        formula: str | None = None,
        where: str | None = None,
        public: Any = None,
    ) -> Self:
        """Fit to a table. Spends the budget.

        Parameters
        ----------
        X : array, data frame or file
            The table: one row for each record.
        y : array, series, str or None, default None
            The target, or the name of its column in X. Not needed with a `formula`.
        groups : array, series, str or None, default None
            The person that each record belongs to, or the name of that column in X. The guarantee is then for adding or
            removing a whole person. `rows_per_person` of each person's records are used, chosen at random; records
            without a person are left out.
        formula : str or None, default None
            Target and terms of the model, as in R and statsmodels: "log(pay) ~ age + I(age**2) + C(region) + sex:educ".
        where : str or None, default None
            A condition that records must meet to be used: "age >= 18 and region != 'X'".
        public : array, data frame, file or None, default None
            Rows that are no secret, with the feature columns of X, such as last year's open sample or a census extract.
            Centres, spreads and correlations of columns are taken from them, and the whole budget goes to the rest.
            Nothing protects these rows: a part of the private table is not public. Their target, if they have one, is
            not used.

        Returns
        -------
        self
        """
        self._warn_if_weak()
        self._fit(_inputs(X, y, groups, formula, where, public))
        self._tell()
        return self

    def check(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        formula: str | None = None,
        where: str | None = None,
        public: Any = None,
    ) -> Check:
        """A dry run: what `fit` would do, what it would cost, and what would be left in the ledger.

        Reads no record, spends nothing and sets nothing. Raises what `fit` would raise before it spends. The parameters
        are those of `fit`.

        Parameters
        ----------
        X : array, data frame or file
            The table.
        y : array, series, str or None, default None
            The target, or the name of its column in X.
        groups : array, series, str or None, default None
            The person that each record belongs to, or the name of that column in X.
        formula : str or None, default None
            Target and terms of the model.
        where : str or None, default None
            A condition that records must meet to be used.
        public : array, data frame, file or None, default None
            Rows that are no secret.

        Returns
        -------
        Check
            The columns, as far as types and declarations tell, and the cost. Prints as text.
        """
        return self._checked(_inputs(X, y, groups, formula, where, public))

    def predict(self, X: Any, *, inverse: bool = False, interval: float | None = None) -> Any:
        """Predict the target for each row; NaN where a value that the model needs is missing.

        Predictions cost no budget.

        Parameters
        ----------
        X : array, data frame or file
            New rows, with the columns that the model was fitted on.
        inverse : bool, default False
            If the target of the formula is a function of a column, such as log(pay), predictions are of log(pay).
            `inverse` undoes the function, also for the ends of intervals. The result is a median-type prediction of
            pay, not a prediction of its mean.
        interval : float or None, default None
            The level of a prediction interval, such as 0.95. A new target lies in the interval with this probability,
            if errors are normal and the model is right.

        Returns
        -------
        ndarray or data frame
            One prediction for each row; with `interval`, a frame with the columns "prediction", "lower" and "upper".
            For a Dask data frame, a series or a frame that is computed where its partitions are.
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
            raise ValueError("the model is a constant whose error is not known, so it has no prediction interval")
        return quantile(1 - interval)

    def _is_root(self) -> bool:
        """Whether the target is a square root, which is never negative."""
        formula = self.schema_.formula
        return formula is not None and formula.target.tree[:2] == ("call", "sqrt")

    def prediction_range(self) -> tuple[float, float] | None:
        """The range in which all predictions lie.

        Returns
        -------
        (float, float) or None
            The low and high end; None if the model is a constant.
        """
        target = self.model_.target
        return (target.centre - target.limit, target.centre + target.limit) if self.model_.terms else None

    def _check_parameters(self, budget: Budget) -> None:
        if self.k != "auto" and not is_whole(self.k):
            raise ValueError(f'k must be "auto" or a whole number of features, at least 1, got {self.k!r}')
        most = self.max_rows_for_selection
        if most is not None and not is_whole(most):
            raise ValueError(f"max_rows_for_selection must be None or a whole number of at least 1, got {most!r}")
        if self.limits not in LIMITS:
            raise ValueError(f'limits must be "narrow" or "wide", got {self.limits!r}')
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
        public = self._public_rows(known, schema)
        fitted = fit(account, engine, wanted, self.max_rows_for_selection, wide=self.limits == "wide", public=public)
        self.n_records_, self.n_public_rows_ = fitted.records, fitted.public_rows
        told = [*schema.warnings, *left_out_notes(schema), *incomplete(schema, fitted.counted, _count_noise(account))]
        told += [TOO_FEW_PUBLIC] if public is None and known.inputs.public is not None else []
        self.warnings_ = told + fitted.warnings
        self._set(fitted.model.placed([feature.row for feature in engine.features]), len(schema.rows))
        self._remember(schema)

    def _public_rows(self, known: Known, schema: Schema) -> MemoryEngine | None:
        """Public rows, if there are any and enough of them."""
        if known.inputs.public is None:
            return None
        rows = known.inputs.public.read(schema, known.inputs.where, self.n_jobs)
        return rows if rows.n_records >= FEWEST_ROWS else None

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
            origin=self.schema_.origin,
            typed=self.schema_.typed,
            public_rows=self.n_public_rows_,
        )

    def _saved(self) -> dict[str, Any]:
        """The model as in a model file."""
        return {
            "k": self.k if self.k == "auto" else int(self.k),
            "limits": self.limits,
            "rows_per_person": int(self.rows_per_person),
            "people": self.receipt_.protects_people,
            "n_records": float(self.n_records_),
            **({"public_rows": self.n_public_rows_} if self.n_public_rows_ else {}),
            **self.model_.to_dict(),
            "warnings": self.warnings_,
        }

    def _facts(self, features: int | None = None) -> list[str]:  # noqa: ARG002
        used, ends = len(self._chosen()), self.prediction_range()
        records = about(self.n_records_)
        public = [public_note(self.n_public_rows_)] if self.n_public_rows_ else []
        if ends is None:
            return [f"A constant, fitted to about {records} records.", *public]
        facts = [
            f"A linear model of {used} of {count_of(len(self._names), 'feature')}, fitted to about {records} records.",
            range_note(ends),
        ]
        if self.limits == "wide":
            facts.append("Limits are wide: coefficients are closer to plain least squares, and intervals are wider.")
        return facts + public + self._about_columns(self._chosen())


def _inputs(X: Any, y: Any, groups: Any, formula: str | None, where: str | None, public: Any) -> Inputs:
    return replace(read_inputs(X, y, groups, formula, where), public=public_rows(public, X))


def _count_noise(account: AdaptiveAccount) -> float:
    """The noise of all counts of records together."""
    counts = [event for event in account.receipt().events if isinstance(event, Gaussian) and event.purpose == "count"]
    return sqrt(sum((event.scale / event.grid) ** 2 for event in counts))
