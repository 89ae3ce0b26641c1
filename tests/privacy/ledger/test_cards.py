"""The cards of ledgers. They never raise, and never wait long: a notebook shows them by itself."""

import os
import sqlite3
from contextlib import closing
from time import monotonic

import pytest

from cards import shown
from ledgers import ask, fit_request, opened
from privreg import Ledger


def test_each_data_set_has_a_row(tmp_path):
    ledger = opened(tmp_path, 3, "1e-5")
    ledger.create("other", 1, "1e-6")
    ledger.spend("people", ask(1, "1e-6"))
    card = shown(ledger)
    assert card.title == "Ledger budget.db"
    rows = {row[0]: row[1:] for row in card.rows}
    assert rows["people"][:4] == ["ε = 3, δ = 1e-5", "ε = 1", "1", "one record"]
    assert rows["other"][:4] == ["ε = 1, δ = 1e-6", "ε = 0", "0", "set by the first entry"]
    assert rows["people"][4] == "ε up to 2 at δ = 1e-6"
    assert str(tmp_path) not in card.text


def test_the_status_of_one(tmp_path):
    ledger = opened(tmp_path, 3, "1e-5")
    ledger.spend("people", ask(1, "1e-6"))
    (status,) = ledger.status("people")
    card = shown(status)
    assert card.title == "Budget of people Within budget"
    assert card.facts["Spent"] == "ε = 1 (sum of requests: ε = 1, δ = 1e-6)"
    assert card.facts["Room for"] == "one more fit by the default method, with up to ε = 2 at δ = 1e-6"
    ledger.amend("people", "0.5", reason="less")
    (status,) = ledger.status("people")
    for card in (shown(status), shown(ledger)):
        assert card.title.endswith("Overspent")
        assert "very further request is refused." in card.text
    assert shown(status).facts["Room for"] == "nothing"


def test_no_room_is_promised_without_delta(tmp_path):
    """The default method refuses δ = 0."""
    ledger = opened(tmp_path, 3, "0")
    nothing = "nothing for the default method, which needs δ > 0"
    assert shown(ledger.status("people")[0]).facts["Room for"] == nothing
    assert shown(ledger).rows[-1][-1] == nothing


def test_an_amended_budget_names_the_largest(tmp_path):
    """Lowering a budget takes nothing back: what is guaranteed is the largest that was ever in force."""
    ledger = opened(tmp_path, 3, "1e-5")
    assert "ever in force" not in shown(ledger).text
    ledger.amend("people", "1", "1e-6", reason="less")
    ledger.amend("people", "2", reason="more")
    text = shown(ledger).text
    assert "people: the budget was amended. The largest ever in force: ε = 3, δ = 1e-5." in text


def test_numbers_that_do_not_add_up_are_explained(tmp_path):
    ledger = opened(tmp_path, 3, "1e-5")
    ledger.spend("people", fit_request("1", "1e-6"))
    assert "Fits compose to less than the sum of their ε" in shown(ledger).text
    assert "Fits compose to less than the sum of their ε" in shown(ledger.status("people")[0]).text


def test_no_file(tmp_path):
    card = shown(Ledger(tmp_path / "new.db"))
    assert card.title == "Ledger new.db No file"
    assert str(tmp_path) not in card.text
    assert list(tmp_path.iterdir()) == []


def test_no_data_sets(tmp_path):
    ledger = opened(tmp_path, 1, "0")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as file:
        file.execute("DELETE FROM dataset")
        file.commit()
    assert "The ledger has no data sets yet." in shown(ledger).text


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\x00" * 4096])
def test_not_a_ledger(tmp_path, content):
    (tmp_path / "odd.db").write_bytes(content)
    card = shown(Ledger(tmp_path / "odd.db"))
    assert card.title == "Ledger odd.db Not readable"
    assert str(tmp_path) not in card.text


def test_a_folder(tmp_path):
    assert shown(Ledger(tmp_path)).title.endswith("Not readable")


def test_damage(tmp_path):
    ledger = opened(tmp_path, 1, "0")
    with closing(sqlite3.connect(tmp_path / "budget.db")) as file:
        file.execute("UPDATE dataset SET epsilon = 'much'")
        file.commit()
    card = shown(ledger)
    assert card.title.endswith("Not readable")
    assert "damaged" in card.text


def test_locked(tmp_path):
    """By somebody who writes to it right now."""
    ledger = opened(tmp_path, 1, "0")
    with closing(sqlite3.connect(tmp_path / "budget.db", isolation_level=None)) as file:
        file.execute("BEGIN EXCLUSIVE")
        begin = monotonic()
        card = shown(ledger)
        assert monotonic() - begin < 20
        assert card.title.endswith("Not readable")
        assert "locked" in card.text
        file.execute("ROLLBACK")
    assert shown(ledger).title == "Ledger budget.db"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_right_to_read(tmp_path):
    ledger = opened(tmp_path, 1, "0")
    (tmp_path / "budget.db").chmod(0)
    assert shown(ledger).title.endswith("Not readable")


def test_names_that_no_file_can_have():
    assert "Ledger" in shown(Ledger("a\x00b.db")).title
