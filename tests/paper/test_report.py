"""The report of a run: tables, charts and the page, from a made-up run whose every number is known."""

import csv
import io
import struct
from itertools import pairwise
from math import inf, log

import numpy as np
import pytest

from browser import DESKTOP, PHONE, chromium, opened
from privreg.estimators.methods import METHODS
from privreg.paper import charts, sections
from privreg.paper.catalogue import published, tasks
from privreg.paper.digits import latex, plain, pretty
from privreg.paper.latex import as_latex
from privreg.paper.report import write_report
from privreg.paper.results import Results, podium, positive, shared
from privreg.paper.sweep import relative, sweep_grid
from privreg.paper.tables import as_csv, grids
from privreg.report.document import TableCell

LN3 = log(3)
FURTHER = ("K-Tukey-strict", "PrivateLinearRegression", "BAS-reference", "K-BAS-reference")
RUN_METHODS = (*METHODS, *FURTHER)
FAILED, NOT_RUN = "failed", "not run"
NASTY = "a<b>&_|x"
ERROR = "ValueError: <i>|*no*"
SETS = {
    361072: (NASTY, 8192, 22, "complete"),
    361076: ("wine_quality", 6497, 12, "complete"),
    361085: ("sulfur", 10081, 7, "complete"),
    361091: ("year", 1000, 91, "partial"),
    361099: ("Bike_Sharing_Demand", 17379, 7, "partial"),
    7: ("own", 500, 12, "other"),
}
MEDIANS = {  # in the order of RUN_METHODS
    361072: (0.70, 0.55, -inf, 0.5, 0.2, -0.1, 0.6, 0.4, 0.65, 0.3, 0.25),
    361076: (0.25, -45000.0, -inf, FAILED, -820.0, 0.1, 0.1, 0.1, 0.2, -50000.0, -3.0),
    361085: (0.30, -5.0, 0.2, -4.0, 0.1, -3.0, NOT_RUN, 0.15, 0.29, -6.0, -7.0),
    361091: (0.30, *[0.1] * 10),
    361099: (0.30, *[0.1] * 10),
    7: (0.50, *[0.4] * 7, 0.45, 0.4, 0.4),
}
BUDGETS = {LN3: 1.0, 0.3: 0.5, 3.0: 1.0}  # ε, and what the medians are multiplied with


def header(**more):
    return {
        "command": "privreg paper run --data DIR --k 5 --k 10 --trials 3",
        "started": "2026-11-16T07:00:00+00:00",
        "versions": {"privreg": "0.1.0", "python": "3.11.7"},
        "machine": {"cores": 2, "cpu": "<fast> & cheap"},
        "seed": 4,
        "jitter": False,
        "delta": 1e-5,
        "trials": 3,
        "k": [5, 10],
        "epsilon": list(BUDGETS),
        "methods": list(RUN_METHODS),
        "data sets": {str(t): dict(zip(("name", "n", "d", "kind"), row, strict=True)) for t, row in SETS.items()},
        "missing": {"361103": "no <file>"},
    } | more


def cell_rows(task, method, k, epsilon, median):
    """Three trials around the median. Of sulfur, L-BAS fails once and K-Tukey-strict has not got to the third."""
    for trial, shift in enumerate((-0.02, 0.0, 0.04)):
        row = {"task": task, "method": method, "k": k, "epsilon": epsilon, "trial": trial}
        row["seconds"] = 0.5 if method == "PrivateLinearRegression" else 0.25
        if median == FAILED or (task, method, trial) == (361085, "L-BAS", 0):
            yield row | {"error": ERROR}
        elif (task, method, trial) != (361085, "K-Tukey-strict", 2):
            yield row | {"r2": "-inf" if median == -inf else median + shift}


