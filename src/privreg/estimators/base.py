"""What every private estimator shares: read the table, fix a plan, carry it out, keep the receipt."""

import warnings
from abc import abstractmethod
from numbers import Integral
from typing import Any, Self

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from privreg._format import listed
from privreg._isolation import isolated
from privreg.data.schema import Schema
from privreg.engines.base import Engine, Source
from privreg.errors import FitWarning, NotPrivateWarning, SchemaError
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.budgets import reading_budget
from privreg.estimators.dry_run import Check, kinds_of, outlook
from privreg.estimators.inputs import Inputs, read_inputs
from privreg.estimators.known import Known, look_at, open_table
from privreg.estimators.schema_notes import left_out_notes, origin_notes
from privreg.estimators.settled import Public
from privreg.estimators.spending import Spending
from privreg.estimators.table_estimator import TableEstimator
from privreg.privacy.accountant import Budget, for_each_record
from privreg.privacy.events import Event
from privreg.privacy.noise import Noise, noise_for
from privreg.privacy.receipt import Receipt

SEEDED_SCHEMA = (
    "the schema was read with random_state, so this fit is not private; for sensitive data, read it again with "
    "random_state=None"
)


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a parameter is a whole number, and large enough."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def forget_fit(estimator: BaseEstimator) -> None:
    """Delete what an earlier fit left, so that one that dies does not look fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name in ("_names", "_features")]:
        delattr(estimator, name)


def set_all(estimator: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(estimator, name, value)


class PrivateEstimator(Budgeted, TableEstimator):
    """An estimator that sees its data through an `Account` only, and keeps the receipt in `receipt_`."""

    receipt_: Receipt
    warnings_: list[str]
    ledger_entry_: int | None

    def fit(
        self, X: Any, y: Any = None, groups: Any = None, *, formula: str | None = None, where: str | None = None
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

        Returns
        -------
        self
        """
        self._warn_if_weak()
        self._fit(read_inputs(X, y, groups, formula, where))
        self._tell()
        return self

    def _fit(self, inputs: Inputs) -> None:
        people, budget = inputs.groups is not None, self._checked_budget(inputs.groups is not None)
        noise, known = self._noise(), self._look_at(inputs)
        self._check_plan(budget, known.public, known.schema, self._rows(people))
        self._ask(known)
        source, known = open_table(known, self), known.loaded()
        if not known.private:
            warnings.warn(SEEDED_SCHEMA, NotPrivateWarning, stacklevel=3)
        spending = Spending(budget, noise, self._rows(people), self.progress, known.private)
        with isolated(), self._entered(known) as entry:
            forget_fit(self)
            set_all(self, known.columns)
            self.ledger_entry_ = entry.number
            try:
                self._carry_out(spending, source, known, people)
            finally:
                self.receipt_ = spending.receipt(self._unit(people))  # a fit that dies has spent
            entry.receipt = self.receipt_

    def _look_at(self, inputs: Inputs) -> Known:
        """Only a schema can be read without a target."""
        if inputs.y is None and inputs.formula is None:
            raise SchemaError("This estimator requires y to be passed, but the target y is None")
        return look_at(inputs, self)

    def check(
        self, X: Any, y: Any = None, groups: Any = None, *, formula: str | None = None, where: str | None = None
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

        Returns
        -------
        Check
            The columns, as far as types and declarations tell, and the cost. Prints as text.
        """
        return self._checked(read_inputs(X, y, groups, formula, where))

    def _checked(self, inputs: Inputs) -> Check:
        people, budget = inputs.groups is not None, self._checked_budget(inputs.groups is not None)
        known = self._look_at(inputs)
        self._check_plan(budget, known.public, known.schema, self._rows(people))
        ledger = None
        if self.ledger is not None:
            ledger = outlook(self.ledger, str(self.dataset), self._request(known))
        return Check(
            type(self).__name__,
            known.target or "y",
            kinds_of(known.public, known.schema),
            float(self.epsilon),
            float(self.delta),
            self._unit(people),
            known.reads,
            self._reading_epsilon(budget) if known.reads else None,
            ledger,
            None if inputs.formula is None else inputs.formula.text,
            None if inputs.where is None else inputs.where.text,
            (*known.public.notes, *origin_notes(known.schema)),
            self._rows(people) if people else None,
            inputs.public is not None,
        )

    def _reading_epsilon(self, budget: Budget) -> float | None:
        """The fixed part of ε that goes to reading; None if it is not fixed."""
        return reading_budget(budget)[0].epsilon

    def _carry_out(self, spending: Spending, source: Source, known: Known, people: bool) -> None:
        """Read the table, make a plan for the columns that there are, and learn by it."""
        schema = known.completed(known.schema or spending.read(source, known.public, people))
        engine = spending.records(source, schema, people)
        self.warnings_ = [*schema.warnings, *left_out_notes(schema)]
        account = spending.plan(lambda inner: self._plan(inner, len(engine)))
        self._learn(account, engine)
        self._place([feature.row for feature in engine.features], len(schema.rows))
        self._remember(schema)

    def _noise(self) -> Noise:
        return noise_for(self.random_state)

    def _checked_budget(self, people: bool) -> Budget:
        """What the fit may spend. Everything that is known without the table has been checked."""
        budget = self._budget()
        if people and self._of_a_model():
            raise ValueError(
                'calibration="paper" protects one model, so it cannot protect people; use calibration="strict", or do '
                "not pass groups"
            )
        self._check_parameters(self._inner(budget, self._rows(people)))
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        return budget

    def _inner(self, budget: Budget, rows: int) -> Budget:
        """The budget for each record, if the unit may have several."""
        return for_each_record(budget, rows)

    def _has_to_read(self, public: Public) -> bool:
        """Whether a part of the budget is needed to find out about the columns. Public."""
        return bool(public.to_find or public.unread_numbers) or public.fill

    def _check_plan(self, budget: Budget, public: Public, schema: Schema | None, rows: int) -> None:
        """Raise, before anything is spent, if no plan would fit. How many columns are left is not known yet."""
        if schema is None and budget.delta == 0:
            names = listed(public.to_find) if public.to_find else "the columns"
            raise ValueError(
                f"delta must be positive to find out what is in {names}; otherwise declare levels, or pass a schema"
            )
        _, rest = reading_budget(budget) if schema is None else (None, budget)
        self._plan(for_each_record(rest, rows), len(public.columns))

    def _tell(self) -> None:
        """Warn of what was released, when the fit is complete: a caller may have made warnings errors."""
        for text, category in self._warnings_to_give():
            warnings.warn(text, category, stacklevel=3)

    def _warnings_to_give(self) -> list[tuple[str, type[Warning]]]:
        """In words, each with its category. A part of another estimator has none of its own."""
        return [(text, FitWarning) for text in getattr(self, "warnings_", [])]

    def _check_parameters(self, budget: Budget) -> None:
        """Raise ValueError, naming the parameter, for those that only this estimator has. For each record."""

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        """The releases that `_learn` will make: public, decided before the records are looked at."""
        raise NotImplementedError

    @abstractmethod
    def _learn(self, account: Any, engine: Engine) -> None:
        """Make the releases and set the fitted attributes, one for each feature of the engine."""

    @abstractmethod
    def _place(self, rows: list[int], count: int) -> None:
        """Make the attributes have one entry for each of `count` rows: the features have these places among them."""
