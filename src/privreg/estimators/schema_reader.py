"""`SchemaReader`: the private reading step alone, so that a steward pays once for a table and fits reuse the schema."""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any, ClassVar, Self

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from privreg._isolation import isolated
from privreg.data.schema import Schema
from privreg.errors import FitWarning
from privreg.estimators.base import forget_fit, set_all
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.budgets import check_budget
from privreg.estimators.inputs import read_inputs
from privreg.estimators.known import look_at, open_table
from privreg.estimators.reading import Shares
from privreg.estimators.schema_notes import left_out_notes
from privreg.estimators.settled import Public
from privreg.estimators.spending import Spending
from privreg.privacy.accountant import Budget, adaptive_budget, less_delta, reserved_delta
from privreg.privacy.noise import noise_for
from privreg.privacy.receipt import Receipt
from privreg.results.schema_file import save_schema

ALONE = Shares(0.05, 0.25, 0.25, (0.4, 0.6), 0.1)  # of the whole budget


@dataclass(eq=False, repr=False)
class SchemaReader(Budgeted, BaseEstimator):
    """Find out privately what kinds of columns a table has, which of their values are common, and what to leave out.

    What it releases, `schema_`, is public: pass it as `schema=` to any estimator, for any target among the columns, at
    no further cost.

    Proof: docs/proofs/reading.md. Exact check: tests/audit/test_replay.py.

    Parameters
    ----------
    epsilon, delta : the budget, for adding or removing one record (or one person); delta must be positive.
    categories, missing, ranges, rows_per_person, ledger, dataset, purpose, progress, n_jobs, random_state :
        as in `PrivateLinearRegression`.

    Attributes
    ----------
    schema_ : kinds, levels, noisy counts, and what is left out and why.
    warnings_ : plain sentences about it.
    receipt_ : what was spent.
    """

    epsilon: float = 0.1
    delta: float = 1e-6

    schema_: ClassVar[Schema]
    receipt_: ClassVar[Receipt]
    _action: ClassVar[str] = "read"

    def fit(self, X: Any, y: None = None, groups: Any = None, *, where: str | None = None) -> Self:  # noqa: ARG002
        """Read X, or those of its records that meet the condition `where`. Spends the budget."""
        self._warn_if_weak()
        people, budget = groups is not None, self._budget()
        rows = self._rows(people)
        check_budget(budget, rows)
        effective_n_jobs(self.n_jobs)
        if self.schema is not None:
            raise ValueError("a SchemaReader makes a schema; leave schema out")
        noise, known = noise_for(self.random_state), look_at(read_inputs(X, None, groups, None, where), self)
        self._ask(known)
        source = open_table(known, self)
        spending = Spending(budget, noise, rows, self.progress)
        with isolated(), self._entered(known) as entry:
            forget_fit(self)
            set_all(self, known.columns)
            self.ledger_entry_ = entry.number
            try:
                account = spending.adaptive(reserved_delta(budget))
                schema = known.completed(spending.read_with(account, source, known.public, people, ALONE))
            finally:
                self.receipt_ = spending.receipt(self._unit(people))  # type: ignore[misc]
            entry.receipt = self.receipt_
        self.warnings_ = [*schema.warnings, *left_out_notes(schema)]
        self.schema_ = schema  # type: ignore[misc]
        for text in self.warnings_:
            warnings.warn(text, FitWarning, stacklevel=2)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema as plain JSON; `privreg.load_schema` reads it."""
        check_is_fitted(self, "schema_")
        save_schema(self.schema_, self.receipt_, path)

    def _has_to_read(self, public: Public) -> bool:  # noqa: ARG002
        return True

    def _costs(self, budget: Budget, reads: bool, finds: bool, rows: int) -> tuple[Fraction, Fraction]:
        """All that the budget allows."""
        del reads, finds, rows
        extra = reserved_delta(budget)
        return adaptive_budget(less_delta(budget, extra)), Fraction(extra)
