"""The report of one fit: every number from the release, every name as text, and a page that a person can read."""

import inspect
import json
import re
from base64 import b64decode
from dataclasses import replace
from decimal import Decimal
from math import e, exp, inf, log

import numpy as np
import pandas as pd
import pytest

from browser import DESKTOP, PHONE, chromium, opened
from privreg import PrivateLinearRegression, __version__
from privreg import _format as words
from privreg.paper import make_method
from privreg.privacy.accountant import Budget
from privreg.privacy.events import BlackBox, Gaussian, Laplace, Pick
from privreg.privacy.receipt import Receipt
from privreg.report import budget, coefficients, guarantee, model_charts
from privreg.report.document import Box, Document, Facts, Items, Record, Section, markdown
from privreg.report.model import Context, deployment_record, document, report_page
from privreg.results.release import Coefficient, Release, release_of

N = 4321
SECTIONS = [
    *("What was asked", "The guarantee", "Where the budget went", "The model", "How to predict", "What to know"),
    *("What was not released", "Limits", "For machines"),
]
ASKED = Context(
    data="/home/alice/files/health survey.csv",
    command="privreg fit '/home/al ice/health.csv' --target km/h --report=out/report.html -e 1",
    ledger={"file": "/srv/ledger.db", "dataset": "health", "epsilon": Decimal("3.0"), "spent_epsilon": 2.5, "entry": 7},
    date="2026-11-16",
)
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><!--<script>",
    "\"quoted\" & 'single'",
    "Größe in m²",
    "$\\frac{$ price_in_€ $",
    "very_long_name_" * 12,
    "line\nbreak\x00\u202e\ud800 漢字",
]
SCREEN_400 = {"viewport": {"width": 400, "height": 800}}


def private(release):
    """As if the noise had not come from a seed."""
    return replace(release, receipt=replace(release.receipt, private=True))


def survey(n=N):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"age": rng.normal(45, 12, n), "bmi": rng.normal(27, 4, n), "income": rng.lognormal(10, 0.6, n)})
    X["noise"] = rng.normal(size=n)
    return X, 60 + 0.5 * X.age - 1.5 * X.bmi + rng.normal(0, 8, n)


@pytest.fixture(scope="module")
def seeded():
    return release_of(PrivateLinearRegression(1.0, 1e-6, random_state=1).fit(*survey()), "blood_pressure")


@pytest.fixture(scope="module")
def flagship(seeded):
    return private(seeded)


@pytest.fixture(scope="module")
def constant():
    X, y = survey(80)
    return private(release_of(PrivateLinearRegression(0.1, 1e-6, random_state=1).fit(X, y), "blood_pressure"))


@pytest.fixture(scope="module")
def people():
    X, y = survey()
    model = PrivateLinearRegression(1.0, 1e-6, rows_per_person=2, random_state=1).fit(X, y, groups=np.arange(N) // 2)
    return private(release_of(model, "blood_pressure"))


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(9000, 64)), columns=[f"measurement_{i:02}" for i in range(64)])
    model = PrivateLinearRegression(5.0, 1e-6, random_state=1).fit(X, X @ rng.normal(size=64))
    return private(release_of(model, "score"))


def paper_release(name, **options):
    model = make_method(name, k=2, random_state=1, **options).fit(*survey())
    return private(release_of(model, "blood_pressure", name))


@pytest.fixture(scope="module")
def paper():
    names = ("K-Tukey", "Tukey-strict", "BAS", "K-BAS", "L-BAS", "L-Tukey")
    return {name: paper_release(name) for name in names}


@pytest.fixture(scope="module")
def hostile(flagship):
    """The same model with names that try to break out."""
    parts = [replace(flagship.coefficients[i % 2], feature=name) for i, name in enumerate(HOSTILE)]
    noted = [*flagship.notes, HOSTILE[0]]
    return replace(flagship, target=HOSTILE[0], columns=HOSTILE, coefficients=parts, notes=noted, warnings=[HOSTILE[1]])


def texts(release, asked=ASKED):
    """Everything but charts and JSON, as one string."""
    return markdown(replace_blocks(document(release, asked)))


