"""The report of a run: what it says, its charts and its files, from a made-up run whose every number is known."""

import re
import struct

import numpy as np
import pytest

from made_up_run import ERROR, LN3, NASTY, header, made_up
from privreg._theme import LIGHT
from privreg.estimators.methods import METHODS
from privreg.paper import charts, report
from privreg.paper.report import write_report
from privreg.paper.results import NO_FILE, NOT_ASKED, Results
from privreg.paper.tables import grids, headline_grid
from privreg.report.charts import svg


def test_the_finding_in_words(results):
    found = report.banner(results)
    assert (found.state, found.word) == ("care", "Not finished")
    assert found.text == (
        "At k = 5, K-Tukey-strict is better than a constant on 3 of 3 data sets, PrivateLinearRegression on 3, "
        "K-Tukey on 2 (published: 3). Better than a constant means a median R² above 0."
    )
    assert [(fact.name, fact.value, fact.meaning) for fact in found.facts] == [
        (
            "R² of PrivateLinearRegression / R² of least squares",
            "0.93",
            "the median over 3 data sets; the lowest is 0.80",
        ),
        ("Most often the best of the paper's six methods, k = 5", "K-Tukey, on 2 of 3 data sets (published: 2)", ""),
        ("Most often the best of the paper's six methods, k = 10", "K-Tukey, on 2 of 2 data sets (published: 0)", ""),
        ("Data sets", "3 complete, 2 in part, 1 not in the paper", "of the paper's 25"),
    ]
    assert found.reasons == [
        "The run is not finished: 12 trials still to come.",
        "Trials failed, of 1 method: see Failures.",
        "1 data set could not be used: see Failures.",
        "PrivateLinearRegression was developed on these data sets, so its figures are somewhat optimistic.",
        "Tukey, L-Tukey and K-Tukey protect one model, as published. The others protect one record.",
    ]


def test_what_nobody_asked_for_is_no_failure():
    """A folder that has only some of the data sets, or --tasks, leaves a run that is in order."""
    asked = {"methods": ["NonDP", "BAS"], "missing": {"361091": NO_FILE, "361103": NO_FILE}}
    some = made_up(**asked)
    assert set(some.missing.values()) == {NO_FILE, NOT_ASKED}
    assert some.unusable == {}
    assert report.failures(some) == []
    found = report.banner(some)
    assert (found.state, found.word, found.reasons) == ("good", "Finished", [])
    assert found.facts[-1].meaning == "of the paper's 25; there was no file for particulate-matter-ukair-2017"
    (main, *_) = grids(some, 5)
    assert [row[0].text[:6] for row in main.rows] == ["361072", "361076", "361085", "361091", "361099"]
    assert main.note == (
        "Not in this run: no file in the folder for particulate-matter-ukair-2017; 19 data sets not asked for."
    )
    assert (
        report.absent(some, 5)
        == "Not here: particulate-matter-ukair-2017 (missing); year, Bike_Sharing_Demand (partial)."
    )
    broken = made_up(**asked | {"missing": {"361103": "the file cannot be read"}})
    assert (report.banner(broken).state, report.banner(broken).word) == ("care", "Finished, with failures")
    (unusable,) = report.failures(broken)
    assert [[e.text for e in row] for row in unusable.rows] == [
        ["361103 particulate-matter-ukair-2017", "the file cannot be read"]
    ]


def test_the_short_table(results):
    grid = headline_grid(results, 5)
    best = ["best of the paper's methods", "which is"]
    assert grid.head == [
        *("data set", "NonDP", "PrivateLinearRegression", "K-Tukey, published", "K-Tukey", "K-Tukey-strict"),
        *best,
    ]
    assert grid.extra == (3, 4, 5)  # a phone does without these
    assert [[e.text for e in row] for row in grid.rows] == [
        [f"361072 {NASTY}", "0.70", "0.65", "0.10", "0.60", "0.40", "0.60", "K-Tukey"],
        ["361076 wine_quality", "0.25", "0.20", "0.085", "0.10", "0.10", "0.10", "K-BAS"],
        ["361085 sulfur", "0.30", "0.29", "0.37", "–", "0.14", "0.20", "Tukey"],
        ["R² > 0 on", "3 of 3", "3 of 3", "3 of 3", "2 of 3", "3 of 3", "3 of 3", ""],
    ]
    assert headline_grid(made_up(methods=["BAS", "Tukey"], k=[6], epsilon=[LN3]), 6).head == ["data set", *best]


