"""Counts above a threshold: exact laws of small releases against the claim, and rules that would be wrong.

Proof: docs/proofs/levels.md. Laws are those of the account itself, which is fed every value of the noise in turn.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import prod, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import gaussian_delta
from privreg.privacy.account import AdaptiveAccount, PlannedAccount
from privreg.privacy.accountant import Budget, adaptive_budget, cost, less_delta, reserved_delta
from privreg.privacy.events import Gaussian, LevelCounts, event_from_dict
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from privreg.privacy.purposes import PURPOSES
from privreg.privacy.receipt import ADAPTIVE, Receipt

NONE = np.zeros(0, np.int64)
BUDGET = Budget(1.0, 1e-6)


class Scripted(SeededNoise):
    """Adds what it is told to."""

    def __init__(self, added):
        super().__init__(np.random.default_rng(0))
        self.added, self.drawn = np.asarray(added, np.int64), []

    def gaussian(self, values, scale):
        self.drawn.append(values.tolist())
        return values + self.added[: len(values)]


class Anything(AdaptiveAccount):
    """Lets everything through: events of this file are far too coarse for the real one."""

    def _allow(self, event):
        pass


# ---- exact laws

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0)
LATTICE = 0.01  # of δ_μ(ε): how far discrete noise of 8 steps is off the curve; the claim allows for far more


def law(event, count):
    """Probabilities of what the account releases of one value: the noisy count by its place, and nothing at last."""
    reach = int(9 * event.scale)
    noise = np.arange(-reach, reach + 1)
    weights = np.exp(-(noise**2) / (2 * event.scale**2))
    weights /= weights.sum()
    account = Anything(BUDGET, Scripted(noise))
    found = account.level_counts(event, np.full(noise.size, count * event.grid), NONE)
    shift = reach + 30 * event.grid
    result = np.zeros(2 * shift + 2)
    result[found.counts + reach] = weights[found.passed]
    result[-1] = 1 - weights[found.passed].sum()
    return result


def merged(first, second):
    """Outcomes that tell the same are one: those whose log-ratios agree in ten digits, so divergences do to nine."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.round(np.log(first) - np.log(second), 10)
    place = np.unique(ratios, return_inverse=True)[1]
    return np.bincount(place, first), np.bincount(place, second)


def joint(laws):
    """Outcomes of all values together; outcomes that neither table has are left out."""
    first, second = np.ones(1), np.ones(1)
    for one, two in laws:
        seen = (one > 0) | (two > 0)
        if not (one[:-1] > 0).any():  # without the unit nothing is ever shown: one outcome stands for all
            one, two, seen = np.array([0, 1.0]), np.array([1 - two[-1], two[-1]]), np.array([True, True])
        first, second = merged(np.outer(first, one[seen]).ravel(), np.outer(second, two[seen]).ravel())
    return first, second


def divergences(event, values):
    """The larger hockey-stick divergence of both directions, at each ε: `values` are counts and what the unit adds."""
    first, second = joint([(law(event, count), law(event, count + more)) for count, more in values])
    return [
        max(np.maximum(p - np.exp(epsilon) * q, 0).sum() for p, q in ((first, second), (second, first)))
        for epsilon in EPSILONS
    ]


def columns_with(rows, most):
    """What a unit of `rows` records may do to one column: all in one value, or in several, rare or common before."""
    counts = range(most + 1)
    whole = [((count, rows),) for count in counts]
    if rows == 1:
        return whole
    return whole + [tuple((count, 1) for count in chosen) for chosen in combinations_with_replacement(counts, rows)]


def excess(event, rows, columns, charged=None):
    """By how much the claim is exceeded at most, over neighbours in small tables, if these costs are charged."""
    mu_squared, extra = charged or (event.mu_squared, event.extra_delta)
    mu, extra = rows * sqrt(mu_squared), float(extra)
    each = columns_with(rows, event.least + 1)
    cases = [(one,) for one in each] if columns == 1 else [(one, one) for one in each] + list(pairwise(each))
    worst = -1.0
    for case in cases:
        found = divergences(event, [value for column in case for value in column])
        claims = [(1 + LATTICE) * gaussian_delta(mu, epsilon) + extra for epsilon in EPSILONS]
        worst = max(worst, max(np.subtract(found, claims)))
    return worst


