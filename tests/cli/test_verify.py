"""`privreg verify`: a model file is found in the ledger that it was paid from, and nowhere else."""

import json
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pytest

from commands import refused, run
from fit_command import fit
from privreg import Ledger, PrivateLinearRegression, TukeyRegression, load_model
from privreg.results.model_file import _digest

METHODS = ["auto", "BAS", "Tukey", "K-BAS", "K-Tukey", "L-BAS", "L-Tukey"]


@pytest.fixture
def budget(tmp_path, monkeypatch):
    monkeypatch.setattr("privreg.privacy.ledger.ledger.login_name", lambda: "ada")
    ledger = Ledger(tmp_path / "budget.db")
    ledger.create("people", 40, "1e-4")
    ledger.create("others", 40, "1e-4")
    return ledger


@pytest.fixture
def paid(folder, budget, tmp_path):
    """A model file, the second entry of "people"."""
    ledger = ("--ledger", budget.path, "--dataset", "people")
    fit(folder / "people.csv", *ledger)
    fit(folder / "people.csv", *ledger, "--purpose", "section 2", "--out", tmp_path / "model.json")
    return tmp_path / "model.json"


def verify(model, ledger, *words, expect=0):
    return run("verify", model, "--ledger", ledger.path, *words, expect=expect).stdout


def change(path, edit):
    """A file that was changed by somebody who also makes the digest anew."""
    content = json.loads(path.read_text())
    edit(content)
    content["digest"] = _digest(content)
    path.write_text(json.dumps(content))


def alter(ledger, statement):
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute(statement)
        file.commit()


def test_a_release_is_found(paid, budget):
    day = budget.history()[1].time[:10]
    yes = (
        "Yes. Entry 2 of people holds this model: fit pay: PrivateLinearRegression, ε = 3, δ = 1e-6, for one record, "
        f"by ada on {day}, purpose: section 2.\n"
    )
    assert verify(paid, budget) == yes
    assert verify(paid, budget, "--dataset", "people") == yes
    answer = json.loads(verify(paid, budget, "--json"))
    assert (answer["verified"], answer["reason"]) == (True, None)
    (entry,) = answer["entries"]
    assert (entry["number"], entry["dataset"], entry["epsilon"], entry["delta"]) == (2, "people", "3.0", "0.000001")
    assert entry["fingerprint"].startswith("sha256:")
    budget.amend("people", 1, reason="less")
    assert verify(paid, budget) == yes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("more", [(), ("--person", "family", "--rows-per-person", "2")], ids=["records", "people"])
def test_every_method_is_found(folder, budget, tmp_path, method, more):
    words = ("--ledger", budget.path, "--dataset", "people", "--out", tmp_path / "model.json", "--method", method)
    columns = ("--features", "age,school,noise", "--epsilon", "3")
    run("fit", folder / "people.csv", "--target", "pay", *columns, *words, *more)
    assert verify(tmp_path / "model.json", budget).startswith("Yes. Entry 1 of people holds this model: fit pay: ")


def test_a_model_that_is_written_again_is_the_same_release(paid, budget, tmp_path):
    load_model(paid).save(tmp_path / "again.json")
    assert verify(tmp_path / "again.json", budget).startswith("Yes. Entry 2 ")
    assert verify(paid, budget.backup(tmp_path / "copy.db")).startswith("Yes. Entry 2 ")


def test_a_model_that_was_not_paid_from_this_ledger_is_not_found(folder, paid, budget, tmp_path):
    free = tmp_path / "free.json"
    fit(folder / "people.csv", "--out", free)
    assert verify(free, budget, expect=1) == f"No: no entry of {budget.path} holds this release\n"
    answer = json.loads(verify(free, budget, "--dataset", "people", "--json", expect=1))
    assert answer == {"verified": False, "reason": "no entry of people holds this release", "entries": []}
    said = "No: it is entry 2 of people, not an entry of others\n"
    assert verify(paid, budget, "--dataset", "others", expect=1) == said
    empty = Ledger(tmp_path / "empty.db")
    empty.create("people", 1, 0)
    assert verify(paid, empty, expect=1) == f"No: no entry of {empty.path} holds this release\n"


