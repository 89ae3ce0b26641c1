"""What is said about a data set's budget: in every branch of the rule, the numbers that are shown hang together."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from ledgers import ask, fit_request
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.ledger.status import Status, rounded_down
from privreg.privacy.ledger.why import left_for_one_more, why

MORE = "one more fit of "
LESS = "the entries asked for "
USED_UP = "With one more such δ, the δ of the requests would add up to more than the budget has"


def asked(epsilon, delta, accounted=True, extra="0"):
    """A request of the default method; of another one if the accountant does not know it."""
    return fit_request(epsilon, delta, extra) if accounted else ask(epsilon, delta, extra_delta=extra)


def after(epsilon, delta, *requests):
    status = Status("people", Decimal(epsilon), Decimal(delta), None, 0, Fraction(), Fraction(), Fraction())
    for request in requests:
        status = status.after(request)
    return status


ADDS_UP = {
    "nothing asked yet": after("3", "1e-5"),
    "sums alone": after("3", "1e-5", asked("1", "1e-6", False)),
    "all of it": after("1", "1e-5", asked("1", "1e-5")),
    "no room for a search of levels": after("3", "1e-5", *[asked("0.1", "1e-6", extra="1e-7")] * 6),
    "lowered": after("0.5", "1e-5", asked("1", "1e-6")),
}
COMPOSED = {
    "one entry": (after("3", "1e-5", asked("1", "1e-6")), (MORE,)),
    "two entries": (after("3", "1e-5", *[asked("0.5", "1e-6")] * 2), (LESS, MORE)),
    "few of many": (after("3", "1e-5", *[asked("0.05", "1e-6")] * 3), (LESS,)),
    "more than the sum allows": (after("3", "1e-5", *[asked("0.3", "1e-6")] * 20), (LESS, MORE)),
    "tiny deltas": (after("3", "1e-5", *[asked("0.1", "1e-9")] * 30), (LESS, MORE)),
    "delta was lowered": (after("3", "1e-7", asked("1", "1e-6")), (MORE,)),
}
NO_DELTA = {
    "sums alone": (after("3", "1e-5", asked("1", "1e-5", False)), "nothing more is admitted at this δ"),
    "an accountant": (after("3", "1e-5", asked("0.01", "1e-5")), "What is left is what an accountant finds"),
}


@pytest.mark.parametrize("case", ADDS_UP)
def test_nothing_is_said_where_the_numbers_add_up(case):
    status = ADDS_UP[case]
    assert why(status) == ""
    if status.within:
        assert status.spent_epsilon + left_for_one_more(status) == pytest.approx(float(status.epsilon), rel=0.005)


@pytest.mark.parametrize("case", COMPOSED)
def test_fits_compose_to_less_than_the_sum(case):
    status, parts = COMPOSED[case]
    told = why(status)
    assert "Fits compose to less than the sum of their ε: " in told
    assert told.startswith("The δ of the requests add up to more") == (status.spent_epsilon > status.sum_epsilon)
    assert [part in told for part in (LESS, MORE)] == [part in parts for part in (LESS, MORE)]
    if LESS in parts:
        assert status.spent_epsilon < status.sum_epsilon
    if MORE in parts:
        fit, counts = map(
            float, re.search(r"one more fit of (\S+) would count as at most about ([\d.]+)\.$", told).groups()
        )
        delta = min(status.next_delta, status.delta)
        (request,) = [asked(str(fit), delta)]
        assert status.admits(request)  # there is room for what is said
        added = status.after(request).spent_epsilon - status.spent_epsilon
        assert added <= counts * 1.005 < fit


@pytest.mark.parametrize("case", NO_DELTA)
def test_delta_may_be_used_up_first(case):
    status, rest = NO_DELTA[case]
    assert why(status).startswith(USED_UP)
    assert rest in why(status)
    assert status.sum_delta + Fraction(status.next_delta) > Fraction(status.delta)
    assert status.admits(asked("0.001", "1e-5")) == (left_for_one_more(status) > 0)


@pytest.mark.parametrize("requests", [46, 1], ids=["many small ones", "one large one"])
def test_what_is_said_to_be_left_is_admitted(requests):
    """Also where little is left, so that a rough curve would say far too much."""
    status = after("10", "1e-5", *[asked("1" if requests > 1 else "8", "1e-5")] * requests)
    room = left_for_one_more(status)
    assert room > 0
    assert status.admits(asked(f"{room * 0.999:.9f}", "1e-5"))


def test_after_delta_was_lowered_there_is_room_at_no_more_than_it():
    status = after("2", "1e-6", *[asked("0.5", "5e-6")] * 2)
    assert status.next_delta == Decimal("1e-6")
    assert status.room(Decimal("5e-6")) == 0.0
    assert not status.admits(asked("0.1", "5e-6"))


def test_what_is_left_is_never_shown_too_high():
    assert [rounded_down(v) for v in (1.0095, 2.689, 2.1, 0.0999999, 12345.6, 3.0, 0.0)] == [
        *("1", "2.68", "2.1", "0.0999", "12,300", "3", "0")
    ]
    for step in range(1, 3000):
        value = 0.1 + step * 0.00997
        assert float(rounded_down(value)) <= value


def test_the_rest_of_a_sum_is_shown_as_it_would_be_written():
    """3 − 0.9 is 2.1, of which no binary number is exactly as large."""
    status = after("3", "1e-5", asked("0.9", "1e-6", False))
    assert rounded_down(status.sum_room(Decimal("1e-6"))) == "2.1"
    assert status.admits(asked("2.1", "1e-6", False))
    third = after("3", "1e-5", asked("2.66666666666666666666", "1e-6", False)).sum_room(Decimal("1e-6"))
    assert Fraction(repr(third)) <= 3 - Fraction("2.66666666666666666666")


def test_a_sum_beyond_the_delta_of_the_budget_is_not_what_was_spent():
    """Two requests with all of δ are (ε, 2 δ)-private by the sum, which says nothing about δ itself."""
    status = after("3", "1e-6", asked("1", "1e-6"), asked("0.001", "1e-6"))
    assert status.within
    assert status.spent_epsilon == status.accountant_epsilon > status.sum_epsilon
    assert "The δ of the requests add up to more than the budget has" in why(status)
    unaccounted = after("3", "1e-6", asked("1", "1e-6", False), asked("1", "1e-6", False))
    assert unaccounted.spent_epsilon == 2.0  # there is no other total


def test_without_delta_there_is_no_room_for_the_default_method():
    status = after("3", "0")
    assert (left_for_one_more(status), status.sum_room(Decimal(0)), why(status)) == (0.0, 3.0, "")
    assert room_in_words(0.0, 0.0) == "nothing for the default method, which needs δ > 0"
    assert room_in_words(0.0, 1e-6) == "nothing for the default method at δ = 1e-6"
    assert room_in_words(2.689, 1e-6) == "one more fit by the default method, with up to ε = 2.68 at δ = 1e-6"