def small(rows, columns, least, z=2.0, scale=8.0, grid=8, lower=0):
    """Noise of one record, and a threshold of z·σ above what a new value can have, or lower."""
    return LevelCounts("l", columns, rows, scale, least, (least + rows - 1 - lower) * grid + round(z * scale), grid)


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
def test_the_release_is_as_private_as_it_says(rows, columns, least):
    assert excess(small(rows, columns, least), rows, columns) <= 1e-9


def test_wrong_rules_are_found():
    """Each is what somebody might write instead."""
    for least in (1, 2):
        right = small(2, 1, least)
        # The threshold without the unit's records: T = t0 + σz, charged as if it were right.
        assert excess(small(2, 1, least, lower=1), 2, 1, (right.mu_squared, right.extra_delta)) > 0.05
    two = small(1, 2, 1)
    one = small(1, 1, 1)
    assert excess(two, 1, 2, (two.mu_squared, one.extra_delta)) > 0.01  # δ′ of one column instead of two
    assert excess(two, 1, 2, (one.mu_squared, two.extra_delta)) > 0.01  # μ² of one column instead of two
    assert excess(one, 1, 1, (one.mu_squared, 0)) > 0.01  # δ′ not charged: thresholding is no post-processing
    many = small(2, 1, 1, z=1.0, scale=40.0)  # wide noise, so that two rare values tell more than one with two records
    once = many.extra_delta / 2
    assert excess(many, 2, 1, (many.mu_squared, once)) > 0.01  # δ′ of one value instead of one for each record
    assert excess(many, 2, 1) <= 1e-9


# ---- the chance that a value of one unit alone is shown


def tail(scale, k):
    """P[Z ≥ k] of discrete Gaussian noise, by the formula of Euler and Maclaurin and that of Poisson."""
    s, k = mpmath.mpf(scale), mpmath.mpf(k)
    density = mpmath.exp(-(k**2) / (2 * s**2))
    slope = -k / s**2 * density
    third = (3 * k / s**4 - k**3 / s**6) * density
    summed = s * mpmath.sqrt(2 * mpmath.pi) * mpmath.ncdf(-k / s) + density / 2 - slope / 12 + third / 720
    return summed / (s * mpmath.sqrt(2 * mpmath.pi) * (1 + 2 * mpmath.exp(-2 * mpmath.pi**2 * s**2)))


def test_the_tail_of_this_test_is_right():
    with mpmath.workdps(40):
        for scale, k in ((6.5, 1), (6.5, 20), (50.0, 200)):
            z = range(-int(30 * scale), int(30 * scale) + 1)
            weights = {i: mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(scale) ** 2)) for i in z}
            true = sum(w for i, w in weights.items() if i >= k) / sum(weights.values())
            assert abs(tail(scale, k) / true - 1) < mpmath.mpf("1e-4")


@pytest.mark.parametrize("grid", [64, 2**28])
@pytest.mark.parametrize(("columns", "rows", "least"), [(1, 1, 1), (5, 1, 3), (3, 4, 1), (3, 4, 6), (40, 10, 10)])
@pytest.mark.parametrize("extra", [1e-3, 1e-9, 1e-15])
def test_a_value_of_one_unit_alone_is_hardly_ever_shown(columns, rows, least, extra, grid):
    event = LevelCounts.costing("l", 0.01, columns, rows, least, extra, grid)
    with mpmath.workdps(40):

        def shown(records):
            """That a value with so many records passes."""
            return tail(event.scale, event.threshold + 1 - records * grid)

        equal = 1 - (1 - shown(least - 1 + rows)) ** columns  # all records of the unit have the same value
        distinct = 1 - (1 - shown(least)) ** (columns * rows)  # each has another one
        exact = float(event.extra_delta)
        assert max(equal, distinct) <= exact <= extra
        if rows == 1:
            assert exact < 1.01 * float(distinct) / (1 - 0.02 * (grid == 64))  # and not far from it
        higher = shown(least + rows)
        assert columns * higher > equal  # one record more would be shown more often


