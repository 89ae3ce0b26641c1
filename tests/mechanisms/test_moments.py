"""Joint moments: a record moves the released integers by its own products only, and by no more than the steps claim.

Proof: docs/proofs/moments.md. All comparisons of costs are in rational numbers.
"""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from moment_rows import BLOCKS, ONE, in_blocks, int16, number
from privreg.engines import base
from privreg.engines.base import Block, added
from privreg.estimators.private_linear.design import Design, Phase
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels import moments
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import (
    MOST_ROWS,
    Rows,
    moment_sums,
    rotate,
    round_residuals,
    sums_of_squares,
)
from privreg.mechanisms.moments import plan_gradient, plan_products, plan_squares, release_moments
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise
from public_tables import array_engine

ROOMY = Budget(20.0, 1e-6)


class Keeper(SeededNoise):
    """Adds nothing, and keeps what it was given."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.calls = []

    def gaussian(self, values, scale):
        self.calls.append((values.astype(object), scale))
        return values


def rows_of(values):
    """Integer rows (width × records) as `rotate` would hand them over."""
    return Rows(values, np.ones(values.shape[1]), (values.astype(np.int64) ** 2).sum(axis=0))


def sums_in_blocks(values, residuals, clips, size, jobs):
    return in_blocks(lambda at: moment_sums(rows_of(values[:, at]), residuals[at], clips), len(residuals), size, jobs)


def released(values, residuals, steps, size=8192, jobs=1):
    """Integers and noise scales: above the diagonal, on it, gradient, squares."""
    keeper = Keeper()
    sums = sums_in_blocks(values, np.asarray(residuals, float), ONE, size, jobs)
    release_moments(AdaptiveAccount(ROOMY, keeper), sums, 1.0, ONE, **steps)
    return keeper.calls


def plans(width, mu_squared=(0.5, 0.25, 0.03)):
    products, gradient, squares = mu_squared
    return {
        "products": plan_products("p", width, products),
        "gradient": plan_gradient("g", width, gradient),
        "squares": plan_squares("s", squares),
    }


def cost_of(before, after):
    """Σ (change/σ)² over everything released: the μ² that this pair of tables really needs."""
    parts = [
        sum((int(b) - int(a)) ** 2 for a, b in zip(x, y, strict=True)) / Fraction(scale) ** 2
        for (x, scale), (y, other) in zip(before, after, strict=True)
        if scale == other
    ]
    assert len(parts) == 4
    return sum(parts, Fraction())


def row_within(row):
    """An integer row shrunk to the norm, for input that is not one of `rotate`'s."""
    norm = sqrt(sum(int(v) ** 2 for v in row))
    return row if norm <= NORM else np.array([int(int(v) * NORM / norm) for v in row], np.int16)


@st.composite
def tables(draw):
    width, records = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    rows = draw(hnp.arrays(np.int16, (records + 1, width), elements=int16))
    rows = np.array([row_within(r) for r in rows], np.int16).T.copy()
    return rows, draw(hnp.arrays(float, records + 1, elements=st.one_of(number, st.floats(-2, 2))))


