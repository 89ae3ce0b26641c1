"""Formulas and filters as a user types them."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from commands import refused, run
from ledgers import opened
from privreg import load_model

FORMULA = "log(pay) ~ age + I(age**2) + C(town) + school"
WHERE = "age >= 25 and town != 'east'"
BUDGET = ("--epsilon", "5", "--yes")
FILES = ["people.csv", "people.tsv", "people-eu.csv", "people.parquet"]


@pytest.fixture(scope="module")
def model(folder):
    run("fit", folder / "people.csv", FORMULA, "--where", WHERE, *BUDGET, "--out", folder / "formula.json")
    return folder / "formula.json"


def predictions(text):
    return [float(row["prediction"]) for row in csv.DictReader(text.splitlines())]


@pytest.mark.parametrize("file", FILES)
def test_fit_takes_a_formula_and_a_filter(folder, file):
    answer = json.loads(run("fit", folder / file, FORMULA, "--where", WHERE, *BUDGET, "--json").stdout)
    assert (answer["target"], answer["formula"], answer["where"]) == ("log(pay)", FORMULA, WHERE)
    assert answer["columns"][:2] == ["age", "I(age**2)"]
    assert {column.partition("=")[0] for column in answer["columns"]} == {"age", "I(age**2)", "town", "school"}


def test_what_a_fit_shows(folder):
    shown = run("fit", folder / "people.csv", FORMULA, "--where", WHERE, *BUDGET).stdout.replace("\n", " ")
    assert f"Formula: {FORMULA}" in shown
    assert f"Only records where {WHERE} were used." in shown
    assert "Predictions are of log(pay), not of pay." in shown


def test_predictions_of_a_formula_are_the_same_everywhere(folder, model, people):
    found = load_model(model)
    expected = found.predict(people)
    for file in ("people.csv", "people.tsv", "people.parquet"):
        assert predictions(run("predict", model, folder / file).stdout) == expected.tolist()
        undone = run("predict", model, folder / file, "--inverse").stdout
        assert predictions(undone) == found.predict(people, inverse=True).tolist()
    np.testing.assert_allclose(found.predict(people, inverse=True), np.exp(expected), rtol=1e-14)


def test_prediction_needs_only_the_columns_of_the_formula(folder, model, people, tmp_path):
    people[["school", "town", "age"]][:9].to_csv(tmp_path / "new.csv", index=False)
    expected = load_model(model).predict(people[:9])
    assert predictions(run("predict", model, tmp_path / "new.csv").stdout) == expected.tolist()
    people[["town", "age"]][:9].to_csv(tmp_path / "less.csv", index=False)
    assert "the model needs a column that is missing: no column 'school'" in refused(
        "predict", model, tmp_path / "less.csv"
    )


def test_inverse_needs_a_function_of_the_target(folder, tmp_path):
    run("fit", folder / "people.csv", "I(pay + age) ~ school", *BUDGET, "--out", tmp_path / "m.json")
    words = ("predict", tmp_path / "m.json", folder / "people.csv", "--inverse")
    assert "inverse undoes a function of the target" in refused(*words)


def test_check_says_what_a_fit_would_do(folder):
    words = ("check", folder / "people.csv", FORMULA, "--where", WHERE, *BUDGET)
    answer = json.loads(run(*words, "--json").stdout)
    assert answer["formula"] == FORMULA
    assert answer["where"] == WHERE
    assert answer["target"] == "log(pay)"
    assert list(answer["columns"]) == ["age", "town", "school"]
    assert f"Formula: {FORMULA}" in run(*words).stdout.replace("\n", " ")


def test_select_takes_a_formula(folder):
    words = ("select", folder / "people.parquet", "pay ~ age*town + school + noise", "--k", "2", *BUDGET)
    answer = json.loads(run(*words, "--where", "age > 20", "--json").stdout)
    assert answer["target"] == "pay"
    assert len(answer["selected_features"]) == 2


def test_a_schema_is_read_under_a_filter_and_used_by_a_formula(folder, tmp_path):
    out = tmp_path / "schema.json"
    where = "town == 'north' or family < 9"
    run("schema", folder / "people.csv", "--where", where, "--drop", "name", *BUDGET, "--out", out)
    assert where in out.read_text()
    words = ("fit", folder / "people.csv", "log(pay) ~ age + school", "--schema", out, *BUDGET)
    steps = json.loads(run(*words, "--json").stdout)["receipt"]["steps"]
    assert not any("kinds" in step["name"] or "common" in step["name"] for step in steps)


def test_people_and_filters(folder):
    words = ("fit", folder / "people.csv", "pay ~ . - name", "--person", "family", *BUDGET)
    answer = json.loads(run(*words, "--where", "family > 100 and pay > 0", "--json").stdout)
    assert {column.partition("=")[0] for column in answer["columns"]} == {"age", "school", "town", "noise"}
    assert "person" in answer["receipt"]["unit"]
    plain = ("fit", folder / "people.parquet", "--target", "pay", "--drop", "name", "--person", "family", *BUDGET)
    run(*plain, "--where", "family > 100 and pay > 0")


def test_the_ledger_has_the_formula(folder, tmp_path):
    ledger = opened(tmp_path, 100, "1e-3")
    words = ("--ledger", tmp_path / "budget.db", "--dataset", "people")
    run("fit", folder / "people.csv", FORMULA, "--where", WHERE, *BUDGET, *words)
    run("schema", folder / "people.csv", "--where", WHERE, *BUDGET, *words)
    fit, schema = ledger.history()
    assert fit.what == f"fit {FORMULA} where {WHERE}: PrivateLinearRegression"
    assert WHERE in schema.what
    for wrong in MISTAKES.values():
        refused(*wrong[0](folder / "people.csv"), *words)
    assert len(ledger.history()) == 2


FIT = ("--epsilon", "1")
MISTAKES = {
    "unknown column": (lambda f: ("fit", f, "pay ~ agee", *FIT), "formula: no column 'agee'; did you mean 'age'?"),
    "unknown column in where": (
        lambda f: ("fit", f, "pay ~ age", "--where", "agee > 3", *FIT),
        "where: no column 'agee'; did you mean 'age'?",
    ),
    "no formula and no target": (lambda f: ("fit", f, *FIT), "name the column to predict with --target, or write a"),
    "formula and target": (
        lambda f: ("fit", f, "pay ~ age", "--target", "pay", *FIT),
        "the formula names the target and the columns already; leave out --target, --features and --drop",
    ),
    "formula and features": (
        lambda f: ("fit", f, "pay ~ age", "--features", "age", *FIT),
        "leave out --target, --features and --drop",
    ),
    "formula and drop": (lambda f: ("fit", f, "pay ~ .", "--drop", "age", *FIT), "leave out --target, --features and"),
    "selection": (
        lambda f: ("select", f, "pay ~ age", "--k", "1", "--target", "pay", *FIT),
        "the formula names the target",
    ),
    "no condition": (
        lambda f: ("fit", f, "pay ~ age", "--where", "age", *FIT, "--where", "age+1"),
        "is not a condition",
    ),
    "schema without a condition": (
        lambda f: ("schema", f, "--where", "pay", *FIT, "--where", "1"),
        "does not contain a column",
    ),
    "no intercept": (lambda f: ("fit", f, "pay ~ age - 1", *FIT), "without an intercept"),
    "other records": (lambda f: ("fit", f, "pay ~ scale(age)", *FIT), "scale() depends on other records"),
    "code": (lambda f: ("fit", f, "pay ~ __import__('os')", *FIT), "there is no function '__import__'"),
    "monster": (lambda f: ("fit", f, "pay ~ I(age*9**9**9**9)", *FIT), "a number is too large"),
    "many terms": (lambda f: ("fit", f, "pay ~ .**9", *FIT), "more than 1,000 terms"),
    "control characters": (lambda f: ("fit", f, "pay ~ \x1b[31mage", *FIT), "characters that cannot be printed"),
    "people": (lambda f: ("fit", f, "pay ~ family", "--person", "family", *FIT), "'family' identifies people"),
    "two lines": (lambda f: ("fit", f, "pay ~ age", "--where", "town == 'a\nb'", *FIT), "is not allowed here"),
    "levels twice": (
        lambda f: ("fit", f, "pay ~ log(town)", "--category", "town=north,south", *FIT),
        "so the formula cannot compute with it",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_told_in_one_line(case, folder):
    words, told = MISTAKES[case]
    for file in ("people.csv", "people.parquet"):
        assert told in refused(*words(folder / file))
    if words(folder)[0] == "fit":
        assert told in refused("check", *words(folder / "people.csv")[1:])


def test_the_real_command(folder, tmp_path):
    """Another process, as typed in a shell; formulaic is loaded without a word."""
    command = [sys.executable, "-W", "error::SyntaxWarning", "-m", "privreg", "fit", str(folder / "people.csv"),
               FORMULA, "--where", WHERE, "--out", str(tmp_path / "m.json"), *BUDGET, "--json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"] == "log(pay)"
    command[command.index(FORMULA)] = "pay ~ agee"
    done = subprocess.run([*command, "--force"], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "no column 'agee'; did you mean 'age'?" in done.stderr
