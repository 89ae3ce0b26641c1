"""Screening with a residual as the target: the law in closed form for every small data set and neighbour.

Proof: docs/proofs/screening.md. The residual is that of a released model, computed by the production code for each
table as a whole.
"""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exact import assert_law, log_softmax, worst_moves
from privreg.engines import base
from privreg.estimators.private_linear.design import Design, unexplained
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels.moments import linear_scores
from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import rank_column
from privreg.mechanisms.screening import FIRST_RANGE, GRID, plan_screening, screen, screening_scores
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import OpenDPNoise
from public_tables import array_engine

MOST = 1.5  # predictions are clipped to ±MOST
THETA = np.array([0.25, 1.0]) / 32767  # intercept and slope of the released model, for 16-bit columns


def residuals(z, y):
    """y − clip(θ·[1, z]) for a feature z that was chosen before, in [−1, 1]."""
    columns = np.empty((2, len(z)), np.int16)
    columns[0], columns[1] = 32767, np.rint(np.asarray(z) * 32767)
    return np.asarray(y, float) - np.clip(linear_scores(columns, THETA), -MOST, MOST)


def correlations(target, columns, n_jobs=1):
    """Production scores of columns beside a target."""
    ranks = [rank_column(np.ascontiguousarray(c)) for c in columns]
    pairs = concordance(rank_column(np.ascontiguousarray(target)), ranks, n_jobs)
    return screening_scores(pairs, len(target))


def scores_of(records):
    """Production scores of features a and b for records (a, b, z, y)."""
    a, b, z, y = np.array(records, float).reshape(-1, 4).T
    return correlations(residuals(z, y), (a, b))


# In the first a and the residual rise together, b is tied or not, and a point with a = 0 contradicts all others.
DOMAINS = {
    "rising": [(a, b, 0.0, y) for a, y in ((1, 0), (2, 1), (3, 2), (0, 3)) for b in (0, 1, 2)],
    "ties": [(a, b, z, y) for (a, b), z, y in product(((0, 0), (1, 0), (0, 1)), (-1.0, 1.0), (0.0, 1.0))],
    "hostile": [(a, -a, z, y) for a, z, y in product((5e-324, 1e308), (0.0, 1.0), (-1e308, 0.0, 1e308))],
}


def worst(domain, scale, most=4):
    return worst_moves(DOMAINS[domain], scores_of, scale, most)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_small_data_set_and_neighbour(domain):
    epsilon = 1.0
    (step,) = plan_screening(["s"], epsilon)
    assert float(step.pure) == pytest.approx(epsilon, rel=1e-12)
    low, high, spread = worst(domain, step.scale)
    assert 2 * low >= -3 * GRID
    assert high <= GRID
    assert spread <= float(step.pure) + 1e-9
    if domain == "rising":
        assert 2 * low < -2.9 * GRID
        assert high > 0.99 * GRID
        assert spread > 0.99 * epsilon


def test_noise_for_half_the_range_is_caught():
    assert worst("rising", FIRST_RANGE / 2, most=3)[2] > 1.5


def concordance_by_hand(u, v):
    return sum(np.sign(u[i] - u[j]) * np.sign(v[i] - v[j]) for i in range(len(u)) for j in range(i))


@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), max_size=12))
def test_scores_are_the_absolute_correlation(records):
    a, b, y = np.array(records, float).reshape(-1, 3).T
    got = correlations(y, (a, b))
    n = len(records)
    for score, column in zip(got.tolist(), (a, b), strict=True):
        assert score == int(abs(concordance_by_hand(column, y))) * GRID // max(n - 1, 1)


number = st.one_of(st.sampled_from([0.0, 1e308, -1e308, 5e-324]), st.floats(-5, 5))


@given(
    hnp.arrays(np.int16, st.tuples(st.just(3), st.integers(1, 20))), hnp.arrays(float, 3, elements=number), st.data()
)
def test_a_record_changes_no_other_residual(columns, theta, data):
    """Bit for bit, wherever it stands."""
    theta = np.clip(theta, -1e300, 1e300)
    n = columns.shape[1]
    target = data.draw(hnp.arrays(float, n, elements=st.floats(-9, 9)))
    at = data.draw(st.integers(0, n - 1))

    def residual(columns, target):
        return target - np.clip(linear_scores(columns, theta), -MOST, MOST)

    every = residual(columns, target)
    others = residual(np.delete(columns, at, axis=1), np.delete(target, at))
    assert (np.delete(every, at) == others).all()


@pytest.mark.parametrize(("size", "jobs"), [(1, 1), (1, 2), (7, 3), (64, 2), (8192, 1), (8192, 3)])
def test_the_residual_of_a_fit_is_that_of_each_record_alone(rng, monkeypatch, size, jobs):
    """As a column of its own and beside the others: whatever blocks and threads it is computed in."""
    X, y = rng.normal(size=(150, 4)) * [1, 10, 100, 1], rng.standard_cauchy(150)
    X[::9, 2] = np.nan  # records that are left out
    terms = Term(2, Scale(3.0, 200.0, 90.0)), Term(0, Scale(0.1, 1.5, 1.0)), Term(2, Scale(3.0, 400.0, 95.0))
    derived = unexplained(Design(Scale(0.5, 8.0, 2.0), terms), rng.normal(size=4))
    alone = [array_engine(X[i : i + 1], y[i : i + 1]).derive(derived) for i in range(150)]
    whole = np.isfinite(X[:, 2])
    monkeypatch.setattr(base, "ROWS", size)
    records = array_engine(X, y, jobs)
    assert np.array_equal(records.derive(derived), np.concatenate(alone))
    got = records.ranking().concordance(derived, [3, 1])
    assert got.tolist() == [concordance_by_hand(X[whole, j], np.concatenate(alone)) for j in (3, 1)]


def test_each_pick_costs_the_same_and_draws_follow_the_law(rng):
    """1500 private draws of two columns out of three; chi-square at level 1e-7 against the product of softmaxes."""
    data, target = rng.normal(size=(3, 40)), rng.normal(size=40)
    data[0] += target
    pairs = concordance(rank_column(target), [rank_column(c) for c in data], 1)
    steps = plan_screening(["first", "second"], 0.4)
    assert steps[0].pure == steps[1].pure
    assert [s.name for s in steps] == ["first", "second"]
    assert steps[0].scale == pytest.approx(2.5 * GRID / 0.4)
    scores = screening_scores(pairs, 40)
    outcomes = list(permutations(range(3), 2))
    counts = np.zeros(len(outcomes))
    for _ in range(1500):
        account = AdaptiveAccount(Budget(5.0, 1e-6), OpenDPNoise())
        counts[outcomes.index(tuple(screen(account, steps, pairs, 40)))] += 1
        assert account.receipt().steps == tuple(steps)
    law = []
    for i, j in outcomes:
        left = [k for k in range(3) if k != i]
        law.append(log_softmax(scores, steps[0].scale)[i] + log_softmax(scores[left], steps[1].scale)[left.index(j)])
    assert np.ptp(law) > 0.5
    assert_law(counts, np.exp(law))


def test_scores_of_many_records_do_not_overflow():
    """A perfectly correlated column of n records scores n/2."""
    n = 300_000
    target = np.arange(n, dtype=float)
    got = correlations(target, (target, -target, np.zeros(n)), 2)
    assert got.tolist() == [GRID * n // 2, GRID * n // 2, 0]
