"""The report of one fit: what was asked, and the guarantee in numbers."""

import re
from dataclasses import replace
from math import e, exp

from privreg import __version__
from privreg import _format as words
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace
from privreg.privacy.origin import Origin
from privreg.privacy.promise import bounds
from privreg.privacy.receipt import Receipt
from privreg.report import guarantee
from privreg.report.document import Code, Items
from privreg.report.model import Context, document, report_page
from reports import ASKED, facts, section, texts


def record(release, asked=ASKED):
    """What was asked."""
    return dict(section(release, "Documentation", asked)[0].pairs)


# ---- what was asked


def test_what_was_asked(flagship, people):
    asked = record(flagship)
    assert asked["Data"] == "health survey.csv"
    assert asked["Target"] == "blood_pressure"
    assert asked["Columns offered (4)"] == "age, bmi, income, noise"
    assert asked["Method"].startswith("PrivateLinearRegression. It finds the scale")
    assert asked["Budget"] == "ε = 1, δ = 1e-6"
    assert asked["Protected"] == "any one record (one row of the table)"
    assert asked["Ledger"] == "ledger.db, data set health, entry 7"
    assert asked["Date"] == "2026-11-16"
    assert asked["Software"] == f"privreg {__version__}"
    assert section(flagship, "Documentation")[1].text == (
        "privreg fit health.csv --target km/h --report=report.html -e 1"
    )
    assert "alice" not in report_page(flagship, ASKED)
    assert "/srv" not in report_page(flagship, ASKED)
    asked = record(people, Context(person="patient"))
    assert asked["Data"] == "not named"
    assert asked["People named by"] == "patient"
    assert asked["Protected"] == "any one person with all their records (at most 2 records per person were used)"
    assert not isinstance(section(people, "Documentation", Context())[1], Code)  # no command


def test_methods_in_plain_words(paper):
    assert "same order" in record(paper["K-Tukey"])["Method"]
    assert "in the middle" in record(paper["K-Tukey"])["Method"]
    assert "vote" in record(paper["L-BAS"])["Method"]
    assert record(replace(paper["BAS"], method="own"))["Method"] == "own."


def test_without_a_date_it_is_today(flagship):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", record(flagship, Context())["Date"])


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
    assert document(flagship, ASKED).banner.state == "good"


def test_a_large_epsilon_is_called_so(flagship):
    receipt = replace(flagship.receipt, budget=Budget(30.0, 1e-6))
    text = str(guarantee.blocks(replace(flagship, receipt=receipt)))
    assert "hardly a limit" in text
    assert "finds at most practically 100 % of" in text
    for epsilon in (1e-6, 4.0, 700.0, 1e4):  # no overflow
        large = replace(flagship, receipt=replace(receipt, own=(), budget=Budget(epsilon, 1e-6)))
        items = guarantee.blocks(large)[-2]
        assert isinstance(items, Items)


def test_an_attack_cannot_find_more_than_the_inequality_allows(flagship):
    """Both directions of the inequality: of those who are in the table, 1 − e^(−ε)·(0.95 − δ) at most."""
    items = guarantee.blocks(replace(flagship, receipt=replace(flagship.receipt, budget=Budget(3.0, 0.01))))[-2]
    assert words.percent(1 - exp(-3) * 0.94) in items.texts[2]


def test_people(people):
    text = texts(people, Context(person="patient"))
    assert "Someone who knows every other person" in text
    assert "differ by adding or removing one person with all their records" in text
    assert "as named by the column of people" in text
    assert "A person with several records is protected less" not in text


def test_pure_privacy(flagship):
    receipt = Receipt((Laplace("count the records", 1, 2.0),), Budget(0.5, 0.0), True)
    text = str(guarantee.blocks(replace(flagship, receipt=receipt)))
    assert "δ = 0: the factor holds for every outcome" in text
    assert "P[M(D′) ∈ S]'" in text.replace('"', "'")  # nothing is added


def test_not_private(seeded, flagship):
    banner = document(seeded, ASKED).banner
    assert (banner.state, banner.word) == ("bad", "NOT PRIVATE")
    assert facts(seeded)["Protects"] == ("nobody", "")
    assert section(seeded, "The guarantee")[0].startswith("NOT PRIVATE")
    assert "which this run did not have, this would hold" in texts(seeded)
    assert "NOT PRIVATE" not in texts(flagship)
    text = texts(seeded)
    assert document(seeded, ASKED).title == "A model of blood_pressure"
    assert "What is protected" not in text
    assert "The guarantee covers this page" not in text
    assert "Nobody is protected" in text
    assert "No guarantee for one record covers this page" in text
    assert "The guarantee covers this page and the model file." in texts(flagship)


def test_the_published_calibration_protects_a_model(paper):
    release = paper["K-Tukey"]
    assert document(release, ASKED).banner.word == "No guarantee for one record"
    text = texts(release)
    assert "What one model means" in text
    assert "sure." not in text  # no odds for a record
    assert "What is protected is one small model, not one record" in text
    assert document(release, ASKED).title == "A model of blood_pressure"
    assert "The guarantee covers this page" not in text
    assert record(release)["Protected"] == "not one record"
    assert document(paper["Tukey-strict"], ASKED).banner.state != "bad" or not paper["Tukey-strict"].coefficients


def test_a_receipt_that_does_not_add_up(flagship):
    changed = replace(flagship, receipt=replace(flagship.receipt, budget=Budget(0.5, 1e-6)))
    assert document(changed, ASKED).banner.word == "Overspent"
    assert "of 0.5, δ = 1e-6. That is MORE than the budget." in texts(changed)
    assert "Everything on this page" not in texts(changed)
    assert facts(changed)["Protects"] == ("nobody", "")
    assert bounds(changed.receipt)[0] == changed.receipt.epsilon > 0.99


# ---- what the fit did not protect, or did not pay for


def test_an_earlier_release_is_not_covered(flagship):
    told = replace(flagship, origin=Origin(8.0, 1e-6, "one record", 1, private=True, earlier=True))
    text, sentence = str(section(told, "The guarantee")), told.origin.sentence
    assert "depends on the records, except what an earlier release found out, was computed" in text
    assert "every other record of the table and what an earlier release found out, knows how" in text
    assert "with its noise, given what an earlier release found out." in text
    assert sentence in text
    assert sentence in facts(told)["Privacy budget"][1]
    own = replace(flagship, origin=replace(told.origin, earlier=False))  # paid for by this fit
    assert "earlier release" not in texts(own)
    assert "depends on the records was computed" in str(section(own, "The guarantee"))


def test_levels_of_a_type_are_not_covered(flagship):
    text = str(section(replace(flagship, typed=["town"]), "The guarantee"))
    assert "depends on the records, except the levels of town, was computed with random noise" in text
    assert (
        "Levels of town were taken from the column's type: they are not protected and may come from single records."
    ) in text
    both = replace(flagship, typed=["town"], origin=Origin(8.0, 1e-6, "one record", 1, private=True, earlier=True))
    assert "except what an earlier release found out and the levels of town, was" in str(section(both, "The guarantee"))


def test_a_broken_promise_does_not_hide_what_is_not_covered(seeded, paper):
    earlier = Origin(8.0, 1e-6, "one record", 1, private=False, earlier=True)
    for release in (seeded, paper["K-Tukey"]):
        text = str(section(replace(release, origin=earlier, typed=["town"]), "The guarantee"))
        assert earlier.sentence in text
        assert "Levels of town were taken from" in text