def test_a_seeded_model_is_in_no_ledger(budget, tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PrivateLinearRegression(1.0, 1e-6, random_state=0).fit(X, X[:, 0]).save(tmp_path / "model.json")
    said = "No: its noise came from a seed, so it is not private, and no ledger contains it\n"
    assert verify(tmp_path / "model.json", budget, expect=1) == said


def test_a_changed_file_is_refused_or_not_found(paid, budget):
    original = paid.read_text()
    paid.write_text(original.replace('"pay"', '"gap"'))
    line = refused("verify", paid, "--ledger", budget.path)
    assert line == f"privreg verify: {paid} was changed after it was written (its digest does not match)\n"
    paid.write_text(original)
    change(paid, lambda content: content["model"]["theta"].__setitem__(0, content["model"]["theta"][0] + 1e-9))
    said = verify(paid, budget, expect=1)
    assert said.startswith(
        f"No: no entry of {budget.path} holds this release; with the same cost but a different result"
    )
    assert "entry 2 of people" in said
    paid.write_text(original)
    change(paid, lambda content: content["receipt"].__setitem__("private", False))
    assert verify(paid, budget, expect=1).startswith("No: its noise came from a seed")
    paid.write_text(original)
    change(paid, lambda content: content["receipt"]["requested"].__setitem__("epsilon", 0.5))
    assert verify(paid, budget, expect=1).startswith("No: ")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "UPDATE entry SET epsilon = '1' WHERE number = 2",
            "the model ran with ε = 3, δ = 9e-7, while the entry allows ε = 1",
        ),
        ("UPDATE entry SET delta = '0.000002' WHERE number = 2", "while the entry allows ε = 3, δ = 1.8e-6"),
        (
            "UPDATE entry SET unit = 'person by family' WHERE number = 2",
            "the model protects one record, while the entry protects one person",
        ),
        ("UPDATE entry SET state = 'failed' WHERE number = 2", "the ledger was altered"),
        ("UPDATE entry SET receipt = '{\"a\": 1}' WHERE number = 2", "the ledger was altered"),
        ("UPDATE entry SET receipt = NULL WHERE number = 2", "the ledger was altered"),
    ],
)
def test_an_entry_that_does_not_fit_its_release_is_told(paid, budget, statement, said):
    alter(budget, statement)
    out = verify(paid, budget, expect=1)
    assert out.startswith("No: entry 2 of people holds this release, but ")
    assert said in out
    assert json.loads(verify(paid, budget, "--json", expect=1))["entries"] == []


def test_the_same_release_twice_is_both_entries(budget, tmp_path):
    """Where there is too little data nothing is released, and two fits are alike."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            model = TukeyRegression(0.1, 1e-9, n_records=20, ledger=budget, dataset="people").fit(X, X[:, 0])
    model.save(tmp_path / "model.json")
    lines = verify(tmp_path / "model.json", budget).splitlines()
    assert [line[:23] for line in lines] == ["Yes. Entry 1 of people ", "Yes. Entry 2 of people "]


def test_mistakes_are_one_line(paid, budget, tmp_path):
    assert "--ledger FILE is missing: the ledger to look in; see privreg verify -h" in refused("verify", paid)
    assert "there is no ledger" in refused("verify", paid, "--ledger", tmp_path / "none.db")
    assert "has no data set 'x'" in refused("verify", paid, "--ledger", budget.path, "--dataset", "x")
    assert "No such file" in refused("verify", tmp_path / "none.json", "--ledger", budget.path)
    assert "is not a privreg model file" in refused("verify", budget.path, "--ledger", budget.path)
    assert "cannot be used" in refused("verify", paid, "--ledger", paid)
    alter(budget, "UPDATE entry SET fingerprint = x'00' WHERE number = 1")
    assert "is damaged" in refused("verify", paid, "--ledger", budget.path)


def test_hostile_texts_stay_on_their_line(folder, budget, tmp_path):
    purpose = "nothing\nyes: entry 9\x1b[2J\u202e"
    words = ("--ledger", budget.path, "--dataset", "people", "--purpose", purpose, "--out", tmp_path / "model.json")
    fit(folder / "people.csv", *words)
    out = verify(tmp_path / "model.json", budget)
    assert out.endswith("purpose: nothing yes: entry 9\ufffd[2J\ufffd.\n")
    assert out.count("\n") == 1


def test_formula_and_filter_are_part_of_the_release(folder, budget, tmp_path):
    model = tmp_path / "model.json"
    words = ("--epsilon", "3", "--ledger", budget.path, "--dataset", "people", "--out", model)
    run("fit", folder / "people.csv", "log(pay) ~ age + school", "--where", "age >= 30", *words)
    said = verify(model, budget)
    assert said.startswith("Yes. Entry 1 of people holds this model: fit ")
    assert "age >= 30" in said
    change(model, lambda content: content["schema"].__setitem__("where", "age >= 40"))
    assert verify(model, budget, expect=1).startswith(f"No: no entry of {budget.path} holds this release")
