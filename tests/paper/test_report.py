"""The report of a run: what it says, its charts and its files, from a made-up run whose every number is known."""

import struct

import numpy as np
import pytest

from made_up_run import ERROR, LN3, NASTY, header, made_up
from privreg.paper import charts, report
from privreg.paper.report import write_report
from privreg.paper.results import Results
from privreg.paper.tables import grids
from privreg.report.charts import svg


def test_the_finding_in_words(results):
    assert report.headline(results) == (
        "At k = 5, K-Tukey has a median R² above 0 on 2 of 3 complete data sets (published: 3), K-Tukey-strict on 3, "
        "PrivateLinearRegression on 3. Of the paper's six private methods, K-Tukey is most often the best: on 2 "
        "(published: 2). "
        "At k = 10, K-Tukey has a median R² above 0 on 2 of 2 complete data sets (published: 1), K-Tukey-strict on 2, "
        "PrivateLinearRegression on 2. Of the paper's six private methods, K-Tukey is most often the best: on 2 "
        "(published: 0). "
        "Of the paper's 25 data sets 20 are missing and 2 are there in part only. "
        "The run is not finished: 12 trials are still to come."
    )


def test_what_is_protected_and_how_it_was_run(results):
    text = " ".join(map(str, report.setting(results)))
    assert "over 3 trials, at ε = ln 3 and δ = 1e-05, seed 4, features not jittered" in text
    assert "those ending in -strict protect one record" in text
    assert "another budget" not in text
    assert "another budget" in str(report.setting(made_up(epsilon=[0.3])))
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
    assert [[e.text for e in row] for row in differ.rows] == [
        [f"361072 {NASTY}", "L-BAS", "0.50", "−0.027", ""],
        [f"361072 {NASTY}", "K-BAS", "−0.10", "0.21", "0.25"],
        ["361076 wine_quality", "K-BAS", "0.10", "−4.3", "−3.0"],
    ]


def test_both_ridges(results):
    grid = report.ridges(results)[1]
    names = ["BAS", "BAS-reference", "BAS, paper", "K-BAS", "K-BAS-reference", "K-BAS, paper"]
    assert grid.head == ["data set", *names]
    assert [e.text for e in grid.rows[1][1:]] == ["−4.5e4", "−5.0e4", "−3.4", "0.10", "−3.0", "−4.3"]
    counts, gone = grid.note.split(" Not here: ")
    assert counts == (
        "R² > 0, of 3 complete data sets: BAS 1, BAS-reference 1, published 1; K-BAS 1, K-BAS-reference 1, published 1."
    )
    assert gone.startswith("pol, elevators, isolet, Ailerons, houses,")
    assert gone.endswith("SGEMM_GPU_kernel_performance (missing); year, Bike_Sharing_Demand (partial).")
    assert "--methods all" in report.ridges(made_up(methods=["NonDP", "BAS"]))[1]


def test_seconds_and_failures(results):
    grid = report.seconds(results)
    rows = {row[0].text: [e.order for e in row[1:]] for row in grid.rows}
    total = sum(results.seconds().values())
    assert rows["NonDP"] == [18, 0.25, 4.5, 4.5 / total]
    assert rows["PrivateLinearRegression"] == [54, 0.5, 27.0, 27 / total]
    assert sum(row[0] for row in rows.values()) == len(results.trials)
    (failed,) = report.failures(results)
    assert [e.text for e in failed.rows[0]] == ["361076 wine_quality", "L-BAS", "5", "ln 3", "3 of 3", ERROR]
    assert len(failed.rows) == 9  # wine at two k and three ε, sulfur at one k
    assert report.failures(made_up(methods=["NonDP", "BAS"])) == []


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
        ("published", 25),
        ("privreg, the paper's six", 3),
        ("privreg, all private methods", 3),
    ]
    assert five[1].places == {
        **{"BAS": (0, 1), "Tukey": (1, 0), "L-BAS": (0, 0)},
        **{"L-Tukey": (0, 1), "K-BAS": (1, 0), "K-Tukey": (2, 0)},
    }
    assert five[2].places["PrivateLinearRegression"] == (3, 0)
    alt = charts.positive_chart(results, 5).alt
    assert "of 3: BAS 1 (published 1), Tukey 1 (published 1)" in alt
    assert alt.endswith("K-Tukey 2 (published 3), K-Tukey-strict 3, PrivateLinearRegression 3.")
    ranks_svg = (folder / "ranks_k5.svg").read_text()
    for text in (
        "Times ranked first and second, k = 5",
        "published",
        "K-Tukey-strict",
        "first",
        ">12<",
        "25 data sets",
    ):
        assert text in ranks_svg
    assert "all 3 data sets" in (folder / "positive_k5.svg").read_text()
    assert ">ln 3<" in (folder / "sweep.svg").read_text()
    width, height = struct.unpack(">II", (folder / "ranks_k5.png").read_bytes()[16:24])
    assert width == 1350
    assert height > 400


def test_a_chart_is_the_same_file_every_time(results, folder):
    assert svg(charts.sweep_chart(results, 5).figure) == (folder / "sweep.svg").read_bytes()


def test_at_another_k_nothing_is_published():
    other = made_up(k=[6], epsilon=[LN3])
    assert [panel.title for panel in charts.panels(other, 6)] == [
        *("privreg, the paper's six", "privreg, all private methods")
    ]
    assert "published" not in charts.positive_chart(other, 6).alt
    assert "published" not in report.headline(other)
    assert all(len(e.detail) <= 2 and not e.flag for row in grids(other, 6)[0].rows for e in row[1:])


def test_a_run_that_has_only_begun(tmp_path):
    begun = Results([{"run": header()}])
    written = write_report(begun, tmp_path)
    assert [file.suffix for file in written] == [".html", ".md", *[".md", ".csv", ".tex"] * 2]
    page = written[0].read_text()
    assert "There is no result on a complete data set yet." in page
    assert "At k = 5 there is nothing to compare yet." in page
    assert "There is nothing to compare with NonDP yet." in page
    assert "0.0 seconds of fitting in all" in page
    assert "Of the paper&#x27;s 25 data sets 20 are missing" in page


def test_least_squares_alone(tmp_path):
    alone = made_up(methods=["NonDP"], epsilon=[LN3])
    assert report.headline(alone).startswith("At k = 5, NonDP has a median R² above 0 on 3 of 3 complete data sets")
    assert not [file for file in write_report(alone, tmp_path) if file.suffix == ".svg"]


def test_text_is_escaped_in_html(folder):
    page = (folder / "report.html").read_text()
    assert NASTY not in page
    assert "a&lt;b&gt;&amp;_<wbr>|x" in page
    assert "<i>" not in page
    assert "&lt;fast&gt; &amp; cheap" in page
