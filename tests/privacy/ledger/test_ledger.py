"""The ledger's rule, checked exactly; real processes are in privacy/ledger/test_processes.py."""

import json
from decimal import Decimal
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import privreg
from ledgers import ask, fit_request, opened
from privreg import BudgetRefusedError, DPKendall, Ledger, LedgerError, SubLasso
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.privacy.ledger import status as status_module
from privreg.privacy.ledger.ledger import entered
from privreg.privacy.ledger.request import FOR_THE_ACCOUNTANT, amount, running_budget


def accepted(ledger, requests, name="people"):
    """Which of the requests were let through, in order."""
    taken = []
    for request in requests:
        try:
            ledger.spend(name, request)
            taken.append(True)
        except BudgetRefusedError:
            taken.append(False)
    return taken


# ---- amounts


def test_ten_tenths_are_one(tmp_path):
    assert accepted(opened(tmp_path, "1", "0"), [ask("0.1")] * 11) == [True] * 10 + [False]
    assert sum([0.1] * 10) != 1.0  # which is why


def test_amounts_are_what_was_written():
    assert amount(0.1, "epsilon") == Decimal("0.1")
    assert amount(np.float64(0.1), "epsilon") == amount("0.1", "epsilon") == Decimal("0.1")
    assert amount(1, "epsilon") == 1
    for wrong in ("abc", None, "nan", float("inf"), True, "1e999", [], "-inf", "sNaN"):
        with pytest.raises(ValueError, match="epsilon must be a number"):
            amount(wrong, "epsilon")


@given(st.decimals("1e-9", "1e3", places=9), st.decimals("1e-12", "0.5", places=12))
def test_a_request_runs_with_no_more_than_its_entry(epsilon, delta):
    budget = running_budget(epsilon, delta)
    assert Fraction(budget.epsilon) <= Fraction(epsilon)
    assert Fraction(budget.delta) <= Fraction(delta) * Fraction(9, 10)
    assert Fraction(np.nextafter(budget.epsilon, 1e9)) > Fraction(epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "0"), ("7.25", "0.01"), ("1e-5", "1e-30")])
def test_one_request_may_take_everything(tmp_path, epsilon, delta):
    ledger = opened(tmp_path, epsilon, delta)
    assert accepted(ledger, [ask(epsilon, delta), ask("1e-9")]) == [True, False]


def test_sums_of_requests_always_fit(tmp_path):
    ledger = opened(tmp_path, "1", "1e-6")
    # A single pick is dear to the accountant: only the sum has room for both.
    select = ask("0.5", "0", DPKendall(1)._mu_squared(Budget(0.5)))
    assert accepted(ledger, [select, fit_request("0.5", "1e-6")]) == [True, True]
    assert ledger.status()[0].accountant_epsilon > 1


def test_the_accountant_lets_more_fits_through_than_the_sum(tmp_path):
    ledger = opened(tmp_path, "5", "5e-6")
    assert sum(accepted(ledger, [fit_request("1", "1e-6")] * 20)) == 16
    status = ledger.status()[0]
    assert status.sum_epsilon == 16
    assert 4.8 < status.accountant_epsilon <= 5
    assert status.spent_epsilon == status.accountant_epsilon


def test_a_release_without_mu_squared_leaves_the_sum_only(tmp_path):
    ledger = opened(tmp_path, "5", "5e-6")
    fits = [fit_request("1", "1e-6")]
    assert sum(accepted(ledger, [ask("1", "1e-6"), *fits * 20])) == 5


def test_room_is_the_largest_request_that_fits(tmp_path):
    for name, requests in {"new": [], "some": [fit_request("1", "1e-6")] * 7, "full": [ask("5", "5e-6")]}.items():
        ledger = Ledger(tmp_path / "budget.db")
        ledger.create(name, "5", "5e-6")
        accepted(ledger, requests, name)
        status = ledger.status(name)[0]
        delta, room = str(status.next_delta), status.room(status.next_delta)
        assert (room == 0) == (name == "full")
        assert (room == 5) == (name == "new")  # never more than all
        if name == "some":
            assert status.after(fit_request(f"{room * 0.999:.6f}", delta)).within
            assert not status.after(fit_request(f"{room * 1.001:.6f}", delta)).within
            assert status.sum_room(status.next_delta) == 0
        for epsilon in {str(room), str(status.sum_room(Decimal(0)))} - {"0.0"}:
            assert status.after(ask(epsilon)).within == (float(epsilon) <= status.sum_room(Decimal(0)))


# ---- the rule against an independent reading of the proof


def curve(mu, epsilon):
    return norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def mu_for(epsilon, delta):
    return brentq(lambda mu: curve(mu, epsilon) - delta, 1e-9, 50)


