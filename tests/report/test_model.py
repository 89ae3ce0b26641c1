"""The report of one fit: what to know, what was not released, and that nothing else goes in."""

import inspect
import json
import re
from dataclasses import replace

import numpy as np

from privreg import Ledger, PrivateLinearRegression, __version__, load_model
from privreg import _format as words
from privreg.privacy.accountant import Budget
from privreg.privacy.receipt import Receipt
from privreg.report.document import Items
from privreg.report.model import Context, deployment_record, document, report_page
from privreg.results.release import Release
from reports import ASKED, facts, fold, section, survey, texts


def test_the_verdict_and_its_facts(flagship, people, constant, paper):
    doc = document(flagship, ASKED)
    assert doc.title == "A private model of blood_pressure"
    assert doc.lead == f"Fitted to health survey.csv by PrivateLinearRegression, privreg {__version__}, on 2026-11-16."
    assert (doc.banner.state, doc.banner.word, doc.banner.reasons) == ("good", "Usable", [])
    share = f"{100 * flagship.statistics.r2:.0f} %"
    assert doc.banner.text == f"It explains about {share} of the variation in blood_pressure."
    told = facts(flagship)
    names = ["Protects", "Privacy budget", "Accuracy", "Records used", "Features", "Ledger"]
    assert list(told) == names
    assert told["Protects"][0] == "any one record (one row of the table)"
    assert "at most 73.2 % sure" in told["Protects"][1]
    assert told["Privacy budget"][0] == "ε = 1, δ = 1e-6"
    assert "a factor of at most 2.72 (e^ε). δ is an allowance on top" in told["Privacy budget"][1]
    assert told["Accuracy"][0].startswith("R² 0.")
    assert told["Accuracy"][1].startswith("95 % interval 0.")
    assert told["Records used"][0] == f"about {words.about(flagship.records)}"
    assert told["Features"] == ("4 of 4 used", "All coefficients are determined.")
    assert told["Ledger"] == ("ε = 2.5 of 3 spent", "")
    assert "every other person" in facts(people)["Protects"][1]
    assert facts(constant)["Features"] == ("none of 4 used", "")
    assert facts(paper["BAS"])["Accuracy"] == ("not measured", "")


def test_no_accuracy_where_noise_hides_it(flagship):
    """Neither R² nor how far predictions are off beside a verdict that it is unknown."""
    vague = replace(flagship, statistics=replace(flagship.statistics, r2=0.1, r2_error=3.0))
    assert facts(vague)["Accuracy"] == ("unknown", "The noise is too large to tell.")


def test_what_is_left_in_the_ledger(flagship):
    def left(**changes):
        return facts(flagship, replace(ASKED, ledger=ASKED.ledger | changes))["Ledger"][1]

    told = left(room={"epsilon": 2.789, "delta": 1e-6})
    assert told.startswith("Left: one more fit by the default method, with up to ε = 2.78 at δ = 1e-6.")
    assert left(room={"epsilon": 0.0, "delta": 1e-6}) == "Left: nothing for the default method at δ = 1e-6."
    assert left(room={"epsilon": 0.0, "delta": 0.0}) == "Left: nothing for the default method, which needs δ > 0."
    assert left(room={"epsilon": 1.0}) == ""
    assert facts(flagship, Context())["Ledger"][0] == "not used"
    assert facts(flagship, Context())["Ledger"][1].startswith("Nothing was counted.")


def test_the_budget_is_what_the_ledger_was_asked_for(flagship):
    """The fit ran with a part of δ; a reader sees the number that was typed, and why it is not the receipt's."""
    ran = replace(flagship, receipt=replace(flagship.receipt, budget=Budget(1.01, 9e-7)))
    why = "The fit ran with δ = 9e-7; the ledger keeps a tenth for its own accounting."
    asked = replace(ASKED, delta=1e-6)
    value, meaning = facts(ran, asked)["Privacy budget"]
    assert value == "ε = 1.01, δ = 1e-6"
    assert meaning.endswith(why)
    assert f"- Budget: ε = 1.01, δ = 1e-6. {why}" in texts(ran, asked)
    assert facts(ran, replace(asked, ledger=None))["Privacy budget"][0] == "ε = 1.01, δ = 9e-7"
    total = section(ran, "The budget", asked)[0]
    assert total.endswith("δ = 1e-6 (9e-7 by the fit, the rest for the ledger's accounting).")