def made_up(**more):
    run = header(**more)
    trials = {}
    for task, medians in MEDIANS.items():
        for k in run["k"]:
            for epsilon in run["epsilon"]:
                for method, median in zip(RUN_METHODS, medians, strict=True):
                    key = (task, method, *shared(method, k, epsilon))
                    if SETS[task][2] < k or key in trials or median == NOT_RUN or method not in run["methods"]:
                        continue
                    scale = BUDGETS[epsilon] if isinstance(median, float) and method != "NonDP" else 1
                    trials[key] = list(cell_rows(*key, median * scale))
    return Results([{"run": run}, *(row for rows in trials.values() for row in rows)])


@pytest.fixture(scope="module")
def results():
    return made_up()


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    return write_report(results, tmp_path_factory.mktemp("report") / "new")


@pytest.fixture(scope="module")
def folder(written):
    return written[0].parent


def entry(grid, task, method):
    row = next(row for row in grid.rows if row[0].text.startswith(f"{task} "))
    return row[grid.head.index(method)]


def test_the_published_counts_are_those_of_the_papers_text():
    five, ten = published(5), published(10)
    places = podium(five, METHODS)
    assert (len(five), len(ten)) == (25, 21)
    assert places["K-Tukey"][0] == 12  # 48 %
    assert sum(places["K-Tukey"]) == 17  # 68 %
    assert places["L-BAS"][0] == 6  # 24 %
    assert places["K-BAS"][0] == 2  # 8 %
    above = positive(five)
    assert [above[m] for m in ("K-Tukey", "L-Tukey", "K-BAS", "L-BAS")] == [14, 10, 7, 5]  # 56, 40, 28, 20 %
    private = [sum(n for m, n in positive(rows).items() if m != "NonDP") for rows in (five, ten)]
    assert private == [41, 19]


@pytest.mark.parametrize(
    ("value", "ascii", "people", "tex"),
    [
        (0.734, "0.73", "0.73", "0.73"),
        (0.8, "0.80", "0.80", "0.80"),
        (0.996, "1.0", "1.0", "1.0"),
        (-3.41, "-3.4", "−3.4", "-3.4"),
        (-0.00321, "-0.0032", "−0.0032", "-0.0032"),
        (-824.0, "-820", "−820", "-820"),
        (-9949.0, "-9900", "−9900", "-9900"),
        (-9951.0, "-1.0e4", "−1.0e4", r"-1.0\mathrm{e}4"),
        (-45000.0, "-4.5e4", "−4.5e4", r"-4.5\mathrm{e}4"),
        (-1.4e15, "-1.4e15", "−1.4e15", r"-1.4\mathrm{e}15"),
        (0.0000123, "1.2e-5", "1.2e−5", r"1.2\mathrm{e}-5"),
        (-inf, "-inf", "−∞", r"-\infty"),
        (0.0, "0", "0", "0"),
        (-0.0, "0", "0", "0"),
    ],
)
def test_two_digits(value, ascii, people, tex):
    assert (plain(value), pretty(value), latex(value)) == (ascii, people, tex)


def test_cells_of_the_big_table(results):
    main, partial, other = grids(results, 5)
    assert main.head == ["data set", *METHODS, "K-Tukey-strict", "PrivateLinearRegression"]
    assert entry(main, 361072, "K-Tukey") == TableCell("0.60", 0.6, ("0.59 … 0.62", "paper 0.10"), bold=True)
    differs = "other sign than published"
    assert entry(main, 361072, "L-BAS") == TableCell(
        "0.50", 0.5, ("0.49 … 0.52", "paper −0.027 ≠"), flag=True, title=differs
    )
    assert entry(main, 361072, "Tukey") == TableCell("−∞", -inf, ("−∞ … −∞", "paper −∞"))
    assert entry(main, 361076, "BAS") == TableCell("−4.5e4", -45000.0, ("−4.5e4 … −4.5e4", "paper −3.4"))
    assert entry(main, 361076, "L-BAS") == TableCell("failed", None, ("3 of 3 failed", "paper −0.56"), title=ERROR)
    once = entry(main, 361085, "L-BAS")
    assert (once.text, once.detail[1:]) == ("−4.0†", ("1 of 3 failed", "paper −17"))
    assert entry(main, 361085, "K-Tukey") == TableCell("–", title="not run yet")
    assert entry(main, 361085, "K-Tukey-strict").detail == ("0.14 … 0.14", "2 of 3 trials")
    year = partial.rows[1]
    assert year[0].detail == ("n 17,379 (paper 17,379)", "d 7 (paper 21)")
    assert year[1].detail == ("0.29 … 0.32", "paper 0.40")  # shown, but not compared
    assert not any(e.bold or e.flag for row in partial.rows for e in row)
    assert [row[0].text for row in other.rows] == ["7 own"]
    assert other.rows[0][-1].bold


