"""What a fit asks of a ledger: amounts as they were written, and whom they protect."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from math import inf
from typing import Any

from privreg.privacy.accountant import SMALLEST_EPSILON, Budget
from privreg.privacy.events import round_down

FOR_THE_ACCOUNTANT = Fraction(1, 10)  # of δ; requests run with the rest of theirs
_SMALLEST_EXTRA = Decimal("1e-300")
_UP = Context(prec=12, rounding=ROUND_CEILING)  # δ′ is kept in so many digits, so that sums are exact and short
LARGEST_EPSILON = 10**6  # of a data set: more would promise nothing
RECORD, PERSON = "record", "person"


def amount(value: Any, name: str) -> Decimal:
    """A number as it was written: 0.1 is one tenth, not the binary fraction next to it."""
    try:
        decimal = Decimal(value if isinstance(value, str | int | Decimal) else repr(float(value)))
        number = float(decimal)
    except (InvalidOperation, TypeError, ValueError, OverflowError):
        decimal, number = Decimal("NaN"), inf
    if not decimal.is_finite() or isinstance(value, bool) or abs(number) == inf:
        raise ValueError(f"{name} must be a number, got {value!r}")
    if decimal and (decimal.adjusted() < -300 or len(decimal.as_tuple().digits) > 300):
        raise ValueError(f"{name} has too many digits")
    return decimal


def checked_budget(epsilon: Any, delta: Any) -> tuple[Decimal, Decimal]:
    """The budget of a data set."""
    total = amount(epsilon, "epsilon"), amount(delta, "delta")
    if not Decimal(SMALLEST_EPSILON) <= total[0] <= LARGEST_EPSILON:
        raise ValueError(f"epsilon must be a positive number of at most {LARGEST_EPSILON:,}, got {epsilon}")
    if not 0 <= total[1] < 1:
        raise ValueError(f"delta must be a number in [0, 1), got {delta}")
    return total


@dataclass(frozen=True)
class Request:
    """What a release asks for.

    `mu_squared` is its cost to the accountant at the budget that it runs with, if any, and `extra_delta` the δ′ that is
    reserved in that budget. `what` says what is run, `purpose` what for, in the user's words.
    """

    epsilon: Decimal
    delta: Decimal
    what: str
    unit: str = RECORD
    mu_squared: Fraction | None = None
    extra_delta: Fraction = Fraction()
    purpose: str = ""

    def __post_init__(self) -> None:
        if self.unit != RECORD and not self.unit.startswith(PERSON):
            raise ValueError(
                f"unit must be {RECORD!r}, or {PERSON!r}, perhaps with a column as in 'person by id', got {self.unit!r}"
            )
        if self.epsilon <= 0 or not 0 <= self.delta < 1 or (self.mu_squared is not None and self.mu_squared < 0):
            raise ValueError("a request needs a positive epsilon and a delta in [0, 1)")
        if not 0 <= self.extra_delta <= Fraction(self.delta):
            raise ValueError("the extra delta of a request must be a part of its delta")

    @property
    def stored_extra(self) -> Decimal:
        """δ′ as it is entered: rounded up."""
        exact = _UP.divide(Decimal(self.extra_delta.numerator), Decimal(self.extra_delta.denominator))
        return max(exact, _SMALLEST_EXTRA) if exact else Decimal(0)


def running_budget(epsilon: Decimal, delta: Decimal) -> Budget:
    """The budget with which a request runs that goes through a ledger: rounded down, a part of δ left out."""
    return Budget(round_down(Fraction(epsilon)), max(0.0, round_down(Fraction(delta) * (1 - FOR_THE_ACCOUNTANT))))


def budget_of(epsilon: Any, delta: Any, in_ledger: bool) -> Budget:
    """What a fit may spend: a ledger keeps a part of δ."""
    return running_budget(amount(epsilon, "epsilon"), amount(delta, "delta")) if in_ledger else Budget(epsilon, delta)


def unit_of(people: bool, column: Any = None) -> str:
    """What is protected: a record, or a person. People that are told apart by another column are another unit."""
    if not people:
        return RECORD
    return PERSON if column is None else f"{PERSON} by {column}"
