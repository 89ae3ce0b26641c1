"""A data set's budget, what was asked of it so far, and whether there is room for more: docs/proofs/ledger.md."""

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, nextafter, sqrt
from typing import Any

from privreg._format import number
from privreg.privacy import gaussian
from privreg.privacy.accountant import SMALLEST_DELTA, Budget, adaptive_budget
from privreg.privacy.events import round_down
from privreg.privacy.ledger.request import FOR_THE_ACCOUNTANT, Request, running_budget


@dataclass(frozen=True)
class Rule:
    """The parts of δ behind the accountant's rule: one for the curve of μ², one for the sum of δ′."""

    for_mu: Fraction
    for_extra: Fraction


# By the number that a data set has in the file. The first is for data sets with entries from files of version 1, which
# knew no δ′: there the sum rule alone has room for it (docs/proofs/ledger.md). Both add up to FOR_THE_ACCOUNTANT.
OLD_RULE, RULE = 1, 2
RULES = {
    OLD_RULE: Rule(FOR_THE_ACCOUNTANT, Fraction()),
    RULE: Rule(FOR_THE_ACCOUNTANT / 2, FOR_THE_ACCOUNTANT / 2),
}
GRID = 2**100  # μ² is kept as a whole number of 1/GRID, rounded up, so that sums are exact and short
MOST_ENTRIES = 10**6  # of one data set: the proof wants a bound
_DOWN = Context(prec=3, rounding=ROUND_FLOOR)


def grid_steps(mu_squared: Fraction) -> int:
    return ceil(mu_squared * GRID)


@dataclass(frozen=True)
class Status:
    """A data set's budget, and what was asked of it so far."""

    dataset: str
    epsilon: Decimal
    delta: Decimal
    unit: str | None  # decided by the first entry
    entries: int
    sum_epsilon: Fraction
    sum_delta: Fraction
    mu_squared: Fraction | None  # None if the accountant has no cost for one of the entries
    last_delta: Decimal | None = None
    sum_extra: Fraction = Fraction()  # of the δ′ of all entries
    rule: int = RULE

    def after(self, request: Request) -> "Status":
        """The status with one more request."""
        mu_squared = None
        if self.mu_squared is not None and request.mu_squared is not None:
            mu_squared = self.mu_squared + Fraction(grid_steps(request.mu_squared), GRID)
        return replace(
            self,
            unit=request.unit,
            entries=self.entries + 1,
            sum_epsilon=self.sum_epsilon + Fraction(request.epsilon),
            sum_delta=self.sum_delta + Fraction(request.delta),
            mu_squared=mu_squared,
            last_delta=request.delta or self.last_delta,
            sum_extra=self.sum_extra + Fraction(request.stored_extra),
        )

    @property
    def within(self) -> bool:
        """Whether one of both totals is within the budget: the rule of docs/proofs/ledger.md."""
        if self.sum_epsilon <= Fraction(self.epsilon) and self.sum_delta <= Fraction(self.delta):
            return True
        if self.mu_squared is None or self.extra_room < 0 or self._accountant_delta < SMALLEST_DELTA:
            return False
        return self.mu_squared <= adaptive_budget(Budget(round_down(Fraction(self.epsilon)), self._accountant_delta))

    def admits(self, request: Request) -> bool:
        """Whether there is room for one more request, which must also fit the budget by itself."""
        alone = request.epsilon <= self.epsilon and request.delta <= self.delta
        return alone and self.entries < MOST_ENTRIES and self.after(request).within

    @property
    def extra_room(self) -> Fraction:
        """What the accountant's rule leaves for the δ′ of further requests; negative if it is broken."""
        return Fraction(self.delta) * RULES[self.rule].for_extra - self.sum_extra

    @property
    def accountant_epsilon(self) -> float | None:
        """About the ε of all entries by the accountant, at the part of δ that is kept for it."""
        if self.mu_squared is None or self.extra_room < 0 or self._accountant_delta < SMALLEST_DELTA:
            return None
        return _shown_epsilon(sqrt(self.mu_squared), self._accountant_delta)

    @property
    def spent_epsilon(self) -> float:
        """The smaller of both totals at the δ of the budget: the sum is none of them if its own δ is larger."""
        summed, accounted = float(self.sum_epsilon), self.accountant_epsilon
        if accounted is None:
            return summed
        return min(summed, accounted) if self.sum_delta <= Fraction(self.delta) else accounted

    @property
    def next_delta(self) -> Decimal:
        """A δ that the next fit may have: that of the last one that had any, or a tenth of all. Never more than all."""
        return self.delta / 10 if self.last_delta is None else min(self.last_delta, self.delta)

    def sum_room(self, delta: Decimal) -> float:
        """The largest ε that any method may ask for at δ, by the sum rule."""
        left = Fraction(self.epsilon) - self.sum_epsilon
        return _as_written(left) if left > 0 and self.sum_delta + Fraction(delta) <= Fraction(self.delta) else 0.0

    def room(self, delta: Decimal, extra: Fraction = Fraction()) -> float:
        """The largest ε, about, that one more PrivateLinearRegression may ask for at δ, of which `extra` is its δ′.

        None at δ = 0, which it refuses.
        """
        running = running_budget(self.epsilon, delta).delta - float(extra)
        if delta > self.delta or running < SMALLEST_DELTA:
            return 0.0
        summed = self.sum_room(delta)
        if self.mu_squared is None or self._accountant_delta < SMALLEST_DELTA:
            return summed
        if extra > self.extra_room:
            return summed
        whole = adaptive_budget(Budget(round_down(Fraction(self.epsilon)), self._accountant_delta))
        rest = float(whole - self.mu_squared)
        accounted = _shown_epsilon(sqrt(rest), running) if rest > 0 else 0.0
        return min(max(summed, accounted), _as_written(Fraction(self.epsilon)))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "dataset": self.dataset,
            "budget": {"epsilon": str(self.epsilon), "delta": str(self.delta)},
            "unit": self.unit,
            "entries": self.entries,
            "sum": {"epsilon": float(self.sum_epsilon), "delta": float(self.sum_delta)},
            "accountant": {
                "epsilon": self.accountant_epsilon,
                "delta": self._accountant_delta,
                "extra_delta": float(self.sum_extra),
                "extra_delta_room": float(max(self.extra_room, Fraction())),
            },
            "spent_epsilon": self.spent_epsilon,
            "within": self.within,
            "room": {"epsilon": self.room(self.next_delta), "delta": float(self.next_delta)},
        }

    def _repr_html_(self) -> str:
        from privreg.privacy.ledger.cards import status_card

        return status_card(self)

    @property
    def _accountant_delta(self) -> float:
        return max(0.0, round_down(Fraction(self.delta) * RULES[self.rule].for_mu))


def rounded_down(value: float) -> str:
    """Three digits, not more than the value as it is written."""
    return number(float(_DOWN.create_decimal(repr(float(value)))), 3)


def _as_written(amount: Fraction) -> float:
    """The largest number, about, that is within an amount when it is written out: a request is taken as written."""
    nearest = float(amount)
    return nearest if Fraction(repr(nearest)) <= amount else nextafter(nearest, 0.0)


def _shown_epsilon(mu: float, delta: float) -> float:
    return gaussian.epsilon_at(mu, delta, gaussian.plain_epsilon(mu, delta)) if mu > 0 else 0.0
