"""Narrow terminals, which are real ones here: no line is longer than the terminal, and no number is broken."""

import re

import pytest
from rich.cells import cell_len

from privreg._format import shortened
from privreg.cli.grid import grid
from privreg.cli.terminal import command_lines, lines_of
from terminals import on_terminals

WIDTHS = (60, 80, 100)
RELEASE = """
from privreg.cli import show as cli
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Gaussian
from privreg.privacy.receipt import ADAPTIVE, Receipt
from privreg.results.release import Coefficient, Release
from privreg.results.statistics import JointTest, Statistics

def coefficient(name, value, error, z, pvalue):
    return Coefficient(name, value, error, value - 1.96 * error, value + 1.96 * error, z=z, pvalue=pvalue)

COEFFICIENTS = [
    coefficient("age", 0.1894, 0.0221, 8.57, 1e-17),
    coefficient("weeks_worked_in_the_last_calendar_year=fifty or more", 12345.678, 61.2, 201.7, 0.0),
    coefficient("ethnicity=black", -0.931, 0.174, -5.35, 8.8e-8),
]
EVENT = Gaussian.costing("phase 1: products", 0.05, 2**28, purpose="coefficients")
RECEIPT = Receipt((EVENT,), Budget(1.0, 1e-6), True, composition=ADAPTIVE)
NOTES = ["A linear model of 3 of 3 features, from about 31,900 records.", "Predictions lie between 1 and 72.239.",
         "Levels are compared with a reference: ethnicity with Hispanic."]
FIT = Statistics(0.668, 0.013, 6.21, 0.11, True, [JointTest("ethnicity", 28.6, 2, 6e-7)])
INTERCEPT = coefficient("(intercept)", -8.65, 0.67, -12.9, 0.0)
WARNINGS = ["town: no value is common enough; left out."]
RELEASE = Release("PrivateLinearRegression", "pay", ["age"], COEFFICIENTS, INTERCEPT, (1.0, 72.239), 31900.0, NOTES,
                  WARNINGS, RECEIPT, statistics=FIT)
LEDGER = {"dataset": "mothers", "spent_epsilon": 1.0, "epsilon": 3.0, "delta": 1e-5, "entries": 1,
          "room": {"epsilon": 2.689, "delta": 1e-6}}
"""
FIT_AT = {
    60: """\
pay: usable with care. It explains about 67 % of the
variation (R² 0.668, 95 % interval 0.643 to 0.693).
- town: no value is common enough; left out.

 feature                    coef   std err     95 % interval
 ───────────────────────────────────────────────────────────
 age                       0.189     0.022     0.146 … 0.233
 weeks_worke…ty or more   12,346        61   12,226 … 12,466
 ethnicity=black           −0.93      0.17     −1.27 … −0.59
 (intercept)               −8.65      0.67     −9.96 … −7.34

 joint test      χ²   df      P>χ²
 ─────────────────────────────────
 ethnicity    28.60    2   < 0.001

A linear model of 3 of 3 features, from about 31,900
records.
Residual standard error 6.21 ± 0.11.
Levels are compared with a reference: ethnicity with
Hispanic.
Coefficients estimate least squares with all values clipped
to their ranges.
Predictions use coefficients that are shrunk towards 0,
which predicts better.
Privacy: spent ε = 0.9406 of 1, δ = 1e-6; protects any one
record (one row of the table).
Ledger: mothers has spent ε = 1 of 3 in 1 entry. Left: one
more fit by the default method, with up to ε = 2.68 at
δ = 1e-6.
Wrote the model to model.json.
""",
    80: """\
pay: usable with care. It explains about 67 % of the variation (R² 0.668, 95 %
interval 0.643 to 0.693).
- town: no value is common enough; left out.

 feature                     coef   std err        z     P>|z|     95 % interval
 ───────────────────────────────────────────────────────────────────────────────
 age                        0.189     0.022     8.57   < 0.001     0.146 … 0.233
 weeks_worke…fty or more   12,346        61   201.70   < 0.001   12,226 … 12,466
 ethnicity=black            −0.93      0.17    −5.35   < 0.001     −1.27 … −0.59
 (intercept)                −8.65      0.67   −12.90   < 0.001     −9.96 … −7.34
""",
    100: """\
pay: usable with care. It explains about 67 % of the variation (R² 0.668, 95 % interval 0.643 to
0.693).
- town: no value is common enough; left out.

 feature                                         coef   std err        z     P>|z|     95 % interval
 ───────────────────────────────────────────────────────────────────────────────────────────────────
 age                                            0.189     0.022     8.57   < 0.001     0.146 … 0.233
 weeks_worked_in_the_l…ar_year=fifty or more   12,346        61   201.70   < 0.001   12,226 … 12,466
""",
}
OTHERS = {
    "a fit, all of it": RELEASE + "show = lambda: cli.show_fit(RELEASE, {}, None, verbose=True)",
    "a schema": RELEASE
    + """
from types import SimpleNamespace
from privreg.data.schema import Column, Schema
LEVELS = ("north of the river", "south", "somewhere else altogether")
COLUMNS = [Column("a column with a name that is rather long", "category", levels=LEVELS, counts=(12345.0, 8.0, 900.0),
                  n_missing=31.0), Column("age", "number", mark=",", n_missing=1234.0), Column("名前の列", "category",
                  left_out="no value is common enough")]
READER = SimpleNamespace(schema_=Schema(COLUMNS, records=31857.0), warnings_=RELEASE.warnings, receipt_=RECEIPT)
show = lambda: cli.show_schema(READER, "schema.json", None)
""",
    "a selection": RELEASE
    + """
CHOSEN = {"selected_features_": ["weeks " * 15, "age"], "receipt_": RECEIPT, "warnings_": [], "schema_": None}
SELECTOR = type("DPKendall", (), CHOSEN)()
show = lambda: cli.show_selection(SELECTOR, "pay", LEDGER)
""",
    "a plan": """
from privreg import plan
from privreg.cli.plan import show_plan
PLAN = plan(300, 3, 2.0)
show = lambda: show_plan(PLAN)
""",
    "a ledger": """
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from privreg import Ledger
from privreg.cli.ledger import history, status
from privreg.privacy.accountant import adaptive_budget
from privreg.privacy.ledger.request import Request, running_budget
HERE = TemporaryDirectory()
FILE = Path(HERE.name) / "budget.db"
Ledger(FILE).create("mothers", "3", "1e-5")
ASKED = Decimal("0.5"), Decimal("1e-6")
COST, WHAT = adaptive_budget(running_budget(*ASKED)), "fit labinc: PrivateLinearRegression"
for purpose in ("the effect of children on pay", "", "another one"):
    Ledger(FILE).spend("mothers", Request(*ASKED, WHAT, mu_squared=COST, purpose=purpose))
Ledger(FILE).amend("mothers", epsilon="4.25", reason="a second study was approved by everybody who has a say in it")
def show():
    status(FILE)
    history(FILE)
""",
    "help": """
from typer.main import get_command
from privreg.cli.app import app
COMMAND = get_command(app)
def show():
    for words in (["fit"], ["ledger", "create"], ["paper", "run"], []):
        COMMAND.main([*words, "-h"], prog_name="privreg", standalone_mode=False)
""",
}


