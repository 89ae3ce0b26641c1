"""A mistake is answered at once: nothing that takes seconds to load has been loaded. Real processes."""

import json
import os
import subprocess
import sys
from decimal import Decimal

import pandas as pd
import pytest

from privreg import Ledger
from privreg.privacy.ledger.request import Request

HEAVY = ("sklearn", "numba", "opendp", "scipy", "narwhals", "pandas", "matplotlib", "dp_accounting", "dask")
ARROW = ("pyarrow", "numpy")
CODE = """
import contextlib, io, json, os, sys
from privreg.cli.app import app

def answered(words):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            app(words, prog_name="privreg")
        except SystemExit as end:
            return end.code, said.getvalue(), [name for name in sys.modules if "." not in name]

cases = json.load(sys.stdin)
answered(cases[0])  # loads what all of them need, and nothing heavy, or they would all have it
for words in cases:
    sys.stdout.flush()
    if os.fork() == 0:  # each case has loaded nothing that the others need
        print(json.dumps(answered(words)), flush=True)
        os._exit(0)
    os.wait()
"""
FIT = ("fit", "people.csv", "--target", "pay", "--epsilon", "1")
FORMULA = ("fit", "people.csv", "--epsilon", "1")
SELECT = ("select", "people.csv", "--target", "pay", "--k", "1", "--epsilon", "1")
SCHEMA = ("schema", "people.csv", "--epsilon", "1")
PARQUET = ("fit", "people.parquet", "--target", "pay", "--epsilon", "1")
LEDGER = ("--ledger", "budget.db", "--dataset")