def test_what_is_protected_and_how_it_was_run(results):
    text = str(report.setting(results))
    assert "(seed 4)" in text
    assert "Features were not jittered" in text
    assert "Those ending in -strict, and all other private methods, protect one record" in text
    assert "another budget" not in text
    assert "another budget" in str(report.setting(made_up(epsilon=[0.3])))
    assert "test R² at ε = ln 3 and δ = 1e-5, medians over 3 random splits" in report.lead(results)
    assert [row[0].text for row in report.methods(results).rows] == [
        *(*METHODS, "PrivateLinearRegression", "…-strict", "…-reference")
    ]
    code, grid, *facts = report.how(results)
    assert code.text == "privreg paper run --data DIR --k 5 --k 10 --trials 3"
    assert [e.text for e in grid.rows[0]] == ["2026-11-16 07:00:00 UTC", "–", "–", "–"]
    assert facts == ["Machine: cores 2, cpu <fast> & cheap.", "Versions: privreg 0.1.0, python 3.11.7."]


def test_signs(results):
    counts, differ = report.agreement(results, 5)
    assert [[e.text for e in row] for row in counts.rows] == [
        ["K-Tukey", "2", "2"],
        ["L-Tukey", "3", "3"],
        ["K-BAS", "1", "3"],
        ["L-BAS", "1", "2"],
        ["together", "7", "10"],
    ]
    assert differ.title == "Where the signs differ, k = 5 (3)"
    assert [[e.text for e in row] for row in differ.blocks[0].rows] == [
        [f"361072 {NASTY}", "L-BAS", "0.50", "−0.027", ""],
        [f"361072 {NASTY}", "K-BAS", "−0.10", "0.21", "0.25"],
        ["361076 wine_quality", "K-BAS", "0.10", "−4.3", "−3.0"],
    ]


def test_both_ridges(results):
    _, counts, fold, *_ = report.ridges(results)
    (grid,) = fold.blocks
    names = ["BAS", "BAS-reference", "BAS, paper", "K-BAS", "K-BAS-reference", "K-BAS, paper"]
    assert grid.head == ["data set", *names]
    assert [e.text for e in grid.rows[1][1:]] == ["−4.5e4", "−5.0e4", "−3.4", "0.10", "−3.0", "−4.3"]
    assert counts == (
        "At k = 5, the median R² is above 0 on this many of 3 complete data sets: BAS 1, BAS-reference 1, published 1; "
        "K-BAS 1, K-BAS-reference 1, published 1."
    )
    assert grid.note == "Not here: particulate-matter-ukair-2017 (missing); year, Bike_Sharing_Demand (partial)."
    assert "--methods all" in report.ridges(made_up(methods=["NonDP", "BAS"]))[1]


def test_seconds_and_failures(results):
    grid = report.seconds(results)
    rows = {row[0].text: [e.order for e in row[1:]] for row in grid.rows}
    total = sum(results.seconds().values())
    assert rows["NonDP"] == [18, 0.25, 4.5, 4.5 / total]
    assert rows["PrivateLinearRegression"] == [54, 0.5, 27.0, 27 / total]
    assert sum(row[0] for row in rows.values()) == len(results.trials)
    assert [row[4].text for row in grid.rows][:2] == ["2.2 %", "6.6 %"]
    unusable, failed = report.failures(results)
    assert [e.text for e in unusable.rows[0]] == ["361103 particulate-matter-ukair-2017", "no <file>"]
    assert [e.text for e in failed.rows[0]] == ["361076 wine_quality", "L-BAS", "5", "ln 3", "3 of 3", ERROR]
    assert len(failed.rows) == 9  # wine at two k and three ε, sulfur at one k


def test_sweep(results):
    ratios = [0.65 / 0.7, 0.2 / 0.25, 0.29 / 0.3]
    sweep = results.sweep(5)
    found = {m: points[LN3] for m, points in sweep.items()}
    assert found["PrivateLinearRegression"] == pytest.approx(np.quantile(ratios, [0.25, 0.5, 0.75]))
    assert found["Tukey"] == pytest.approx(np.quantile([-1, -1, 0.2 / 0.3], [0.25, 0.5, 0.75]))  # −∞ counts as −1
    assert found["BAS"][0] == -1  # as everything below
    assert "NonDP" not in found
    assert "K-BAS-reference" not in found
    assert sweep["PrivateLinearRegression"][0.3][1] == pytest.approx(0.5 * 0.65 / 0.7)
    grid = report.sweep_grid(results, 5)
    assert grid.head == ["method", "ε = 0.3", "ε = ln 3", "ε = 3"]
    assert [e.text for e in grid.rows[-1]] == ["PrivateLinearRegression", "0.46", "0.93", "0.93"]


