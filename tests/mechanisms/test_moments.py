"""Joint moments: a record moves the released integers by its own products and gradient only, as the event claims.

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
from privreg.estimators.private_linear.schedule import MOST_COLUMNS
from privreg.kernels import moments
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import MOST_ROWS, PARTS, Rows, moment_sums, rotate, round_residuals
from privreg.mechanisms.lengths import length_counts
from privreg.mechanisms.moments import parts_for, plan_moments, release_moments
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import ADAPTIVE_ROUNDING, Budget
from privreg.privacy.events import GaussianMoments
from privreg.privacy.noise import SeededNoise
from public_tables import array_engine
from scripted import Keeper, as_integers

ROOMY = Budget(20.0, 1e-6)


def rows_of(values):
    """Integer rows (width × records) as `rotate` would hand them over."""
    return Rows(values, np.ones(values.shape[1]), (values.astype(np.int64) ** 2).sum(axis=0))


def sums_in_blocks(values, residuals, clips, products, size, jobs):
    def task(at):
        return moment_sums(rows_of(values[:, at]), residuals[at], clips, products)

    return in_blocks(task, len(residuals), size, jobs)


def released(values, residuals, event, size=8192, jobs=1):
    """Integers and noise scales: above the diagonal, on it, gradient."""
    keeper = Keeper(keep=as_integers)
    sums = sums_in_blocks(values, np.asarray(residuals, float), ONE, event.products, size, jobs)
    release_moments(AdaptiveAccount(ROOMY, keeper), event, sums, 1.0, ONE)
    assert [scale for _, scale in keeper.calls] == [event.off_scale, event.diagonal_scale, event.scale]
    return keeper.calls


def cost_of(before, after):
    """Σ (change/σ)² over everything released: the μ² that this pair of tables really needs."""
    return sum(
        (
            sum((int(b) - int(a)) ** 2 for a, b in zip(x, y, strict=True)) / Fraction(scale) ** 2
            for (x, scale), (y, _) in zip(before, after, strict=True)
        ),
        Fraction(),
    )


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


parts = st.one_of(st.sampled_from([1, 123, 410, 563, PARTS - 1]), st.integers(1, PARTS - 1))


@pytest.mark.parametrize("size", [1, 3, 8192])
@settings(max_examples=100)
@given(table=tables(), products=parts, data=st.data())
def test_a_record_moves_sums_by_its_own_products(size, table, products, data):
    rows, residuals = table
    width, longer = rows.shape
    at = data.draw(st.sampled_from([0, longer // 2, longer - 1]))
    event, clips = plan_moments("m", width, 0.5, products), np.array([0.5, 1.0, 40.0])
    whole = round_residuals(residuals, clips, rows_of(rows).squares, products)
    fewer = np.delete(rows, at, axis=1), np.delete(residuals, at)
    one = sums_in_blocks(*fewer, clips, products, size, 1)
    two = sums_in_blocks(rows, residuals, clips, products, size, 2)
    own = rows[:, at].astype(object)
    assert (two.products.astype(object) - one.products == np.outer(own, own)).all()
    for c in range(len(clips)):
        assert (two.gradients[c].astype(object) - one.gradients[c] == own * int(whole[c, at])).all()
    needed = cost_of(released(*fewer, event, size), released(rows, residuals, event, size, 2))
    assert needed <= event.mu_squared


@settings(max_examples=300)
@given(hnp.arrays(np.int16, st.integers(1, 6), elements=int16), number, parts, st.floats(1e-6, 5))
def test_no_record_costs_more_than_is_charged(row, residual, products, mu_squared):
    """Of any length, with any residual: exactly, with the scales that reach the noise."""
    event = plan_moments("m", row.size, mu_squared, products)
    nothing = released(np.zeros((row.size, 0), np.int16), [], event)
    assert cost_of(nothing, released(row_within(row)[:, None], [residual], event)) <= event.mu_squared


@pytest.mark.parametrize("products", [1, 123, 410, 563, PARTS - 1])
@pytest.mark.parametrize("width", [1, 2, 7, 100])
@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("length", [0.1, 0.5, 1.0])
def test_the_cost_is_tight(width, even, length, products):
    """A record at its limit needs what is charged, whether its row is short or of full length, along an axis or not."""
    row = np.full(width, int(length * NORM / sqrt(width))) if even else np.r_[int(length * NORM), np.zeros(width - 1)]
    event = plan_moments("m", width, 0.78, products)
    nothing = released(np.zeros((width, 0), np.int16), [], event)
    calls = released(row.astype(np.int16)[:, None], [1e9], event)
    assert 0.99 * event.mu_squared < cost_of(nothing, calls) <= event.mu_squared
    assert float(event.mu_squared) == pytest.approx(0.78, rel=1e-12)
    share = float(cost_of(nothing, [*calls[:2], nothing[2]]) / event.mu_squared)  # of the products
    assert share == pytest.approx(products / PARTS * length**4, rel=0.1, abs=1e-3)


@pytest.mark.parametrize("products", range(1, PARTS + 1, 31))
def test_the_scales_of_the_event(products):
    for mu_squared in np.geomspace(1e-9, 10, 20):
        event = plan_moments("m", 3, mu_squared, products)
        a = Fraction(products, PARTS)
        assert a * Fraction(event.diagonal_scale) ** 2 >= Fraction(event.scale) ** 2
        assert 2 * Fraction(event.off_scale) ** 2 >= Fraction(event.diagonal_scale) ** 2
        assert event.diagonal_scale <= event.scale / sqrt(a) * (1 + 1e-14)
        assert event.off_scale <= event.diagonal_scale / sqrt(2) * (1 + 1e-14)
        assert event.mu_squared == NORM**4 / Fraction(event.scale) ** 2
        assert float(event.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        scales = event.scale, event.diagonal_scale, event.off_scale
        assert event.rounding_distance == sum(3 / (8 * Fraction(scale) ** 2) for scale in scales)


def test_scales_that_are_too_small_are_charged(monkeypatch):
    """The cost is that of the scales, not of what they should be."""
    event = GaussianMoments("m", 100, 3.0, 2, products=256)
    fair = event.mu_squared
    assert fair == Fraction(10**4, 9)
    monkeypatch.setattr(GaussianMoments, "diagonal_scale", 3.0)  # half of what a quarter's share asks for
    assert event.mu_squared == pytest.approx(fair * Fraction(7, 4))
    monkeypatch.setattr(GaussianMoments, "diagonal_scale", 6.0)
    monkeypatch.setattr(GaussianMoments, "off_scale", 3.0)
    assert event.mu_squared == pytest.approx(fair * Fraction(5, 4))


def test_shares_are_whole_parts():
    assert GaussianMoments.PARTS == PARTS == 1024
    assert [parts_for(share) for share in (0.0, 1e-9, 0.12, 0.4, 0.55, 1.0, 7.0)] == [1, 1, 123, 410, 563, 1023, 1023]
    for wrong in (0, -1, PARTS + 1):
        with pytest.raises(ValueError, match="products"):
            plan_moments("m", 3, 0.5, wrong)


@pytest.mark.parametrize("products", [1, 123, 410, 563, PARTS - 1])
def test_the_widest_design_is_fine_enough_for_the_account(products):
    for mu_squared in (1e-9, 1e-3, 10.0):
        event = plan_moments("m", MOST_COLUMNS + 1, mu_squared, products)
        assert event.rounding_distance <= event.mu_squared * ADAPTIVE_ROUNDING
    assert plan_moments("m", 1449, 1.0, PARTS).rounding_distance > ADAPTIVE_ROUNDING


@pytest.mark.parametrize("width", [1, 6])
def test_noise_is_symmetric_and_smaller_off_the_diagonal(width):
    noise = SeededNoise(np.random.default_rng(5))
    event = plan_moments("m", width, 0.5, 256)
    none = np.zeros((width, width), np.int64), np.zeros(width, np.int64)
    drawn = [AdaptiveAccount(ROOMY, noise).gaussian_moments(event, *none) for _ in range(1500)]
    products, gradients = (np.array(part) for part in zip(*drawn, strict=True))
    assert (products == products.transpose(0, 2, 1)).all()
    # Standard errors of these ratios are below 1 / √(2·1500): five of them is 0.1.
    on = products[:, range(width), range(width)]
    assert on.std() / event.scale == pytest.approx(2, abs=0.2)
    assert gradients.std() / event.scale == pytest.approx(1, abs=0.1)
    assert np.abs(np.corrcoef(on.T, gradients.T) - np.eye(2 * width)).max() < 0.2
    if width > 1:
        above = products[:, *np.triu_indices(width, 1)]
        assert above.std() / event.scale == pytest.approx(sqrt(2), abs=0.06)
        assert np.abs(np.corrcoef(above.T) - np.eye(above.shape[1])).max() < 0.2


@pytest.mark.parametrize(("size", "jobs"), BLOCKS)
def test_sums_do_not_depend_on_order_blocks_or_threads(rng, size, jobs):
    rows, residuals = rng.integers(-9000, 9000, size=(6, 700)).astype(np.int16), rng.normal(size=700)
    clips = np.array([0.25, 1.0, 9.0])
    whole = round_residuals(residuals, clips, rows_of(rows).squares, 410).astype(np.int64)
    wide, order = rows.astype(np.int64), rng.permutation(700)
    sums = sums_in_blocks(np.ascontiguousarray(rows[:, order]), residuals[order], clips, 410, size, jobs)
    for got, expected in ((sums.products, wide @ wide.T), (sums.gradients, whole @ wide.T)):
        assert got.dtype == np.int64
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("clips", [np.array([0.7]), np.array([0.1, 0.5, 2.0])], ids=len)
def test_a_phase_adds_up_what_each_record_is_alone(rng, monkeypatch, clips, last):
    """Products, gradients, and the histogram of lengths."""
    X, y = rng.normal(size=(200, 4)) * [1, 10, 100, 1], rng.standard_cauchy(200)
    X[::9, 2] = np.nan  # records that are left out
    terms = Term(2, Scale(3.0, 200.0, 90.0)), Term(0, Scale(0.1, 1.5, 1.0)), Term(3, Scale(0.0, 2.0, 1.1))
    design, frame = Design(Scale(0.5, 8.0, 2.0), terms), np.eye(4) + rng.normal(size=(4, 4)) / 4
    bounded = clips.size == 1
    phase = Phase(design, rng.normal(size=4), frame, 1.9, clips, 410, 0.7, bounded=bounded, last=last)
    assert design.columns == (2, 0, 3)
    whole = np.flatnonzero(np.isfinite(X[:, 2]))
    alone = added(phase(Block([X[[i], j] for j in design.columns], y[[i]])) for i in whole)
    for size, jobs in BLOCKS:
        monkeypatch.setattr(base, "ROWS", size)
        found = array_engine(X, y, jobs).total(phase, design.columns)
        for name in ("products", "gradients"):
            assert np.array_equal(getattr(found.sums, name), getattr(alone.sums, name)), name
        assert np.array_equal(found.lengths, alone.lengths)
    block = Block([X[whole, j] for j in design.columns], y[whole])
    columns = design.rows(block)
    rows = rotate(columns, frame * design.units[:, None], 1.9)
    assert rows.factors.min() < 0.8 < 1 == rows.factors.max()  # some rows are shrunk, others are not
    predicted = moments.linear_scores(columns, phase.theta * design.units)
    if last:
        residuals = design.target.apply(block.target) - predicted
    else:
        residuals = (design.target.apply(block.target) - np.clip(predicted, -4, 4)) * rows.factors
    if bounded:
        residuals = np.clip(residuals, -clips, clips)
    lengths = np.sqrt(rows.squares) * (np.abs(residuals) * (1.9 / grid_for(4)))
    assert np.array_equal(alone.lengths, length_counts(lengths, 0.7))
    assert alone.lengths.sum() == whole.size
    integers = round_residuals(residuals, clips, rows.squares, 410)
    assert np.array_equal(alone.sums.gradients, (integers @ rows.values.T).astype(np.int64))
    assert np.array_equal(alone.sums.products, rows.values.astype(np.int64) @ rows.values.T.astype(np.int64))


def test_the_largest_sums_are_exact():
    """As many records of full norm as a block may hold, in the corner where float64 would give out first.

    Sums of several such blocks are odd numbers above 2^53, which no float64 is.
    """
    n = MOST_ROWS - 1
    rows = rows_of(np.full((1, n), NORM, np.int16))
    (limit,) = round_residuals(np.array([1e9]), ONE, rows.squares[:1], 1).astype(int).ravel().tolist()
    assert 0.999 * NORM < limit < NORM
    block = moment_sums(rows, np.full(n, -1e9), ONE, 1)
    assert (int(block.products[0, 0]), int(block.gradients[0, 0])) == (n * NORM**2, -n * NORM * limit)
    nine = sum([block] * 8, block)
    assert (int(nine.products[0, 0]), int(nine.gradients[0, 0])) == (9 * n * NORM**2, -9 * n * NORM * limit)
    assert 9 * n * NORM * limit > 2**53
    assert MOST_ROWS * NORM**2 < 2**53
    assert moments._ENTRY * 2**15 * 2**14 < 2**53
    assert base.ROWS <= MOST_ROWS


@pytest.mark.parametrize("at", [0, 1, 2])
def test_releases_are_in_the_units_of_the_data(rng, at):
    """For the clip that was chosen."""
    x = rng.normal(size=(4, 5000))
    columns = np.rint(np.clip(x / 4, -1, 1) * 32767).astype(np.int16)
    matrix = np.eye(4) * 4 / 32767
    radius, clips, products = 5.0, np.array([0.5, 1.0, 3.0]), 256
    clip, a = clips[at], products / PARTS
    rows = rotate(columns, matrix, radius)
    residuals = rng.normal(size=5000)
    event, sums = plan_moments("m", 4, 0.3, products), moment_sums(rows, residuals, clips, products)
    got = release_moments(AdaptiveAccount(ROOMY, Keeper(keep=as_integers)), event, sums, radius, clips, at)
    shrunk = np.clip(x, -4, 4) * rows.factors
    norms = np.sqrt((shrunk**2).sum(axis=0)) / radius
    limits = clip * np.sqrt(1 - a * norms**4) / norms  # of a residual, by the length of its row
    np.testing.assert_allclose(got.products, shrunk @ shrunk.T, atol=5000 * 2e-3)
    np.testing.assert_allclose(got.gradient, shrunk @ np.clip(residuals, -limits, limits), atol=5000 * 1e-3)
    # One record's share of noise: radius·clip/μ, up to the grid's distance from NORM.
    assert got.gradient_noise == pytest.approx(radius * clip / sqrt(0.3), rel=1e-3)
    assert got.product_noise == pytest.approx(radius**2 / sqrt(a * 0.3), rel=1e-3)
