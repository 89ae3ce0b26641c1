"""The guarantee in words and symbols."""

from math import exp

from privreg._format import number, odds_factor, one_in, percent
from privreg.privacy.promise import bounds, broken_promise, is_custom
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.report.document import Code, Content, Fold, Items

FALSE_ALARMS = 0.05  # of the attack in the worked example
LITTLE = 0.99  # a belief that may grow from 50 % to this is hardly bounded


def blocks(receipt: Receipt) -> list[Content]:
    """The section. Where the guarantee does not hold, nothing is said as if it did."""
    broken = broken_promise(receipt)
    told: list[Content] = [] if broken is None else [" ".join([broken.line, *broken.reasons])]
    if is_custom(receipt):
        return [*told, *_published_calibration()]
    if not receipt.private:
        would = "With noise that nobody can predict, which this run did not have, this would hold:"
        return [*told, would, _attacker(receipt)]
    return [
        *told,
        "Everything on this page and in the model file that depends on the records was computed with random noise, "
        f"enough to hide {_hidden(receipt)}. Smaller ε and δ mean more privacy.",
        _attacker(receipt),
        Fold("In symbols", _symbols(receipt)),
    ]


def _symbols(receipt: Receipt) -> list[Content]:
    epsilon, delta = bounds(receipt)
    written = f" + {number(delta, 6)}" if delta else ""
    differs = "one person with all their records" if receipt.protects_people else ONE_RECORD
    return [
        "M is the whole computation with its noise. For all tables D and D′ that differ by adding or removing "
        f"{differs}, and for every set S of possible results,",
        Code(
            "P[M(D) ∈ S] ≤ e^ε · P[M(D′) ∈ S] + δ\n\n"
            f"here:\nP[M(D) ∈ S] ≤ {odds_factor(epsilon)} · P[M(D′) ∈ S]{written}"
        ),
    ]


def _hidden(receipt: Receipt) -> str:
    return "whether any one person is in the table" if receipt.protects_people else "any one record of the table"


def _attacker(receipt: Receipt) -> Items:
    """What the inequality means for somebody who wants to know about one person."""
    epsilon, delta = bounds(receipt)
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
        "δ is a small allowance on top: the result reveals no more than one that keeps to the factor, but gives the "
        f"record away with a probability of {one_in(delta)}."
        if delta
        else "δ = 0: the factor holds for every outcome, without exception.",
        f"This holds whatever else the attacker knows about that {who}, or computes, now or later. It does not stop "
        f"anybody from learning what is true of people in general, which does not depend on any one {who}.",
    ]
    return Items(texts)


def _published_calibration() -> list[Content]:
    return [
        "What one model means: the method splits the records into many groups, fits a small model to each, and draws a "
        "model from the middle of them. As published, the draw hides whether any one small model was there. But adding "
        "or removing one record can shift the borders of all groups, and so change every small model. For one record, "
        "ε and δ of this page promise nothing. Steps other than the draw protect one record.",
        'The strict calibration of the same method (K-Tukey-strict, or calibration="strict") protects one record, '
        "and so does PrivateLinearRegression.",
    ]