def test_files(written, folder):
    charted = [f"{name}_k{k}.{kind}" for k in (5, 10) for name in ("ranks", "positive") for kind in ("svg", "png")]
    tables = [f"tables_k{k}.{kind}" for k in (5, 10) for kind in ("md", "csv", "tex")]
    assert [file.name for file in written] == ["report.html", "report.md", *tables, *charted, "sweep.svg", "sweep.png"]
    assert sorted(folder.iterdir()) == sorted(written)
    assert written[0].stat().st_size < 1_500_000


def test_charts(results, folder):
    five = charts.panels(results, 5)
    assert [(panel.title, panel.sets) for panel in five] == [
        ("The paper's methods as published", 25),
        ("The paper's methods run here", 3),
        ("All private methods run here", 3),
    ]
    assert five[1].places == {
        **{"BAS": (0, 1), "Tukey": (1, 0), "L-BAS": (0, 0)},
        **{"L-Tukey": (0, 1), "K-BAS": (1, 0), "K-Tukey": (2, 0)},
    }
    assert five[2].places["PrivateLinearRegression"] == (3, 0)
    alt = charts.positive_chart(results, 5).alt
    assert alt.startswith("On how many of 3 data sets the median R² is above 0, k = 5: K-Tukey-strict 3, PrivateLinear")
    assert "K-Tukey 2 (published 3), BAS 1 (published 1)" in alt  # the most often first
    assert "; K-Tukey 0.31, 0.63, 0.63; " in charts.sweep_chart(results, 5).alt
    ranks_svg = (folder / "ranks_k5.svg").read_text()
    for text in (
        "How often each method is the best private one, and the second best, k = 5",
        "published, 25 data sets",
        "run here, 3 data sets",
        "K-Tukey-strict",
        ">12 + 5<",
        "Pale: second best.",
    ):
        assert text in ranks_svg
    assert ">2 (published 3)<" in (folder / "positive_k5.svg").read_text()
    assert ">ε = ln 3<" in (folder / "sweep.svg").read_text()
    width, height = struct.unpack(">II", (folder / "ranks_k5.png").read_bytes()[16:24])
    assert width == 1575
    assert height > 400


def test_charts_are_drawn_in_colours_of_the_theme(folder):
    """Any other colour would stay as it is when the page turns dark."""
    for chart in folder.glob("*.svg"):
        drawn = re.sub(r"<style>.*?</style>", "", chart.read_text(), flags=re.DOTALL)
        assert not re.findall(r"#[0-9a-f]{6}\b(?![\w)])", drawn), chart.name
        assert set(re.findall(r"var\(--(\w+)\)", drawn)) <= set(LIGHT), chart.name
        assert "var(--series1)" in drawn


def test_a_chart_is_the_same_file_every_time(results, folder):
    assert svg(charts.sweep_chart(results, 5).figure) == (folder / "sweep.svg").read_bytes()


def test_at_another_k_nothing_is_published():
    other = made_up(k=[6], epsilon=[LN3])
    assert [panel.title for panel in charts.panels(other, 6)] == [
        *("The paper's methods run here", "All private methods run here")
    ]
    assert "published" not in charts.positive_chart(other, 6).alt
    assert "published" not in report.banner(other).text
    assert "K-Tukey, published" not in headline_grid(other, 6).head
    assert all(len(e.detail) <= 2 and not e.flag for row in grids(other, 6)[0].rows for e in row[1:])


def test_a_run_that_has_only_begun(tmp_path):
    begun = Results([{"run": header()}])
    written = write_report(begun, tmp_path)
    assert [file.suffix for file in written] == [".html", ".md", *[".md", ".csv", ".tex"] * 2]
    page = written[0].read_text()
    assert "There is no result on a complete data set yet." in page
    assert "At k = 5 there is nothing to compare yet." in page
    assert "There is nothing to compare with NonDP yet." in page
    assert "0.0 seconds of fitting in total" in page
    assert "Not finished" in page


def test_least_squares_alone(tmp_path):
    alone = made_up(methods=["NonDP"], epsilon=[LN3])
    assert report.banner(alone).text.startswith("At k = 5, NonDP is better than a constant on 3 of 3 data sets")
    assert headline_grid(alone, 5) is None
    assert not [file for file in write_report(alone, tmp_path) if file.suffix == ".svg"]


def test_text_is_escaped_in_html(folder):
    page = (folder / "report.html").read_text()
    assert NASTY not in page
    assert "a&lt;b&gt;&amp;_<wbr>|x" in page
    assert "<i>" not in page
    assert "&lt;fast&gt; &amp; cheap" in page
