"""Estimators in a notebook: cards after a fit, scikit-learn's diagram before, and text where that is wanted."""

import pytest
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

import privreg
from cards import shown
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    Ledger,
    NonDP,
    PrivateLinearRegression,
    SchemaReader,
    SubLasso,
    TukeyRegression,
)
from privreg.estimators.dry_run import Check, LedgerOutlook
from privreg.paper import METHODS, make_method
from reports import survey

MODELS = [PrivateLinearRegression, TukeyRegression, BoostedAdaSSP]
SELECTORS = [DPKendall, SubLasso]


def html(thing):
    return thing._repr_mimebundle_(include=None, exclude=None)["text/html"]


@pytest.mark.parametrize("kind", [*MODELS, *SELECTORS, SchemaReader])
def test_before_a_fit_it_is_what_scikit_learn_shows(kind):
    estimator = kind()
    assert "sk-top-container" in html(estimator)
    assert "sk-top-container" in estimator._repr_html_()
    assert 'class="privreg"' not in html(estimator)


@pytest.mark.parametrize("kind", MODELS)
def test_fitted_models(kind):
    model = kind(random_state=1).fit(*survey())
    card = shown(model)
    assert card.title == f"y: {kind.__name__} NOT PRIVATE"
    assert next(row[:2] for row in card.rows if row[0] == "feature") == ["feature", "coef"]
    assert model._repr_html_() == html(model)
    assert repr(model).startswith(f"{kind.__name__}(")
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "sk-top-container" in estimator_html_repr(model)  # the diagram is there for those who ask for it


@pytest.mark.parametrize("name", [name for name in METHODS if name != "NonDP"])
def test_methods_of_the_paper_and_their_parts(name):
    model = make_method(name, k=2, random_state=1).fit(*survey())
    assert 'class="privreg"' in html(model)
    for part in filter(None, (getattr(model, which, None) for which in ("selector_", "regressor_"))):
        assert "sk-top-container" in html(part)  # it has no receipt of its own


def test_loaded_models(tmp_path):
    for method in (PrivateLinearRegression(random_state=1), make_method("K-BAS", k=2, random_state=1)):
        model = method.fit(*survey())
        model.save(tmp_path / "model.json")
        assert html(privreg.load_model(tmp_path / "model.json")) == html(model)


@pytest.mark.parametrize("kind", SELECTORS)
def test_selectors(kind):
    selector = kind(2, random_state=1).fit(*survey())
    card = shown(selector)
    assert card.title == f"y: features chosen by {kind.__name__} NOT PRIVATE"
    assert [row for row in card.rows if len(row) == 2][:3] == [
        ["feature", "chosen"],
        *([name, str(place)] for place, name in enumerate(selector.selected_features_, 1)),
    ]
    everything = shown(kind(9, random_state=1).fit(*survey()))
    assert "so all were taken." in everything.text
    assert ["age", ""] in everything.rows


def test_schema_readers():
    reader = SchemaReader(random_state=1).fit(survey()[0])
    card = shown(reader)
    assert card.title == "SchemaReader: 4 columns NOT PRIVATE"
    assert "bmi" in [row[0] for row in card.rows]
    assert card.facts["Spent"].endswith(" of 0.1, δ = 1e-6")
    assert shown(reader.schema_).title == "Schema of 4 columns"


def test_without_diagrams_there_is_text():
    model = PrivateLinearRegression(random_state=1).fit(*survey())
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


def test_pipelines_show_their_steps():
    pipeline = make_pipeline(DPKendall(2, random_state=1), LinearRegression())
    assert "DPKendall" in html(pipeline)
    pipeline.fit(*survey())
    page = html(pipeline)
    assert "DPKendall" in page
    assert "LinearRegression" in page
    assert 'class="privreg"' not in page


def test_what_is_not_private_has_no_card():
    assert "sk-top-container" in html(NonDP().fit(*survey()))


def test_a_fit_that_died_has_no_card():
    model = PrivateLinearRegression(random_state=1, progress=lambda stage: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(*survey())
    assert "sk-top-container" in html(model)


def test_plans():
    plan = privreg.plan(1000, 3, 1.0, trials=1)
    card = shown(plan)
    assert card.title == "What to expect from 1,000 rows and 3 columns Simulated"
    assert card.facts["Budget"] == "ε = 1, δ = 1e-6"
    assert card.facts["Columns used"] == f"about {plan.k} of 3"
    cells = [line.split() for line in str(plan).splitlines()]
    assert [row for row in card.rows if len(row) == 7][1][0] == cells[4][0] == "0.1"
    poor = shown(privreg.plan(10, 3, 0.1, trials=1))
    assert poor.facts["Columns used"] == (
        "none: too little data for more than a constant, and the constant itself would be far off"
    )


def test_dry_runs(tmp_path):
    X, _ = survey()
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("survey", "1.5", "1e-5")
    model = PrivateLinearRegression(1.0, 1e-6, ledger=ledger, dataset="survey")
    card = shown(model.check(X, "bmi"))
    assert card.title == "bmi: PrivateLinearRegression Dry run"
    assert ["age", "number"] in card.rows
    assert "No record was read, and nothing was spent." in card.text
    refused = shown(model.set_params(epsilon=2.0).check(X, "bmi"))
    assert refused.title.endswith("Would be refused")


def test_a_dry_run_as_text_has_a_line_for_each_thing():
    """Names of columns and data sets, and conditions, are the user's."""
    escape = "x\x1b[2J\nTRUSTED"
    outlook = LedgerOutlook(escape, True, 0.0, 1.0, 2.0, 1e-6)
    columns = {escape: escape}
    dry = Check(escape, escape, columns, 1.0, 1e-6, escape, True, None, outlook, escape, escape, (escape,))
    assert "\x1b" not in str(dry)
    assert not any(line.startswith("TRUSTED") for line in str(dry).splitlines())
    assert all("\x1b" not in sentence and "\n" not in sentence for sentence in dry.sentences())
