"""The charts of results are drawn from the committed files, and say what those say."""

import re

import matplotlib as mpl

import results_charts
from privreg._theme import LIGHT
from privreg.estimators.methods import BASELINE, FLAGSHIP


def test_charts_are_those_of_the_files():
    for place, chart in results_charts.files().items():
        kept = place.read_text()
        if f"Matplotlib v{mpl.__version__}," in kept:
            assert chart.decode() == kept, place.name
        drawn = re.sub(r"<style>.*?</style>", "", kept, flags=re.DOTALL)
        assert not re.findall(r"#[0-9a-f]{6}\b(?![\w)])", drawn), place.name
        assert set(re.findall(r"var\(--(\w+)\)", drawn)) <= set(LIGHT), place.name


def test_the_chart_of_the_readme_says_what_was_found():
    scores = results_charts.paper_scores()
    title = results_charts.finding(scores)
    share = int(re.search(r"at least (\d+) %", title)[1])
    assert all(row[FLAGSHIP] >= share / 100 * row[BASELINE] for row in scores.values())
    assert title.endswith(f"on each of {len(scores)} data sets")
    kept = (results_charts.RESULTS / "flagship" / "readme.svg").read_text()
    for text in (title, *scores, "ε = ln 3, δ = 1e-5", "was developed on these data sets", "R² &lt; 0"):
        assert text in kept, text
    none_positive = {"NonDP": 0.4, FLAGSHIP: 0.4, "BAS": -0.1, "K-Tukey": -3.0}
    assert (results_charts.below(none_positive), results_charts.best(none_positive)) == (2, -0.1)
    results_charts.svg(results_charts.draw_readme({"one": none_positive, "two": none_positive | {"BAS": 0.2}}))