@settings(max_examples=200)
@given(st.integers(1, 300), st.integers(1, 20), st.floats(1.0, 2.0**40), st.integers(1, 50), st.floats(0, 40))
def test_extra_delta_is_rounded_up(columns, rows, scale, least, z):
    grid = 2**20
    highest = (least + rows - 1) * grid
    event = LevelCounts("l", columns, rows, scale, least, highest + int(z * scale), grid)
    with mpmath.workdps(60):
        k = mpmath.mpf(event.threshold - highest)
        true = rows * columns * mpmath.ncdf(-k / mpmath.mpf(scale))
        assert float(event.extra_delta) >= min(float(true), 1.0) * (1 - 1e-15)
        assert float(event.extra_delta) <= max(float(true) * (1 + 1e-9), rows * columns * 1e-298)
    assert LevelCounts("l", columns, rows, scale, least, highest - 1, grid).extra_delta == 1


# ---- costing

costs = st.tuples(
    st.floats(1e-8, 10), st.integers(1, 500), st.integers(1, 20), st.integers(1, 100), st.floats(-250, -0.5),
    st.sampled_from([1, 64, 2**28]),
)  # fmt: skip


@settings(max_examples=200)
@given(costs)
def test_the_event_that_costs_so_much(asked):
    mu_squared, columns, rows, least, exponent, grid = asked
    extra = 10.0**exponent
    event = LevelCounts.costing("l", mu_squared, columns, rows, least, extra, grid, purpose="reading")
    assert event.mu_squared <= Fraction(mu_squared)
    assert float(event.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
    assert event.extra_delta <= extra
    assert event.threshold >= (least + rows - 1) * grid
    lower = LevelCounts("l", columns, rows, event.scale, least, max(event.threshold - 1, 1), grid)
    assert lower.extra_delta > extra or event.threshold == (least + rows - 1) * grid
    assert event.rounding_distance == rows * columns / (8 * Fraction(event.scale) ** 2)
    assert event.purpose == "reading"
    assert event.purpose in PURPOSES
    assert event_from_dict({"mechanism": event.mechanism, "parameters": event.parameters, "name": "l",
                            "purpose": "reading", "column": None}) == event  # fmt: skip


def test_events_that_are_none():
    with pytest.raises(ValueError, match="no threshold is high enough"):
        LevelCounts.costing("l", 0.1, 3, 1, 1, 1e-305, 2**28)
    for wrong in ({"least": 0}, {"rows": 0}, {"columns": 1.5}, {"threshold": 2.0}, {"scale": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LevelCounts("l", **({"columns": 1, "rows": 1, "scale": 2.0, "least": 1, "threshold": 9} | wrong))


# ---- events chosen on the way, with both sums bounded


def mixture(mu, p, epsilon, towards_new):
    """δ at ε of the worst pair of one step: Gaussian, and with probability p a value that only one table has."""
    if towards_new:
        return p + (1 - p) * gaussian_delta(mu, epsilon - np.log1p(-p))
    return gaussian_delta(mu, epsilon + np.log1p(-p))


@pytest.mark.parametrize("towards_new", [True, False])
def test_steps_chosen_on_the_way(towards_new):
    """What the first release shows decides whether the rest of δ′ is spent on another, or μ² on plain noise."""
    event = small(1, 1, 1, z=1.5)
    # A common value in one column and a new one in another, of which the second costs δ′ and no μ².
    first, second = joint([(law(event, 3), law(event, 4)), (law(event, 0), law(event, 1))])
    p, q = (second, first) if towards_new else (first, second)
    mu_first, extra_first = sqrt(event.mu_squared), float(event.extra_delta)
    total, extra = 2.5 * event.mu_squared, extra_first + 0.05
    rest = sqrt(total - event.mu_squared)
    assert mu_first < rest
    for epsilon in EPSILONS:
        both = (q > 0) & (p > 0)
        level = epsilon - np.log(p[both] / q[both])
        only = p[q == 0].sum()  # lost already
        choices = [
            np.array([mixture(mu, chance, at, towards_new) for at in level])
            for mu, chance in ((rest, 0.0), (rest, 0.05), (rest / 2, 0.05))
        ]
        true = only + (p[both] * np.max(choices, axis=0)).sum()  # the worst choice after each outcome
        assert true <= (1 + LATTICE) * gaussian_delta(sqrt(total), epsilon) + extra
        if towards_new and epsilon > 5:
            assert true > 0.5 * extra


# ---- the account


def open_account(extra_delta=1e-9, rows=1, added=()):
    noise = Scripted(added)
    return AdaptiveAccount(BUDGET, noise, rows, extra_delta), noise


def planned(extra=5e-10, rows=1, least=1, mu_squared=1e-3, columns=2):
    return LevelCounts.costing("levels", mu_squared, columns, rows, least, extra, 2**28, purpose="reading")


def test_only_values_that_pass_leave_the_account():
    event = planned(least=3)
    one = event.grid
    over = event.threshold // one + 1
    counts = np.array([5 * one, 2 * one, over * one, 3 * one, 0, over * one, 3 * one - 1])
    account, noise = open_account(added=[0, -2 * event.threshold, 7, event.threshold, 11, -13])
    found = account.level_counts(event, counts, np.array([100, 0]))
    candidates = [5 * one, over * one, 3 * one, over * one]
    assert noise.drawn == [[*candidates, 100, 0]]  # the others get no noise at all
    assert found.passed.tolist() == [5]
    assert account.receipt().steps == (event,)
    account, _ = open_account(added=[event.threshold - 5 * one, 1, 0, 0, 3, 4])
    found = account.level_counts(event, counts, np.array([100, 0]))
    assert found.passed.tolist() == [2, 5]  # the first is at the threshold, and does not exceed it
    assert found.counts.tolist() == [over * one + 1, over * one]
    assert found.declared.tolist() == [103, 4]


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(np.random.default_rng(1))], ids=["OpenDP", "seeded"])
@pytest.mark.parametrize(("values", "declared"), [(0, 0), (3, 0), (0, 2), (5, 3)])
def test_any_number_of_values(noise, values, declared):
    event = planned()
    account = AdaptiveAccount(BUDGET, noise, extra_delta=1e-9)
    counts = np.full(values, 10**6 * event.grid)
    found = account.level_counts(event, counts, np.full(declared, 10 * event.grid))
    assert found.passed.tolist() == list(range(values))
    assert [len(part) for part in found] == [values, values, declared]
    assert all(part.dtype == np.int64 for part in found)


def test_what_is_left_of_the_extra_delta():
    account, noise = open_account(1e-9)
    first, second = planned(6e-10), planned(5e-10)
    account.level_counts(first, NONE, NONE)
    left = Fraction(1e-9) - first.extra_delta
    assert Fraction(account.extra_delta) <= left
    assert account.extra_delta == pytest.approx(float(left))
    before = account.mu_squared
    with pytest.raises(RuntimeError, match="extra delta"):
        account.level_counts(second, np.array([10**15]), NONE)
    assert account.receipt().steps == (first,)
    assert account.mu_squared == before
    assert noise.drawn == [[]]
    third = planned(account.extra_delta)
    account.level_counts(third, NONE, NONE)
    assert account.extra_delta < 1e-15
    receipt = account.receipt()
    assert receipt.epsilon <= BUDGET.epsilon
    assert receipt.delta == BUDGET.delta
    assert receipt.extra_delta == pytest.approx(1e-9)


def test_without_a_reserve_nothing_is_let_through():
    account, noise = open_account(0.0)
    with pytest.raises(RuntimeError, match="extra delta"):
        account.level_counts(planned(), NONE, NONE)
    assert noise.drawn == []
    assert Fraction(account.mu_squared) <= adaptive_budget(BUDGET)
    for wrong in (-1e-9, 1e-6, 2e-6):
        with pytest.raises(ValueError, match="extra_delta"):
            open_account(wrong)


def test_an_event_for_fewer_records_is_refused():
    account, noise = open_account(rows=3)
    with pytest.raises(RuntimeError, match="fewer than 3 records"):
        account.level_counts(planned(rows=2), NONE, NONE)
    assert noise.drawn == []
    account.level_counts(planned(rows=3), NONE, NONE)
    honest = account.receipt()
    assert honest.epsilon < BUDGET.epsilon
    forged = Receipt((planned(rows=2),), BUDGET, True, rows=3, composition=ADAPTIVE)
    assert forged.epsilon == float("inf")


def test_coarse_counts_are_refused():
    account, _ = open_account()
    with pytest.raises(RuntimeError, match="does not fit"):
        account.level_counts(LevelCounts.costing("l", 1e-3, 2, 1, 1, 5e-10, 2**19), NONE, NONE)
    account.level_counts(LevelCounts.costing("l", 1e-3, 2, 1, 1, 5e-10, 2**20), NONE, NONE)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1.2), st.floats(0.01, 1.2), st.booleans()), min_size=1, max_size=6),
       st.sampled_from([0.05, 1.0, 9.0]), st.integers(1, 3), st.sampled_from([1e-3, 0.05, 0.5]))  # fmt: skip