def numbers(line):
    return set(re.findall(r"[−-]?\d[\d.,:e-]*", line))


def check(shown):
    """Lines are no longer than the terminal, and have the numbers that a wide terminal shows, in one piece."""
    wide = {number for line in shown[max(shown)] for number in numbers(line)}
    for width, lines in shown.items():
        assert lines, width
        for line in lines:
            assert cell_len(line) <= width, (width, line)
            assert line == line.rstrip(), line
            assert {n.rstrip(".,:") for n in numbers(line)} <= {n.rstrip(".,:") for n in wide}, (width, line)


def test_a_fit():
    code = RELEASE + "show = lambda: cli.show_fit(RELEASE, {'model': 'model.json'}, LEDGER)\n"
    shown = on_terminals(code, (*WIDTHS, 300))
    check(shown)
    for width, expected in FIT_AT.items():
        assert "\n".join(shown[width]).startswith(expected.rstrip("\n")), width
    assert "\n".join(shown[60]) == FIT_AT[60].rstrip("\n")


def test_columns_counts_in_a_pipe(monkeypatch, capsys):
    """`COLUMNS=60 privreg fit … | less` is as a terminal of 60 columns: no number is cut."""
    names = {}
    exec(RELEASE, names)
    monkeypatch.setenv("COLUMNS", "60")
    names["cli"].show_fit(names["RELEASE"], {"model": "model.json"}, names["LEDGER"])
    assert capsys.readouterr().out == FIT_AT[60]


