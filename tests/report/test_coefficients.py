"""The report of one fit: the model as a table, a chart and a formula."""

from dataclasses import replace
from math import inf
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from privreg import PrivateLinearRegression
from privreg import _format as words
from privreg.paper import make_method
from privreg.report import charts, coefficients
from privreg.report.model import Context, report_page
from privreg.results.release import Coefficient, release_of
from reports import ASKED, fold, private, section, survey, svg_texts, texts


def read(text):
    return float(text.replace("−", "-").replace(",", ""))


def test_the_table_says_what_was_released(flagship):
    grid = coefficients.table(flagship)
    assert grid.head == ["feature", "coef", "std err", "z", "P>|z|", "95 % interval"]
    told = [*flagship.coefficients, flagship.intercept]
    assert [row[0].text for row in grid.rows] == [c.feature for c in told]
    for row, c in zip(grid.rows, told, strict=True):
        assert read(row[1].text) == pytest.approx(c.value, abs=0.05 * c.error)  # to the second digit of the error
        assert read(row[2].text) == float(f"{c.error:.2g}")
        assert read(row[3].text) == pytest.approx(c.value / c.error, abs=0.005)
        assert [read(end) for end in row[5].text.split(" … ")] == pytest.approx([c.low, c.high], abs=0.05 * c.error)
        assert row[1].order == c.value


def by_the_formula(text, X):
    """Predictions from nothing but what the page says."""
    target, formula = text.replace("−", "-").replace("·", "*").split("≈")
    cuts = {"clip": np.clip} | {name: X[name].to_numpy() for name in X}
    return target.strip(), eval(" ".join(formula.split()), {"__builtins__": {}}, cuts)