def test_no_sequence_exceeds_the_budget(requests, epsilon, rows, part):
    """Each asks for parts of what is left, or for more; every prefix is the receipt of a fit that was interrupted."""
    budget = Budget(epsilon, 1e-6)
    reserved = part * budget.delta
    account = AdaptiveAccount(budget, SeededNoise(np.random.default_rng(0)), rows, reserved)
    assert Fraction(account.mu_squared) * rows**2 <= adaptive_budget(less_delta(budget, reserved))
    for of_mu, of_extra, counts in requests:
        if account.mu_squared < 1e-9 or account.extra_delta < 1e-12:
            break
        share = of_mu * account.mu_squared
        event = (
            LevelCounts.costing("l", share, 3, rows, 1, of_extra * account.extra_delta, 2**28)
            if counts
            else Gaussian.costing("g", share, 2**28)
        )
        try:
            account.level_counts(event, NONE, NONE) if counts else account.gaussian(event, np.zeros(1, np.int64))
        except RuntimeError:
            assert of_mu > 1 - 1e-9 or of_extra > 1 - 1e-9
        receipt = account.receipt()
        assert receipt.epsilon <= epsilon
        assert receipt.extra_delta <= reserved
        true = gaussian_delta(rows * sqrt(sum(e.mu_squared for e in receipt.events) or 1e-99), receipt.epsilon)
        assert true + receipt.extra_delta <= budget.delta * (1 + 1e-9)


