"""`privreg ledger`, and fits and selections that spend from one."""

import csv
import io
import json
import os
import subprocess
from decimal import Decimal
from fractions import Fraction

import pytest

from commands import refused, run
from fit_command import BUDGET, COLUMNS, fit
from ledgers import ask
from privreg import Ledger
from processes import PRIVREG


@pytest.fixture
def budget(tmp_path):
    file = tmp_path / "budget.db"
    run("ledger", "create", file, "--dataset", "people", "--epsilon", "4", "--delta", "1e-5")
    return file


def status(file):
    return json.loads(run("ledger", "status", file, "--json").stdout)["datasets"][0]


def test_a_new_ledger_has_room_for_a_fit(budget):
    shown = run("ledger", "status", budget).stdout
    assert "left      a fit by the default method, with up to ε = 4 at δ = 1e-6" in shown


def test_a_ledger_without_delta_has_no_room_for_the_default_method(tmp_path):
    run("ledger", "create", tmp_path / "pure.db", "--dataset", "people", "--epsilon", "3", "--delta", "0")
    shown = run("ledger", "status", tmp_path / "pure.db").stdout
    assert "left      nothing for the default method, which needs δ > 0" in shown


def test_fits_and_selections_spend_from_the_ledger(folder, budget):
    ledger = ("--ledger", budget, "--dataset", "people")
    shown = fit(folder / "people.csv", *ledger).stdout
    assert "Ledger: people has spent ε = 3 of 4 in 1 entry. Left: one more fit by the default method, with" in shown
    assert "spent ε = 3, δ = 1e-6 (9e-7 by the fit, the rest for the ledger's accounting); protects any one" in shown
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
        assert (
            f"protects one person by family, as its first entry decided, but this request protects one {unit}" in line
        )
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
    assert "already has a data set 'people'" in refused("ledger", "create", budget, *words)
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


# ---- amendments, and the history that shows them

HOSTILE = "=cmd|' /C calc'!A0\nforged,line\x1b[31mred\u202eright"


def amended(file, *words, reason="a second study was approved", **expect):
    return run("ledger", "amend", file, "--dataset", "people", *words, "--reason", reason, **expect)


def test_a_budget_is_amended_and_status_and_history_say_so(budget, monkeypatch):
    monkeypatch.setattr("privreg.privacy.ledger.ledger.login_name", lambda: "ada")
    Ledger(budget).spend("people", ask("1", purpose="section 2"))
    assert amended(budget, "--epsilon", "5.5").stdout == (f"people: ε = 4, δ = 1e-5 → ε = 5.5, δ = 1e-5 in {budget}\n")
    Ledger(budget).spend("people", ask("0.5"))
    told = json.loads(amended(budget, "--delta", "0.000001", "--json", reason="less").stdout)
    keys = ("number", "who", "reason", "after", "old_delta", "delta", "epsilon")
    assert [told["amendment"][key] for key in keys] == [2, "ada", "less", 2, "0.00001", "0.000001", "5.5"]
    assert told["status"]["budget"] == {"epsilon": "5.5", "delta": "0.000001"}
    assert told["status"]["within"] is True
    assert [a["reason"] for a in status(budget)["amendments"]] == ["a second study was approved", "less"]
    history = json.loads(run("ledger", "history", budget, "--json").stdout)
    assert [(a["number"], a["after"]) for a in history["amendments"]] == [(1, 1), (2, 2)]
    assert [e["number"] for e in history["entries"]] == [1, 2]
    text = " ".join(run("ledger", "history", budget).stdout.split())
    places = [text.index(words) for words in ("section 2", "amend ε 4 → 5.5", " 0.5 ", "amend δ 1e-5 → 1e-6")]
    assert places == sorted(places)
    assert "by ada: ε = 5.5, δ = 1e-5 → ε = 5.5, δ = 1e-6: less\n" in run("ledger", "status", budget).stdout


def test_less_than_was_spent_is_said_clearly(folder, budget):
    Ledger(budget).spend("people", ask("3"))
    assert amended(budget, "--epsilon", "1").stdout.splitlines()[1:] == [
        "More than that is spent already: every further request is refused."
    ]
    assert "nothing: more is spent than the budget, which was lowered" in run("ledger", "status", budget).stdout
    answer = status(budget)
    assert (answer["within"], answer["room"]["epsilon"]) == (False, 0)
    words = ("fit", folder / "people.csv", "--target", "pay", "--epsilon", "0.1", "--ledger", budget)
    refused(*words, "--dataset", "people", status=3)


