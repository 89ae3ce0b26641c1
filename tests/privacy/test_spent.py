"""What was spent, in words: rounded up, and the same everywhere."""

from types import SimpleNamespace

import pytest

from privreg.privacy.accountant import Budget
from privreg.privacy.receipt import Receipt
from privreg.privacy.spent import rounded_up, spent


def told(epsilon, delta, asked=None):
    receipt = SimpleNamespace(events=("an event",), epsilon=epsilon, delta=delta, budget=Budget(1.0, 9e-7))
    return spent(receipt, asked)


def test_in_words():
    assert told(1.0, 9e-7) == "ε = 1, δ = 9e-7, all of it"
    assert told(0.9995, 9e-7) == "ε = 1, δ = 9e-7, all of it"
    assert told(0.940516, 9e-7) == "ε = 0.9406 of 1, δ = 9e-7"
    assert told(0.5, 1e-7) == "ε = 0.5 of 1, δ = 1e-7 of 9e-7"
    assert told(1.2, 9e-7) == "ε = 1.2 of 1, δ = 9e-7"
    assert spent(Receipt((), Budget(1.0, 9e-7), True)) == "nothing of ε = 1, δ = 9e-7"


def test_with_a_ledger():
    assert told(1.0, 9e-7, 1e-6) == "ε = 1, δ = 1e-6 (9e-7 by the fit, the rest for the ledger's accounting)"
    assert told(0.5, 1e-7, 1e-6) == (
        "ε = 0.5 of 1, δ = 1e-6 (1e-7 of 9e-7 by the fit, a tenth of δ for the ledger's accounting)"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.94051, "0.9406"), (0.3, "0.3"), (1e-6, "1e-6"), (12.3401, "12.35"), (0.0, "0"), (1e-310, "1e-310")],
)
def test_rounded_up(value, text):
    assert rounded_up(value) == text
