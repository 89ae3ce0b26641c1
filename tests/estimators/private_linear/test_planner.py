"""The planner: repeatable, without data, and in step with what a fit does."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf, log, nan, sqrt

import numpy as np
import pytest
import statsmodels.api as sm

import privreg
from privreg import NotPrivateWarning, PrivateLinearRegression
from privreg.estimators.private_linear import plan_trials, planner
from privreg.estimators.private_linear.estimates import Z95, Estimates
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.estimators.private_linear.outlook_surface import surface
from privreg.estimators.private_linear.plan_trials import MOST_ROWS, RICH, TEST_ROWS, Trial, made_up, one_trial
from privreg.estimators.private_linear.planner import HOPELESS, STRENGTHS, Outlook, interpolated, least_squares
from privreg.privacy.accountant import Budget, adaptive_budget, adaptive_cost


def plan(*arguments, **options):
    return privreg.plan(*arguments, **({"trials": 2} | options))


def rows_for(size, budget):
    """The number of rows n with n·μ = size."""
    return round(size / sqrt(adaptive_budget(budget)))


# ---- the answer


def test_the_same_arguments_give_the_same_answer():
    one, two = plan(800, 4, 2.0), plan(800, 4, 2.0)
    assert one == two
    assert str(one) == str(two)
    assert one.outlooks != plan(800, 4, 2.0, seed=1).outlooks
    # Nor does it depend on, or disturb, numpy's own state.
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert plan(800, 4, 2.0) == one
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_every_argument_counts():
    answers = [plan(*a) for a in [(800, 4, 2.0), (900, 4, 2.0), (800, 5, 2.0), (800, 4, 2.5), (800, 4, 2.0, 1e-4)]]
    assert len({a.outlooks for a in answers}) == 5
    assert (answers[0].rows, answers[0].columns, answers[0].epsilon, answers[0].delta) == (800, 4, 2.0, 1e-6)


def test_what_is_in_a_plan():
    answer = plan(2000, 4, 2.0, trials=5)
    assert tuple(o.signal for o in answer.outlooks) == STRENGTHS
    for o in answer.outlooks:
        assert o.low <= o.median <= o.high
        assert o.high < o.least_squares + 0.1
        # On 2000 rows least squares reaches what the table promises, and 4000 new rows show it within a few per cent.
        assert o.least_squares == pytest.approx(o.signal, abs=0.06)
        assert o.kept == pytest.approx(max(o.median, 0) / o.least_squares)
        # That of least squares is near 1.96·√((1 − signal)/n) for columns that hardly depend on each other.
        assert 0.8 < o.half_width / o.wider / (1.96 * sqrt((1 - o.signal) / 2000)) < 2
        assert 1 < o.wider < 20
    record = json.loads(json.dumps(answer.to_dict()))
    assert [o["kept"] for o in record["outlooks"]] == [o.kept for o in answer.outlooks]
    assert {k: record[k] for k in ("rows", "columns", "epsilon", "delta", "k")} == {
        "rows": 2000, "columns": 4, "epsilon": 2.0, "delta": 1e-6, "k": answer.k
    }  # fmt: skip


def test_a_hopeless_fit_keeps_nothing():
    assert Outlook(0.5, 0.5, -3.0, -4.0, -2.0).kept == 0
    assert Outlook(0.5, -0.1, 0.2, 0.1, 0.3).kept == 0
    assert Outlook(0.5, 0.5, 0.25, 0.2, 0.3).kept == 0.5


def test_a_larger_budget_is_no_worse():
    """Budgets a factor of ten apart: from a constant to nearly everything."""
    answers = [plan(5000, 5, epsilon) for epsilon in (0.02, 0.2, 2.0)]
    for less, more in pairwise(answers):
        assert less.k <= more.k
        for worse, better in zip(less.outlooks, more.outlooks, strict=True):
            assert worse.kept <= better.kept
            assert worse.least_squares == better.least_squares  # it is the same table
    for first, middle, last in zip(*(answer.outlooks for answer in answers), strict=True):
        assert first.kept == 0
        assert last.kept > 0.7
        assert (first.half_width, first.wider) == (None, None)  # a constant
        assert middle.half_width > last.half_width
        assert middle.wider > last.wider


@pytest.mark.parametrize(
    ("size", "columns", "k"),
    [
        (1500, 8, 8),  # all, by far: the data can carry 34
        (3477, 100, 60),  # in the upper part of the sizes that carry 60: a fit takes its size rather too low
        (20, 6, 0),  # less than half of what a slope needs
    ],
)
def test_k_is_what_a_fit_uses(size, columns, k):
    budget = Budget(3.0, 1e-6)
    rows = rows_for(size, budget)
    answer = plan(rows, columns, budget.epsilon, budget.delta, trials=1)
    assert answer.k == k
    X, y = made_up(rows, columns, 0.9, np.random.default_rng(5))
    with pytest.warns(NotPrivateWarning):
        model = PrivateLinearRegression(budget.epsilon, budget.delta, n_jobs=1, random_state=2).fit(X, y)
    assert len(model.selected_features_) == k
    if k:
        assert f"about {k} columns would be used" in str(answer)


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_few_rows(rows):
    answer = plan(rows, 4, 0.5)
    assert answer.k == 0
    assert [o.kept for o in answer.outlooks] == [0] * len(STRENGTHS)
    assert "too little data for more than a constant" in str(answer)
    assert "columns would be used" not in str(answer)
    assert str(answer).count("  0 %") == len(STRENGTHS)


def test_many_rows_are_scaled_down_at_the_same_size(monkeypatch):
    tables, budgets = [], []
    make, open_account = made_up, plan_trials.AdaptiveAccount
    monkeypatch.setattr(plan_trials, "made_up", lambda rows, *a: tables.append(rows) or make(rows, *a))
    monkeypatch.setattr(
        plan_trials, "AdaptiveAccount", lambda budget, noise: budgets.append(budget) or open_account(budget, noise)
    )
    answer = plan(1_000_000, 4, 1.0, trials=1)
    assert set(tables) == {MOST_ROWS + TEST_ROWS}
    larger, rich = sorted(set(budgets), key=lambda budget: budget.epsilon)
    assert adaptive_budget(rich) == pytest.approx(RICH * adaptive_budget(larger), rel=1e-3)
    size = 1_000_000 * sqrt(adaptive_budget(Budget(1.0, 1e-6)))
    assert MOST_ROWS * sqrt(adaptive_budget(larger)) == pytest.approx(size, rel=1e-3)
    assert answer.epsilon == 1.0
    assert answer.rows == 1_000_000
    for o in answer.outlooks:
        assert 0.95 < o.kept < 1.05
    tables.clear()
    budgets.clear()
    plan(500, 4, 1.0, trials=1)
    assert set(tables) == {500 + TEST_ROWS}
    assert set(budgets) == {Budget(1.0, 1e-6)}


# ---- interpolated


@pytest.mark.parametrize(
    ("size", "columns", "signal"), [(130, 3, 0.6), (400, 10, 0.3), (1800, 24, 0.9), (9000, 50, 0.1)]
)
def test_fresh_simulations_agree_with_what_is_shipped(size, columns, signal):
    """Seeded, so it cannot fail by luck; at three times the error that nine of ten cases keep within."""
    rows, told = 6000, surface()
    budget = Budget(adaptive_cost(Fraction(size / rows) ** 2, 1e-6), 1e-6)
    trials = [one_trial(rows, columns, signal, budget, np.random.default_rng([size, t])) for t in range(7)]
    outlook = interpolated(size, rows, columns, signal)
    assert np.median([t.private for t in trials]) == pytest.approx(outlook.median, abs=3 * told.errors["r2"])
    fresh = np.median([np.median(t.widths) for t in trials])
    assert abs(log(fresh / outlook.half_width)) < 3 * log(told.errors["width"])


def test_the_errors_that_are_told_are_small():
    assert 0 < surface().errors["r2"] < 0.06
    assert 1 < surface().errors["width"] < 1.6
    assert f"within {surface().errors['r2']:.2g}" in str(privreg.plan(5000, 5, 1.0))
    assert "Interpolated" not in str(plan(500, 5, 1.0))


def test_interpolated_plans_are_no_worse_with_more_data_or_budget():
    for less, more in pairwise([privreg.plan(rows, 12, 1.0) for rows in (1_000, 3_000, 10_000, 100_000, 10**7)]):
        for worse, better in zip(less.outlooks, more.outlooks, strict=True):
            assert worse.median <= better.median
            assert worse.half_width is None or worse.half_width > better.half_width
    for less, more in pairwise([privreg.plan(20_000, 12, epsilon) for epsilon in (0.03, 0.1, 0.5, 2.0, 10.0)]):
        assert less.k <= more.k
        for worse, better in zip(less.outlooks, more.outlooks, strict=True):
            assert worse.median <= better.median
            assert worse.low <= worse.median <= worse.high


@pytest.mark.parametrize("rows", [0, 1, 30, 10**12])
@pytest.mark.parametrize("columns", [1, 7, 5000, 10**12])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 500.0])
def test_no_size_is_too_odd_to_interpolate(rows, columns, epsilon):
    answer = privreg.plan(rows, columns, epsilon)
    assert json.dumps(answer.to_dict())
    assert str(answer).count("\n") > 6
    assert all(o.low <= o.median <= o.high for o in answer.outlooks)


def test_least_squares_by_the_textbook():
    assert least_squares(100, 98, 0.5) == HOPELESS
    assert least_squares(10**9, 5, 0.5) == pytest.approx(0.5)
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        X, e = rng.normal(size=(60, 5)), rng.normal(size=60)
        b = np.linalg.lstsq(np.column_stack([np.ones(60), X]), X[:, 0] + e)[0]
        new = rng.normal(size=(400, 5))
        off = new[:, 0] - b[0] - new @ b[1:]
        found.append((off**2).mean() + 1)
    assert 1 - np.mean(found) / 2 == pytest.approx(least_squares(60, 5, 0.5), abs=0.01)


# ---- intervals


def test_widths_are_for_steps_of_one_standard_deviation(rng):
    """A model that is told its errors, of two of three columns; least squares by statsmodels."""
    X = rng.normal(size=(500, 3)) * [1, 50, 3] + 7
    y = X @ [1, 0, 0.2] + 5 * rng.normal(size=500)
    errors = np.array([9.0, 0.02, 0.03])
    none = np.zeros(3)
    estimates = Estimates((0, 2, 1), none, np.diag(errors**2), np.eye(3), none, none, 1.0, 0.0, 0.5, 0.1)
    terms = (Term(0, Scale(7.0, 2.0, 1.2)), Term(2, Scale(7.0, 5.0, 2.5)))
    model = WinsorisedModel(Scale(0.0, 20.0, 6.0), terms, np.zeros(3), estimates)
    widths, exact = plan_trials._half_widths(model, X, y)
    spreads = X.std(axis=0) / y.std()
    assert widths == pytest.approx([Z95 * 0.02 * 6 / 2.5 * spreads[2], Z95 * 0.03 * 6 / 1.2 * spreads[0]])
    fitted = sm.OLS(y, sm.add_constant(X[:, [2, 0]])).fit()
    assert exact == pytest.approx(Z95 * fitted.bse[1:] * spreads[[2, 0]])
    assert [w.size for w in plan_trials._half_widths(replace(model, estimates=None), X, y)] == [0, 0]


def test_a_column_without_spread_has_no_width(rng):
    X = np.column_stack([rng.normal(size=100), np.ones(100)])
    estimates = Estimates((0, 1, 2), np.zeros(3), np.eye(3), np.eye(3), np.zeros(3), np.zeros(3), 1.0, 0.0, 0.5, 0.1)
    terms = tuple(Term(j, Scale(0.0, 2.0, 1.0)) for j in range(2))
    widths, exact = plan_trials._half_widths(WinsorisedModel(terms[0].scale, terms, np.zeros(3), estimates), X, X[:, 0])
    assert (widths.size, exact.size) == (1, 1)


def test_with_all_rows_only_the_error_of_sampling_is_less():
    """On a quarter of the rows: an interval that is all sampling and margins, and one that is mostly noise."""
    trials = [Trial(0.5, 0.6, np.array([0.12, 1.3]), np.array([0.1, 0.5 / 1.2]))]
    some = plan_trials._outlook(0.6, trials, 0.25, 1.2)
    scaled = [0.06, sqrt(1.2**2 + 0.25**2)]
    assert some.half_width == pytest.approx(np.median(scaled))
    assert some.wider == pytest.approx(np.median([1.2, scaled[1] / (0.25 / 1.2)]))
    whole = plan_trials._outlook(0.6, trials, 1.0, 1.0)
    assert whole.half_width == pytest.approx(np.median([0.12, 1.3]))
    assert whole.wider == pytest.approx(np.median([1.2, 1.3 * 1.2 / 0.5]))


def test_how_intervals_are_printed():
    def row(half, wider):
        return str(planner.Plan(9, 1, 1.0, 1e-6, 1, (Outlook(0.1, 0.1, 0.1, 0.1, 0.1, half, wider),))).splitlines()[4]

    assert row(0.32, 2.08).endswith("100 %      ±0.3  2.1 ×")
    assert row(0.0123, 1.0).endswith("±0.01  1.0 ×")
    assert row(3.456, 21.0).endswith("±3.5   21 ×")
    assert row(None, None).endswith("100 %")


def test_a_constant_has_no_intervals_and_no_r2_of_minus_nothing():
    text = str(planner.Plan(9, 1, 1.0, 1e-6, 0, (Outlook(0.1, 0.1, -0.001, -0.004, 0.0, 48.09, 494.8),)))
    assert text.splitlines()[4].endswith("0.10        0.00   0.00 … 0.00   0 %")
    assert "−0.00" not in text


def test_progress_goes_up_to_one():
    seen = []
    plan(100, 3, 1.0, trials=3, progress=seen.append)
    assert len(seen) == 3 * len(STRENGTHS)
    assert seen == sorted(set(seen))
    assert seen[0] == pytest.approx(1 / 12)
    assert seen[-1] == 1


# ---- wrong arguments

GOOD = {"rows": 100, "columns": 3, "epsilon": 1.0, "delta": 1e-6, "trials": 1}
WRONG = [
    *[("rows", v) for v in (-1, 1.5, True, "7", None)],
    *[("columns", v) for v in (0, -3, 2.0, True)],
    *[("trials", v) for v in (0, 1.0)],
    *[("epsilon", v) for v in (0, -1.0, inf, nan, "1", None, True)],
    *[("delta", v) for v in (0, 1, -1e-9, nan, 1e-300, None)],
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_argument_is_named(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        privreg.plan(**(GOOD | {name: value}))
    with pytest.raises(ValueError, match="got"):
        privreg.plan(**(GOOD | {name: value}))


def test_numpy_integers_are_whole_numbers():
    answer = privreg.plan(**(GOOD | {"rows": np.int64(100), "columns": np.int32(3)}))
    assert answer == privreg.plan(**GOOD)
    assert json.dumps(answer.to_dict())


# ---- made-up tables


@pytest.mark.parametrize("signal", STRENGTHS)
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_made_up_tables_have_the_signal_they_promise(signal, columns):
    """On 40,000 rows R² varies by less than 0.005."""
    X, y = made_up(40_000, columns, signal, np.random.default_rng([columns, 1]))
    design = np.column_stack([np.ones(len(X)), X])
    fitted = design @ np.linalg.lstsq(design, y)[0]
    assert 1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum() == pytest.approx(signal, abs=0.03)
    assert y.std() == pytest.approx(10, rel=0.05)


def test_made_up_tables_are_such_as_people_have():
    """Of 400 columns about a quarter are 0/1 and a quarter skewed; some go together; scales differ widely."""
    X, _ = made_up(2000, 400, 0.5, np.random.default_rng(0))
    assert X.shape == (2000, 400)
    two = np.array([np.unique(column).size == 2 for column in X.T])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    skewed = ~two & ((scaled**3).mean(axis=0) > 1.5)
    assert 70 < two.sum() < 130
    assert 70 < skewed.sum() < 130
    correlation = np.abs(scaled.T @ scaled / 2000 - np.eye(400))
    assert correlation.max() > 0.5
    assert np.ptp(np.log10(X.std(axis=0))) > 3
