"""What a fit spent, in words: the same wherever it is shown. From a `Receipt` alone, and the δ asked of a ledger."""

from math import ceil, floor, isfinite, log10

from privreg._format import epsilon_delta, number
from privreg.privacy.receipt import Receipt

_NOTHING = 0.001  # of a budget: so little is not worth a second number
_DIGITS = 4


def spent(receipt: Receipt, asked: float | None = None, what: str = "fit") -> str:
    """ε and δ, rounded up, and of which budget. `asked`: the δ that a ledger was asked for by what ran with a part."""
    budget = receipt.budget
    epsilon, delta = _of(receipt.epsilon, budget.epsilon), _of(receipt.delta, budget.delta)
    if asked is not None and asked > budget.delta:
        return f"ε = {epsilon}, δ = {number(asked, 6)} ({_parts(delta, what)})"
    if not receipt.events:
        return f"nothing of {epsilon_delta(budget.epsilon, budget.delta)}"
    return f"ε = {epsilon}, δ = {delta}" + ("" if " of " in epsilon + delta else ", all of it")


def kept_by_ledger(receipt: Receipt) -> str:
    """Why δ is less than what was asked for."""
    return f"The fit ran with δ = {number(receipt.budget.delta, 6)}; the ledger keeps a tenth for its own accounting."


def _of(part: float, whole: float) -> str:
    """A part of a budget; the budget itself if it is nearly all."""
    budget = number(whole, 6)
    return budget if 0 <= whole - part <= _NOTHING * whole else f"{rounded_up(part)} of {budget}"


def _parts(delta: str, what: str) -> str:
    """Where the δ went that a ledger was asked for."""
    rest = "a tenth of δ" if " of " in delta else "the rest"
    return f"{delta} by the {what}, {rest} for the ledger's accounting"


def rounded_up(value: float, digits: int = _DIGITS) -> str:
    """To so many digits, for what must not look smaller than it is."""
    if not isfinite(value) or value < 1e-300:
        return number(value, digits)
    power = floor(log10(value)) - digits + 1
    return number(ceil(value / 10.0**power - 1e-6) * 10.0**power, digits)