def test_warnings_are_reasons_and_come_first(flagship, constant):
    banner = document(constant, ASKED).banner
    assert (banner.state, banner.word) == ("bad", "Not usable")
    assert banner.reasons[: len(constant.warnings)] == constant.warnings
    told = document(replace(flagship, warnings=["Something is odd."]), ASKED).banner
    assert (told.state, told.word, told.reasons) == ("care", "Usable with care", ["Something is odd."])


def test_notes_stand_with_the_model(flagship, constant):
    for release in (flagship, constant):
        items = next(b for b in section(release, "The model") if isinstance(b, Items))
        assert items.texts[-len(release.notes) :] == release.notes


def test_what_was_not_released(flagship):
    items = fold(flagship, "What was not released")[1].texts
    assert f"{words.about(flagship.records)} is a noisy estimate" in items[0]
    assert any("R²" in text for text in items)
    fewer = replace(flagship, coefficients=flagship.coefficients[:2])
    assert "columns that were not chosen" in str(fold(fewer, "What was not released"))
    assert "columns that were not chosen" not in str(items)


def test_limits_know_the_ledger(flagship):
    assert "The ledger adds up" in texts(flagship)
    assert "No ledger was used" in texts(flagship, Context())
    assert "A person with several records is protected less" in texts(flagship)


def test_nothing_but_the_release_and_public_input_goes_in(flagship):
    """No data, no estimator: what a page may show is decided where a Release is made."""
    for function in (report_page, deployment_record):
        kinds = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
        assert kinds == [Release, Context]
    receipt = Receipt.from_dict(json.loads(json.dumps(flagship.receipt.to_dict())))
    copy = Release(**{name: getattr(flagship, name) for name in Release.__dataclass_fields__} | {"receipt": receipt})
    assert report_page(copy, ASKED) == report_page(flagship, ASKED)


def test_the_true_number_of_records_and_extremes_are_not_shown(flagship):
    text = texts(flagship)
    X, y = survey()
    assert not re.search(r"\b4,?321\b", text)
    for values in (y, *(X[name] for name in X)):
        for value in (values.min(), values.max()):
            assert f"{value:.4g}" not in text


def test_the_same_page_every_time(flagship, paper):
    for release in (flagship, paper["K-BAS"]):
        assert report_page(release, ASKED) == report_page(release, ASKED)
    later = replace(ASKED, date="2027-01-01")
    assert report_page(flagship, later) == report_page(flagship, ASKED).replace("2026-11-16", "2027-01-01")


# ---- written from Python


def banner(path):
    text = path.read_text()
    return " ".join(re.sub(r"<[^>]+>", " ", text[text.index("<dt>Ledger") :]).split())[:300]


def test_a_report_from_python_knows_the_ledger_of_the_fit(tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", 3, 1e-5)
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="people", purpose="a test").fit(X, X[:, 0])
    model.report(tmp_path / "counted.html")
    text = (tmp_path / "counted.html").read_text()
    assert "ε = 1 of 3 spent" in banner(tmp_path / "counted.html")
    assert "entry 1" in text
    assert "budget.db" in text
    assert "No ledger was used" not in text
    assert str(tmp_path) not in text
    (tmp_path / "budget.db").unlink()  # it can be written all the same
    model.report(tmp_path / "later.html")
    assert banner(tmp_path / "later.html").startswith("Ledger used")
    PrivateLinearRegression(1.0, 1e-6).fit(X, X[:, 0]).report(tmp_path / "alone.html")
    assert "not used" in banner(tmp_path / "alone.html")


def test_a_report_of_a_model_file_does_not_say_that_no_ledger_was_used(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 2))
    PrivateLinearRegression(1.0, 1e-6).fit(X, X[:, 0]).save(tmp_path / "model.json")
    load_model(tmp_path / "model.json").report(tmp_path / "report.html")
    assert "not known" in banner(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "whether a ledger counts them is not known" in text
    assert "o ledger was used" not in text