def replace_blocks(doc):
    sections = [Section(s.title, [b for b in s.blocks if not isinstance(b, Record)]) for s in doc.sections]
    return Document(doc.title, doc.lead, sections, doc.notice)


def section(release, title, asked=ASKED):
    return next(s for s in document(release, asked).sections if s.title == title).blocks


def facts(release, asked=ASKED):
    return dict(section(release, "What was asked", asked)[0].pairs)


def svg_texts(picture):
    svg = picture.wide.decode()
    return [re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r"<text.*?</text>", svg, re.DOTALL)]


# ---- numbers and names


def test_numbers():
    assert [words.number(v) for v in (0.0, -0.0, 0.49762, 1990.0, -43523.4, 123456.0, 4.6e-06, 1e12, inf)] == [
        *("0", "0", "0.49762", "1990", "−43,523", "123,460", "4.6e−6", "1e12", "∞")
    ]
    assert words.small(1e-6) == "1e-6"
    assert words.small(0.01) == "0.01"
    assert words.span(None, 1.0) == ""
    assert words.span(-1.0, 2.5) == "−1 … 2.5"


def test_bounds_are_rounded_up():
    assert words.odds_factor(1.0) == "2.72"
    assert words.odds_factor(log(3)) == "3"
    assert words.odds_factor(1e-9) == "1.01"
    assert words.odds_factor(8.0) == "2,981"
    assert words.odds_factor(5000.0) == "more than 10^300"
    assert words.percent(0.731058) == "73.2 %"
    assert words.percent(0.5) == "50.0 %"
    assert words.percent(0.99995) == "99.995 %"
    assert words.percent(1 - 1e-15) == "practically 100 %"
    assert words.percent(1.0) == "100 %"
    assert words.one_in(1e-6) == "about one in 1,000,000"
    assert words.one_in(3e-5) == "about one in 33,300"
    assert words.one_in(1e-20) == "less than one in 10^20"


def test_no_folder_is_shown():
    assert words.no_folder("C:\\Users\\bob\\pay.csv") == "pay.csv"
    assert words.no_folder("health") == "health"
    for typed, seen in {
        "privreg fit a/b.csv": "privreg fit b.csv",
        "privreg fit ~/x --target km/h": "privreg fit x --target km/h",
        "privreg fit C:\\Users\\bob\\pay.csv": "privreg fit pay.csv",
        "privreg fit '/al ice/pay 1.csv' --report=/tmp/r.html": "privreg fit 'pay 1.csv' --report=r.html",
        "privreg fit /a/b.csv 'open": "privreg fit b.csv ''\"'\"'open'",
    }.items():
        assert words.no_folders(typed) == seen


def test_names_that_cannot_be_printed():
    assert words.shown("a\nb\tc") == "a b c"
    assert words.shown("x\x00\u202e\ud800y") == "x���y"


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
    assert document(changed, ASKED).notice.title == "MORE WAS SPENT THAN ASKED."
    assert "MORE than was asked: ε = 0.5" in texts(changed)
    assert guarantee.bounds(changed.receipt)[0] == changed.receipt.epsilon > 0.99


# ---- where the budget went


def test_shares_add_up(flagship, constant, people, wide, paper):
    for release in (flagship, constant, people, wide, *paper.values()):
        groups = budget.spending(release.receipt).groups
        assert sum(group.tenths for group in groups) == 1000
        assert sum(group.share for group in groups) == pytest.approx(1, abs=1e-12)
        assert sum(group.steps for group in groups) == len(release.receipt.steps)
        assert "Other" not in [group.purpose for group in groups]
        assert all(abs(10 * group.share - group.tenths / 100) < 0.01 for group in groups)


def test_adaptive_steps_are_counted_in_mu_squared(flagship, people):
    for release, rows in ((flagship, 1), (people, 2)):
        spent = budget.spending(release.receipt)
        assert spent.currency == "μ²"
        groups = {group.purpose: group for group in spent.groups}
        assert list(groups) == ["Counting", "Target", "Columns", "Coefficients", "Errors"]
        own = [
            float(rows**2 * s.mu_squared)
            for s in release.receipt.steps
            if s.name.startswith(("median of c", "spread of c"))
        ]
        assert groups["Columns"].cost == pytest.approx(sum(own))
        assert groups["Columns"].steps == len(own) == 8
        every = [float(rows**2 * s.mu_squared) for s in release.receipt.steps]
        assert groups["Columns"].share == pytest.approx(sum(own) / sum(every))


