"""Why what is spent and what is left of a budget may not add up to it, in words: docs/proofs/ledger.md."""

from fractions import Fraction

from privreg._format import number
from privreg.privacy.ledger.status import Status, rounded_down

_CLOSE = 0.005  # of ε: what adds up to the budget but for so little needs no words


def left_for_one_more(s: Status) -> float:
    """The largest ε, about, that the default method may ask for next."""
    return s.room(s.next_delta)


def why(s: Status) -> str:
    """Why the numbers do not add up, if they do not: the rules of docs/proofs/ledger.md."""
    if not s.within:
        return ""
    return " ".join(filter(None, (_more_than_asked(s), _composed(s) or _delta_is_used_up(s))))


def _more_than_asked(s: Status) -> str:
    if s.spent_epsilon <= float(s.sum_epsilon) * (1 + _CLOSE):
        return ""
    return (
        "The δ of the requests add up to more than the budget has, so what counts is what an accountant finds at a "
        "smaller δ."
    )


def _composed(s: Status) -> str:
    spent, room, budget, asked = s.spent_epsilon, left_for_one_more(s), float(s.epsilon), float(s.sum_epsilon)
    told = []
    if spent < asked * (1 - _CLOSE):
        told.append(f"the entries asked for {number(asked, 4)} in all and count as {number(spent, 4)}")
    if spent + room > budget * (1 + _CLOSE):
        rest = number(budget - spent, 3)
        told.append(f"one more fit of {rounded_down(room)} would count as at most about {rest}")
    return f"Fits compose to less than the sum of their ε: {', and '.join(told)}." if told else ""


def _delta_is_used_up(s: Status) -> str:
    room = left_for_one_more(s)
    has_delta = s.sum_delta + Fraction(s.next_delta) <= Fraction(s.delta)
    if has_delta or s.spent_epsilon + room >= float(s.epsilon) * (1 - _CLOSE):
        return ""
    more = "With one more such δ, the δ of the requests would add up to more than the budget has"
    if room > 0:
        return f"{more}. What is left is what an accountant finds, with the tenth of δ that the ledger keeps for it."
    return f"{more}, so nothing more is admitted at this δ, whatever the ε."
