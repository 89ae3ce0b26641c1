"""All columns together: one gradient, one median and one histogram, each moved by a record as its event claims.

Proof: docs/proofs/gradient.md.
"""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exact import Parts, log_softmax
from privreg.engines.base import Block, StackedColumns
from privreg.estimators.private_linear.design import Design, Gradient
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels.boosting import NORM
from privreg.kernels.moments import gradient_sums, scale
from privreg.kernels.values import BINS, LARGEST, code_of
from privreg.mechanisms.gradient import plan_gradient, release_gradient
from privreg.mechanisms.median import mass_below, noisy_median, plan_median
from privreg.mechanisms.moments import SQUARE
from privreg.mechanisms.spread import GRID, noisy_shared_histogram, plan_shared_histogram
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from public_tables import array_engine
from scripted import HOSTILE, Keeper, PickKeeper, as_integers

ROOMY = Budget(5.0, 1e-6)
D = 3
TERMS = tuple(Term(j, Scale(1.0, 4.0, 2.0)) for j in range(D))
TASK = Gradient(Design(Scale(0.5, 3.0, 1.0), TERMS), np.array([0.25, 0.5, -1.0, 0.125]), 1.5, 0.75)


def block(records):
    *columns, target = np.array(records, float).reshape(-1, D + 1).T
    return Block(columns, target)


def gradient(records):
    with np.errstate(all="raise"):
        return TASK(block(records)).astype(object)


# ---- the gradient


def test_every_hostile_record_moves_the_gradient_by_its_claim():
    """Alone and beside others: by the same vector, of norm at most NORM², which is nearly reached."""
    values = [0.0, 1e308, -1e308, 5e-324, 9.0]
    others = [(1.0, 2.0, -1e308, 3.0), (5e-324, 0.0, 9.0, np.nan)]
    before, longest = gradient(others), 0
    for record in product(values, values, values, [1e308, -1e308, np.nan, 0.5]):
        own = gradient([record])
        assert (gradient([*others, record]) - before == own).all()
        square = int((own**2).sum())
        assert square <= SQUARE**2
        longest = max(longest, square)
    assert longest > 0.98 * SQUARE**2
    event = plan_gradient("g", D + 1, 0.01)
    assert event.sensitivity_squared == SQUARE**2
    assert float(event.mu_squared) == pytest.approx(0.01)


@given(hnp.arrays(float, st.tuples(st.integers(0, 20), st.just(D + 1)), elements=st.floats(-9, 9)), st.data())
def test_sums_are_the_same_however_records_are_cut(records, data):
    cut = data.draw(st.integers(0, len(records)))
    assert (gradient(records[:cut]) + gradient(records[cut:]) == gradient(records)).all()


def test_a_gradient_by_hand():
    """One row within the radius and one beyond it, with a residual that is clipped."""
    units = np.array([1e-3, 1e-3])
    rows = scale(np.array([[1000.0, 1000.0], [500.0, 3000.0]]), units, 2.0)
    np.testing.assert_allclose(rows.factors, [1, 2 / np.sqrt(10)])
    found = gradient_sums(rows, np.array([0.5, 7.0]), 1.0) / NORM**2
    np.testing.assert_allclose(found, (0.5 * np.array([1, 0.5]) + 2 / np.sqrt(10) * np.array([1, 3])) / 2, rtol=2e-4)


def test_what_gets_noise_is_the_gradient():
    keeper = Keeper(keep=as_integers)
    event = plan_gradient("g", D + 1, 0.04)
    sums = TASK(block([(1.0, 2.0, 3.0, 4.0)]))
    found = release_gradient(AdaptiveAccount(ROOMY, keeper), event, sums)
    ((integers, noise),) = keeper.calls
    assert (integers == sums).all()
    assert noise == event.scale == SQUARE / 0.2
    np.testing.assert_array_equal(found, sums / SQUARE)


# ---- one median


POINTS = list(product([0.0, 1.0, 1e308], [0.0, -1e308, 5e-324], [1.0, 3.0]))[::2]


def stacked(records):
    return Parts([value for record in records for value in record], ())


def law(records, event, per_record):
    """Log-probability, less the logarithm of the prior, of every code near the values."""
    keeper = PickKeeper()
    noisy_median(keeper, event, stacked(records), per_record)
    lows = np.array([keeper.bounds(i)[0] for i in range(len(keeper.scores))])
    masses = np.array([np.subtract(*keeper.bounds(i)[::-1]) for i in range(len(keeper.scores))], float)
    own = [code_of(value) for record in POINTS for value in record]
    at = np.unique(np.clip([[c - 1, c, c + 1] for c in own], -LARGEST, LARGEST))
    run = np.searchsorted(lows, mass_below(at), side="right") - 1
    return (log_softmax(keeper.scores, event.scale) - np.log(masses))[run]


def worst(event, per_record):
    laws = {
        chosen: law([POINTS[i] for i in chosen], event, per_record)
        for size in range(4)
        for chosen in combinations_with_replacement(range(len(POINTS)), size)
    }
    return max(
        np.ptp(laws[tuple(sorted((*chosen, record)))] - before)
        for chosen, before in laws.items()
        if len(chosen) < 3
        for record in range(len(POINTS))
    )


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_every_small_table_and_neighbour(epsilon):
    event = plan_median("m", epsilon)
    assert 0.3 * epsilon < worst(event, D) <= float(event.pure) + 1e-9


def test_cells_that_count_as_records_are_caught():
    event = plan_median("m", 1.0)
    assert worst(event, 1) > 1.3 * float(event.pure)


# ---- one histogram


@given(st.lists(st.tuples(*[st.sampled_from(HOSTILE) | st.floats(-9, 9)] * D), min_size=1, max_size=8))
def test_a_record_is_in_as_many_bins_as_it_has_values(records):
    """Integers move by at most GRID, and by as much if all values lie in one bin."""
    event = plan_shared_histogram("s", 0.04)
    moved = []
    for table in (records[:-1], records):
        keeper = Keeper(keep=as_integers)
        found, at_centre = noisy_shared_histogram(AdaptiveAccount(ROOMY, keeper), event, stacked(table), 1.0, D)
        ((integers, noise),) = keeper.calls
        assert noise == event.scale
        assert found.size == BINS
        assert found.sum() + at_centre == pytest.approx(len(table))
        moved.append(integers)
    change = moved[1] - moved[0]
    assert min(change) >= 0
    assert sum(change) == D * (GRID // D)
    assert sum(int(c) ** 2 for c in change) <= event.sensitivity_squared == GRID**2


def test_a_histogram_in_which_cells_count_as_records_is_caught():
    keeper = Keeper(keep=as_integers)
    noisy_shared_histogram(
        AdaptiveAccount(ROOMY, keeper), plan_shared_histogram("s", 0.04), stacked([(9.0, 9.0, 9.0)]), 1.0, 1
    )
    assert max(keeper.calls[0][0]) > GRID


# ---- columns as one


@pytest.mark.parametrize("jobs", [1, 2])
def test_stacked_columns_are_one_column(jobs, rng):
    X = rng.normal(size=(50, 5))
    columns = StackedColumns(array_engine(X, X[:, 0], jobs), [3, 0, 4])
    assert columns.size == 150
    event = plan_median("m", 0.5)
    both = []
    for values in (columns, X[:, [0, 3, 4]].ravel()):
        keeper = PickKeeper()
        noisy_median(keeper, event, values, 3)
        both.append((keeper.scores.tolist(), keeper.bounds(7)))
    assert both[0] == both[1]
