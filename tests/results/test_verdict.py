"""The verdict on a fit: from released values only, the worst news first."""

from dataclasses import replace

import pytest

from privreg import PrivateLinearRegression
from privreg.cli.show import headline
from privreg.privacy.accountant import Budget
from privreg.privacy.promise import in_words, protected
from privreg.results.release import MOSTLY_NOISE, NO_CENTRE, NO_NUMBERS, NO_RECORDS, release_of
from privreg.results.verdict import accuracy, r2_interval, records, verdict
from reports import private, survey


@pytest.fixture(scope="module")
def seeded():
    return release_of(PrivateLinearRegression(1.0, 1e-6, random_state=1).fit(*survey()), "blood_pressure")


@pytest.fixture(scope="module")
def fitted(seeded):
    return private(seeded)


def with_r2(release, r2, error):
    return replace(release, statistics=replace(release.statistics, r2=r2, r2_error=error))


def test_usable(fitted):
    found = verdict(with_r2(fitted, 0.651, 0.01))
    assert (found.state, found.word, found.reasons) == ("good", "Usable", ())
    assert found.line == "Usable: it explains about 65 % of the variation in blood_pressure."
    assert accuracy(with_r2(fitted, 0.651, 0.01)) == "R² 0.651 (95 % interval 0.631 to 0.671)"


def test_what_calls_for_care(fitted):
    warned = verdict(replace(with_r2(fitted, 0.651, 0.01), warnings=["Odd."]))
    assert (warned.state, warned.reasons) == ("care", ("Odd.",))
    first, *others = fitted.coefficients
    hidden = replace(first, value=None, error=None, low=None, high=None, determined=False)
    found = verdict(replace(with_r2(fitted, 0.651, 0.01), coefficients=[hidden, *others]))
    assert (found.state, found.word) == ("care", "Usable with care")
    assert found.reasons == (f"Too little data at this budget to determine the coefficient of {first.feature}.",)
    vague = verdict(with_r2(fitted, 0.3, 0.2))
    assert (vague.state, vague.reasons) == (
        "care",
        ("How well it predicts is uncertain: the interval of R² includes 0.",),
    )
    wide = verdict(with_r2(fitted, 0.5, 0.11))
    assert (wide.state, wide.reasons) == ("care", ("How well it predicts is uncertain: the interval of R² is wide.",))
    silent = verdict(replace(fitted, statistics=None))
    assert (silent.state, silent.word) == ("care", "Accuracy unknown")


def test_a_weak_budget_calls_for_care(fitted):
    weak = verdict(replace(with_r2(fitted, 0.651, 0.01), receipt=replace(fitted.receipt, budget=Budget(50.0, 0.01))))
    assert (weak.state, weak.word) == ("care", "Usable with care")
    assert [reason.split(":")[0] for reason in weak.reasons] == [
        "ε = 50 is weak protection",
        "δ = 0.01 is weak protection",
    ]


def test_noise_may_hide_how_well_it_predicts(fitted):
    found = verdict(with_r2(fitted, 0.0, 3.8))
    assert (found.state, found.word) == ("care", "Accuracy unknown")
    assert found.text == "the noise is too large to tell how well it predicts."
    assert accuracy(with_r2(fitted, 0.0, 3.8)) is None
    assert "R²" not in headline(with_r2(fitted, 0.0, 3.8))
    assert "R²" in headline(with_r2(fitted, 0.3, 0.2))


def undetermined(c):
    return replace(c, value=None, error=None, low=None, high=None, z=None, pvalue=None, determined=False)


def test_nothing_can_be_told(fitted):
    """Neither a coefficient nor how well it predicts."""
    vague = with_r2(fitted, 0.0, 3.8)
    found = verdict(replace(vague, coefficients=[undetermined(c) for c in vague.coefficients]))
    assert (found.state, found.word) == ("bad", "Not usable")
    assert found.text == "the noise is too large to tell its coefficients, or how well it predicts."
    first, *others = vague.coefficients
    some = verdict(replace(vague, coefficients=[undetermined(first), *others]))
    assert (some.word, some.reasons[0]) == (
        "Accuracy unknown",
        f"Too little data at this budget to determine the coefficient of {first.feature}.",
    )


def test_no_sign_of_more_than_a_constant(fitted):
    poor = with_r2(fitted, 0.02, 0.02)
    assert verdict(poor).word == "Usable with care"
    found = verdict(replace(poor, warnings=[MOSTLY_NOISE]))
    assert (found.word, found.text) == ("Not usable", "there is no sign that it predicts better than a constant.")


def test_a_constant_that_may_be_far_off_has_no_digits(fitted):
    constant = replace(fitted, coefficients=[])
    assert "only a constant, " in verdict(constant).text
    told = verdict(replace(constant, warnings=[NO_CENTRE]))
    assert told.text == "at this budget the data support only a constant."


def test_what_is_of_no_use(fitted):
    assert verdict(with_r2(fitted, -0.01, 0.02)).word == "Not usable"
    constant = verdict(replace(fitted, coefficients=[], warnings=["Too few."]))
    assert (constant.state, constant.word, constant.reasons[0]) == ("bad", "Not usable", "Too few.")


@pytest.mark.parametrize("told", [NO_NUMBERS, NO_RECORDS])
def test_no_advice_about_the_budget_where_the_target_is_wrong(fitted, told):
    constant = verdict(replace(fitted, coefficients=[], warnings=[told, "Too few."]))
    assert constant.reasons == (told, "Too few.")


def test_a_broken_promise_comes_first(seeded, fitted):
    assert verdict(seeded).word == "NOT PRIVATE"
    assert verdict(replace(seeded, warnings=["Odd."])).reasons[-1] == "Odd."
    overspent = replace(fitted, receipt=replace(fitted.receipt, budget=Budget(0.5, 1e-6)))
    assert verdict(overspent).word == "Overspent"
    custom = replace(fitted, receipt=replace(fitted.receipt, unit="one model"))
    assert verdict(custom).word == "No guarantee for one record"
    assert protected(custom.receipt) == "one model"


def test_no_r2_is_above_one(fitted):
    assert r2_interval(with_r2(fitted, 0.99, 0.02))[1] == 1.0
    assert r2_interval(with_r2(fitted, None, None)) is None
    assert accuracy(replace(fitted, statistics=None)) is None
    assert verdict(with_r2(fitted, 1.2, 0.01)).text == "it explains about 100 % of the variation in blood_pressure."
    assert verdict(with_r2(fitted, 0.004, 0.001)).text.startswith("it explains less than 1 % of")


def test_in_words(fitted):
    text = in_words(fitted.receipt)
    assert "can become at most 73.2 % sure from these results, apart from δ." in text
    assert "Odds change by a factor of at most 2.72 (e^ε). δ is an allowance on top" in text
    people = replace(fitted.receipt, unit="one person", rows=2)
    assert "every other person" in in_words(people)
    assert protected(people) == "any one person with all their records (at most 2 records per person were used)"
    assert protected(replace(people, rows=1)).endswith("(at most 1 record per person was used)")
    assert records(replace(fitted, records=None)) is None
