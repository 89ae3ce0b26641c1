"""Choice by sides: the law in closed form for every small data set and neighbour. Proof: docs/proofs/sides.md."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from exact import assert_law, log_softmax, worst_moves
from privreg.engines.base import Block
from privreg.estimators.private_linear.design import Centre, Design, Sides
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels.values import FULL
from privreg.mechanisms.sides import (
    GRID,
    RANGE,
    choose_by_sides,
    plan_choice_by_sides,
    side_sum,
    side_weights,
    sides_of,
    sides_of_level,
)
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import OpenDPNoise

DESIGN = Design(Scale(0.5, 3.0, 1.0), (Term(0, Scale(0.0, 2.0, 1.0)),))
THETA = np.array([0.125, 0.5])  # of a released model with column 0
TASK = Sides(DESIGN, THETA, 0.75, -0.25, (Centre(1.0, level=False), Centre(0.25, level=True)))

# Records (z, a, b, y): z is in the model, a has a centre, b is a level or, where values are hostile, any number.
DOMAINS = {
    "a level": [(0.0, a, b, y) for a, b, y in product((0, 1, 2), (0, 1), (-3, 4))],
    "hostile": [(z, a, z, y) for z, a, y in product((-1e308, 5e-324), (1e308, -1e308), (1e308, -1e308, np.nan))],
}


def sums_of(records, task=TASK):
    z, a, b, y = np.array(records, float).reshape(-1, 4).T
    with np.errstate(all="raise"):
        return task(Block([z, a, b], y))


def worst(domain, scale, most=3):
    return worst_moves(DOMAINS[domain], lambda records: np.abs(sums_of(records)), scale, most)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_small_data_set_and_neighbour(domain):
    (step,) = plan_choice_by_sides(["s"], 1.0)
    assert float(step.pure) == pytest.approx(1.0, rel=1e-12)
    assert (step.range, step.grid) == (RANGE, GRID)
    low, high, spread = worst(domain, step.scale)
    assert -GRID <= low < -0.99 * GRID
    assert 0.99 * GRID < high <= GRID
    assert spread <= float(step.pure) + 1e-9
    assert spread > 0.99 if domain == "a level" else spread > 0.5


def test_noise_for_half_the_range_is_caught():
    assert worst("a level", RANGE / 2, most=2)[2] > 1.5


@given(
    hnp.arrays(float, st.integers(0, 20), elements=st.floats(allow_nan=True, allow_infinity=True)),
    st.floats(1e-300, 1e300),
    st.floats(-1, 1),
)
def test_weights_stay_in_range(residuals, clip, balance):
    weights = side_weights(residuals, clip, balance)
    assert weights.dtype == np.int16
    assert np.abs(weights.astype(int)).max(initial=0) <= FULL
    assert (weights[np.isnan(residuals)] == 0).all()
    finite = residuals[np.isfinite(residuals)]
    exact = (np.clip(finite, -clip, clip) / clip - balance) / (1 + abs(balance))
    assert np.abs(weights[np.isfinite(residuals)] / FULL - exact).max(initial=0) <= 0.51 / FULL


@given(hnp.arrays(float, st.integers(0, 20), elements=st.floats(allow_nan=False)), st.floats(allow_nan=False))
def test_sides_of_a_centre(values, centre):
    got = sides_of(values, centre)
    assert got.dtype == np.int16
    assert got.tolist() == [FULL if x > centre else -FULL if x < centre else 0 for x in values.tolist()]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, (0, FULL)), (0.25, (-FULL / 3, FULL)), (0.5, (-FULL, FULL)), (1.0, (-FULL, 0))]
)
def test_sides_of_a_level(share, expected):
    assert sides_of_level(np.array([0.0, 1.0]), share).tolist() == pytest.approx(expected, abs=0.5)


@given(hnp.arrays(float, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(-4, 4)), st.data())
def test_sums_are_the_same_however_records_are_cut(records, data):
    whole = sums_of(records)
    cut = data.draw(st.integers(0, len(records)))
    assert (sums_of(records[:cut]) + sums_of(records[cut:])).tolist() == whole.tolist()
    weights = side_weights(
        DESIGN.residuals(DESIGN.rows(Block([records[:, 0]], records[:, 3])), records[:, 3], THETA), 0.75, -0.25
    )
    sides = np.sign(records[:, 1] - 1.0)
    assert whole[0] == sum(int(s) * FULL * int(w) for s, w in zip(sides, weights, strict=True))


def test_the_largest_sums_of_a_block_are_exact():
    sides, weights = np.full(2**22, FULL, np.int16), np.full(2**22, FULL, np.int16)
    assert side_sum(sides, weights) == 2**22 * GRID
    sides[0] = -1
    assert side_sum(sides, weights) == 2**22 * GRID - FULL * (FULL + 1)


def test_each_pick_costs_the_same_and_draws_follow_the_law():
    """1500 private draws of two columns out of three; chi-square at level 1e-7 against the product of softmaxes."""
    sums = np.array([5, -3, 1]) * GRID
    steps = plan_choice_by_sides(["first", "second"], 0.6)
    assert steps[0].pure == steps[1].pure
    assert [s.name for s in steps] == ["first", "second"]
    outcomes = list(permutations(range(3), 2))
    counts = np.zeros(len(outcomes))
    for _ in range(1500):
        account = AdaptiveAccount(Budget(5.0, 1e-6), OpenDPNoise())
        counts[outcomes.index(tuple(choose_by_sides(account, steps, sums)))] += 1
        assert account.receipt().steps == tuple(steps)
    law, scores = [], np.abs(sums)
    for i, j in outcomes:
        left = [k for k in range(3) if k != i]
        law.append(log_softmax(scores, steps[0].scale)[i] + log_softmax(scores[left], steps[1].scale)[left.index(j)])
    assert np.ptp(law) > 0.5
    assert_law(counts, np.exp(law))
