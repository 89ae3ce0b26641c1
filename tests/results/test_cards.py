"""The card of a fitted model: what must be known first, and the coefficients."""

from dataclasses import replace

import pytest

from cards import Shown
from known_models import constant_model, exact_estimates, known_model
from privreg._notebook import MOST_ROWS
from privreg.privacy.accountant import Budget
from privreg.privacy.promise import in_words, protected
from privreg.results.cards import model_card, summary_card
from privreg.results.release import Coefficient, release_of
from privreg.results.summary import ESTIMAND
from privreg.results.verdict import accuracy

HEAD = ["feature", "coef", "std err", "95 % interval"]


def card_of(release):
    return Shown(model_card(release))


def test_a_model_that_can_be_used():
    release = release_of(known_model())
    card = card_of(release)
    assert card.title == "pay: PrivateLinearRegression Usable"
    assert "It explains about 65 % of the variation in pay." in card.text
    assert card.facts["Accuracy"] == accuracy(release)
    assert card.facts["Model"] == "A linear model of 4 of 5 features, fitted to about 390 records."
    assert card.facts["Protected"] == protected(release.receipt)
    assert card.facts["Guarantee"] == f"ε = 1, δ = 1e-6. {in_words(release.receipt)}"
    assert card.facts["Spent"] == "nothing of ε = 1, δ = 1e-6"
    start = card.rows.index(HEAD)
    assert [row[0] for row in card.rows[start + 1 : start + 6]] == ["age", "town=b", "town=c", "far", "(intercept)"]
    assert "Reference level: town = a." in card.text
    assert ESTIMAND in card.text


def test_what_the_ledger_was_asked_for():
    release = release_of(known_model())
    ran = replace(release, receipt=replace(release.receipt, budget=Budget(1.0, 9e-7)))
    assert Shown(model_card(ran, 1e-6)).facts["Asked for"] == (
        "ε = 1, δ = 1e-6. The fit ran with δ = 9e-7; the ledger keeps a tenth for its own accounting."
    )
    assert "Asked for" not in card_of(release).facts


def test_coefficients_that_are_not_determined():
    card = card_of(release_of(known_model(exact_estimates(60.0))))
    assert any(row[1:] == ["not determined", "", ""] for row in card.rows)
    assert card.title.startswith("pay: PrivateLinearRegression ")


def test_a_constant_has_no_table():
    card = card_of(release_of(constant_model()))
    assert card.title.endswith("Not usable")
    assert HEAD not in card.rows
    assert "What helps: more records" in card.text


def test_a_broken_promise_is_not_put_in_words():
    release = release_of(known_model())
    card = card_of(replace(release, receipt=replace(release.receipt, private=False)))
    assert card.title.endswith("NOT PRIVATE")
    assert "Guarantee" not in card.facts
    assert card.facts["Protected"] == "nobody"
    assert "50:50" not in card.text
    assert "do not share this result" in card.text
    assert Shown(summary_card(replace(release, receipt=replace(release.receipt, private=False)))).title.endswith(
        "NOT PRIVATE"
    )


@pytest.mark.parametrize("count", [MOST_ROWS - 1, MOST_ROWS + 20])
def test_many_coefficients_are_folded(count):
    release = release_of(known_model())
    many = [Coefficient(f"x{i}", 1.0, 0.1, 0.8, 1.2) for i in range(count)]
    card = card_of(replace(release, coefficients=many))
    names = [row[0] for row in card.rows if len(row) == 4 and row != HEAD]
    assert names == [*(c.feature for c in many), "(intercept)"]
    assert (f"{count + 1 - MOST_ROWS} more" in card.text) == (count >= MOST_ROWS)


def test_what_a_method_does_not_tell_is_left_out():
    release = release_of(known_model())
    bare = [Coefficient(c.feature, c.value) for c in release.coefficients]
    told = replace(release, coefficients=bare, intercept=Coefficient("(intercept)", 1.0), statistics=None, notes=[])
    card = card_of(told)
    assert card.title.endswith("Accuracy unknown")
    assert ["feature", "coef"] in card.rows
    assert "Accuracy" not in card.facts
    assert "Model" not in card.facts
