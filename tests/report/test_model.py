"""The report of one fit: what to know, what was not released, and that nothing else goes in."""

import inspect
import json
import re
from dataclasses import replace

from privreg import _format as words
from privreg.privacy.receipt import Receipt
from privreg.report.model import Context, deployment_record, report_page
from privreg.results.release import Release
from reports import ASKED, section, survey, texts


def test_what_to_know(flagship, constant):
    items, closing = section(flagship, "What to know")
    assert items.texts == flagship.notes
    assert closing.startswith("There are no warnings.")
    items, closing = section(constant, "What to know")
    assert items.texts == [*constant.notes, *(f"Warning: {text}" for text in constant.warnings)]
    assert closing.startswith("Warnings depend on released values only.")


def test_what_was_not_released(flagship):
    items = section(flagship, "What was not released")[1].texts
    assert f"{words.about(flagship.records)} is a noisy, cautious (low) estimate" in items[0]
    assert any("R²" in text for text in items)
    fewer = replace(flagship, coefficients=flagship.coefficients[:2])
    assert "columns that were not chosen" in str(section(fewer, "What was not released"))
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
