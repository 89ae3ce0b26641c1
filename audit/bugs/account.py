"""Budgets and receipts that say less than was spent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import privreg.privacy.ledger
import privreg.regression.tukey
import privreg.spending
from audit.bugs.bug import FLAGSHIP, TUKEY, Bug, changing
from privreg.mechanisms.depth import STRICT
from privreg.privacy import accountant
from privreg.privacy.account import Account
from privreg.privacy.receipt import Receipt


def _spent_afterwards(self: Account, step: Any, value: int) -> int:
    result = self._noise.laplace(value, step.scale)
    self._spend(step)
    return result


def _without_the_last(self: Account, unit: str = "one record") -> Receipt:
    return Receipt(tuple(self._made[:-1]), self._budget, self._noise.private, unit, self._rows)


_adaptive_budget = accountant.adaptive_budget


@contextmanager
def _entered_afterwards(ledger: Any, dataset: str, request: Any) -> Iterator[Any]:
    entry = SimpleNamespace(number=0, receipt=None)
    yield entry
    with privreg.privacy.ledger.entered(ledger, dataset, request) as real:
        real.receipt = entry.receipt


BUGS = {
    "spent afterwards": Bug(
        "a step written down after its release",
        changing((Account, "laplace", _spent_afterwards)),
        "SubLasso",
        "spent first",
    ),
    "entered afterwards": Bug(
        "a ledger entry made only when a fit succeeds",
        changing((privreg.spending, "entered", _entered_afterwards)),
        FLAGSHIP,
        "ledger",
    ),
    "step left out": Bug(
        "a receipt without its last step", changing((Account, "receipt", _without_the_last)), "DPKendall", "receipt"
    ),
    "twice the budget": Bug(
        "twice the μ² that the budget allows",
        changing((accountant, "adaptive_budget", lambda budget: 2 * _adaptive_budget(budget))),
        FLAGSHIP,
        "receipt",
    ),
    "draw at half price": Bug(
        "the Tukey draw charged η instead of 2η",
        changing((privreg.regression.tukey, "CALIBRATIONS", {"strict": replace(STRICT, steps=1)})),
        TUKEY,
        "receipt",
    ),
}
