"""`privreg ledger`, and fits and selections that spend from one."""

import json
import os
import subprocess

import pytest

from commands import refused, run
from fit_command import BUDGET, COLUMNS, fit
from privreg import Ledger
from processes import PRIVREG


@pytest.fixture
def budget(tmp_path):
    file = tmp_path / "budget.db"
    run("ledger", "create", file, "--dataset", "people", "--epsilon", "4", "--delta", "1e-5")
    return file


def status(file):
    return json.loads(run("ledger", "status", file, "--json").stdout)["datasets"][0]


def test_fits_and_selections_spend_from_the_ledger(folder, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    shown = fit(folder / "people.csv", *ledger).stdout
    assert "of 4 in 1 entry." in shown
    words = ("select", folder / "people.csv", "--target", "pay", "--k", "2", "--epsilon", "1", *COLUMNS)
    answer = json.loads(run(*words, *ledger, "--json").stdout)
    assert answer["ledger"]["entries"] == 2
    assert status(budget)["sum"] == {"epsilon": 4.0, "delta": 2e-6}
    history = json.loads(run("ledger", "history", budget, "--json").stdout)["entries"]
    assert [e["what"] for e in history] == ["fit pay: PrivateLinearRegression", "fit pay: DPKendall"]
    assert [e["state"] for e in history] == ["finished", "finished"]
    shown = run("ledger", "history", budget).stdout
    assert "fit pay: PrivateLinearRegression" in shown
    assert "people" in run("ledger", "status", budget, "--dataset", "people").stdout


@pytest.mark.parametrize("method", ["BAS", "Tukey", "K-BAS", "L-Tukey"])
def test_every_method_spends(folder, budget, method):
    fit(folder / "people.csv", "--method", method, "--ledger", budget, "--dataset", "people")
    answer = status(budget)
    assert (answer["entries"], answer["sum"]) == (1, {"epsilon": 3.0, "delta": 1e-6})
    assert answer["accountant"]["epsilon"] is None
    receipt = Ledger(budget).history()[0].receipt
    assert receipt["epsilon"] <= 3
    assert receipt["requested"]["delta"] <= 9e-7


@pytest.mark.parametrize("command", ["fit", "select"])
def test_a_request_beyond_the_budget_is_refused_before_the_data_is_opened(tmp_path, budget, command):
    words = (command, tmp_path / "there is no such file.csv", "--target", "pay", "--epsilon", "4.000001")
    more = ("--k", "2") if command == "select" else ("--out", tmp_path / "m.json")
    line = refused(*words, *more, "--ledger", budget, "--dataset", "people", status=3)
    assert line.startswith(f"privreg {command}: refused: the budget of 'people', ε = 4, δ = 1e-5, has no room for")
    assert status(budget)["entries"] == 0
    assert not (tmp_path / "m.json").exists()


def test_another_unit_is_refused_before_the_data_is_opened(folder, tmp_path, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    words = ("--target", "pay", "--features", "age", "--epsilon", "1", *ledger)
    run("fit", folder / "people.csv", *words, "--person", "family")
    missing = tmp_path / "there is no such file.csv"
    for more, unit in ((), "record"), (("--person", "house"), "person by house"):
        line = refused("fit", missing, *words, *more)
        assert f"is for one person by family since its first entry, and this request protects one {unit}" in line
    assert "No such file" in refused("fit", missing, *words, "--person", "family")


def test_names_with_brackets_are_names(folder, tmp_path):
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "[/] [red]x[/red]", "--epsilon", "4", "--delta", "1e-5")
    words = ("--ledger", file, "--dataset", "[/] [red]x[/red]")
    assert "Ledger: [/] [red]x[/red] has spent" in fit(folder / "people.csv", *words).stdout
    assert "[/] [red]x[/red]" in run("ledger", "status", file).stdout
    assert "[/] [red]x[/red]" in run("ledger", "history", file).stdout


def test_the_ledger_is_never_overwritten(folder, tmp_path, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    words = ("fit", folder / "people.csv", "--target", "pay", *BUDGET, *COLUMNS, *ledger)
    os.link(budget, tmp_path / "hard link")
    os.symlink(budget, tmp_path / "soft link")
    for option in ("--out", "--report"):
        for name in (budget, tmp_path / "hard link", tmp_path / "soft link"):
            assert f"{option} and --ledger are the same file" in refused(*words, option, name)
    assert status(budget)["entries"] == 0


def test_a_mistake_costs_nothing(folder, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    wrong = [("--target", "pya", *BUDGET), ("--target", "pay", "--epsilon", "0")]
    for words in (*wrong, ("--target", "pay", *BUDGET, "--range", "age=9..1")):
        refused("fit", folder / "people.csv", *words, *ledger)
    refused("fit", folder / "missing.csv", "--target", "pay", *BUDGET, *ledger)
    assert status(budget)["entries"] == 0


def test_a_full_budget_may_be_spent_in_one_fit(folder, tmp_path):
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "d", "--epsilon", "3", "--delta", "1e-6")
    fit(folder / "people.csv", "--ledger", file, "--dataset", "d")
    line = refused(
        "fit", folder / "people.csv", "--target", "pay", "--epsilon", "0.01", *COLUMNS, "--ledger", file,
        "--dataset", "d", status=3,
    )  # fmt: skip
    assert "room for ε up to 0" in line


def test_ledger_mistakes_are_one_line(tmp_path, budget):
    words = ("--dataset", "people", "--epsilon", "1", "--delta", "0")
    assert "has a data set 'people' already" in refused("ledger", "create", budget, *words)
    assert "has no data set 'x'" in refused("ledger", "status", budget, "--dataset", "x")
    assert "there is no ledger" in refused("ledger", "history", tmp_path / "none.db")
    assert "'one' is not a number" in refused(
        "ledger", "create", budget, "--dataset", "y", "--epsilon", "one", "--delta", "0"
    )
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one" * 100)
    assert "cannot be used" in refused("ledger", "status", tmp_path / "text.db")


def test_commands_race_for_a_budget(folder, tmp_path):
    """Two for one that fits one; the ledger's own test has eight processes, without the time that commands need."""
    file = tmp_path / "b.db"
    run("ledger", "create", file, "--dataset", "d", "--epsilon", "1", "--delta", "1e-5")
    words = [
        "select",
        folder / "people.csv",
        "--target",
        "pay",
        "--k",
        "1",
        "--epsilon",
        "1",
        "--features",
        "age,school",
    ]
    command = [PRIVREG, *map(str, words), "--ledger", str(file), "--dataset", "d", "--json"]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [(process.communicate(timeout=300), process.returncode) for process in racing]
    assert sorted(code for _, code in answers) == [0, 3]
    for (out, err), code in answers:
        assert bool(out) == (code == 0)
        assert ("refused" in err) == (code == 3)
    assert status(file)["sum"]["epsilon"] == 1
