"""What an estimator asks of a ledger, if it is given one."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

from privreg.data.schema import Schema
from privreg.data.tables import name_of
from privreg.errors import WeakGuaranteeWarning
from privreg.estimators.budgets import reading_budget
from privreg.estimators.settled import Categories
from privreg.privacy.accountant import Budget, adaptive_budget, for_each_record, less_delta, reserved_delta
from privreg.privacy.ledger.ledger import Ledger, Open, entered
from privreg.privacy.ledger.request import Request, amount, budget_of, unit_of
from privreg.privacy.receipt import unit_words
from privreg.privacy.weak import weak_points
from privreg.results.model_file import fingerprint_of
from privreg.results.release import release_of


class _Budget:
    """Declared by each estimator, in the order of its own constructor."""

    epsilon: float
    delta: float


@dataclass(kw_only=True, eq=False, repr=False)
class Budgeted(_Budget):
    """Has a budget, and perhaps a ledger that it is taken from: the parameters that all private estimators share.

    `groups` is what a fit is given to tell people apart, or the name of the column that does; None protects records.
    Nothing about the unit is remembered from one fit to the next.
    """

    categories: Categories = None
    missing: str = "drop"
    ranges: Mapping[str, tuple[float, float]] | None = None
    schema: Schema | None = None
    rows_per_person: int = 1
    ledger: Ledger | None = None
    dataset: str | None = None
    purpose: str | None = None
    progress: Callable[[str], None] | None = None
    n_jobs: int | None = -1
    random_state: Any = None

    def _budget(self) -> Budget:
        """What the fit may spend: a ledger keeps a part of delta."""
        self._check_spending()
        return budget_of(self.epsilon, self.delta, self.ledger is not None)

    def _check_spending(self) -> None:
        """Raise ValueError if ledger, dataset and random_state do not go together."""
        if self.missing not in ("drop", "fill"):
            raise ValueError(f'missing must be "drop" or "fill", got {self.missing!r}')
        rows = self.rows_per_person
        if not isinstance(rows, Integral) or isinstance(rows, bool) or rows < 1:
            raise ValueError(f"rows_per_person must be a whole number of at least 1, got {rows!r}")
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise ValueError(f"ledger must be a privreg.Ledger, got {type(self.ledger).__name__}")
        if self.purpose is not None and not _is_text(self.purpose):
            raise ValueError(f"purpose must be text, got {self.purpose!r}")
        if (self.ledger is None) != (self.dataset is None):
            raise ValueError("ledger and dataset go together: a Ledger and the name of a data set in it")
        if self.ledger is not None and self.random_state is not None:
            raise ValueError(
                "random_state makes the fit not private, so it cannot be entered into a ledger; use random_state=None"
            )
        if self.ledger is not None and self._of_a_model():
            raise ValueError(
                'calibration="paper" protects one model, not one record, so it cannot be entered into a ledger; '
                'use calibration="strict"'
            )

    def _of_a_model(self) -> bool:
        """Whether the guarantee is for neither records nor people."""
        return False

    def _warn_if_weak(self) -> None:
        """Warn of a budget that promises little. With a seed nothing is promised, and there is another warning."""
        if self.random_state is None:
            for text in weak_points(self.epsilon, self.delta):
                warnings.warn(text, WeakGuaranteeWarning, stacklevel=3)

    def _rows(self, people: bool) -> int:
        """Records that the unit of privacy may have."""
        return int(self.rows_per_person) if people else 1

    def _unit(self, people: bool) -> str:
        """What the guarantee protects, in words."""
        return unit_words(people, self._rows(people))

    def _mu_squared(self, budget: Budget) -> Fraction | None:  # noqa: ARG002
        """The most that a plan with this budget costs in μ² of Gaussian DP; None if it has no such cost."""
        return None

    def _costs(self, budget: Budget, reads: bool, finds: bool, rows: int) -> tuple[Fraction | None, Fraction]:
        """The most that a fit costs in μ² and in δ′, if it reads a table with or without levels to find."""
        del finds  # the part for reading is fixed
        if not reads:
            mu_squared = self._mu_squared(for_each_record(budget, rows))
            return None if mu_squared is None else rows**2 * mu_squared, Fraction()
        reading, rest = reading_budget(budget)
        mu_squared = self._mu_squared(for_each_record(rest, rows))
        extra = reserved_delta(reading)
        own = adaptive_budget(less_delta(reading, extra))
        return None if mu_squared is None else rows**2 * mu_squared + own, Fraction(extra)

    def ask_ledger(self, groups: Any = None) -> None:
        """Raise `BudgetRefusedError` if there is a ledger and it has no room for a fit.

        Nothing is entered, and no data is read.

        Parameters
        ----------
        groups : array, series, str or None, default None
            As for `fit`: whether people or records are protected.
        """
        if self.ledger is not None:
            self.ledger.check(str(self.dataset), self._asked_for(groups, True, True, ""))

    def _ask(self, known: Any) -> None:
        if self.ledger is not None:
            self.ledger.check(str(self.dataset), self._request(known))

    @contextmanager
    def _entered(self, known: Any) -> Iterator[Open]:
        """What happens inside has been written down as spent."""
        if self.ledger is None:
            yield Open()
        else:
            with entered(self.ledger, str(self.dataset), self._request(known)) as entry:
                yield entry
                entry.fingerprint = _fingerprint(self)

    def _request(self, known: Any) -> Request:
        """What a fit asks for, of a table of which so much is known."""
        words = known.inputs.words or known.types.target or ""
        return self._asked_for(known.inputs.groups, known.reads, known.finds, f"{words}: " if words else "")

    def _asked_for(self, groups: Any, reads: bool, finds: bool, words: str) -> Request:
        people, budget = groups is not None, self._budget()
        reads = reads and self.schema is None and budget.delta > 0  # if not, it is refused later, by name
        mu_squared, extra_delta = self._costs(budget, reads, finds and reads, self._rows(people))
        return Request(
            amount(self.epsilon, "epsilon"),
            amount(self.delta, "delta"),
            f"{self._action} {words}{type(self).__name__}",
            unit_of(people, name_of(groups)),
            mu_squared,
            extra_delta,
            self.purpose or "",
        )

    _action: ClassVar[str] = "fit"


def _fingerprint(fitted: Any) -> str | None:
    """Of what was released, if a model file can hold it. A subclass has no file, and may not be complete yet."""
    writes = hasattr(fitted, "_release") and type(fitted).__module__.startswith("privreg.")
    return fingerprint_of(release_of(fitted)) if writes else None


def _is_text(value: Any) -> bool:
    """Whether a ledger can keep it: half characters cannot be written."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value