def test_planned_steps_are_counted_in_epsilon(paper):
    spent = budget.spending(paper["K-Tukey"].receipt)
    assert spent.currency == "ε"
    assert {g.purpose: g.tenths for g in spent.groups} == {"Choosing": 50, "Counting": 50, "Coefficients": 900}
    mixed = budget.spending(paper["K-BAS"].receipt)
    assert {g.purpose: g.tenths for g in mixed.groups} == {"Choosing": 50, "Coefficients": 950}
    assert sum(g.cost for g in mixed.groups) == pytest.approx(paper["K-BAS"].receipt.epsilon)
    assert "in proportion to their ρ" in mixed.explanation


def test_steps_whose_epsilons_exceed_the_total_are_counted_in_rho():
    picks = tuple(Pick(f"choose feature {i}", 1, 10.0) for i in range(100))
    steps = (*picks, Gaussian("products of features", 1, 10.0, 1))
    receipt = Receipt(steps, Budget(9.0, 1e-6), True)
    spent = budget.spending(receipt)
    assert spent.currency == "ρ"
    assert [g.cost for g in spent.groups] == pytest.approx([100 * 0.1**2 / 8, 0.005])


def test_tenths():
    assert budget.in_tenths([1 / 3, 1 / 3, 1 / 3]) == [334, 333, 333]
    assert budget.in_tenths([0.0004, 0.9996]) == [0, 1000]
    assert budget.in_tenths([0.0, 0.0]) == [0, 0]


def test_tables_of_the_budget(flagship):
    total, _, chart, groups, steps = section(flagship, "Where the budget went")
    assert (
        total == "Added up again from the steps below: ε = 1, δ = 1e-6. Asked for, and never exceeded: ε = 1, δ = 1e-6."
    )
    assert groups.head == ["purpose", "steps", "cost (μ²)", "share"]
    shares = [row[3].text for row in groups.rows]
    assert sum(Decimal(share.removesuffix(" %")) for share in shares) == 100
    assert [text for text in svg_texts(chart) if "%" in text] == shares
    assert all(share in chart.alt for share in shares)
    assert len(steps.rows) == len(flagship.receipt.steps)
    for row, step in zip(steps.rows, flagship.receipt.steps, strict=True):
        assert row[1].text == step.mechanism
        assert row[2].order == step.scale / step.grid
        assert row[2].text == words.number(step.scale / step.grid, 4)
        assert row[3].text == f"μ² = {words.number(float(step.mu_squared), 4)}"
    names = [row[0].text for row in steps.rows]
    assert "spread of income" in names  # not "column 2"
    assert names[0] == "count the records"


def test_other_receipts(flagship):
    nothing = replace(flagship, receipt=Receipt((), Budget(1.0, 1e-6), True))
    assert section(nothing, "Where the budget went") == ["Nothing was released from the data, so nothing was spent."]
    box = Receipt((BlackBox("something else", 0.5, 1e-7),), Budget(1.0, 1e-6), True)
    steps = section(replace(flagship, receipt=box), "Where the budget went")[-1]
    assert [entry.text for entry in steps.rows[0]] == ["something else", "black box", "–", "ε = 0.5, δ = 1e−7"]
    assert [g.purpose for g in budget.spending(box).groups] == ["Other"]


# ---- the model


def read(text):
    return float(text.replace("−", "-").replace(",", ""))


