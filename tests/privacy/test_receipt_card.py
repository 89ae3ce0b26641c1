"""The card of a receipt."""

from dataclasses import replace

from cards import shown
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Gaussian, Laplace
from privreg.privacy.receipt import PLANNED, Receipt, step_rows

COUNT = Laplace("count the records", 1, 20.0, purpose="count")
SUMS = tuple(Laplace(f"sum of column {i}", 1, 20.0, purpose="coefficients", column=i) for i in range(15))


def test_what_was_spent_and_on_what():
    receipt = Receipt((COUNT, *SUMS), Budget(1.0, 0.0), True, "one record", 1, PLANNED)
    card = shown(receipt)
    assert card.title == "Privacy receipt Within budget"
    assert card.facts["Protected"] == "any one record (one row of the table)"
    assert card.facts["Guarantee"].startswith("ε = 1, δ = 0. Someone who knows every other record")
    assert card.facts["Spent"] == "ε = 0.8 of 1, δ = 0"
    assert ["Counting", "about how many records there are", "1", "6.2 %"] in card.rows
    assert ["Coefficients", "how the target varies with each column", "15", "93.8 %"] in card.rows
    assert "Every step (16)" in card.text
    for row in step_rows(receipt):
        assert list(row) in card.rows
    assert str(receipt).splitlines()[0].split() == list(step_rows(receipt)[0])


def test_people():
    receipt = Receipt((COUNT,), Budget(1.0, 1e-6), True, "one person, at most 1 row", 1, PLANNED)
    assert shown(receipt).facts["Protected"].endswith("(at most 1 record per person was used)")
    more = replace(receipt, unit="one person, at most 3 rows", rows=3)
    assert shown(more).facts["Protected"].endswith("(at most 3 records per person were used)")
    assert "Someone who knows every other person" in shown(more).text


def test_broken_promises():
    receipt = Receipt((COUNT,), Budget(1.0, 0.0), True)
    for broken, word, protected in (
        (replace(receipt, private=False), "NOT PRIVATE", "nobody"),
        (replace(receipt, own=(Laplace("count", 1, 0.1, purpose="count"),)), "Overspent", "nobody"),
        (replace(receipt, unit="one model"), "No guarantee for one record", "not one record"),
        (replace(receipt, unit="one model", private=False), "NOT PRIVATE", "nobody"),
    ):
        card = shown(broken)
        assert card.title.endswith(word)
        assert card.facts["Protected"] == protected
        assert "Guarantee" not in card.facts


def test_nothing_released():
    card = shown(Receipt((), Budget(1.0, 1e-6), True))
    assert "Nothing was released from the data." in card.text
    assert card.facts["Spent"] == "nothing of ε = 1, δ = 1e-6"


def test_costs_without_bound():
    """As in a receipt that was altered."""
    receipt = Receipt((Gaussian("sums", 1, 1e-3, 1, purpose="coefficients"),), Budget(1.0, 0.0), True)
    assert shown(receipt).title.endswith("Overspent")
