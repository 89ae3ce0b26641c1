"""The guarantee in words and symbols, and what is no guarantee."""

from math import exp

from privreg._format import number, odds_factor, one_in, percent
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.report.document import Box, Code, Content, Items

FALSE_ALARMS = 0.05  # of the attack in the worked example
LITTLE = 0.99  # a belief that may grow from 50 % to this is hardly bounded


def is_custom(receipt: Receipt) -> bool:
    """Whether the unit is neither a record nor a person: the published calibration of the Tukey mechanism."""
    return receipt.unit != ONE_RECORD and not receipt.protects_people


def overspent(receipt: Receipt) -> bool:
    """Whether the steps cost more than the budget. No fit does that; a receipt that was changed may."""
    return receipt.epsilon > receipt.budget.epsilon or receipt.delta > receipt.budget.delta


def bounds(receipt: Receipt) -> tuple[float, float]:
    """ε and δ of the guarantee: the budget.

    Which steps were made may depend on earlier results, so their sum, which may be less, is no bound fixed beforehand.
    """
    budget = receipt.budget
    return max(budget.epsilon, receipt.epsilon), max(budget.delta, receipt.delta)


def notice(receipt: Receipt) -> Box | None:
    """What must be seen before anything else."""
    if not receipt.private:
        return Box(
            "NOT PRIVATE.",
            "The noise of this run came from a seed (random_state). Anyone who knows or guesses the seed can compute "
            "the noise and remove it. Do not share this page or the model if the records are sensitive. Fit again "
            "without a seed.",
        )
    if overspent(receipt):
        return Box(
            "MORE WAS SPENT THAN THE BUDGET.",
            "The steps of the receipt add up to more than the budget. privreg never does this: the receipt was "
            "changed, or belongs to another fit.",
        )
    if is_custom(receipt):
        return Box(
            "NO GUARANTEE FOR ONE RECORD.",
            "This is the published calibration of the method. It hides one of many small models, not one record.",
        )
    return None


def unit_words(receipt: Receipt) -> str:
    """What is protected."""
    if receipt.unit == ONE_RECORD:
        return "one record (one row of the table)"
    if receipt.protects_people:
        kept = "1 row is" if receipt.rows == 1 else f"at most {receipt.rows} rows are"
        return f"one person with all their records, of which {kept} used"
    return receipt.unit


def blocks(receipt: Receipt) -> list[Content]:
    """The section."""
    epsilon, delta = bounds(receipt)
    written = f" + {number(delta, 6)}" if delta else ""
    tables = "sets of small models, D and D′," if is_custom(receipt) else "tables D and D′"
    found: list[Content] = [] if (box := notice(receipt)) is None else [box]
    found += [
        "Everything on this page and in the model file that depends on the records was computed with random noise, "
        f"enough to hide {_hidden(receipt)}. Two numbers measure how well: ε (epsilon) = {number(epsilon)} and "
        f"δ (delta) = {number(delta, 6)}. Smaller is more private.",
        f"In symbols: M is the whole computation with its noise. For all {tables} that differ by adding or "
        f"removing {_differs(receipt)}, and for every set S of possible results,",
        Code(
            "P[M(D) ∈ S] ≤ e^ε · P[M(D′) ∈ S] + δ\n\n"
            f"here:\nP[M(D) ∈ S] ≤ {odds_factor(epsilon)} · P[M(D′) ∈ S]{written}"
        ),
    ]
    if is_custom(receipt):
        return [*found, *_published_calibration()]
    if not receipt.private:
        found.append("With noise that nobody can predict, which this run did not have, this would mean:")
    return [*found, *_attacker(receipt, epsilon, delta)]


def _hidden(receipt: Receipt) -> str:
    if is_custom(receipt):
        return "any one of many small models that the method fits"
    return "whether any one person is in the table" if receipt.protects_people else "any one record of the table"


def _differs(receipt: Receipt) -> str:
    if receipt.protects_people:
        return "one person with all their records"
    return "one small model" if is_custom(receipt) else ONE_RECORD


def _attacker(receipt: Receipt, epsilon: float, delta: float) -> list[Content]:
    """What the inequality means for somebody who wants to know about one person."""
    who, what = ("person", "a person") if receipt.protects_people else ("record", "a record")
    belief = 1 / (1 + exp(-epsilon))
    found = min(exp(min(epsilon, 700.0)) * FALSE_ALARMS + delta, 1 - exp(-epsilon) * (1 - delta - FALSE_ALARMS), 1.0)
    texts = [
        f"Suppose an attacker knows every other {who} of the table, knows how privreg works, and has this page and the "
        f"model file. Even so, their odds that {what} is in the table can change by a factor of at most "
        f"e^ε = {odds_factor(epsilon)}, up or down.",
        f"An attacker who was undecided (50 %) can become at most {percent(belief)} sure"
        + (", apart from δ." if delta else ".")
        + (" That is hardly a limit: this ε promises little." if belief >= LITTLE else ""),
        f"An attack that wrongly accuses {100 * FALSE_ALARMS:g} % of those who are not in the table finds at most "
        f"{percent(found)} of those who are.",
        "δ is allowed on top: the result reveals no more than one that gives the record away with that probability, "
        f"{one_in(delta)}, and otherwise keeps to the factor."
        if delta
        else "δ = 0: the factor holds for every outcome, without exception.",
        "This holds whatever the attacker knows or computes, now or later. It does not stop anybody from learning what "
        f"is true of people in general, which does not depend on any one {who}.",
    ]
    return [Items(texts)]


def _published_calibration() -> list[Content]:
    return [
        "What one model means: the method splits the records into many groups, fits a small model to each, and draws a "
        "model from the middle of them. As published, the draw hides whether any one small model was there. But one "
        "record more or less can shift the borders of all groups, and so change every small model. For one record, "
        "these numbers promise nothing.",
        'The strict calibration of the same method (K-Tukey-strict, or calibration="strict") protects one record, '
        "and so does PrivateLinearRegression.",
    ]
