"""The guarantee in words and symbols."""

from math import exp

from privreg._format import listed, number, odds_factor, one_in, percent
from privreg.data.schema import unprotected_levels
from privreg.privacy.promise import bounds, broken_promise, is_custom
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.report.document import Code, Content, Fold, Items
from privreg.results.release import Release

FALSE_ALARMS = 0.05  # of the attack in the worked example
LITTLE = 0.99  # a belief that may grow from 50 % to this is hardly bounded


def blocks(release: Release) -> list[Content]:
    """The section. Where the guarantee does not hold, nothing is said as if it did."""
    receipt, broken, known = release.receipt, broken_promise(release.receipt), _known(release)
    told: list[Content] = [] if broken is None else [" ".join([broken.line, *broken.reasons])]
    told += _not_covered(release)
    if is_custom(receipt):
        return [*told, *_published_calibration()]
    if not receipt.private:
        would = "With noise that nobody can predict, which this run did not have, this would hold:"
        return [*told, would, _attacker(receipt, known)]
    if broken is not None:
        return told
    besides = f", except {known}," if known else ""
    return [
        f"Everything on this page and in the model file that depends on the records{besides} was computed with random "
        f"noise, enough to hide {_hidden(receipt)}. Smaller ε and δ mean more privacy.",
        *told,
        _attacker(receipt, known),
        Fold("In symbols", _symbols(receipt, known)),
    ]


def _not_covered(release: Release) -> list[Content]:
    """What this page shows that the fit did not protect, or did not pay for."""
    told: list[Content] = [release.earlier.sentence] if release.earlier else []
    return [*told, unprotected_levels(release.typed)] if release.typed else told


def _known(release: Release) -> str:
    """The same as things that somebody may know beforehand; empty if there is nothing."""
    earlier = ["what an earlier release found out"] if release.earlier else []
    return " and ".join([*earlier, *([f"the levels of {listed(release.typed)}"] if release.typed else [])])


def _symbols(receipt: Receipt, known: str) -> list[Content]:
    epsilon, delta = bounds(receipt)
    written = f" + {number(delta, 6)}" if delta else ""
    given = f", given {known}" if known else ""
    differs = "one person with all their records" if receipt.protects_people else ONE_RECORD
    return [
        f"M is the whole computation with its noise{given}. For all tables D and D′ that differ by adding or removing "
        f"{differs}, and for every set S of possible results,",
        Code(
            "P[M(D) ∈ S] ≤ e^ε · P[M(D′) ∈ S] + δ\n\n"
            f"here:\nP[M(D) ∈ S] ≤ {odds_factor(epsilon)} · P[M(D′) ∈ S]{written}"
        ),
    ]


def _hidden(receipt: Receipt) -> str:
    return "whether any one person is in the table" if receipt.protects_people else "any one record of the table"


def _attacker(receipt: Receipt, known: str) -> Items:
    """What the inequality means for somebody who wants to know about one person. `known` is what they know already."""
    epsilon, delta = bounds(receipt)
    who, what = ("person", "a person") if receipt.protects_people else ("record", "a record")
    besides = f" and {known}" if known else ""
    belief = 1 / (1 + exp(-epsilon))
    found = min(exp(min(epsilon, 700.0)) * FALSE_ALARMS + delta, 1 - exp(-epsilon) * (1 - delta - FALSE_ALARMS), 1.0)
    texts = [
        f"Suppose an attacker knows every other {who} of the table{besides}, knows how privreg works, and has this "
        f"page and the model file. Even so, their odds that {what} is in the table can change by a factor of at most "
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