requests = st.lists(
    st.tuples(
        st.sampled_from(["0.1", "0.25", "0.5", "1"]),
        st.sampled_from(["0", "1e-7", "1e-6"]),
        st.booleans(),
        st.sampled_from([0, Fraction(1, 1000), Fraction(1, 20)]),  # δ′ as a part of δ
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=40)
@given(requests, st.sampled_from([("1", "1e-6"), ("2", "3e-6"), ("1.5", "0")]))
def test_a_request_is_refused_exactly_when_both_totals_are_too_large(tmp_path_factory, wanted, total):
    ledger = opened(tmp_path_factory.mktemp("ledger"), *total)
    spent = []
    for epsilon, delta, accounted, part in wanted:
        running = running_budget(Decimal(epsilon), Decimal(delta))
        mu = mu_for(running.epsilon, running.delta) ** 2 if accounted and running.delta else None
        extra = Fraction(delta) * part
        request = ask(epsilon, delta, None if mu is None else Fraction(mu), extra_delta=extra)
        after = [*spent, (Fraction(epsilon), Fraction(delta), mu, extra)]
        sums = sum(a[0] for a in after) <= Fraction(total[0]) and sum(a[1] for a in after) <= Fraction(total[1])
        limit = mu_for(float(total[0]), float(total[1]) / 20) ** 2 if Fraction(total[1]) else 0
        mus = [a[2] for a in after]
        by_mu = None not in mus and sum(mus) <= limit and sum(a[3] for a in after) <= Fraction(total[1]) / 20
        if None not in mus and limit and abs(sum(mus) / limit - 1) < 1e-6:
            return  # too close for the floats of this test
        assert accepted(ledger, [request]) == [sums or by_mu]
        spent = after if sums or by_mu else spent
    status = ledger.status()[0]
    assert status.entries == len(spent)
    assert status.sum_epsilon == sum((s[0] for s in spent), Fraction())


def response(epsilon, level):
    """Hockey-stick divergence of randomised response at e^level."""
    p = exp(epsilon) / (1 + exp(epsilon))
    return np.maximum(p - np.exp(level) * (1 - p), 0) + np.maximum(1 - p - np.exp(level) * p, 0)


def worst(total, first, shares):
    """True δ at ε of an analyst who takes the better of both rules after seeing a Gaussian release, as a part of δ.

    After the first release the sum rule has room for randomised response, and the accountant's rule for a second
    Gaussian release. `shares` are the parts of δ behind the two rules.
    """
    epsilon, delta = total
    mu = mu_for(first, shares[0] * delta)
    left = mu_for(epsilon, shares[1] * delta) ** 2 - mu**2
    x = np.linspace(-12, 12 + mu, 100_001)
    density, level = norm.pdf(x - mu), epsilon - (mu * x - mu**2 / 2)
    by_sum = density * response(epsilon - first, level)
    by_accountant = density * np.maximum(curve(np.sqrt(left), level), 0) if left > 0 else 0 * density
    return np.maximum(by_sum, by_accountant).sum() * (x[1] - x[0]) / delta


@pytest.mark.parametrize("total", [(0.5, 0.02), (1.0, 0.02), (2.0, 0.1), (4.0, 0.02)])
def test_choosing_between_the_rules_on_the_way_needs_their_own_parts_of_delta(total):
    kept = float(FOR_THE_ACCOUNTANT)
    firsts = [part * total[0] for part in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)]
    assert max(worst(total, first, (1 - kept, kept)) for first in firsts) <= 1
    assert max(worst(total, first, (1, 1)) for first in firsts) > 1.05  # the smaller of two bounds is not a bound


def test_the_parts_of_delta_are_those_of_the_proof(tmp_path):
    assert running_budget(Decimal(1), Decimal("1e-6")).delta == pytest.approx(9e-7, rel=1e-15)
    status = opened(tmp_path, "1", "1e-6").status()[0]
    limit = adaptive_budget(Budget(1.0, 5e-8))
    assert status.after(ask("100", "0.1", limit * (1 - Fraction(1, 10**6)))).within
    assert not status.after(ask("100", "0.1", limit * (1 + Fraction(1, 10**6)))).within
    assert status.after(ask("100", "0.1", Fraction(), extra_delta=Fraction(1, 2 * 10**7))).within
    assert not status.after(
        ask("100", "0.1", Fraction(), extra_delta=Fraction(1, 2 * 10**7) + Fraction(1, 10**20))
    ).within
    assert all(rule.for_mu + rule.for_extra == FOR_THE_ACCOUNTANT for rule in status_module.RULES.values())


def test_costs_of_selectors_are_those_of_their_picks():
    budget = Budget(1.0)
    assert DPKendall(4)._mu_squared(budget) == pytest.approx(4 * np.pi / 8 * 0.25**2, rel=1e-12)
    count = np.pi / 2 * 0.5**2  # Laplace, half of ε
    assert SubLasso(4)._mu_squared(budget) == pytest.approx(count + 4 * np.pi / 8 * 0.125**2, rel=1e-9)


def test_laplace_is_as_private_as_its_mu_squared_says():
    """Continuous Laplace, of which the discrete one is post-processing up to its grid, against the Gaussian curve."""
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        mu = np.sqrt(np.pi / 2) * epsilon
        for level in np.linspace(0, epsilon, 20):
            assert 1 - np.exp((level - epsilon) / 2) <= curve(mu, level) + 1e-12


# ---- units, names, files


