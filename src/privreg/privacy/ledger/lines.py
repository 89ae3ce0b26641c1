"""The lines of a ledger, as they are read: requests that were entered, and changes of budgets."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from privreg.privacy.ledger.request import amount, checked_budget
from privreg.privacy.ledger.status import GRID


@dataclass(frozen=True)
class Entry:
    """A request that was entered. State: "begun" (or died), "finished" or "failed"; all have spent.

    Entries from files of version 1 have nobody's name, and their purpose, if they have one, in `what`. `fingerprint` is
    that of the released model, if there is one: `privreg verify` finds the entry of a model file by it.
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
    fingerprint: str | None = None

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
    """A change of a data set's budget.

    `after` is the number of the file's last entry at that time, 0 if there was none. It decides where the change stands
    in a history: clocks may be set back.
    """

    number: int
    dataset: str
    time: str
    who: str
    reason: str
    old_epsilon: Decimal
    old_delta: Decimal
    epsilon: Decimal
    delta: Decimal
    after: int

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
    extra, who, purpose = map(text, line[9:12])
    fingerprint = None if line[12] is None else text(line[12])
    about = dataset, time, what, unit, *amounts, state
    return Entry(number, *about, receipt, mu_squared, amount(extra, "δ′"), who, purpose, fingerprint)


def read_amendment(number: int, *line: Any) -> Amendment:
    """As `read_entry`."""
    dataset, time, who, reason, *amounts = map(text, line[:8])
    old, new = checked_budget(*amounts[:2]), checked_budget(*amounts[2:])
    if not isinstance(line[8], int):
        raise TypeError
    return Amendment(number, dataset, time, who, reason, *old, *new, line[8])


def in_order(entries: Iterable[Entry], amendments: Iterable[Amendment]) -> list[Entry | Amendment]:
    """Both in the order in which they were written."""
    placed: list[tuple[tuple[int, int], Entry | Amendment]] = [((entry.number, 0), entry) for entry in entries]
    placed += [((each.after, each.number), each) for each in amendments]
    return [line for _, line in sorted(placed, key=lambda place: place[0])]


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def whole(stored: Any) -> int:
    """A number of grid steps, as `Ledger.spend` writes it."""
    if not re.fullmatch("[0-9]{1,300}", text(stored)):
        raise ValueError
    return int(stored)