@pytest.mark.parametrize("size", [1, 3, 8192])
@settings(max_examples=100)
@given(table=tables(), data=st.data())
def test_a_record_moves_sums_by_its_own_products(size, table, data):
    rows, residuals = table
    width, longer = rows.shape
    at = data.draw(st.sampled_from([0, longer // 2, longer - 1]))
    steps, clips = plans(width), np.array([0.5, 1.0, 40.0])
    whole = round_residuals(residuals, clips, rows_of(rows).squares)
    fewer = np.delete(rows, at, axis=1), np.delete(residuals, at)
    one, two = sums_in_blocks(*fewer, clips, size, 1), sums_in_blocks(rows, residuals, clips, size, 2)
    own = rows[:, at].astype(object)
    assert (two.products.astype(object) - one.products == np.outer(own, own)).all()
    for c in range(len(clips)):
        residual = int(whole[c, at])
        assert (two.gradients[c].astype(object) - one.gradients[c] == own * residual).all()
        assert int(two.squares[c]) - int(one.squares[c]) == min(abs(residual), 2 * NORM) ** 2 // 4
    needed = cost_of(released(*fewer, steps, size), released(rows, residuals, steps, size, 2))
    assert needed <= sum(s.mu_squared for s in steps.values())


@pytest.mark.parametrize("width", [1, 2, 7, 100])
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("length", [1.0, 0.5])
def test_the_cost_is_tight(width, even, length):
    """A record on the bound, along an axis or along the diagonal, needs what is charged.

    A shorter row has a larger residual, so its gradient weighs as much. Squares are of r/2: they reach their bound
    where rows are at most half as long as allowed.
    """
    row = np.full(width, int(length * NORM / sqrt(width))) if even else np.r_[int(length * NORM), np.zeros(width - 1)]
    steps = plans(width)
    nothing = released(np.zeros((width, 0), np.int16), [], steps)
    calls = released(row.astype(np.int16)[:, None], [1e9], steps)
    zero, one = (cost_of_part(nothing, calls, part) for part in ("products", "gradient"))
    assert float(zero / steps["products"].mu_squared) == pytest.approx(length**4, rel=0.01)
    assert 0.99 < float(one / steps["gradient"].mu_squared) <= 1
    squares = cost_of_part(nothing, calls, "squares") / steps["squares"].mu_squared
    assert float(squares) == pytest.approx(1 / 16 if length == 1 else 1, rel=0.03)
    charged = sum(s.mu_squared for s in steps.values())
    assert cost_of(nothing, calls) <= charged
    assert float(charged) == pytest.approx(0.78, rel=1e-12)


def cost_of_part(before, after, part):
    """As if everything else had stayed the same."""
    changed = {"products": (0, 1), "gradient": (2,), "squares": (3,)}[part]
    return cost_of(before, [after[i] if i in changed else before[i] for i in range(4)])


def test_the_scales_of_the_matrix():
    for mu_squared in np.geomspace(1e-9, 10, 100):
        step = plan_products("p", 3, mu_squared)
        assert 2 * Fraction(step.off_scale) ** 2 >= Fraction(step.scale) ** 2
        assert step.off_scale <= step.scale / sqrt(2) * (1 + 1e-14)
        assert step.mu_squared == NORM**4 / Fraction(step.scale) ** 2
        assert float(step.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert float(plan_gradient("g", 3, mu_squared).mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert step.rounding_distance == 3 / (8 * Fraction(step.scale) ** 2) + 3 / (8 * Fraction(step.off_scale) ** 2)


@pytest.mark.parametrize("width", [1, 6])
def test_noise_is_symmetric_and_smaller_off_the_diagonal(width):
    noise = SeededNoise(np.random.default_rng(5))
    step = plan_products("p", width, 0.5)
    drawn = np.array(
        [AdaptiveAccount(ROOMY, noise).gaussian_matrix(step, np.zeros((width, width), np.int64)) for _ in range(1500)]
    )
    assert (drawn == drawn.transpose(0, 2, 1)).all()
    # Standard errors of these ratios are below 1 / √(2·1500): five of them is 0.1.
    on = drawn[:, range(width), range(width)].std() / step.scale
    assert on == pytest.approx(1, abs=0.1)
    if width > 1:
        above = drawn[:, *np.triu_indices(width, 1)]
        assert above.std() / step.scale == pytest.approx(1 / sqrt(2), abs=0.03)
        assert np.abs(np.corrcoef(above.T) - np.eye(above.shape[1])).max() < 0.2


@pytest.mark.parametrize(("size", "jobs"), BLOCKS)
def test_sums_do_not_depend_on_order_blocks_or_threads(rng, size, jobs):
    rows, residuals = rng.integers(-9000, 9000, size=(6, 700)).astype(np.int16), rng.normal(size=700)
    clips = np.array([0.25, 1.0, 9.0])
    whole = round_residuals(residuals, clips, rows_of(rows).squares).astype(np.int64)
    wide, order = rows.astype(np.int64), rng.permutation(700)
    sums = sums_in_blocks(np.ascontiguousarray(rows[:, order]), residuals[order], clips, size, jobs)
    for got, expected in (
        (sums.products, wide @ wide.T),
        (sums.gradients, whole @ wide.T),
        (sums.squares, (np.minimum(np.abs(whole), 2 * NORM) ** 2 // 4).sum(axis=1)),
    ):
        assert got.dtype == np.int64
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("clips", [np.array([0.7]), np.array([0.1, 0.5, 2.0])], ids=len)
def test_a_phase_adds_up_what_each_record_is_alone(rng, monkeypatch, clips, last):
    """Products, gradients, squares, and how many residuals each clip would leave alone."""
    X, y = rng.normal(size=(200, 4)) * [1, 10, 100, 1], rng.standard_cauchy(200)
    X[::9, 2] = np.nan  # records that are left out
    terms = Term(2, Scale(3.0, 200.0, 90.0)), Term(0, Scale(0.1, 1.5, 1.0)), Term(2, Scale(3.0, 400.0, 95.0))
    design, frame = Design(Scale(0.5, 8.0, 2.0), terms), np.eye(4) + rng.normal(size=(4, 4)) / 4
    phase = Phase(design, rng.normal(size=4), frame, 1.9, clips, clipped=clips.size == 1, last=last)
    assert design.columns == (2, 0)
    whole = np.flatnonzero(np.isfinite(X[:, 2]))
    alone = added(phase(Block([X[[i], j] for j in design.columns], y[[i]])) for i in whole)
    for size, jobs in BLOCKS:
        monkeypatch.setattr(base, "ROWS", size)
        found = array_engine(X, y, jobs).total(phase, design.columns)
        for name in ("products", "gradients", "squares"):
            assert np.array_equal(getattr(found.sums, name), getattr(alone.sums, name)), name
        assert np.array_equal(found.counts, alone.counts)
    block = Block([X[whole, j] for j in design.columns], y[whole])
    rows = rotate(design.rows(block), frame * design.units[:, None], 1.9)
    assert rows.factors.min() < 0.8 < 1 == rows.factors.max()  # some rows are shrunk, others are not
    residuals = design.residuals(design.rows(block), block.target, phase.theta) * (1 if last else rows.factors)
    if clips.size == 1:
        residuals = np.clip(residuals, -clips, clips)
    lengths = np.abs(residuals) * np.sqrt(rows.squares) / grid_for(4)
    assert alone.counts[0, :-1].tolist() == [(lengths < clip).sum() for clip in clips]
    assert alone.counts[:, -1].tolist() == [whole.size] * 2
    integers = round_residuals(residuals, clips, rows.squares)
    assert np.array_equal(alone.sums.gradients, (integers @ rows.values.T).astype(np.int64))
    assert np.array_equal(alone.sums.squares, sums_of_squares(integers))
    assert (alone.sums.products is None) == last
    if not last:
        assert np.array_equal(alone.sums.products, rows.values.astype(np.int64) @ rows.values.T.astype(np.int64))


def test_the_largest_sums_are_exact():
    """As many records of full norm as a block may hold, in the corner where float64 would give out first.

    Sums of several such blocks are odd numbers above 2^53, which no float64 is.
    """
    n = MOST_ROWS - 1
    rows = rows_of(np.full((1, n), NORM, np.int16))
    block = moment_sums(rows, np.full(n, -1e9), np.array([1.0]))
    assert (int(block.products[0, 0]), int(block.gradients[0, 0])) == (n * NORM**2, -n * NORM**2)
    assert sums_of_squares(np.full((1, n), 2.0 * NORM)).tolist() == [n * NORM**2]
    five = block + block + block + block + block
    assert (int(five.products[0, 0]), int(five.gradients[0, 0])) == (5 * n * NORM**2, -5 * n * NORM**2)
    assert 5 * n * NORM**2 > 2**53
    assert int(five.squares[0]) == 5 * int(block.squares[0]) == 5 * n * (NORM**2 // 4)
    assert MOST_ROWS * NORM**2 < 2**53
    assert moments._ENTRY * 2**15 * 2**14 < 2**53
    assert base.ROWS <= MOST_ROWS


def test_sums_without_products_have_none_to_release(rng):
    rows, residuals = rows_of(rng.integers(-9000, 9000, size=(3, 50)).astype(np.int16)), rng.normal(size=50)
    some, none = moment_sums(rows, residuals, ONE), moment_sums(rows, residuals, ONE, products=False)
    both = none + some
    assert none.products is both.products is None
    assert np.array_equal(some.gradients, none.gradients)
    assert np.array_equal(both.gradients, 2 * some.gradients)
    keeper, steps = Keeper(), plans(3)
    del steps["products"]
    got = release_moments(AdaptiveAccount(ROOMY, keeper), none, 1.0, ONE, **steps)
    assert got.products is None
    assert got.product_noise == 0
    assert [values.tolist() for values, _ in keeper.calls] == [some.gradients[0].tolist(), some.squares.tolist()]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_releases_are_in_the_units_of_the_data(rng, at):
    """For the clip that was chosen."""
    x = rng.normal(size=(4, 5000))
    columns = np.rint(np.clip(x / 4, -1, 1) * 32767).astype(np.int16)
    matrix = np.eye(4) * 4 / 32767
    radius, clips = 5.0, np.array([0.5, 1.0, 3.0])
    clip = clips[at]
    rows = rotate(columns, matrix, radius)
    residuals = rng.normal(size=5000)
    steps, sums = plans(4), moment_sums(rows, residuals, clips)
    got = release_moments(AdaptiveAccount(ROOMY, Keeper()), sums, radius, clips, at, **steps)
    shrunk = np.clip(x, -4, 4) * rows.factors
    limits = clip * radius / np.sqrt((shrunk**2).sum(axis=0))  # of a residual, by the length of its row
    np.testing.assert_allclose(got.products, shrunk @ shrunk.T, atol=5000 * 2e-3)
    np.testing.assert_allclose(got.gradient, shrunk @ np.clip(residuals, -limits, limits), atol=5000 * 1e-3)
    most = np.minimum(limits, 2 * clip)
    assert got.squares == pytest.approx((np.clip(residuals, -most, most) ** 2).sum(), rel=1e-3)
    # One record's share of noise: radius·clip/μ, up to the grid's distance from NORM.
    assert got.gradient_noise == pytest.approx(radius * clip / sqrt(steps["gradient"].mu_squared), rel=1e-3)
    assert got.product_noise == pytest.approx(radius**2 / sqrt(steps["products"].mu_squared), rel=1e-3)
