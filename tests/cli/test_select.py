"""`privreg select` as a user types it."""

import json

import pytest

from commands import refused, run
from fit_command import COLUMNS


def test_select_prints_names_in_order(folder):
    words = ("select", folder / "people.csv", "--target", "pay", "--k", "2", "--epsilon", "5", *COLUMNS)
    answer = json.loads(run(*words, "--json").stdout)
    # Scores differ by thousands and the noise has scale 5: the order is certain (failure below 1e-100).
    assert answer["selected_features"][0] == "school"
    assert len(answer["selected_features"]) == 2
    assert answer["receipt"]["delta"] <= 1e-6
    lines = run(*words).stdout.splitlines()
    assert lines[0] == "pay: 2 features, in the order they were chosen."
    assert lines[2] == " 1. school"
    shown = run(*words, "--method", "sublasso", "--verbose").stdout
    assert "Chosen by the votes of many small models" in shown
    assert "Choosing: which columns" in shown


def test_select_says_when_there_is_nothing_to_choose(folder):
    words = ("--target", "pay", "--k", "9", "--epsilon", "1", "--features", "age,school")
    shown = run("select", folder / "people.parquet", *words).stdout
    assert "there are no more columns than were asked for, so all were taken" in shown
    assert "nothing was released from the data, so nothing was spent" in shown
    assert "Not counted" not in shown


def test_finding_out_about_columns_is_no_choice(folder):
    """The budget for the kinds of columns is spent, but nothing was chosen."""
    words = ("--target", "pay", "--k", "9", "--epsilon", "3", "--features", "age,town")
    shown = run("select", folder / "people.csv", *words).stdout
    assert "there are no more columns than were asked for, so all were taken" in shown
    assert "Privacy: spent" in shown
    assert "chosen" not in shown.lower()
    assert " 1. " not in shown


def test_select_refuses_what_it_cannot_do(folder):
    words = ("select", folder / "people.csv", "--target", "pay", "--epsilon", "1", *COLUMNS)
    assert "--method must be one of kendall, sublasso" in refused(*words, "--k", "2", "--method", "lasso")
    assert "--k" in refused(*words, "--k", "0")


def test_the_ledger_is_asked_before_records_are_read(folder, monkeypatch):
    """What choosing costs by the accountant, only the selector knows: it asks again, and still before reading."""
    book = folder / "asked.db"
    run("ledger", "create", book, "--dataset", "d", "--epsilon", "1", "--delta", "1e-5")
    words = (
        "select",
        folder / "people.csv",
        "--target",
        "pay",
        "--k",
        "2",
        *COLUMNS,
        "--ledger",
        book,
        "--dataset",
        "d",
    )
    run(*words, "--epsilon", "0.3")
    monkeypatch.setattr("privreg.data.text_file.TextFile.read", lambda *_: pytest.fail("records were read"))
    assert "refused" in refused(*words, "--epsilon", "0.9", status=3)


@pytest.mark.parametrize("command", ["select", "schema"])
def test_no_joint_tests_are_promised_without_a_model(command):
    assert "joint tests" not in run(command, "-h").stdout
    assert "joint tests" in run("fit", "-h").stdout