def test_a_request_cannot_give_something_back():
    for wrong in [("-1", "0", None), ("0", "0", None), ("1", "-0.1", None), ("1", "1", None), ("1", "0", Fraction(-1))]:
        with pytest.raises(ValueError, match="positive epsilon"):
            ask(*wrong)
    with pytest.raises(ValueError, match="unit must be"):
        ask("1", unit="household")


def test_the_first_entry_decides_the_unit(tmp_path):
    ledger = opened(tmp_path, "5", "1e-5")
    assert ledger.status()[0].unit is None
    ledger.spend("people", ask("1", unit="person"))
    with pytest.raises(LedgerError, match=r"protects one person, as its first entry decided.*protects one record"):
        ledger.spend("people", ask("1"))
    assert ledger.status()[0].unit == "person"
    assert ledger.status()[0].entries == 1


def test_room_is_told_for_the_request_and_never_contradicts_it(tmp_path):
    ledger = opened(tmp_path, "2", "1e-5")
    with pytest.raises(
        BudgetRefusedError, match=r"has no room for ε = 2.01, δ = 1e-6. At this δ, there is room for ε up to 2$"
    ):
        ledger.spend("people", fit_request("2.01", "1e-6"))
    ledger.spend("people", ask("1", "0", DPKendall(5)._mu_squared(Budget(1.0))))
    assert ledger.status()[0].next_delta == Decimal("1e-6")  # a selection has no δ, and says nothing of the next fit
    with pytest.raises(BudgetRefusedError, match=r"room for ε up to 1\.\d+$"):
        ledger.spend("people", fit_request("1.9", "1e-6"))
    with pytest.raises(BudgetRefusedError, match=r"room for ε up to 1$"):
        ledger.spend("people", ask("1.5"))


def test_data_sets_have_budgets_of_their_own(tmp_path):
    ledger = opened(tmp_path, "1", "0", "a")
    ledger.create("b", "2", "0")
    assert accepted(ledger, [ask("1")], "a") == [True]
    assert accepted(ledger, [ask("1"), ask("1"), ask("1")], "b") == [True, True, False]
    assert [s.dataset for s in ledger.status()] == ["a", "b"]
    assert [e.dataset for e in ledger.history("b")] == ["b", "b"]
    assert len(ledger.history()) == 3


def test_mistakes_are_one_clear_line(tmp_path):
    ledger = opened(tmp_path, "1", "1e-6")
    with pytest.raises(LedgerError, match="already has a data set 'people'"):
        ledger.create("people", 9, 0)
    with pytest.raises(LedgerError, match=r"has no data set 'poeple'; it has 'people'"):
        ledger.spend("poeple", ask("1"))
    with pytest.raises(LedgerError, match="has no data set"):
        ledger.history("poeple")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(tmp_path / "other.db").status()
    assert not (tmp_path / "other.db").exists()
    for name, epsilon, delta in [(" ", 1, 0), ("x", 0, 0), ("x", -1, 0), ("x", 1, 1), ("x", 1, -1), ("x", "y", 0)]:
        with pytest.raises(ValueError, match=r"name|epsilon|delta"):
            ledger.create(name, epsilon, delta)
    refused = "refused: the budget of 'people', ε = 1, δ = 1e-6, has no room for ε = 2, δ = 0"
    with pytest.raises(BudgetRefusedError, match=refused):
        ledger.spend("people", ask("2"))


def test_the_number_of_entries_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(status_module, "MOST_ENTRIES", 2)
    assert accepted(opened(tmp_path, "5", "0"), [ask("1")] * 3) == [True, True, False]


def test_totals_are_rounded_against_the_budget(tmp_path, monkeypatch):
    ledger = opened(tmp_path, "0.1", "1e-6")
    after = ledger.status()[0].after(ask("1", "1e-7", Fraction(1, 3 * status_module.GRID)))
    assert after.mu_squared == Fraction(1, status_module.GRID)
    asked = []
    monkeypatch.setattr(status_module, "adaptive_budget", lambda budget: asked.append(budget) or Fraction(1))
    assert after.within
    assert Fraction(asked[0].epsilon) <= Fraction("0.1") < Fraction(0.1)
    assert Fraction(asked[0].delta) <= Fraction("5e-8")


def test_budgets_that_are_no_budgets(tmp_path):
    for epsilon, delta in [("1e308", 0), (2e6, 0), ("1e-101", 0), (1, "1e-999999"), ("1." + "1" * 400, 0)]:
        with pytest.raises(ValueError, match=r"epsilon must be|too many digits"):
            Ledger(tmp_path / "b.db").create("x", epsilon, delta)


def test_an_entry_without_a_receipt_counts_as_failed(tmp_path):
    ledger = opened(tmp_path, "2", "0")
    with entered(ledger, "people", ask("1")):
        pass
    assert [e.state for e in ledger.history()] == ["failed"]
    assert ledger.history()[0].to_dict()["epsilon"] == "1"
    json.dumps([e.to_dict() for e in ledger.history()] + [s.to_dict() for s in ledger.status()])


def test_public_names():
    assert issubclass(privreg.BudgetRefusedError, privreg.BudgetError)
    assert issubclass(privreg.LedgerError, privreg.PrivregError)