def test_the_two_best_private_medians_are_bold_and_equal_ones_share(results):
    main = grids(results, 5)[0]
    bold = {row[0].text[:6]: [m for m, e in zip(main.head, row, strict=False) if e.bold] for row in main.rows}
    assert {task: methods for task, methods in bold.items() if methods} == {
        "361072": ["K-Tukey", "PrivateLinearRegression"],
        "361076": ["K-BAS", "K-Tukey", "K-Tukey-strict", "PrivateLinearRegression"],
        "361085": ["Tukey", "PrivateLinearRegression"],
    }


def test_every_task_of_the_paper_has_a_row(results):
    for k in (5, 10):
        main = grids(results, k)[0]
        assert [int(row[0].text.split()[0]) for row in main.rows] == list(tasks())
    remarks = {row[0].text: row[1].text for row in main.rows if row[1].span == 9}
    assert len(remarks) == 23
    assert remarks["361103 particulate-matter-ukair-2017"] == "missing: no <file>"
    assert remarks["361073 pol"] == "missing: not asked for"
    assert remarks["361091 year"] == "partial: see below"
    assert remarks["361085 sulfur"] == "fewer than 10 columns, left out as in the paper"
    narrow = grids(results, 10)[1].rows[1]
    assert (narrow[0].text, narrow[1].text) == ("361099 Bike_Sharing_Demand", "fewer than 10 columns, left out")


def test_csv_holds_every_number_in_full(results):
    text = as_csv(results, 5)
    assert text.isascii()
    lines = list(csv.DictReader(io.StringIO(text)))
    found = {(line["task"], line["method"], line["epsilon"]): line for line in lines}
    assert len(found) == len(lines)
    line = found["361072", "L-BAS", repr(LN3)]
    assert [float(line[name]) for name in ("median", "q25", "q75", "published", "seconds")] == [
        0.5,
        *np.quantile([0.48, 0.5, 0.54], [0.25, 0.75]),
        -0.027,
        0.25,
    ]
    assert [line[name] for name in ("name", "n", "d", "kind", "k", "trials", "failed", "unreleased")] == [
        *(NASTY, "8192", "22", "complete", "5", "3", "0", "0")
    ]
    assert (line["sign_differs"], line["top_two"]) == ("yes", "no")
    assert found["361072", "NonDP", ""]["top_two"] == ""  # least squares is not ranked
    no_model = found["361072", "Tukey", repr(LN3)]
    assert (no_model["median"], no_model["unreleased"], no_model["sign_differs"]) == ("-inf", "3", "no")
    failed = found["361076", "L-BAS", repr(LN3)]
    assert (failed["median"], failed["failed"], failed["sign_differs"]) == ("", "3", "")
    partial = found["361091", "K-Tukey", repr(LN3)]
    assert (partial["n"], partial["sign_differs"], partial["top_two"]) == ("1000", "", "")
    assert float(found["361072", "BAS-reference", repr(LN3)]["median"]) == 0.3
    assert float(found["361072", "K-Tukey", "0.3"]["median"]) == 0.3
    assert found["361072", "K-Tukey", "0.3"]["published"] == ""
    assert found["361103", "", ""]["kind"] == "missing"
    narrow = {
        line["task"]: line["kind"] for line in csv.DictReader(io.StringIO(as_csv(results, 10))) if not line["method"]
    }
    assert (len(narrow), narrow["361085"], narrow["361099"]) == (22, "complete", "partial")


