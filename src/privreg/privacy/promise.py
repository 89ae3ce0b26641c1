"""What a receipt promises, to whom, and whether the promise is kept. From a `Receipt` alone."""

from dataclasses import dataclass
from math import exp
from typing import Literal

from privreg._format import odds_factor, one_in, percent
from privreg.privacy.receipt import ONE_RECORD, Receipt

State = Literal["good", "care", "bad"]


@dataclass(frozen=True)
class Verdict:
    """One word or two, the sentence behind them, and the reasons."""

    state: State
    word: str
    text: str
    reasons: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """In one line."""
        return f"{self.word}: {self.text}"


def broken_promise(receipt: Receipt) -> Verdict | None:
    """Why the guarantee does not hold for one record, if it does not."""
    if not receipt.private:
        return Verdict(
            "bad",
            "NOT PRIVATE",
            "the noise came from a seed (random_state).",
            (
                "Anyone who knows or guesses the seed can compute the noise and remove it. If the records are "
                "sensitive, do not share this result. Fit again without a seed.",
            ),
        )
    if overspent(receipt):
        return Verdict(
            "bad",
            "Overspent",
            "the steps of the receipt cost more than the budget.",
            ("privreg never does this: the receipt was altered, or belongs to another fit.",),
        )
    if is_custom(receipt):
        return Verdict(
            "bad",
            "No guarantee for one record",
            "this is the published calibration of the method, which hides one of many small models, not one record.",
        )
    return None


def is_custom(receipt: Receipt) -> bool:
    """Whether the unit is neither a record nor a person: the published calibration of the Tukey mechanism."""
    return receipt.unit != ONE_RECORD and not receipt.protects_people


def overspent(receipt: Receipt) -> bool:
    """Whether the steps cost more than the budget. No fit does that; a receipt that was altered may."""
    return receipt.epsilon > receipt.budget.epsilon or receipt.delta > receipt.budget.delta


def bounds(receipt: Receipt) -> tuple[float, float]:
    """ε and δ of the guarantee: the budget.

    Which steps were made may depend on earlier results, so their sum, which may be less, is no bound fixed beforehand.
    """
    budget = receipt.budget
    return max(budget.epsilon, receipt.epsilon), max(budget.delta, receipt.delta)


def protected(receipt: Receipt) -> str:
    """The unit of protection."""
    if receipt.unit == ONE_RECORD:
        return "any one record (one row of the table)"
    if receipt.protects_people:
        kept = "1 record per person was" if receipt.rows == 1 else f"{receipt.rows} records per person were"
        return f"any one person with all their records (at most {kept} used)"
    return receipt.unit


def protects(receipt: Receipt) -> str:
    """The unit of protection, or that there is none where the guarantee does not hold."""
    if broken_promise(receipt) is None:
        return protected(receipt)
    return "not one record" if receipt.private and is_custom(receipt) else "nobody"


def in_words(receipt: Receipt) -> str:
    """ε and δ for somebody who has never seen them."""
    return f"{belief(receipt)} {odds(receipt)}"


def belief(receipt: Receipt) -> str:
    """What ε means for somebody who wants to know about one record."""
    epsilon, delta = bounds(receipt)
    who, sure = "person" if receipt.protects_people else "record", percent(1 / (1 + exp(-epsilon)))
    return (
        f"Someone who knows every other {who}, and thinks it is 50:50 whether this one is in the table, can become at "
        f"most {sure} sure from these results{', apart from δ' if delta else ''}."
    )


def odds(receipt: Receipt) -> str:
    """The same as a factor, and δ."""
    epsilon, delta = bounds(receipt)
    allowance = (
        f" δ is an allowance on top: the guarantee may fail with a probability of {one_in(delta)}." if delta else ""
    )
    return f"Odds change by a factor of at most {odds_factor(epsilon)} (e^ε).{allowance}"
