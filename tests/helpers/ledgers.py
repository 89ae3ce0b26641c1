"""Ledgers with one data set, and requests for it."""

from decimal import Decimal

from privreg import Ledger
from privreg.privacy.ledger.request import Request


def ask(epsilon, delta="0", mu_squared=None, unit="record"):
    return Request(Decimal(epsilon), Decimal(delta), "test", unit, mu_squared)


def opened(folder, epsilon, delta, name="people"):
    ledger = Ledger(folder / "budget.db")
    ledger.create(name, epsilon, delta)
    return ledger
