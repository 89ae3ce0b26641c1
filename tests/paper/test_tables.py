"""The tables of a run, as CSV, LaTeX and Markdown, from a made-up run whose every number is known."""

import csv
import io
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from made_up_run import ERROR, LN3, NASTY
from privreg.estimators.methods import METHODS
from privreg.paper.datasets import published
from privreg.paper.results import podium, positive
from privreg.paper.tables import as_csv, as_latex, grids, latex, plain, pretty
from privreg.report.document import TableCell


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
    assert entry(main, 361085, "K-Tukey") == TableCell("–", title="not run")
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


def test_every_data_set_that_was_asked_for_has_a_row(results):
    for k in (5, 10):
        main = grids(results, k)[0]
        tasks = [int(row[0].text.split()[0]) for row in main.rows]
        assert tasks == [361072, 361076, 361085, 361091, 361099, 361103]
        assert main.note == "Not in this run: 19 data sets not asked for."
    remarks = {row[0].text: row[1].text for row in main.rows if row[1].span == 9}
    assert remarks == {
        "361085 sulfur": "fewer than 10 columns, left out as in the paper",
        "361091 year": "partial: see below",
        "361099 Bike_Sharing_Demand": "partial: see below",
        "361103 particulate-matter-ukair-2017": "could not be used: no <file>",
    }
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
    assert narrow == {"361085": "complete", "361099": "partial", "361103": "missing"}


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
    assert r"& \multicolumn{9}{l}{could not be used: no \textless{}file\textgreater{}} \\" in text
    assert r"of $n=515345$, $d=91$ & paper &" in text
    assert text.isascii()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3  # the paper's, partial, other
    for line in text.splitlines():
        if line.endswith((r"\\", "[2pt]")) and "multicolumn" not in line and "&" in line:
            assert line.count("&") - line.count(r"\&") == 10


def test_markdown(folder):
    lines = (folder / "tables_k5.md").read_text().splitlines()
    row = next(line for line in lines if line.startswith("| 361072"))
    assert row.startswith(r"| 361072 a\<b\>\&\_\|x<br>n 8,192, d 22 | 0.70<br>0.69 … 0.72<br>paper 0.73 | 0.55<br>")
    assert "| **0.60**<br>0.59 … 0.62<br>paper 0.10 |" in row
    assert "| 0.50<br>0.49 … 0.52<br>paper −0.027 ≠ |" in row
    assert any(line.startswith("| 361103 ") and r"| could not be used: no \<file\> |  |" in line for line in lines)
    page = (folder / "report.md").read_text()
    assert "(ranks_k5.svg)" in page
    assert "\n    privreg paper run --data DIR --k 5 --k 10 --trials 3\n" in page
    widths = [line.replace(r"\|", "").count("|") for line in page.splitlines()]
    assert all(before == after for before, after in pairwise(widths) if before and after)  # no row is short of a cell
    for text in (page, "\n".join(lines)):
        assert NASTY not in text
        assert "<i>" not in text
