"""What public rows tell about the columns: exact values, whatever order the rows are in."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.data.features import Feature
from privreg.data.tables import Table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.phases import pooled
from privreg.estimators.private_linear.public import (
    DRIFT,
    FEWEST_AWAY,
    FLOOR,
    public_median,
    public_spread,
    whiten,
    with_public_share,
)
from privreg.estimators.private_linear.state import Expected, State
from privreg.mechanisms.moments import Moments
from privreg.mechanisms.spread import Spread

SPREAD = Spread(1.0, 1.0, True, np.zeros(1), np.zeros(1), 1.0)


def rows_of(*columns, level=None):
    """Public rows with these columns, of which one may be a level."""
    features = [Feature(f"x{j}", j, category="town" if j == level else None) for j in range(len(columns))]
    array = np.array(columns, float).T
    return MemoryEngine(Table(features, len(array), array, {}), np.zeros(len(array)), 1)


def state_of(*terms):
    return State(Scale(0.0, 1.0, 1.0), SPREAD, tuple(terms))


def unit_term(column, limit=4.0):
    return Term(column, Scale(0.0, limit, 1.0))


@pytest.mark.parametrize(
    ("values", "median"),
    [([1, 2, 3], 2), ([4, 1, 2, 3], 2), ([7], 7), ([0, 0, 5], 0), ([-1e300, 1e300, 1e300], 2.0**60 - 2.0**43)],
)
def test_median(values, median):
    assert public_median(rows_of(values), 0) == median


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40))
def test_the_median_has_half_of_the_rows_on_either_side(values):
    median = public_median(rows_of(values), 0)
    near = 2.0**-16 * abs(median) + 2.0**-40
    assert 2 * sum(v > median + near for v in values) <= len(values)
    assert 2 * sum(v < median - near for v in values) <= len(values)


def test_spread_of_two_values():
    """All rows at distance 1, which is in the bin from 1 to √2."""
    spread = public_spread(rows_of([-1.0, 1.0] * 20), 0, 0.0, 4.0)
    assert spread.sure
    assert spread.limit == pytest.approx(sqrt(2))
    assert spread.unit == pytest.approx(2**0.25)


def test_a_single_far_row_counts_but_does_not_set_the_limit():
    values = [-1.0, 1.0] * 500
    spread = public_spread(rows_of([*values, 1e6]), 0, 0.0, 4.0)
    assert spread.limit == pytest.approx(sqrt(2))
    assert spread.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize(("away", "sure"), [(0, False), (FEWEST_AWAY - 1, False), (FEWEST_AWAY, True)])
def test_a_column_that_hardly_varies(away, sure):
    assert public_spread(rows_of([3.0] * 100 + [4.0] * away), 0, 3.0, 4.0).sure == sure


@pytest.mark.parametrize(("count", "share"), [(0, 0.7), (4, 0.7), (5, 0.1), (45, 0.9), (46, 0.7), (50, 0.7)])
def test_share_of_a_level(count, share):
    """That of the public rows; the one that is known already, if hardly any of them has it or nearly all have."""
    level = Feature("town=a", 0, 1, "town", "a", share=0.7, share_noise=0.1)
    found = with_public_share(rows_of([1.0] * count + [0.0] * (50 - count)), 0, level)
    assert (found.share, found.share_noise) == (share, 0.1 if share == 0.7 else 0.0)


def test_the_frame_of_two_columns():
    """u = (1, ±1): no column goes with another, so that each is stretched by its own variance."""
    rows = rows_of([1.0, -1.0] * 50)
    state = whiten(rows, state_of(unit_term(0)))
    added = FLOOR + 2 / 100
    assert state.frame.T @ state.frame == pytest.approx(np.eye(2) / (1 + added), rel=1e-3)
    assert state.expected.squares == pytest.approx(np.full(2, 1 / (1 + added)), rel=1e-3)
    assert state.expected.error == sqrt(1 / 100 + DRIFT**2)
    assert state.squares == pytest.approx(2 / (1 + added), rel=1e-3)
    assert state.theta.tolist() == [0, 0]


def test_whitening_leaves_a_state_without_new_columns_as_it_is():
    rows = rows_of([1.0, -1.0] * 50)
    state = whiten(rows, state_of(unit_term(0)))
    assert whiten(rows, state) is state
    assert whiten(rows, empty := state_of()) is empty


def test_a_level_that_public_rows_do_not_have_goes_with_no_other_column():
    rows = rows_of([1.0, -1.0] * 50, [0.0] * 100, level=1)
    state = whiten(rows, state_of(unit_term(0), Term(1, Scale(0.3, 0.7, 0.46))))
    back = np.linalg.inv(state.frame @ state.frame.T)
    assert back[2, :2] == pytest.approx(0, abs=1e-9)
    assert back[2, 2] == pytest.approx(1 + FLOOR + 3 / 100)


tables = st.integers(20, 60).flatmap(
    lambda n: st.lists(st.lists(st.floats(-1e300, 1e300), min_size=n, max_size=n), min_size=1, max_size=4)
)


@settings(max_examples=60)
@given(tables, st.randoms())
def test_the_order_of_public_rows_does_not_matter(columns, random):
    order = list(range(len(columns[0])))
    random.shuffle(order)
    terms = [unit_term(j) for j in range(len(columns))]
    one = whiten(rows_of(*columns), state_of(*terms))
    other = whiten(rows_of(*(np.array(column)[order] for column in columns)), state_of(*terms))
    assert np.array_equal(one.frame, other.frame)
    assert np.isfinite(one.frame).all()
    assert 0 <= one.squares <= len(one.frame)


@settings(max_examples=30)
@given(tables)
def test_rows_that_come_twice_tell_the_same_more_surely(columns):
    twice = [column * 2 for column in columns]
    assert public_median(rows_of(*twice), 0) == public_median(rows_of(*columns), 0)
    one, two = (public_spread(rows_of(*rows), 0, 0.0, 4.0) for rows in (columns, twice))
    assert (one.limit, one.unit) == (two.limit, two.unit)
    terms = [unit_term(j) for j in range(len(columns))]
    few, many = (whiten(rows_of(*rows), state_of(*terms)) for rows in (columns, twice))
    assert many.expected.error < few.expected.error


def test_products_are_pooled_by_their_errors():
    """Noise of 300 on 10,000 records is an error of 0.03; public rows have 0.04: weights 16/25 and 9/25."""
    moments = Moments(10_000 * np.array([[1.0, 0.5], [0.5, 2.0]]), np.zeros(2), 300.0, 1.0)
    products, error = pooled(Expected(np.array([1.0, 1.0]), 0.04), moments, 10_000.0)
    assert products / 10_000 == pytest.approx(np.array([[1.0, 0.32], [0.32, 1.64]]))
    assert error == pytest.approx(10_000 * 0.03 * 0.04 / 0.05)