def test_latex(results):
    text = as_latex(results, 5)
    assert (
        r"361072 a\textless{}b\textgreater{}\&\_\textbar{}x & median & $0.70$ & $0.55$ & $-\infty$ & $0.50$ &" in text
    )
    assert r"& \textbf{\boldmath$0.60$} & $0.40$ & \textbf{\boldmath$0.65$} \\" in text
    assert r"$n=8192$, $d=22$ & quartiles & {\tiny $0.69, 0.72$} &" in text
    assert r" & paper & $0.73$ & $0.78$ & $-\infty$ & $-0.027\neq$ & $0.10$ & $0.21\neq$ & $0.10$ &  &  \\[2pt]" in text
    assert r"& $-4.5\mathrm{e}4$ & $-\infty$ & failed &" in text
    assert r"& $-4.0$\dag & $0.10$ & $-3.0$ & -- &" in text
    assert r"& \multicolumn{9}{l}{missing: no \textless{}file\textgreater{}} \\" in text
    assert r"of $n=515345$, $d=91$ & paper &" in text
    assert text.isascii()
    assert (
        text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 4
    )  # 25 data sets on two pages, partial, other
    for line in text.splitlines():
        if line.endswith((r"\\", "[2pt]")) and "multicolumn" not in line and "&" in line:
            assert line.count("&") - line.count(r"\&") == 10


def test_markdown(folder):
    lines = (folder / "tables_k5.md").read_text().splitlines()
    row = next(line for line in lines if line.startswith("| 361072"))
    assert row.startswith(r"| 361072 a\<b\>\&\_\|x<br>n 8,192, d 22 | 0.70<br>0.69 … 0.72<br>paper 0.73 | 0.55<br>")
    assert "| **0.60**<br>0.59 … 0.62<br>paper 0.10 |" in row
    assert "| 0.50<br>0.49 … 0.52<br>paper −0.027 ≠ |" in row
    assert any(line.startswith("| 361103 ") and r"| missing: no \<file\> |  |" in line for line in lines)
    page = (folder / "report.md").read_text()
    assert "(ranks_k5.svg)" in page
    assert "\n    privreg paper run --data DIR --k 5 --k 10 --trials 3\n" in page
    widths = [line.replace(r"\|", "").count("|") for line in page.splitlines()]
    assert all(before == after for before, after in pairwise(widths) if before and after)  # no row is short of a cell
    for text in (page, "\n".join(lines)):
        assert NASTY not in text
        assert "<i>" not in text


