"""What is said about a data set's budget: in every branch of the rule, the numbers that are shown hang together."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from ledgers import ask, fit_request
from privreg.privacy.ledger.status import Status
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
    assert told.startswith("Fits compose to less than the sum of their ε: ")
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
