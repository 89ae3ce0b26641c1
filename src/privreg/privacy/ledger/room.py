"""What a budget has room for, in words: always with the method and δ, without which the number means little."""

from privreg._format import number
from privreg.privacy.ledger.status import rounded_down


def room_in_words(epsilon: float, delta: float, fit: str = "one more fit") -> str:
    """What the default method may ask for next: `epsilon` is what `Status.room` finds for it at δ."""
    if delta == 0:
        return "nothing for the default method, which needs δ > 0"
    if epsilon <= 0:
        return f"nothing for the default method at δ = {number(delta, 6)}"
    return f"{fit} by the default method, with up to ε = {rounded_down(epsilon)} at δ = {number(delta, 6)}"
