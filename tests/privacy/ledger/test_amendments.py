"""More or less budget: what changes, what stays, and where it stands in the history."""

import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

from ledgers import ask, opened
from privreg import BudgetRefusedError, Ledger, LedgerError
from privreg.privacy.ledger import ledger as module
from privreg.privacy.ledger.lines import in_order


def test_what_is_not_told_stays(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    made = ledger.amend("people", epsilon="2.5", reason="a second study")
    assert (made.old_epsilon, made.old_delta, made.epsilon, made.delta) == tuple(
        map(Decimal, ("2", "1e-5", "2.5", "1e-5"))
    )
    ledger.amend("people", delta="1e-6", reason="as the board wants it")
    status = ledger.status("people")[0]
    assert (status.epsilon, status.delta) == (Decimal("2.5"), Decimal("1e-6"))
    assert ledger.amendments("people")[0] == made


def test_less_than_was_spent_lets_nothing_more_through(tmp_path):
    ledger = opened(tmp_path, "2", "0")
    ledger.spend("people", ask("1.5"))
    assert ledger.status()[0].within
    ledger.amend("people", epsilon=1, reason="too much")
    status = ledger.status()[0]
    assert (status.within, status.sum_epsilon, status.room(Decimal(0))) == (False, Decimal("1.5"), 0)
    assert status.to_dict()["within"] is False
    with pytest.raises(BudgetRefusedError, match="room for ε up to 0"):
        ledger.spend("people", ask("1e-9"))
    ledger.amend("people", epsilon="1.75", reason="after all")
    ledger.spend("people", ask("0.25"))
    assert ledger.status()[0].sum_epsilon == Decimal("1.75")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": 3}, "needs a reason"),
        ({"epsilon": 3, "reason": " \n"}, "needs a reason"),
        ({"epsilon": 3, "reason": 7}, "needs a reason"),
        ({"epsilon": 3, "reason": "half \ud83d"}, "needs a reason"),
        ({"reason": "why"}, "needs a new epsilon or a new delta"),
        ({"epsilon": 0, "reason": "why"}, "must be a positive number"),
        ({"delta": 1, "reason": "why"}, r"in \[0, 1\)"),
    ],
)
def test_mistakes_change_nothing(tmp_path, change, said):
    ledger = opened(tmp_path, "2", "0")
    with pytest.raises(ValueError, match=said):
        ledger.amend("people", **change)
    with pytest.raises(LedgerError, match="already"):
        ledger.amend("people", "2.0", "0.00", "the same")
    with pytest.raises(LedgerError, match="no data set"):
        ledger.amend("others", 3, reason="why")
    assert ledger.amendments() == []


def test_the_history_is_in_order_whatever_the_clock_says(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "9", "0")
    times = iter(f"2026-01-{day:02}T00:00:00+00:00" for day in range(28, 0, -1))
    monkeypatch.setattr(module, "_now", lambda: next(times))
    ledger.amend("people", 8, reason="first")
    ledger.spend("people", ask("1"))
    ledger.spend("people", ask("2"))
    ledger.amend("people", 7, reason="second")
    ledger.amend("people", 6, reason="third")
    ledger.spend("people", ask("3"))
    assert [a.after for a in ledger.amendments()] == [0, 2, 2]
    lines = in_order(ledger.history(), ledger.amendments())
    assert [getattr(line, "reason", None) or str(line.epsilon) for line in lines] == [
        "first",
        "1",
        "2",
        "second",
        "third",
        "3",
    ]


@pytest.mark.parametrize("damage", ["after = 'x'", "after = NULL", "epsilon = 'q'", "who = x'00'"])
def test_a_damaged_amendment_is_refused(tmp_path, damage):
    ledger = opened(tmp_path, "5", "0")
    ledger.amend("people", 6, reason="more")
    with closing(sqlite3.connect(ledger.path)) as file:
        file.execute("CREATE TABLE loose AS SELECT * FROM amendment")  # without its constraints
        file.execute("DROP TABLE amendment")
        file.execute("ALTER TABLE loose RENAME TO amendment")
        file.execute(f"UPDATE amendment SET {damage}")
        file.commit()
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.amendments()
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(ledger.path).backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
