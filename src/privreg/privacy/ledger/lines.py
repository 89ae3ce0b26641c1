"""The lines of a ledger, as they are read: requests that were entered, and changes of budgets."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privreg.privacy.ledger.request import amount, checked_budget
from privreg.privacy.ledger.status import GRID


@dataclass(frozen=True)
class Entry:
    """A request that was entered. State: "begun" (or died), "finished" or "failed"; all have spent.

    Entries from files of version 1 have nobody's name, and their purpose, if they have one, in `what`.
    """

    number: int
    dataset: str
    time: str
    what: str
    unit: str
    epsilon: Decimal
    delta: Decimal
    state: str
    receipt: dict[str, Any] | None
    mu_squared: Fraction | None
    extra_delta: Decimal
    who: str
    purpose: str

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return vars(self) | {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "mu_squared": None if self.mu_squared is None else float(self.mu_squared),
            "extra_delta": str(self.extra_delta),
        }


@dataclass(frozen=True)
class Amendment:
    """A change of a data set's budget."""

    number: int
    dataset: str
    time: str
    who: str
    reason: str
    old_epsilon: Decimal
    old_delta: Decimal
    epsilon: Decimal
    delta: Decimal

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {key: str(value) if isinstance(value, Decimal) else value for key, value in vars(self).items()}


def read_entry(number: int, *line: Any) -> Entry:
    """An entry from its cells; raises ValueError or TypeError if they are damaged."""
    dataset, time, what, unit, epsilon, delta, state = map(text, line[:7])
    receipt = json.loads(text(line[7] or "null"))
    if receipt is not None and not isinstance(receipt, dict):
        raise TypeError
    amounts = amount(epsilon, "epsilon"), amount(delta, "delta")
    mu_squared = None if line[8] is None else Fraction(whole(line[8]), GRID)
    extra, who, purpose = map(text, line[9:])
    return Entry(
        number, dataset, time, what, unit, *amounts, state, receipt, mu_squared, amount(extra, "δ′"), who, purpose
    )


def read_amendment(number: int, *line: Any) -> Amendment:
    """As `read_entry`."""
    dataset, time, who, reason, *amounts = map(text, line)
    old, new = checked_budget(*amounts[:2]), checked_budget(*amounts[2:])
    return Amendment(number, dataset, time, who, reason, *old, *new)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def whole(stored: Any) -> int:
    """A number of grid steps, as `Ledger.spend` writes it."""
    if not re.fullmatch("[0-9]{1,300}", text(stored)):
        raise ValueError
    return int(stored)
