"""The summary of a fit: text that says what matters, and HTML that no name can break out of."""

from dataclasses import replace

import numpy as np
import pytest

from cards import shown
from known_models import constant_model, exact_estimates, known_model
from privreg import _format as words
from privreg.paper import make_method
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace
from privreg.privacy.receipt import Receipt
from privreg.results.release import release_of
from privreg.results.summary import ESTIMAND, Summary, budget_line
from reports import HOSTILE, survey

SHRUNK = "Predictions use coefficients that are shrunk towards 0, which predicts better."


def test_what_it_says():
    model = known_model()
    lines = str(model.summary()).splitlines()
    assert lines[:3] == [
        "pay: PrivateLinearRegression",
        "A linear model of 4 of 5 features, fitted to about 390 records.",
        f"R² {model.r2_:.3f} ± 0.030, residual standard error {model.residual_error_:.3f} ± 0.087.",
    ]
    head = lines.index(next(line for line in lines if line.startswith("feature")))
    assert lines[head].split("  ")[0] == "feature"
    assert [line.split()[0] for line in lines[head + 2 : head + 7]] == ["age", "town=b", "town=c", "far", "(intercept)"]
    assert "joint test" in "\n".join(lines)
    assert ESTIMAND in lines
    assert SHRUNK not in lines
    assert "Reference level: town = a." in lines
    assert lines[-1] == "Spent nothing of ε = 1, δ = 1e-6. Protected: one record."
    assert "\n\n\n" not in "\n".join(lines)
    assert repr(model.summary()) == str(model.summary())


def test_nothing_from_a_file_reaches_the_terminal():
    """A model file may have been written by anybody: its method, unit and steps are text of one line."""
    release, escape = release_of(known_model()), "\x1b[31mx\nTRUSTED"
    receipt = Receipt((Laplace(escape, 1, 20.0, purpose="count"),), Budget(1.0, 0.0), True, f"one person{escape}")
    for told in (str(Summary(replace(release, method=escape, receipt=receipt))), str(receipt)):
        assert "\x1b" not in told
        assert not any(line.startswith("TRUSTED") for line in told.splitlines())


def test_predictions_that_use_other_coefficients():
    """Only if one of them differs by more than half a standard error."""
    largest = float(np.nanmax(np.abs(known_model().tvalues[:-1])))
    assert SHRUNK in str(known_model(shrunk=1 - 0.51 / largest).summary())
    assert SHRUNK not in str(known_model(shrunk=1 - 0.49 / largest).summary())


def test_warnings_and_seeds_are_told():
    release = release_of(known_model())
    told = replace(release, warnings=["odd"], receipt=replace(release.receipt, private=False))
    lines = str(Summary(told)).splitlines()
    assert lines[-2] == "Warning: odd"
    assert lines[-1].endswith("NOT PRIVATE: the noise came from a seed (random_state).")
    assert "Protected" not in lines[-1]


def test_the_published_calibration_protects_no_record():
    release = release_of(known_model())
    line = budget_line(replace(release.receipt, unit="one model"))
    assert "No guarantee for one record: this is the published calibration" in line
    assert "Protected" not in line


def test_methods_that_tell_less():
    model = make_method("K-BAS", k=2, random_state=1).fit(*survey())
    text = str(model.summary())
    assert "R²" not in text
    assert ESTIMAND not in text
    assert "feature" in text
    assert "std err" not in text
    assert text == str(Summary(release_of(model)))
    assert ["feature", "coef"] in shown(model.summary()).rows


def test_a_constant():
    text = str(constant_model().summary())
    assert "A constant, fitted to about 390 records." in text
    assert ESTIMAND not in text


@pytest.mark.parametrize("name", HOSTILE[:5])
def test_no_name_breaks_out_of_the_page(name):
    model = known_model(names=(name, f"{name}t", "spare", "far"), target=name)
    card = shown(model.summary())
    assert card.tags.count("table") == 2
    assert [len(row) for row in card.rows] == [6] * 6 + [4] * 2
    assert card.rows[1][0] == words.shown(name)
    str(model.summary())


def test_the_card_has_the_same_cells():
    model = known_model(exact_estimates(2.0))
    card = shown(model.summary())
    for line in str(model.summary()).splitlines():
        for cell in filter(None, line.split("  ")):
            assert cell.strip() in card.text or set(cell.strip()) <= {"─"}
    assert card.title == "pay: PrivateLinearRegression Usable"
