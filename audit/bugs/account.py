"""Budgets and receipts that say less than was spent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import privreg.estimators.budgeted
import privreg.estimators.tukey
import privreg.privacy.ledger.ledger
from audit.bugs.bug import FLAGSHIP, TUKEY, Bug, changing
from privreg.estimators.private_linear.state import Setting
from privreg.estimators.spending import Spending
from privreg.mechanisms.depth import STRICT
from privreg.privacy import accountant
from privreg.privacy.account import Account, AdaptiveAccount
from privreg.privacy.events import EarlyPick
from privreg.privacy.receipt import Receipt


def _spent_afterwards(self: Account, step: Any, value: int) -> int:
    result = self._noise.laplace(value, step.scale)
    self._spend(step)
    return result


_receipt = Account.receipt


def _without_the_last(self: Account, unit: str = "one record") -> Receipt:
    return replace(_receipt(self, unit), own=tuple(self._made[:-1]))


def _always_private(self: Spending, unit: str) -> Receipt:
    return replace(_whole_receipt(self, unit), private=True)


_whole_receipt = Spending.receipt


_total = accountant.total


def _gaussians_only(steps: Any, budget: Any) -> tuple[float, float]:
    return _total([step for step in steps if step.pure is None], budget)


_early = Setting.early


def _as_if_much_were_left(self: Setting, part: float, left_after: float) -> Any:
    return _early(self, part, 100 * left_after)


_adaptive_budget = accountant.adaptive_budget


def _for_one_record(self: Spending, extra_delta: float) -> Any:
    return self._watched(AdaptiveAccount(self.budget, self.noise, 1, extra_delta))


@contextmanager
def _entered_afterwards(ledger: Any, dataset: str, request: Any) -> Iterator[Any]:
    entry = SimpleNamespace(number=0, receipt=None)
    yield entry
    with privreg.privacy.ledger.ledger.entered(ledger, dataset, request) as real:
        real.receipt = entry.receipt


@contextmanager
def _refunded(ledger: Any, dataset: str, request: Any) -> Iterator[Any]:
    before = Path(ledger.path).read_bytes()
    try:
        with privreg.privacy.ledger.ledger.entered(ledger, dataset, request) as entry:
            yield entry
    except BaseException:
        Path(ledger.path).write_bytes(before)
        raise


BUGS = {
    "spent afterwards": Bug(
        "a step written down after its release",
        changing((Account, "laplace", _spent_afterwards)),
        "SubLasso",
        "spent first",
    ),
    "entered afterwards": Bug(
        "a ledger entry made only when a fit succeeds",
        changing((privreg.estimators.budgeted, "entered", _entered_afterwards)),
        FLAGSHIP,
        "ledger",
    ),
    "refund": Bug(
        "a fit that dies gets its budget back",
        changing((privreg.estimators.budgeted, "entered", _refunded)),
        FLAGSHIP,
        "ledger",
    ),
    "always private": Bug(
        "a receipt that calls seeded noise private",
        changing((Spending, "receipt", _always_private)),
        "DPKendall",
        "receipt",
    ),
    "picks for nothing": Bug(
        "picks and counts left out of the total",
        changing((accountant, "total", _gaussians_only)),
        "SubLasso, delta",
        "receipt",
    ),
    "a person at the price of a record": Bug(
        "two records of each person kept, one paid for",
        changing((Spending, "adaptive", _for_one_record)),
        "PrivateLinearRegression, people",
        "receipt",
    ),
    "early picks at a quarter": Bug(
        "picks before other steps charged ε²/4, as if they were many and small",
        changing((EarlyPick, "mu_squared", property(lambda self: self.pure**2 / 4))),
        FLAGSHIP,
        "receipt",
    ),
    "more left than there is": Bug(
        "picks charged as if the budget were left many times over",
        changing((EarlyPick, "unspent", property(lambda _: Fraction())), (Setting, "early", _as_if_much_were_left)),
        FLAGSHIP,
        "receipt",
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
        changing((privreg.estimators.tukey, "CALIBRATIONS", {"strict": replace(STRICT, steps=1)})),
        TUKEY,
        "receipt",
    ),
}