def test_all_of_both_budgets():
    reserved = reserved_delta(BUDGET)
    account = AdaptiveAccount(BUDGET, OpenDPNoise(), extra_delta=reserved)
    event = LevelCounts.costing("l", account.mu_squared, 4, 1, 1, account.extra_delta, 2**28)
    account.level_counts(event, NONE, NONE)
    assert 0.999 < account.receipt().epsilon <= 1
    assert Fraction(reserved) <= Fraction(BUDGET.delta) / 1000


def test_a_plan_pays_for_it_too():
    event = planned(1e-7, mu_squared=0.04)
    plain = Gaussian("g", 2 * event.grid**2, event.scale, 2, event.grid)
    assert cost([event], 1e-6) == pytest.approx(cost([plain], 1e-6 - 1e-7), rel=1e-9)
    assert cost([event], 1e-6) > cost([plain], 1e-6)
    assert cost([event], float(event.extra_delta) * 0.99) == float("inf")
    account = PlannedAccount([event], Budget(2.0, 1e-6), SeededNoise(np.random.default_rng(0)))
    account.level_counts(event, NONE, np.zeros(2, np.int64))
    receipt = account.receipt()
    assert receipt.epsilon == cost([event], 1e-6)
    assert receipt.to_dict()["steps"][0]["cost"]["delta"] == float(event.extra_delta)
    assert Receipt.from_dict(receipt.to_dict()) == receipt


def test_the_receipt_never_says_how_many_values_there_are():
    event = planned()
    said = []
    for values in (1, 1000):
        account = AdaptiveAccount(BUDGET, SeededNoise(np.random.default_rng(0)), extra_delta=1e-9)
        account.level_counts(event, np.full(values, 5 * event.grid), NONE)
        said.append((account.receipt().to_dict(), str(account.receipt())))
    assert said[0] == said[1]
    assert "levels  gaussian threshold  scale 44.7" in said[0][1]
    assert said[0][0]["steps"][0]["cost"].keys() == {"mu squared", "delta"}


def test_coordinates_that_differ_are_few_whatever_the_table():
    """A unit of r records changes at most r counts of each column, by squares that add up to at most r² each."""
    rng = np.random.default_rng(3)
    for rows, columns in product((1, 2, 5), (1, 4)):
        table = rng.integers(0, 6, size=(50, columns))
        more = np.vstack([table, rng.integers(0, 9, size=(rows, columns))])
        changes = [np.bincount(more[:, j], minlength=9) - np.bincount(table[:, j], minlength=9) for j in range(columns)]
        changed = np.concatenate(changes)
        assert np.count_nonzero(changed) <= rows * columns
        assert (changed**2).sum() <= rows**2 * columns
        assert prod(changed.shape) == 9 * columns
