"""`SchemaReader`: the private reading step alone, so that a steward pays once for a table and fits reuse the schema."""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import Any, ClassVar, Self

from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from privreg._format import count_of
from privreg._isolation import isolated
from privreg._notebook import card, caution, facts, folded
from privreg.data.schema import Schema
from privreg.data.schema_card import schema_parts
from privreg.errors import FitWarning
from privreg.estimators.base import forget_fit, set_all
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.budgets import check_budget
from privreg.estimators.inputs import read_inputs
from privreg.estimators.known import look_at, open_table
from privreg.estimators.reading import Shares
from privreg.estimators.schema_notes import left_out_notes
from privreg.estimators.settled import Public
from privreg.estimators.shown import Shown
from privreg.estimators.spending import Spending
from privreg.privacy.accountant import Budget, adaptive_budget, less_delta, reserved_delta
from privreg.privacy.noise import noise_for
from privreg.privacy.receipt import Receipt
from privreg.privacy.receipt_card import promise, receipt_badge, spending
from privreg.results.schema_file import save_schema

ALONE = Shares(0.05, 0.25, 0.25, (0.4, 0.6), 0.1)  # of the whole budget


@dataclass(eq=False, repr=False)
class SchemaReader(Budgeted, Shown):
    """Find out privately what kinds of columns a table has, which of their values are common, and what to leave out.

    The result, `schema_`, is public. Pass it as `schema=` to any estimator, for any target among the columns, at no
    further cost.

    Proof: docs/proofs/reading.md. Exact check: tests/audit/test_replay.py.

    Parameters
    ----------
    epsilon : float, default 0.1
        The privacy budget ε, for adding or removing one record (or one person, see `fit`).
    delta : float, default 1e-6
        The privacy budget δ. Must be positive.
    categories : dict of str to list, "dtype" or None, default None
        Public levels of columns, by name; as in `PrivateLinearRegression`.
    missing : {"drop", "fill"}, default "drop"
        Whether records with a missing value are left out or filled in; as in `PrivateLinearRegression`.
    ranges : dict of str to (float, float) or None, default None
        Public ranges of columns, by name; values outside are clipped.
    schema : None, default None
        Must be None: a SchemaReader makes a schema.
    rows_per_person : int, default 1
        The most records of one person that are used, if `fit` is given `groups`.
    ledger : Ledger or None, default None
        The ledger whose budget the fit spends from.
    dataset : str or None, default None
        The name of the data set in the ledger.
    purpose : str or None, default None
        What the fit is for, in your own words; kept in the ledger.
    progress : callable or None, default None
        Called with the name of each stage, for instance `print`.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn; -1 uses every core. Results do not depend on it.
    random_state : int, numpy random generator or None, default None
        None for private noise. A seed makes the run repeatable and **not private**.

    Attributes
    ----------
    schema_ : Schema
        Kinds, levels, noisy counts, and which columns are left out and why.
    warnings_ : list of str
        Plain sentences about what may be wrong with the table.
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privreg import DPKendall, SchemaReader
    >>> table = pa.table({"town": ["north", "south"] * 5_000, "age": [float(i % 90) for i in range(10_000)]})
    >>> schema = SchemaReader(epsilon=0.5, delta=1e-6).fit(table).schema_
    >>> [(column.name, column.kind) for column in schema]
    [('town', 'category'), ('age', 'number')]
    >>> sorted(schema.columns[0].levels)
    ['north', 'south']
    """

    epsilon: float = 0.1
    delta: float = 1e-6

    schema_: ClassVar[Schema]
    receipt_: ClassVar[Receipt]
    _action: ClassVar[str] = "read"

    def fit(self, X: Any, y: None = None, groups: Any = None, *, where: str | None = None) -> Self:  # noqa: ARG002
        """Read a table. Spends the budget.

        Parameters
        ----------
        X : array, data frame or file
            The table.
        y : None, default None
            Not used; here for scikit-learn.
        groups : array, series, str or None, default None
            The person that each record belongs to, or the name of that column in X. The guarantee is then for people.
        where : str or None, default None
            A condition that records must meet to be read.

        Returns
        -------
        self
        """
        self._warn_if_weak()
        people, budget = groups is not None, self._budget()
        rows = self._rows(people)
        check_budget(budget, rows)
        effective_n_jobs(self.n_jobs)
        if self.schema is not None:
            raise ValueError("a SchemaReader makes a schema; do not pass one")
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
        """Write the schema as plain JSON, which `load_schema` reads.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        check_is_fitted(self, "schema_")
        save_schema(self.schema_, self.receipt_, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")  # set last

    def _card(self) -> str:
        columns = count_of(len(self.schema_.columns), "column")
        own = [text for text in self.warnings_ if text not in self.schema_.warnings]
        return card(
            f"SchemaReader: {columns}",
            *schema_parts(self.schema_),
            *map(caution, own),
            facts(promise(self.receipt_)),
            folded("Where the budget went", *spending(self.receipt_)),
            badge=receipt_badge(self.receipt_),
        )

    def _has_to_read(self, public: Public) -> bool:  # noqa: ARG002
        return True

    def _costs(self, budget: Budget, reads: bool, finds: bool, rows: int) -> tuple[Fraction, Fraction]:
        """All that the budget allows."""
        del reads, finds, rows
        extra = reserved_delta(budget)
        return adaptive_budget(less_delta(budget, extra)), Fraction(extra)