def test_the_formula_is_the_whole_model():
    """Also far outside of the ranges."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.normal(50, 10, 40_000), "income": np.exp(rng.normal(10, 1.5, 40_000))})
    y = 2 * X.age + 30 * np.log(X.income) + rng.normal(size=40_000)
    model = PrivateLinearRegression(3.0, 1e-6, random_state=0).fit(X, y)
    release = private(release_of(model, "score"))
    new = pd.DataFrame({"age": rng.uniform(-500, 500, 2000), "income": 10 ** rng.uniform(-2, 9, 2000)})
    text = coefficients.formula(release)
    target, raw = by_the_formula(text, new)
    assert target == "score"
    assert text in texts(release, Context()).replace("\n    ", "\n")
    predicted = np.clip(raw, *release.prediction_range)
    assert np.abs(predicted - model.predict(new)).max() < 1e-3 * np.ptp(predicted)  # six digits are printed


def test_levels_say_what_they_are_compared_with():
    """In the table they have one row each, and a sentence names the reference."""
    X, y = survey()
    X["town"] = np.where(X.index % 3 == 0, "a", "b")
    model = make_method("PrivateLinearRegression", epsilon=3.0, random_state=1, categories={"town": ["a", "b"]})
    release = private(release_of(model.fit(X, y + 20 * (X["town"] == "b")), "pressure"))
    grid = coefficients.table(release)
    row = next(row for row in grid.rows if row[0].text == "town=b")
    assert abs(row[1].order - 20) < 4 * row[2].order
    assert row[0].detail == ("compared with a",)
    chart = next(b for b in section(release, "The model") if hasattr(b, "wide"))
    assert "town=b (vs a)" in svg_texts(chart)
    assert svg_texts(chart).index("against the reference level") < svg_texts(chart).index("town=b (vs a)")
    assert "Reference level: town = a." in texts(release, Context())


def test_the_text_tells_the_cuts(flagship):
    low, high = flagship.prediction_range
    text = texts(flagship, Context())
    assert f"always lie between {words.number(low)} and {words.number(high)}." in text.replace("\\", "")
    assert "counts as its nearest end" in text


def test_the_chart_shows_steps_that_compare(flagship):
    """One standard deviation of a number."""
    c = flagship.coefficients[0]
    bar = coefficients.effect(c)
    assert (bar.value, bar.low, bar.high) == (c.value * c.step, c.low * c.step, c.high * c.step)
    assert c.step == pytest.approx(12, rel=0.2)
    chart = next(b for b in section(flagship, "The model") if hasattr(b, "wide"))
    largest = max(flagship.coefficients, key=lambda c: abs(coefficients.effect(c).value))
    drawn = [t for t in svg_texts(chart) if t in flagship.columns]
    assert sorted(drawn) == sorted(c.feature for c in flagship.coefficients)
    assert drawn[0] == largest.feature
    assert "change in blood_pressure" in svg_texts(chart)
    assert svg_texts(chart).index("per standard deviation") < svg_texts(chart).index(drawn[0])
    assert "against the reference level" not in svg_texts(chart)
    assert f"{largest.feature} {words.number(coefficients.effect(largest).value, 3)} (" in chart.alt
    example = f"if {largest.feature} is 1 higher"
    way = "higher" if largest.value > 0 else "lower"
    assert example in texts(flagship)
    assert f"is about {words.supported(abs(largest.value), largest.error)} {way}." in texts(flagship)


@pytest.mark.parametrize("name", ["'DejaVu Sans' x", "#ffffff", "style=\"'DejaVu Sans'\"", "<b> & 'DejaVu Sans'"])
def test_a_chart_shows_names_as_they_are(name):
    chart = charts.effects_picture([Coefficient(name, 1.0, low=0.5, high=1.5)], "change")
    for file in (chart.wide, chart.narrow):
        drawn = [element for element in ElementTree.fromstring(file).iter() if element.tag.endswith("}text")]
        assert {words.shortened(name, letters) for letters in (44, 16)} & {element.text for element in drawn}
        assert all("system-ui" in element.get("style") for element in drawn)


def test_what_is_not_determined_has_no_numbers_and_no_bar(flagship):
    first, *others = flagship.coefficients
    unknown = replace(first, value=None, error=None, low=None, high=None, z=None, pvalue=None, determined=False)
    release = replace(flagship, coefficients=[unknown, *others])
    (row,) = [row for row in coefficients.table(release).rows if row[0].text == first.feature]
    assert [cell.text for cell in row[1:]] == ["not determined", "", "", "", ""]
    chart = next(b for b in section(release, "The model") if hasattr(b, "wide"))
    assert first.feature not in svg_texts(chart)
    assert others[0].feature in svg_texts(chart)
    assert "Not determined: at this budget" in texts(release)
    assert "1 that is not determined is not drawn." in texts(release)
    assert "largest of" not in texts(release)
    none = replace(release, coefficients=[unknown])
    assert not any(hasattr(block, "wide") for block in section(none, "The model"))
    assert "is 1 higher" not in texts(none)
    report_page(none, ASKED)


def test_how_well_it_fits_and_what_the_columns_look_like(flagship):
    text = texts(flagship)
    assert "R² 0." in text
    assert "Coefficients estimate least squares on this table" in text
    (described,) = fold(flagship, "What the columns look like")
    (related,) = fold(flagship, "Correlations")
    columns = {row[0].text: row for row in described.rows}
    assert list(columns) == ["age", "bmi", "income", "noise", "blood_pressure"]
    assert columns["age"][1].order == pytest.approx(45, abs=3)
    names = [c.feature for c in flagship.coefficients]
    assert [row[0].text for row in related.rows] == [f"{i}. {name}" for i, name in enumerate(names, 1)]
    assert related.rows[0][1].text == ""
    assert abs(related.rows[1][1].order) < 0.5


def test_methods_that_tell_less(paper):
    grid = coefficients.table(paper["K-Tukey"])
    assert grid.head == ["feature", "coef"]
    assert "does not tell how uncertain" in grid.note
    text = " ".join(texts(paper["K-Tukey"]).split())
    assert "a larger coefficient does not mean a more important column" in text
    assert "95 %" not in text
    assert "Intervals" not in text
    assert 'load_model("model.json")' in text
    assert "the exact number of records" in text
    assert "cannot be read on its own" not in text


def test_shrunk_rows_are_explained(paper):
    for name in ("BAS", "K-BAS"):
        text = texts(paper[name])
        assert "A coefficient cannot be read on its own" in text
        assert "is 1 higher" not in text
        assert "large rows are shrunk as a whole" in text


def test_a_constant(constant):
    assert constant.coefficients == []
    text = texts(constant)
    value = words.number(constant.intercept.slope)
    assert f"it predicts {value} for every row" in text
    assert "What helps: more records" in text
    assert "- The model is a constant" in text
    assert "Intervals" not in text
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


@pytest.mark.parametrize("name", ["income_component_number_{:02}", "{:02}_of_the_very_many_sources_of_income"])
def test_names_in_a_chart_stay_apart(name):
    """On a phone, too, where they are shortened."""
    effects = [Coefficient(name.format(i), 20.0 - i) for i in range(20)]
    picture = charts.effects_picture(effects, "change in pay")
    for chart in (picture, replace(picture, wide=picture.narrow)):
        assert len({text for text in svg_texts(chart) if "income" in text or "…" in text}) == 20


def test_the_axis_has_thousands():
    effects = [Coefficient("income", 3500.0), Coefficient("age", -900.0)]
    assert "2,000" in svg_texts(charts.effects_picture(effects, "change in pay"))


def test_names_that_differ_in_the_middle_are_drawn_longer():
    effects = [Coefficient(f"income_of_{what}_last_year", 1.0) for what in ("mother", "father")]
    assert charts._row_names(effects, 14) == ["income_of_m\n…_last_year", "income_of_f\n…_last_year"]


def test_the_example_is_one_that_is_not_0(flagship):
    large, small, *_ = flagship.coefficients
    vague = replace(large, value=1e3, low=-1e3, high=3e3)
    clear = replace(small, value=1e-3, low=1e-4, high=2e-3)
    told = texts(replace(flagship, coefficients=[vague, clear]))
    assert f"How to read it: if {clear.feature} is 1 higher" in told
    assert "includes 0, so" not in told
    told = texts(replace(flagship, coefficients=[vague]))
    assert f"How to read it: if {vague.feature} is 1 higher" in told
    assert "higher, but the interval includes 0, so it may be no difference." in told


def test_no_chart_of_coefficients_that_do_not_compare(paper):
    """Without standard deviations they have the units of the data."""
    for release in paper.values():
        assert not any(hasattr(block, "wide") for block in section(release, "The model"))


def test_coefficients_beyond_drawing(flagship):
    absurd = [Coefficient("a", 1e300), Coefficient("b", inf), Coefficient("c", 2.0)]
    release = replace(flagship, coefficients=absurd)
    assert [e.feature for e in charts.largest([coefficients.effect(c) for c in absurd])] == ["c"]
    report_page(release, ASKED)
    assert "too large to be drawn" in texts(replace(release, coefficients=absurd[:2]))
