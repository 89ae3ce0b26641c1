"""Ledgers with one data set, and requests for it."""

from decimal import Decimal
from fractions import Fraction

from privreg import Ledger
from privreg.privacy.ledger.request import Request


def ask(epsilon, delta="0", mu_squared=None, unit="record", extra_delta=0, purpose=""):
    return Request(Decimal(epsilon), Decimal(delta), "test", unit, mu_squared, Fraction(extra_delta), purpose)


def opened(folder, epsilon, delta, name="people"):
    ledger = Ledger(folder / "budget.db")
    ledger.create(name, epsilon, delta)
    return ledger
