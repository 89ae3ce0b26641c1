"""What an estimator asks of a ledger, if it is given one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from privreg.privacy.accountant import Budget
from privreg.privacy.ledger import PERSON, RECORD, Ledger, Open, Request, amount, entered, running_budget


class Spender:
    """Has a budget, and perhaps a ledger that it is taken from."""

    epsilon: float
    delta: float
    ledger: Ledger | None = None
    dataset: str | None = None

    _what: str | None = None  # how the ledger calls the fit
    _people: bool = False  # whether the guarantee is for people
    _named_by: Any = None  # and what names them, if it is known
    _entry: int | None = None  # its number in the ledger, once it is entered
    _watch: Callable[[str], None] | None = None  # told the name of each step before its noise is drawn

    def _budget(self) -> Budget:
        """What the fit may spend: a ledger keeps a part of delta."""
        if self.ledger is None:
            return Budget(self.epsilon, self.delta)
        return running_budget(amount(self.epsilon, "epsilon"), amount(self.delta, "delta"))

    def _mu_squared(self, budget: Budget) -> Fraction | None:  # noqa: ARG002
        """The most that a fit with this budget costs in μ² of Gaussian DP; None if it has no such cost."""
        return None

    def _ask_ledger(self) -> None:
        """Raise BudgetRefusedError if there is a ledger and it has no room. Nothing is entered, no data looked at."""
        if self.ledger is not None:
            self.ledger.check(str(self.dataset), self._request())

    @contextmanager
    def _entered(self) -> Iterator[Open]:
        """What happens inside has been written down as spent."""
        if self.ledger is None:
            yield Open(0)
        else:
            with entered(self.ledger, str(self.dataset), self._request()) as entry:
                self._entry = entry.number
                yield entry

    def _ledger_unit(self) -> str:
        """People that are told apart in another way are another unit."""
        if not self._people:
            return RECORD
        return PERSON if self._named_by is None else f"{PERSON} by {self._named_by}"

    def _request(self) -> Request:
        return Request(
            amount(self.epsilon, "epsilon"),
            amount(self.delta, "delta"),
            self._what or f"fit {type(self).__name__}",
            self._ledger_unit(),
            self._mu_squared(self._budget()),
        )
