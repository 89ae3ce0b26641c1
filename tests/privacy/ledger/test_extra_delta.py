"""The δ′ of requests, who made them and what for, and changes of a budget."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from ledgers import ask, opened
from privreg import BudgetRefusedError, LedgerError
from privreg.privacy.accountant import EXTRA_DELTA, Budget, adaptive_budget, less_delta, reserved_delta
from privreg.privacy.ledger import user
from privreg.privacy.ledger.request import Request, running_budget
from privreg.privacy.ledger.status import OLD_RULE, RULE

SMALL_MU = Fraction(1, 10**6)


def reading_request(epsilon, delta, part=EXTRA_DELTA):
    """What a fit asks for that looks for levels, with a part of its δ reserved for that."""
    budget = running_budget(Decimal(epsilon), Decimal(delta))
    extra = reserved_delta(budget) if part == EXTRA_DELTA else float(Fraction(budget.delta) * part)
    return ask(epsilon, delta, adaptive_budget(less_delta(budget, extra)), extra_delta=Fraction(extra))


def admitted(status, request, most=3000):
    """How many in a row, and the status after them. Nothing is written, which would take long."""
    for number in range(most):
        if not status.admits(request):
            return number, status
        status = status.after(request)
    return most, status


# ---- the rule


def test_the_sum_of_extra_deltas_stops_exactly_at_a_twentieth(tmp_path):
    ledger = opened(tmp_path, "1", "1e-5")
    ledger.spend("people", ask("1", "1e-5", SMALL_MU))  # the sum rule has no room left
    request = ask("0.1", "1e-6", SMALL_MU, extra_delta="1e-7")
    for _ in range(5):
        ledger.spend("people", request)
    assert ledger.status()[0].extra_room == 0
    for too_much in ("1e-300", "1e-12", "1e-7"):
        with pytest.raises(BudgetRefusedError):
            ledger.spend("people", ask("0.1", "1e-6", SMALL_MU, extra_delta=too_much))
    ledger.spend("people", ask("0.1", "1e-6", SMALL_MU))
    assert [e.extra_delta for e in ledger.history()] == [0, *[Decimal("1e-7")] * 5, 0]
    assert [e.mu_squared for e in ledger.history()] == [pytest.approx(SMALL_MU)] * 7


def test_the_sum_rule_takes_delta_as_a_whole(tmp_path):
    """δ′ is a part of δ there, however large."""
    ledger = opened(tmp_path, "1", "1e-5")
    for _ in range(10):
        ledger.spend("people", ask("0.1", "1e-6", extra_delta="9e-7"))
    status = ledger.status()[0]
    assert (status.sum_extra, status.accountant_epsilon) == (Fraction("9e-6"), None)
    assert status.spent_epsilon == 1


def test_the_accountant_would_let_1408_requests_through_if_nobody_added_up_their_extra_delta(tmp_path):
    """(0.1, 1e-6) on (5, 1e-5), with a tenth of δ for δ′: its sum would be twelve times the whole δ."""
    status = opened(tmp_path, "5", "1e-5").status()[0]
    request = reading_request("0.1", "1e-6", Fraction(1, 10))
    many, _ = admitted(replace(status, rule=OLD_RULE), replace(request, extra_delta=Fraction()))
    assert many == 1408
    assert many * request.extra_delta / Fraction(status.delta) == pytest.approx(12.67, abs=0.01)
    few, after = admitted(status, request)
    assert few == 10  # by the sums of ε and δ alone
    assert after.extra_room < 0


def test_with_the_default_part_there_is_room_for_hundreds(tmp_path):
    status = opened(tmp_path, "5", "1e-5").status()[0]
    many, after = admitted(status, reading_request("0.1", "1e-6"))
    assert 500 < many < 600
    assert 0 <= after.extra_room < Fraction(reserved_delta(running_budget(Decimal("0.1"), Decimal("1e-6"))))
    assert after.within


def test_what_is_refused_says_what_there_is_room_for(tmp_path):
    ledger = opened(tmp_path, "5", "1e-5")
    request = ask("1", "1e-6", adaptive_budget(Budget(1.0, 8e-7)), extra_delta="1e-7")
    for _ in range(5):
        ledger.spend("people", request)
    with pytest.raises(
        BudgetRefusedError, match=r"room for ε up to 0, or up to 4\.\d+ if the levels .* are declared"
    ) as refused:
        ledger.spend("people", request)
    assert "\n" not in str(refused.value)
    ledger.spend("people", replace(request, extra_delta=Fraction()))


def test_amounts_are_rounded_up():
    third = ask("1", "0.5", extra_delta=Fraction(1, 3)).stored_extra
    assert third == Decimal("0.333333333334")
    assert ask("1", "0.5", extra_delta=Fraction(5e-324)).stored_extra == Decimal("1e-300")
    assert ask("1", "0.5").stored_extra == 0
    for wrong in ("-1e-9", "0.6"):
        with pytest.raises(ValueError, match="part of its delta"):
            ask("1", "0.5", extra_delta=wrong)


def test_status_shows_it(tmp_path):
    ledger = opened(tmp_path, "5", "1e-5")
    ledger.spend("people", ask("1", "1e-6", SMALL_MU, extra_delta="1e-7"))
    shown = json.loads(json.dumps(ledger.status()[0].to_dict()))["accountant"]
    assert (shown["delta"], shown["extra_delta"], shown["extra_delta_room"]) == (5e-7, 1e-7, 4e-7)


# ---- who, and what for


def test_who_and_what_for(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "5", "0")
    monkeypatch.setattr(user.getpass, "getuser", lambda: "ada")
    ledger.spend("people", Request(Decimal(1), Decimal(0), "fit Something", purpose="table 3\nof the report"))
    (entry,) = ledger.history()
    assert (entry.who, entry.what, entry.purpose) == ("ada", "fit Something", "table 3\nof the report")
    assert json.loads(json.dumps(entry.to_dict()))["who"] == "ada"


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_nobody_is_somebody(tmp_path, monkeypatch, error):
    def fails():
        raise error("no such user")

    monkeypatch.setattr(user.getpass, "getuser", fails)
    assert user.login_name() == "unknown"
    monkeypatch.setattr(user.getpass, "getuser", lambda: "a\udce4")  # a name that is no text
    ledger = opened(tmp_path, "5", "0")
    ledger.spend("people", ask("1"))
    assert ledger.history()[0].who == "a?"


# ---- amendments


def test_a_budget_may_grow_and_shrink(tmp_path):
    ledger = opened(tmp_path, "1", "1e-6")
    ledger.spend("people", ask("1", "1e-6"))
    with pytest.raises(BudgetRefusedError):
        ledger.spend("people", ask("1"))
    ledger.amend("people", 2, "1e-6", "the committee agreed")
    ledger.spend("people", ask("1"))
    ledger.amend("people", "0.5", 0, "too much was asked")
    assert not ledger.status()[0].within
    for request in (ask("0.1"), ask("0.1", "0", SMALL_MU)):
        with pytest.raises(BudgetRefusedError, match=r"room for ε up to 0$"):
            ledger.spend("people", request)
    assert ledger.status()[0].sum_epsilon == 2  # nothing is given back
    first, second = ledger.amendments("people")
    assert (first.old_epsilon, first.epsilon, first.reason) == (1, 2, "the committee agreed")
    assert (second.old_epsilon, second.epsilon, second.old_delta, second.delta) == (
        2,
        Decimal("0.5"),
        Decimal("1e-6"),
        0,
    )
    assert first.who
    json.dumps([each.to_dict() for each in ledger.amendments()])


def test_amendments_that_are_none(tmp_path):
    ledger = opened(tmp_path, "1", "1e-6")
    for reason in ("", "  ", None, 3):
        with pytest.raises(ValueError, match="needs a reason"):
            ledger.amend("people", 2, 0, reason)
    for epsilon, delta in (("x", 0), (0, 0), (1, 1), (1, -1)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            ledger.amend("people", epsilon, delta, "why")
    with pytest.raises(LedgerError, match="is already ε = 1, δ = 1e-6"):
        ledger.amend("people", "1.0", "0.000001", "why")
    with pytest.raises(LedgerError, match="no data set"):
        ledger.amend("poeple", 2, 0, "why")
    assert ledger.amendments() == []
    assert (ledger.status()[0].epsilon, ledger.status()[0].rule) == (1, RULE)