@pytest.mark.parametrize("case", OTHERS)
def test_everything_else(case):
    widths = WIDTHS if case == "help" else (45, *WIDTHS)  # an example in quotes stays in one piece
    check(on_terminals(OTHERS[case], (*widths, 300)))


# ---- how it is done


HEAD = ("feature", "coef", "z", "95 % interval")
ROWS = (("age", "0.19", "8.57", "0.14 … 0.23"), ("first_child_of_the_mother=girl", "−12", "−4.00", "−18 … −6"))


def lines(width, rows=ROWS, **options):
    return [line for line, _ in grid(HEAD, *rows, spare=("z",), **options).lines(width)]


def test_columns_go_before_names_are_shortened():
    assert lines(None) == lines(64)
    assert lines(64)[-1] == " first_child_of_the_mother=girl    −12   −4.00        −18 … −6"
    assert lines(55)[-1] == " first_child…mother=girl    −12   −4.00        −18 … −6"
    assert lines(48)[-1] == " first_child_…mother=girl    −12        −18 … −6"
    assert lines(40)[-1] == " first_ch…er=girl    −12        −18 … −6"


def test_rows_become_paragraphs_where_a_table_does_not_fit():
    assert lines(30) == [
        " age",
        "   coef 0.19, z 8.57,",
        "   95 % interval 0.14 … 0.23",
        " first_child_of_the_mother=gir",
        "   l",
        "   coef −12, z −4.00,",
        "   95 % interval −18 … −6",
    ]


def test_names_that_would_look_alike_are_written_out():
    alike = tuple((f"the_first_child_is_number_{i}_of_the_mother_of_them", "1", "2", "3 … 4") for i in range(2))
    assert lines(50, alike)[0] == " the_first_child_is_number_0_of_the_mother_of_them"
    assert not any("…_" in line for line in lines(50, alike))


def test_long_names_keep_their_ends():
    assert shortened("first_child=girl", 16) == "first_child=girl"
    assert shortened("first_child=girl", 9) == "firs…girl"
    assert cell_len(shortened("とても長い列の名前です", 9, cell_len)) <= 9


def test_numbers_stay_with_their_units():
    assert lines_of("it is ε = 1 and 79.2 % of R² 0.6 ± 0.1", 12) == ["it is ε = 1", "and 79.2 %", "of", "R² 0.6 ± 0.1"]
    assert lines_of("a " + "x" * 25, 10, "- ", "  ") == ["- a", "  xxxxxxxx", "  xxxxxxxx", "  xxxxxxxx", "  x"]


def test_nothing_in_a_text_forges_a_line():
    assert lines_of("a\nforged: line\x1b[31m\u202e", 80) == ["a forged: line\ufffd[31m\ufffd"]


def test_commands_can_be_copied():
    command = "privreg fit people.csv --target pay --epsilon 1"
    assert command_lines(command, 80) == [f"  {command}"]
    assert command_lines(command, 40) == ["  privreg fit people.csv --target pay \\", "      --epsilon 1"]
