"""Ledgers with one data set, and requests for it."""

from decimal import Decimal
from fractions import Fraction

from privreg import Ledger
from privreg.privacy.accountant import adaptive_budget
from privreg.privacy.ledger.request import Request, running_budget


def ask(epsilon, delta="0", mu_squared=None, unit="record", extra_delta=0, purpose=""):
    return Request(Decimal(epsilon), Decimal(delta), "test", unit, mu_squared, Fraction(extra_delta), purpose)


def fit_request(epsilon, delta, extra_delta=0):
    """What a PrivateLinearRegression asks for."""
    cost = adaptive_budget(running_budget(Decimal(epsilon), Decimal(delta)))
    return ask(epsilon, delta, cost, extra_delta=extra_delta)


def opened(folder, epsilon, delta, name="people"):
    ledger = Ledger(folder / "budget.db")
    ledger.create(name, epsilon, delta)
    return ledger