# What the arguments, the places, the ledger and the header decide: not even arrow is needed.
AT_ONCE = {
    "epsilon is 0": (("fit", "people.csv", "--target", "pay", "--epsilon", "0"), "epsilon must be a positive number"),
    "epsilon is negative": (("fit", "people.csv", "--target", "pay", "--epsilon", "-1"), "epsilon must be a positive"),
    "epsilon is tiny": (
        ("fit", "people.csv", "--target", "pay", "--epsilon", "1e-9"),
        "epsilon must be at least 1e-6",
    ),
    "epsilon is no number": (("fit", "people.csv", "--target", "pay", "--epsilon", "one"), "'one' is not a number"),
    "delta is 1": ((*FIT, "--delta", "1"), "delta must be a number in [0, 1)"),
    "delta is negative": ((*FIT, "--delta", "-1e-6"), "delta must be a number in [0, 1)"),
    "delta is 0": ((*FIT, "--delta", "0"), "delta must be at least 1e-200"),
    "delta is 0 for Tukey": ((*FIT, "--delta", "0", "--method", "K-Tukey"), "delta must be positive: before it"),
    "delta is 0 for BAS": ((*FIT, "--delta", "0", "--method", "L-BAS"), "delta must be at least 1e-200"),
    "unknown method": ((*FIT, "--method", "OLS"), "--method must be one of auto, BAS, "),
    "unknown selector": ((*SELECT, "--method", "OLS"), "--method must be one of kendall, sublasso"),
    "k for a method without": ((*FIT, "--method", "BAS", "--k", "3"), "--k: BAS uses all columns"),
    "k is 0": ((*FIT, "--k", "0"), "neither \"auto\" nor a whole number"),
    "samples and a method": ((*FIT, "--method", "BAS", "--max-rows-for-selection", "9"), "BAS uses all records"),
    "rows without people": ((*FIT, "--rows-per-person", "2"), "--rows-per-person needs --person"),
    "too many rows": (
        (*FIT[:-1], "1e-5", "--person", "id", "--rows-per-person", "100"),
        "--rows-per-person=100 needs an epsilon of at least",
    ),
    "strange word for missing values": ((*FIT, "--missing", "mean"), "--missing must be drop or fill; got 'mean'"),
    "schema and levels": ((*FIT, "--schema", "s.json", "--category", "town=a"), "--schema has levels and ranges of"),
    "schema and ranges": ((*FIT, "--schema", "s.json", "--range", "age=0..1"), "--schema has levels and ranges of"),
    "schema and dtypes": ((*FIT, "--schema", "s.json", "--categories", "dtype"), "--schema has levels and ranges of"),
    "range without an end": ((*FIT, "--range", "age=0"), "--range age=0: write it as COLUMN=LOW..HIGH"),
    "range of words": ((*FIT, "--range", "age=a..b"), "write it as COLUMN=LOW..HIGH, for instance age=0..120"),
    "range upside down": ((*FIT, "--range", "age=9..0"), "the range of column 'age' must be two finite numbers"),
    "range of no column": ((*FIT, "--range", "agee=0..9"), "--range: no column 'agee' in people.csv; did you mean"),
    "range twice": ((*FIT, "--range", "age=0..9", "--range", "age=0..8"), "column 'age' is declared twice"),
    "epsilon of a schema is 0": (("schema", "people.csv", "--epsilon", "0"), "epsilon must be a positive number"),
    "delta of a schema is 0": ((*SCHEMA, "--delta", "0"), "delta must be at least 1e-200"),
    "target of a schema": ((*SCHEMA, "--target", "pay"), "there is no option --target; see privreg schema -h"),
    "unknown column of a schema": ((*SCHEMA, "--drop", "agee"), "--drop: no column 'agee' in people.csv; did you mean"),
    "rows of a schema without people": ((*SCHEMA, "--rows-per-person", "2"), "--rows-per-person needs --person"),
    "schema over the data": ((*SCHEMA, "--out", "people.csv"), "--out and DATA are the same file"),
    "schema that is refused": ((*SCHEMA, *LEDGER, "people"), "refused: the budget of 'people'"),
    "no target": (("fit", "people.csv", "--epsilon", "1"), "name the column to predict with --target, or write a"),
    "formula and target": ((*FIT, "pay ~ age"), "the formula names the target and the columns already; leave"),
    "unknown column of a formula": ((*FORMULA, "pay ~ agee"), "formula: no column 'agee'; did you mean 'age'?"),
    "unknown target of a formula": ((*FORMULA, "log(pya) ~ age"), "formula: no column 'pya'; did you mean 'pay'?"),
    "unknown function": ((*FORMULA, "pay ~ sin(age)"), "formula: there is no function 'sin'; use one of abs, exp"),
    "function of other records": ((*FORMULA, "pay ~ scale(age)"), "scale() depends on other records"),
    "monster": ((*FORMULA, "pay ~ I(age*9**9**9**9)"), "a number is too large"),
    "unknown column of a filter": ((*FIT, "--where", "agee > 3"), "where: no column 'agee'; did you mean 'age'?"),
    "filter of a schema": ((*SCHEMA, "--where", "age + 1"), "where: age + 1 is not a condition; write one such"),
    "ledger alone": ((*FIT, "--ledger", "budget.db"), "--ledger and --dataset go together"),
    "data set alone": ((*FIT, "--dataset", "people"), "--ledger and --dataset go together"),
    "wrong engine": ((*FIT, "--engine", "spark"), "--engine must be auto or dask; got 'spark'"),
    "scheduler without engine": ((*FIT, "--scheduler", "tcp://x:1"), "--scheduler needs --engine dask"),
    "CSV on a cluster": ((*FIT, "--engine", "dask"), "--engine dask reads Parquet only"),
    "missing file": (("fit", "poeple.csv", *FIT[2:]), "poeple.csv: No such file or directory"),
    "missing categories": ((*FIT, "--categories", "no.json"), "no.json: No such file or directory"),
    "unknown target": (
        ("fit", "people.csv", "--target", "pya", *FIT[4:]),
        "--target: no column 'pya' in people.csv; did you mean 'pay'?",
    ),
    "unknown feature": (
        (*FIT, "--features", "agee"),
        "--features: no column 'agee' in people.csv; did you mean 'age'?",
    ),
    "unknown drop": ((*FIT, "--drop", "agee"), "--drop: no column 'agee' in people.csv; did you mean 'age'?"),
    "unknown person": ((*FIT, "--person", "idd"), "--person: no column 'idd' in people.csv; did you mean 'id'?"),
    "unknown category": (
        (*FIT, "--category", "twon=a"),
        "--category: no column 'twon' in people.csv; did you mean 'town'?",
    ),
    "unknown target to select for": (("select", "people.csv", "--target", "pya", *SELECT[4:]), "did you mean 'pay'?"),
    "feature twice": ((*FIT, "--features", "age,age"), "--features: column 'age' is listed twice"),
    "target as a feature": ((*FIT, "--features", "pay"), "--features: column 'pay' is the target"),
    "no features": ((*FIT, "--drop", "age,town,id"), "no features are left"),
    "levels of the target": ((*FIT, "--category", "pay=1,2"), "--category: column 'pay' is the target"),
    "folder of the model is missing": ((*FIT, "--out", "no/model.json"), "no/model.json: the folder does not exist"),
    "report is a folder": ((*FIT, "--report", "."), ".: Is a directory"),
    "model over the data": ((*FIT, "--out", "people.csv"), "--out and DATA are the same file"),
    "model over the ledger": ((*FIT, *LEDGER, "people", "--out", "budget.db"), "--out and --ledger are the same file"),
    "model and report": ((*FIT, "--out", "new", "--report", "new"), "--report and --out are the same file"),
    "missing ledger": ((*FIT, "--ledger", "no.db", "--dataset", "people"), "no.db"),
    "missing data set": ((*FIT, *LEDGER, "poeple"), "budget.db has no data set 'poeple'"),
    "other unit": ((*FIT, *LEDGER, "people", "--person", "id"), "protects one record, as its first entry decided"),
    "refused": ((*FIT, *LEDGER, "people"), "refused: the budget of 'people'"),
    "refused by the accountant": ((*FIT[:-1], "0.5", *LEDGER, "people"), "refused: the budget of 'people'"),
    "more than there ever was": ((*SELECT[:-1], "2", *LEDGER, "people"), "refused: the budget of 'people'"),
    "no budget to plan with": (
        ("plan", "--rows", "9", "--columns", "9", "--epsilon", "0"),
        "epsilon must be a positive",
    ),
    "missing model": (("predict", "no.json", "people.csv"), "no.json: No such file or directory"),
    "predictions of a strange kind": (
        ("predict", "model.json", "people.csv", "--out", "p.xls"),
        "must end in .csv, .tsv",
    ),
    "predictions over the data": (("predict", "model.json", "people.csv", "--out", "people.csv"), "are the same file"),
    "unknown column to keep": (("predict", "model.json", "people.csv", "--keep", "agee"), "did you mean 'age'?"),
}  # fmt: skip
# What the kinds of the columns decide.
WITH_ARROW = {
    "target is text in Parquet": (("fit", "people.parquet", "--target", "town", *FIT[4:]), "column 'town' holds text"),
    "unknown target in Parquet": (("fit", "people.parquet", "--target", "pya", *FIT[4:]), "did you mean 'pay'?"),
    "unknown column of a folder": (("fit", "data", "--target", "pya", *FIT[4:]), "did you mean 'pay'?"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    people = pd.DataFrame({"id": [1, 2, 3], "age": [30, 40, 50], "town": ["a", "b", "a"], "pay": [1.5, 2.5, 3.5]})
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet")
    (folder / "data").mkdir()
    people.to_parquet(folder / "data" / "0.pq")
    (folder / "model.json").write_text("{}")
    ledger = Ledger(folder / "budget.db")
    ledger.create("people", "1", "1e-5")
    ledger.spend("people", Request(Decimal("0.9"), Decimal("1e-6"), "an earlier fit"))
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """Of each case: exit status, what was said, and the modules that were loaded."""
    before = sorted(folder.rglob("*"))
    cases = AT_ONCE | WITH_ARROW
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=True,
        input=json.dumps([words for words, _ in cases.values()]), env=os.environ | {"NO_COLOR": "1"},
    )  # fmt: skip
    assert done.stderr == ""
    assert sorted(folder.rglob("*")) == before
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))


def loaded(answer, status, text):
    """The modules that were loaded for the right answer."""
    assert answer[0] == status, answer[1]
    assert text in answer[1]
    assert answer[1].count("\n") == 1, answer[1]
    return set(answer[2])


@pytest.mark.parametrize("case", AT_ONCE)
def test_what_is_typed_is_checked_before_anything_is_loaded(answers, case):
    text = AT_ONCE[case][1]
    assert not {*HEAVY, *ARROW} & loaded(answers[case], 3 if text.startswith("refused") else 2, text)


@pytest.mark.parametrize("case", WITH_ARROW)
def test_kinds_of_columns_are_checked_before_anything_but_arrow_is_loaded(answers, case):
    modules = loaded(answers[case], 2, WITH_ARROW[case][1])
    assert "pyarrow" in modules
    assert not set(HEAVY) & modules
