"""The report of one fit: what was asked, and the guarantee in numbers."""

import re
from dataclasses import replace
from math import e, exp

from privreg import __version__
from privreg import _format as words
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace
from privreg.privacy.receipt import Receipt
from privreg.report import guarantee
from privreg.report.document import Box, Items
from privreg.report.model import Context, document, report_page
from reports import ASKED, section, texts


def facts(release, asked=ASKED):
    return dict(section(release, "What was asked", asked)[0].pairs)


# ---- what was asked


def test_what_was_asked(flagship, people):
    asked = facts(flagship)
    assert asked["Data"] == "health survey.csv"
    assert asked["To predict"] == "blood_pressure"
    assert asked["Columns offered (4)"] == "age, bmi, income, noise"
    assert asked["Method"].startswith("PrivateLinearRegression. It finds the scale")
    assert asked["Budget"] == "ε = 1, δ = 1e-6"
    assert asked["Protected"] == "one record (one row of the table)"
    told = "ledger.db, data set health, entry 7, spent so far, with this fit: ε = 2.5 of 3, "
    assert asked["Ledger"] == told + "it keeps a tenth of the δ that was asked for, so the fit ran with the rest"
    assert asked["Date"] == "2026-11-16"
    assert asked["Software"] == f"privreg {__version__}"
    assert section(flagship, "What was asked")[-1].text == (
        "privreg fit health.csv --target km/h --report=report.html -e 1"
    )
    assert "alice" not in report_page(flagship, ASKED)
    assert "/srv" not in report_page(flagship, ASKED)
    asked = facts(people, Context(person="patient"))
    assert asked["Data"] == "not named"
    assert asked["People named by"] == "patient"
    assert asked["Protected"] == "one person with all their records, of which at most 2 rows are used"
    assert len(section(people, "What was asked", Context())) == 1  # no command


def test_methods_in_plain_words(paper):
    assert "same order" in facts(paper["K-Tukey"])["Method"]
    assert "in the middle" in facts(paper["K-Tukey"])["Method"]
    assert "vote" in facts(paper["L-BAS"])["Method"]
    assert facts(replace(paper["BAS"], method="own"))["Method"] == "own."


def test_without_a_date_it_is_today(flagship):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts(flagship, Context())["Date"])


# ---- the guarantee


def test_the_guarantee_in_numbers(flagship):
    text = texts(flagship)
    assert "P[M(D) ∈ S] ≤ e^ε · P[M(D′) ∈ S] + δ" in text
    assert "P[M(D) ∈ S] ≤ 2.72 · P[M(D′) ∈ S] + 1e-6" in text
    assert "at most 73.2 % sure, apart from δ." in text  # e/(1 + e) = 73.11 %
    found = f"finds at most {words.percent(e * 0.05 + 1e-6)} of those who are."
    assert found in text
    assert "13.6 %" in found
    assert "about one in 1,000,000" in text
    assert "promises little" not in text
    assert "differ by adding or removing one record" in text
    assert document(flagship, ASKED).notice is None


def test_a_large_epsilon_is_called_so(flagship):
    receipt = replace(flagship.receipt, budget=Budget(30.0, 1e-6))
    text = str(guarantee.blocks(receipt))
    assert "hardly a limit" in text
    assert "finds at most practically 100 % of" in text
    for epsilon in (1e-6, 4.0, 700.0, 1e4):  # no overflow
        items = guarantee.blocks(replace(receipt, budget=Budget(epsilon, 1e-6)))[-1]
        assert isinstance(items, Items)


def test_an_attack_cannot_find_more_than_the_inequality_allows(flagship):
    """Both directions of the inequality: of those who are in the table, 1 − e^(−ε)·(0.95 − δ) at most."""
    items = guarantee.blocks(replace(flagship.receipt, budget=Budget(3.0, 0.01)))[-1]
    assert words.percent(1 - exp(-3) * 0.94) in items.texts[2]


def test_people(people):
    text = texts(people, Context(person="patient"))
    assert "for every person" in text
    assert "differ by adding or removing one person with all their records" in text
    assert "as named by the column of people" in text
    assert "A person with several records is protected less" not in text


def test_pure_privacy():
    receipt = Receipt((Laplace("count the records", 1, 2.0),), Budget(0.5, 0.0), True)
    text = str(guarantee.blocks(receipt))
    assert "δ = 0: the factor holds for every outcome" in text
    assert "P[M(D′) ∈ S]'" in text.replace('"', "'")  # nothing is added


def test_not_private(seeded, flagship):
    doc = document(seeded, ASKED)
    assert doc.notice.title == "NOT PRIVATE."
    assert doc.lead.endswith("It was not private.")
    assert isinstance(section(seeded, "The guarantee")[0], Box)
    assert "which this run did not have" in texts(seeded)
    assert "NOT PRIVATE" not in texts(flagship)


def test_the_published_calibration_protects_a_model(paper):
    release = paper["K-Tukey"]
    assert document(release, ASKED).notice.title == "NO GUARANTEE FOR ONE RECORD."
    text = texts(release)
    assert "What one model means" in text
    assert "sure." not in text  # no odds for a record
    assert "protects one small model, not one record" in text
    assert document(paper["Tukey-strict"], ASKED).notice is None


def test_a_receipt_that_does_not_add_up(flagship):
    changed = replace(flagship, receipt=replace(flagship.receipt, budget=Budget(0.5, 1e-6)))
    assert document(changed, ASKED).notice.title == "MORE WAS SPENT THAN THE BUDGET."
    assert "MORE than the budget, ε = 0.5" in texts(changed)
    assert guarantee.bounds(changed.receipt)[0] == changed.receipt.epsilon > 0.99