def test_the_table_says_what_was_released(flagship):
    grid = coefficients.table(flagship)
    assert grid.head == ["feature", "coefficient", "std. error", "95 % interval", "linear between"]
    told = [*flagship.coefficients, flagship.intercept]
    assert [row[0].text for row in grid.rows] == [c.feature for c in told]
    for row, c in zip(grid.rows, told, strict=True):
        assert read(row[1].text) == float(f"{c.value:.5g}")
        assert read(row[2].text) == float(f"{c.error:.2g}")
        assert [read(end) for end in row[3].text.split(" … ")] == [float(f"{v:.4g}") for v in (c.low, c.high)]
        if c.linear_from is None:
            assert row[4].text == ""
        else:
            ends = [float(f"{v:.4g}") for v in (c.linear_from, c.linear_to)]
            assert [read(end) for end in row[4].text.split(" … ")] == ends
        assert row[1].order == c.value


def by_the_formula(text, X):
    """Predictions from nothing but what the page says."""
    target, formula = text.replace("−", "-").replace("·", "*").split("≈")
    cuts = {"cut": np.clip} | {name: X[name].to_numpy() for name in X}
    return target.strip(), eval(" ".join(formula.split()), {"__builtins__": {}}, cuts)


def test_the_formula_is_the_whole_model():
    """Also far outside of the ranges, and for columns with two slopes."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.normal(50, 10, 40_000), "income": np.exp(rng.normal(10, 1.5, 40_000))})
    y = 2 * X.age + 30 * np.log(X.income) + rng.normal(size=40_000)
    model = PrivateLinearRegression(3.0, 1e-6, random_state=0).fit(X, y)
    release = private(release_of(model, "score"))
    assert [c.outer_value is not None for c in release.coefficients] == [False, True]
    new = pd.DataFrame({"age": rng.uniform(-500, 500, 2000), "income": 10 ** rng.uniform(-2, 9, 2000)})
    text = coefficients.formula(release)
    target, raw = by_the_formula(text, new)
    assert target == "score"
    assert text in texts(release, Context()).replace("\n    ", "\n")
    predicted = np.clip(raw, *release.prediction_range)
    assert np.abs(predicted - model.predict(new)).max() < 1e-3 * np.ptp(predicted)  # six digits are printed
    assert "With another slope beyond the range, up to a second limit: income." in release.notes


def test_categories_are_compared(flagship):
    assert "Categories" not in [getattr(b, "title", "") for b in section(flagship, "The model")]
    told = Coefficient("town=b − a", 20.5, 0.5, 19.52, 21.48, level=True)
    grid = next(
        b
        for b in section(replace(flagship, differences=[told]), "The model")
        if getattr(b, "title", "") == "Categories"
    )
    assert [cell.text for cell in grid.rows[0]] == ["town=b − a", "20.5", "0.5", "19.52 … 21.48"]


def test_the_text_tells_the_cuts(flagship):
    low, high = flagship.prediction_range
    text = texts(flagship, Context())
    assert f"always lie between {words.number(low)} and {words.number(high)}." in text.replace("\\", "")
    assert "as if it were at the end of the range" in text


def test_the_chart_shows_changes_over_the_range(flagship):
    c = flagship.coefficients[0]
    bar = coefficients.effect(c)
    width = c.linear_to - c.linear_from
    assert (bar.value, bar.low, bar.high) == (c.value * width, c.low * width, c.high * width)
    chart = next(b for b in section(flagship, "The model") if hasattr(b, "wide"))
    largest = max(flagship.coefficients, key=lambda c: abs(coefficients.effect(c).value))
    drawn = [t for t in svg_texts(chart) if t in flagship.columns]
    assert sorted(drawn) == sorted(c.feature for c in flagship.coefficients)
    assert drawn[0] == largest.feature
    assert "change of blood_pressure, from end to end of the range" in svg_texts(chart)
    assert f"{largest.feature} {words.number(coefficients.effect(largest).value, 3)} (" in chart.alt
    example = f"if {largest.feature} is 1 higher"
    way = "higher" if largest.value > 0 else "lower"
    assert example in texts(flagship)
    assert f"is {words.number(abs(largest.value))} {way}." in texts(flagship)


def test_methods_that_tell_less(paper):
    grid = coefficients.table(paper["K-Tukey"])
    assert grid.head == ["feature", "coefficient"]
    assert "does not tell how uncertain" in grid.note
    text = texts(paper["K-Tukey"])
    assert "a longer bar does not mean a more important column" in text
    assert "95 %" not in text
    assert "Standard errors" not in text
    assert 'load_model("model.json")' in text
    assert "the exact number of records" in text
    assert "cannot be read on its own" not in text


def test_shrunk_rows_are_explained(paper):
    for name in ("BAS", "K-BAS"):
        text = texts(paper[name])
        assert "A coefficient cannot be read on its own" in text
        assert "is 1 higher" not in text
        assert "the values of a row are shrunk together" in text


def test_a_constant(constant):
    assert constant.coefficients == []
    text = texts(constant)
    assert "a constant, not a linear model" in text
    value = words.number(constant.intercept.value)
    assert f"it predicts {value} for every row" in text
    assert f"≈ {words.number(constant.intercept.value, 6).replace(',', '')}" in text
    assert "What helps: more records" in text
    assert "Read the warnings" in text
    assert "Warning: the model is a constant" in text
    assert "Standard errors" not in text
    assert "columns that were not chosen" not in text


def test_many_features(wide):
    assert len(wide.coefficients) > 60
    blocks = section(wide, "The model")
    assert len(coefficients.table(wide).rows) == len(wide.coefficients) + 1
    chart = next(b for b in blocks if hasattr(b, "wide"))
    assert sum(text.startswith("measurement") for text in svg_texts(chart)) == 20
    assert f"The 20 largest of {len(wide.coefficients)} are drawn." in texts(wide)
    by_size = sorted(wide.coefficients, key=lambda c: -abs(coefficients.effect(c).value))
    assert [t for t in svg_texts(chart) if t.startswith("measurement")] == [c.feature for c in by_size[:20]]


def test_coefficients_beyond_drawing(paper):
    absurd = [Coefficient("a", 1e300), Coefficient("b", inf), Coefficient("c", 2.0)]
    release = replace(paper["BAS"], coefficients=absurd)
    assert [e.name for e in model_charts.largest([coefficients.effect(c) for c in absurd])] == ["c"]
    report_page(release, ASKED)
    assert "too large to be drawn" in texts(replace(release, coefficients=absurd[:2]))


# ---- what to know, what was not released, limits


def test_what_to_know(flagship, constant):
    items, closing = section(flagship, "What to know")
    assert items.texts == flagship.notes
    assert closing.startswith("There are no warnings.")
    items, closing = section(constant, "What to know")
    assert items.texts == [*constant.notes, *(f"Warning: {text}" for text in constant.warnings)]
    assert closing.startswith("Warnings are decided from released values only.")


def test_what_was_not_released(flagship):
    items = section(flagship, "What was not released")[1].texts
    assert f"{words.number(flagship.records, 3)} is an estimate with noise" in items[0]
    assert any("R²" in text for text in items)
    fewer = replace(flagship, coefficients=flagship.coefficients[:2])
    assert "columns that were not chosen" in str(section(fewer, "What was not released"))
    assert "columns that were not chosen" not in str(items)


def test_limits_know_the_ledger(flagship):
    assert "The ledger keeps count" in texts(flagship)
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


# ---- the record for machines

REGISTRY = {  # github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, commit 057e5d81
    "basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"),
        *("data_product_sector", "publication_date"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment_model": {
        *("model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    },
    "implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification"),
        *("utility", "additional_information"),
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}


def test_the_record_speaks_the_registry_s_language(flagship, people, paper, constant):
    for release in (flagship, people, constant, *paper.values()):
        record = deployment_record(release, ASKED)
        assert list(record) == ["url_slug", "deployment", "privreg"]
        deployment = record["deployment"]
        assert {name: set(part) - REGISTRY[name] for name, part in deployment.items()} == {n: set() for n in REGISTRY}
        assert deployment["basic"]["data_product_type"] == "Machine learning model"
        assert deployment["dp_variant"]["variant_name"] in ("Approximate DP", "Custom")
        model = deployment["deployment_model"]
        assert [model[key] for key in ("model_name", "release_type", "access_type")] == [
            *("Central", "One release", "Non-interactive")
        ]
        assert deployment["administrative"]["status"] == "Draft"
        unknown = [deployment["basic"][key] for key in ("intended_use", "data_product_region", "data_product_sector")]
        assert unknown == ["", "", ""]
        assert deployment["basic"]["data_curators"] == [{"data_curator_name": "", "data_curator_type": ""}]


def test_what_the_record_says(flagship, people, seeded, paper):
    record = deployment_record(flagship, ASKED)
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert loss["privacy_unit"] == "one record"
    assert loss["number_of_privacy_units"] == round(flagship.records)
    assert record["deployment"]["basic"]["publication_date"] == "2026-11-16"
    assert "discrete Gaussian noise" in record["deployment"]["implementation"]["mechanisms"]
    assert "Laplace" not in record["deployment"]["implementation"]["mechanisms"]
    ours = record["privreg"]
    assert ours["version"] == __version__
    assert ours["receipt"] == flagship.receipt.to_dict()
    assert ours["release"]["coefficients"] == flagship.to_dict()["coefficients"]
    assert "receipt" not in ours["release"]
    assert ours["ledger"]["epsilon"] == 3.0
    assert ours["ledger"]["file"] == "ledger.db"
    assert "number_of_privacy_units" not in deployment_record(people, ASKED)["deployment"]["privacy_loss"]
    loss = deployment_record(seeded, ASKED)["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {}
    assert loss["privacy_parameters_details"].startswith("NOT PRIVATE")
    assert deployment_record(seeded, ASKED)["deployment"]["dp_variant"]["variant_name"] == ""
    custom = deployment_record(paper["K-Tukey"], ASKED)["deployment"]["dp_variant"]["variant_name"]
    assert custom == "Custom"
    pure = replace(flagship, receipt=Receipt((Laplace("count the records", 1, 2.0),), Budget(0.5, 0.0), True))
    assert deployment_record(pure, ASKED)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def embedded(page):
    found = re.search(r'<script type="application/json" id="privreg-deployment">(.*?)</script>', page, re.DOTALL)
    return found[1]


def test_the_record_survives_the_page(flagship, hostile, paper):
    absurd = replace(paper["BAS"], coefficients=[Coefficient("b", inf), Coefficient("c", np.float64(2.0))])
    for release in (flagship, hostile, absurd):
        text = embedded(report_page(release, ASKED))
        assert "<" not in text
        assert json.loads(text) == deployment_record(release, ASKED)
    assert deployment_record(absurd, ASKED)["privreg"]["release"]["coefficients"][0]["value"] is None


# ---- the same as Markdown


def test_markdown_of_the_new_blocks():
    parts = [Facts([("a_b", "c")]), Items(["x", "y*"]), Box("Stop.", "Now"), Record("id", "title", "{\n}")]
    lines = markdown(Document("T", "L", [Section("S", parts)], Box("!", "n"))).splitlines()
    assert [line for line in lines if line] == [
        *("# T", "L", "> **!** n", "## S", "- a\\_b: c", "- x", "- y\\*", "> **Stop.** Now", "    {", "    }")
    ]


# ---- in a browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def files(tmp_path_factory, flagship, seeded, constant, people, wide, hostile, paper):
    folder = tmp_path_factory.mktemp("reports")
    releases = {"flagship": flagship, "seeded": seeded, "constant": constant, "people": people, "wide": wide}
    releases |= {"hostile": hostile, "K-Tukey": paper["K-Tukey"], "BAS": paper["BAS"]}
    for name, release in releases.items():
        (folder / f"{name}.html").write_text(report_page(release, ASKED), encoding="utf-8")
    return {name: (release, folder / f"{name}.html") for name, release in releases.items()}


NAMES = ("flagship", "seeded", "constant", "people", "wide", "hostile", "K-Tukey", "BAS")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", [SCREEN_400, PHONE, DESKTOP], ids=["400", "phone", "desktop"])
def test_what_a_person_sees(browser, files, name, device):
    release, file = files[name]
    with opened(browser, file, device) as page:
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        headings = page.get_by_role("heading", level=2)
        assert headings.all_inner_texts() == page.locator("nav a").all_inner_texts() == SECTIONS
        assert all(heading.is_visible() for heading in headings.all())
        boxes = page.locator("p, li, dd, dt, h1, pre, figure, .scroll, .box")
        ends = boxes.evaluate_all("all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])")
        assert all(left >= 0 and right <= width + 0.5 for left, right in ends)
        for image in page.locator("img").all():
            natural, shown = image.evaluate("i => [i.naturalWidth, i.getBoundingClientRect().width]")
            assert natural > 300
            assert shown == pytest.approx(natural, abs=2)  # as large as drawn, so that its letters are
            assert image.get_attribute("alt").endswith(".")
        assert page.locator(".box").count() == {"seeded": 2, "K-Tukey": 2}.get(name, 0)
        table = page.get_by_role("region", name="Coefficients", exact=True).locator("tbody tr")
        assert table.count() == (len(release.coefficients) + 1 if release.coefficients else 0)


@pytest.mark.parametrize("name", ["flagship", "hostile"])
def test_programs_find_the_record(browser, files, name):
    release, file = files[name]
    with opened(browser, file, DESKTOP) as page:
        text = page.evaluate('document.getElementById("privreg-deployment").textContent')
        assert json.loads(text) == deployment_record(release, ASKED)
        asked = 'JSON.parse(document.getElementById("privreg-deployment").textContent).privreg.asked'
        assert page.evaluate(asked) == deployment_record(release, ASKED)["privreg"]["asked"]
        shown = page.locator("details pre")
        assert not shown.is_visible()
        page.get_by_text("Show the record").click()
        assert shown.is_visible()
        assert json.loads(shown.text_content()) == deployment_record(release, ASKED)


def test_names_are_text(browser, files):
    file = files["hostile"][1]
    assert "<script>alert" not in file.read_text(encoding="utf-8")
    with opened(browser, file, DESKTOP) as page:
        assert page.title() == f"A private model of {HOSTILE[0]}"
        assert page.evaluate("document.scripts.length") == 2
        rows = page.get_by_role("region", name="Coefficients", exact=True).locator("tbody th").all_inner_texts()
        assert rows == [*(words.shown(name) for name in HOSTILE), "(intercept)"]
        formula = page.locator("pre", has_text="≈").inner_text()
        assert all(words.shown(name) in formula for name in HOSTILE)
        assert page.locator("li", has_text=HOSTILE[1]).inner_text() == f"Warning: {HOSTILE[1]}"
        svg = b64decode(page.locator("img").nth(1).get_attribute("src").split(",")[1]).decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in svg
        assert "$\\frac{$ price_in_€ $" in svg
        assert "very_long_name_very_long_name_ver…" in svg


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_can_be_read(browser, files, scheme):
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    with opened(browser, files["seeded"][1], {**SCREEN_400, "color_scheme": scheme}) as page:
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (luminance(paper) < 0.02) == (scheme == "dark")
        for where in (
            "p.lead",
            "dd",
            "dt",
            "nav a",
            "p.note",
            "tbody small",
            ".box strong",
            "pre",
            "tbody td",
            "summary",
        ):
            ink = page.locator(where).first.evaluate("e => getComputedStyle(e).color")
            light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) > 4.5, where


def test_on_paper(browser, files):
    context = {"viewport": {"width": 718, "height": 1000}, "color_scheme": "dark"}
    with opened(browser, files["wide"][1], context) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("document.documentElement.scrollWidth") == 718
        for region in page.locator(".scroll").all():  # nothing is hidden in a box that scrolls
            inner, outer = region.evaluate("r => [r.scrollHeight, r.clientHeight]")
            assert inner <= outer + 1
        assert not page.locator("nav").is_visible()
        assert not page.locator("details").is_visible()


def test_coefficients_can_be_sorted(browser, files):
    release, file = files["flagship"]
    with opened(browser, file, DESKTOP) as page:
        region = page.get_by_role("region", name="Coefficients", exact=True)
        region.get_by_role("button", name="coefficient").click()
        order = sorted([*release.coefficients, release.intercept], key=lambda c: -c.value)
        assert region.locator("tbody th").all_inner_texts() == [c.feature for c in order]