def test_amendments_that_are_refused(budget):
    words = ("ledger", "amend", budget, "--dataset", "people")
    assert "--reason TEXT is missing: why the budget changes; see privreg ledger amend -h" in refused(
        *words, "--epsilon", "5"
    )
    assert "needs a reason" in refused(*words, "--epsilon", "5", "--reason", " ")
    assert "needs a new epsilon or a new delta" in refused(*words, "--reason", "why")
    assert "already" in refused(*words, "--epsilon", "4.0", "--reason", "why")
    assert "'many' is not a number" in refused(*words, "--epsilon", "many", "--reason", "why")
    assert "has no data set 'x'" in refused(
        "ledger", "amend", budget, "--dataset", "x", "--delta", "0", "--reason", "y"
    )
    assert status(budget)["amendments"] == []


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_the_history_as_csv_is_exact(budget, monkeypatch):
    monkeypatch.setattr("privreg.privacy.ledger.ledger.login_name", lambda: "ada")
    mu_squared = Fraction(1, 2**100) + 3
    Ledger(budget).spend("people", ask("0.10000000000000000000001", "1e-7", mu_squared, purpose='a "quoted", word'))
    amended(budget, "--epsilon", "5")
    text = run("ledger", "history", budget, "--csv").stdout
    first, second = rows_of(text)
    assert (first["kind"], first["number"], first["dataset"], first["who"]) == ("entry", "1", "people", "ada")
    assert (first["purpose"], first["what"], first["state"]) == ('a "quoted", word', "test", "begun")
    assert Decimal(first["epsilon"]) == Decimal("0.10000000000000000000001")
    assert Decimal(first["delta"]) == Decimal("1e-7")
    assert Fraction(first["mu_squared"]) == mu_squared
    assert (second["kind"], second["reason"], second["epsilon"]) == ("amendment", "a second study was approved", "")
    budgets = [second[name] for name in ("old_budget_epsilon", "old_budget_delta", "budget_epsilon", "budget_delta")]
    assert budgets == ["4", "0.00001", "5", "0.00001"]
    assert rows_of(run("ledger", "history", budget, "--dataset", "people", "--csv").stdout) == [first, second]
    assert "choose one" in refused("ledger", "history", budget, "--csv", "--json")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t=", "\r=", " =", "＝", "'"])
def test_no_cell_is_a_formula(tmp_path, monkeypatch, begin):
    monkeypatch.setattr("privreg.privacy.ledger.ledger.login_name", lambda: f"{begin}who")
    file, name = tmp_path / "b.db", f"{begin}name"
    Ledger(file).create(name, 4, 0)
    Ledger(file).spend(name, ask("1", purpose=f"{begin}purpose"))
    Ledger(file).amend(name, 5, reason=f"{begin}reason")
    cells = [cell for row in rows_of(run("ledger", "history", file, "--csv").stdout) for cell in row.values()]
    assert [cell[0] for cell in cells if cell.endswith(("name", "who", "purpose", "reason"))] == ["'"] * 6


def test_hostile_texts_do_not_forge_lines_or_reach_the_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr("privreg.privacy.ledger.ledger.login_name", lambda: HOSTILE)
    file = tmp_path / "b.db"
    Ledger(file).create(HOSTILE, 4, 0)
    Ledger(file).spend(HOSTILE, ask("1", purpose=HOSTILE))
    run("ledger", "amend", file, "--dataset", HOSTILE, "--epsilon", "5", "--reason", HOSTILE)
    for words in ("history",), ("history", "--csv"), ("status",), ("backup", tmp_path / "copy.db"):
        out = run("ledger", words[0], file, *words[1:]).stdout
        assert not any(sign in out for sign in "\x1b\u202e")
        assert not any(line.startswith("forged") for line in out.splitlines())
    assert len(run("ledger", "history", file, "--csv").stdout.splitlines()) == 3
    history = json.loads(run("ledger", "history", file, "--json").stdout)
    assert history["amendments"][0]["reason"] == HOSTILE  # as it is, for programs


# ---- copies


def test_a_copy_says_what_it_holds(budget, tmp_path):
    run("ledger", "create", budget, "--dataset", "others", "--epsilon", "1", "--delta", "0")
    Ledger(budget).spend("people", ask("1.5"))
    amended(budget, "--epsilon", "5")
    copy = tmp_path / "copy.db"
    assert run("ledger", "backup", budget, copy).stdout.splitlines() == [
        f"{copy} is a copy of {budget}: 2 data sets, 1 amendment",
        "  others: 0 entries, ε = 0 of 1 spent",
        "  people: 1 entry, ε = 1.5 of 5 spent",
        "Restoring this copy erases what was spent after it was made.",
    ]
    assert Ledger(copy).history() == Ledger(budget).history()
    line = refused("ledger", "backup", budget, copy)
    assert line == f"privreg ledger backup: {copy}: the file already exists; --force (force=True) replaces it\n"
    answer = json.loads(run("ledger", "backup", budget, copy, "--force", "--json").stdout)
    assert (answer["file"], answer["amendments"]) == (str(copy), 1)
    assert [each["entries"] for each in answer["datasets"]] == [0, 1]


def test_copies_that_are_refused(budget, tmp_path):
    assert "is the ledger itself" in refused("ledger", "backup", budget, budget, "--force")
    assert "there is no ledger" in refused("ledger", "backup", tmp_path / "none.db", tmp_path / "copy.db")
    assert "the folder does not exist" in refused("ledger", "backup", budget, tmp_path / "no" / "copy.db")
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one" * 100)
    assert "cannot be used" in refused("ledger", "backup", tmp_path / "text.db", tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