def test_the_finding_in_words(results):
    assert sections.headline(results) == (
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
    text = " ".join(map(str, sections.setting(results)))
    assert "over 3 trials, at ε = ln 3 and δ = 1e-05, seed 4, features not jittered" in text
    assert "those ending in -strict protect one record" in text
    assert "another budget" not in text
    assert "another budget" in str(sections.setting(made_up(epsilon=[0.3])))
    code, grid, *facts = sections.how(results)
    assert code.text == "privreg paper run --data DIR --k 5 --k 10 --trials 3"
    assert [e.text for e in grid.rows[0]] == ["2026-11-16 07:00:00 UTC", "–", "–", "–"]
    assert facts == ["Machine: cores 2, cpu <fast> & cheap.", "Versions: privreg 0.1.0, python 3.11.7."]


def test_signs(results):
    counts, differ = sections.agreement(results, 5)
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
    grid = sections.ridges(results)[1]
    names = ["BAS", "BAS-reference", "BAS, paper", "K-BAS", "K-BAS-reference", "K-BAS, paper"]
    assert grid.head == ["data set", *names]
    assert [e.text for e in grid.rows[1][1:]] == ["−4.5e4", "−5.0e4", "−3.4", "0.10", "−3.0", "−4.3"]
    counts, gone = grid.note.split(" Not here: ")
    assert counts == (
        "R² > 0, of 3 complete data sets: BAS 1, BAS-reference 1, published 1; K-BAS 1, K-BAS-reference 1, published 1."
    )
    assert gone.startswith("pol, elevators, isolet, Ailerons, houses,")
    assert gone.endswith("SGEMM_GPU_kernel_performance (missing); year, Bike_Sharing_Demand (partial).")
    assert "--methods all" in sections.ridges(made_up(methods=["NonDP", "BAS"]))[1]


def test_seconds_and_failures(results):
    grid = sections.seconds(results)
    rows = {row[0].text: [e.order for e in row[1:]] for row in grid.rows}
    total = sum(results.seconds().values())
    assert rows["NonDP"] == [18, 0.25, 4.5, 4.5 / total]
    assert rows["PrivateLinearRegression"] == [54, 0.5, 27.0, 27 / total]
    assert sum(row[0] for row in rows.values()) == len(results.trials)
    failed = sections.failures(results)
    assert [e.text for e in failed.rows[0]] == ["361076 wine_quality", "L-BAS", "5", "ln 3", "3 of 3", ERROR]
    assert len(failed.rows) == 9  # wine at two k and three ε, sulfur at one k
    assert sections.failures(made_up(methods=["NonDP", "BAS"])) is None


def test_sweep(results):
    ratios = [0.65 / 0.7, 0.2 / 0.25, 0.29 / 0.3]
    found = relative(results, 5, LN3)
    assert found["PrivateLinearRegression"] == pytest.approx(np.quantile(ratios, [0.25, 0.5, 0.75]))
    assert found["Tukey"] == pytest.approx(np.quantile([-1, -1, 0.2 / 0.3], [0.25, 0.5, 0.75]))  # −∞ counts as −1
    assert found["BAS"][0] == -1  # as everything below
    assert "NonDP" not in found
    assert "K-BAS-reference" not in found
    assert relative(results, 5, 0.3)["PrivateLinearRegression"][1] == pytest.approx(0.5 * 0.65 / 0.7)
    grid = sweep_grid(results, 5)
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
    assert charts.svg(charts.sweep_chart(results, 5).figure) == (folder / "sweep.svg").read_bytes()


def test_at_another_k_nothing_is_published():
    other = made_up(k=[6], epsilon=[LN3])
    assert [panel.title for panel in charts.panels(other, 6)] == [
        *("privreg, the paper's six", "privreg, all private methods")
    ]
    assert "published" not in charts.positive_chart(other, 6).alt
    assert "published" not in sections.headline(other)
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
    assert sections.headline(alone).startswith("At k = 5, NonDP has a median R² above 0 on 3 of 3 complete data sets")
    assert not [file for file in write_report(alone, tmp_path) if file.suffix == ".svg"]


def test_text_is_escaped_in_html(folder):
    page = (folder / "report.html").read_text()
    assert NASTY not in page
    assert "a&lt;b&gt;&amp;_<wbr>|x" in page
    assert "<i>" not in page
    assert "&lt;fast&gt; &amp; cheap" in page


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(request, browser, folder):
    with opened(browser, folder / "report.html", request.param) as window:
        yield window


def table_of(page, title):
    return page.get_by_role("region", name=title, exact=True).locator("table")


def first_column(page, title, rows):
    return [text.split()[0] for text in table_of(page, title).locator("tbody th").all_inner_texts()[:rows]]


MAIN = "The paper's data sets, k = 5"


def test_what_a_person_sees(page):
    assert page.title() == "The paper's evaluation, run by privreg"
    lead = page.locator("p.lead").inner_text()
    assert lead.startswith("At k = 5, K-Tukey has a median R² above 0 on 2 of 3 complete data sets (published: 3)")
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert (
        headings
        == page.locator("nav a").all_inner_texts()
        == [
            *("How to read this", "Results at k = 5", "Results at k = 10", "Other budgets", "Agreement with the paper"),
            *("Ridges of Boosted AdaSSP", "Seconds", "Failures", "How it was run"),
        ]
    )
    row = table_of(page, MAIN).locator("tbody tr").first
    label = row.locator("th").inner_text().replace("\u00a0", " ")
    assert label.split("\n") == [f"361072 {NASTY}", "n 8,192, d 22"]
    best = row.locator("td").nth(6)
    assert best.inner_text().split("\n") == ["0.60", "0.59 … 0.62", "paper 0.10"]
    weight = "element => getComputedStyle(element).fontWeight"
    assert [int(row.locator("td").nth(i).locator(":scope > :first-child").evaluate(weight)) for i in (5, 6)] == [
        400,
        700,
    ]
    flagged = row.locator("td.flag")
    assert flagged.first.get_attribute("title") == "other sign than published"
    assert [text.split("\n")[-1] for text in flagged.all_inner_texts()] == ["paper −0.027 ≠", "paper 0.21 ≠"]
    missing = page.get_by_text("missing: no <file>").first
    missing.scroll_into_view_if_needed()
    box = missing.bounding_box()
    assert missing.is_visible()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_nothing_is_wider_than_the_screen(page):
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate("scrollTo(500, 0)")
    assert page.evaluate("scrollX") == 0
    images = page.locator("img")
    assert images.count() == 5
    for image in images.all():
        natural, shown = image.evaluate("i => [i.naturalWidth, i.getBoundingClientRect().width]")
        assert image.evaluate("i => i.complete")
        assert natural > 300
        assert shown == pytest.approx(natural, abs=2)  # as large as drawn, so that its letters are
        assert image.get_attribute("alt").endswith(".")


def test_the_names_of_data_sets_stay_in_sight(page):
    region = page.get_by_role("region", name=MAIN, exact=True)
    region.scroll_into_view_if_needed()
    label = region.locator("tbody th").first
    before = label.bounding_box()["x"]
    region.evaluate("r => r.scrollLeft = 10000")
    assert label.bounding_box()["x"] == pytest.approx(before, abs=1)
    last = region.locator("tbody tr").first.locator("td").last.bounding_box()
    assert last["x"] + last["width"] <= page.viewport_size["width"]


def test_a_click_on_a_head_sorts(page):
    head = table_of(page, MAIN).locator("thead th")
    shown = first_column(page, MAIN, 25)
    assert shown == [str(task) for task in tasks()]
    unknown = [task for task in shown if task not in ("361072", "361076", "361085")]

    def sorted_by(name):
        column = head.filter(has=page.get_by_role("button", name=name, exact=True))
        column.get_by_role("button").click()
        return first_column(page, MAIN, 25), column.get_attribute("aria-sort")

    assert sorted_by("BAS") == (["361072", "361085", "361076", *unknown], "descending")
    assert sorted_by("BAS") == (["361076", "361085", "361072", *unknown], "ascending")
    order, way = sorted_by("Tukey")  # −∞ is less than any number, and a missing value is last
    assert (order[0], set(order[1:3]), order[3:], way) == ("361085", {"361072", "361076"}, unknown, "descending")
    assert [h.get_attribute("aria-sort") for h in head.all()].count("none") == 9
    assert sorted_by("Tukey")[0][2] == "361085"
    assert sorted_by("data set") == (shown, "ascending")
    button = head.nth(2).get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    assert first_column(page, MAIN, 3) == ["361072", "361085", "361076"]


def test_the_page_may_not_ask_the_network_for_anything(browser, folder):
    page = browser.new_page()
    page.goto((folder / "report.html").as_uri())
    asked = """async () => {
        const refused = new Promise(tell => document.addEventListener("securitypolicyviolation", tell));
        fetch("https://privreg.invalid/").catch(() => null);
        return (await refused).violatedDirective;
    }"""
    assert page.evaluate(asked) == "connect-src"
    page.close()


def test_dark_and_light(browser, folder):
    colours = []
    for scheme in ("light", "dark"):
        with opened(browser, folder / "report.html", {"color_scheme": scheme}) as page:
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"]
