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

from privreg.kernels import moments
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import joint_sums, linear_scores, rotate, round_residuals
from privreg.mechanisms.moments import plan_gradient, plan_products, release_moments
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise

ROOMY = Budget(20.0, 1e-6)
int16 = st.one_of(st.sampled_from([0, 1, -1, 32767, -32767, -32768]), st.integers(-32768, 32767))
entry = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-160, 1e155, 1.7e308, -1.7e308]), st.floats(-10, 10)
)
RADII = [1.0, 2.5, 1e-6, 1e9, 1e-310, 5e-324]


@st.composite
def designs(draw):
    """16-bit columns (columns × records), a public matrix, and a radius."""
    width, records, rotated = draw(st.integers(1, 5)), draw(st.integers(1, 9)), draw(st.integers(1, 5))
    columns = draw(hnp.arrays(np.int16, (width, records), elements=int16))
    matrix = draw(hnp.arrays(float, (width, rotated), elements=entry))
    return columns, matrix, draw(st.sampled_from(RADII))


# ---- rows


@settings(max_examples=300)
@given(designs())
def test_rows_never_exceed_the_norm(design):
    rows, factors = rotate(*design, 1)
    assert ((rows.astype(object) ** 2).sum(axis=0) <= NORM**2).all()
    assert ((factors >= 0) & (factors <= 1)).all()


def test_a_row_that_shrinking_cannot_fit_counts_for_nothing():
    """The factor is 5e-324 · 0.7, rounded to 5e-324: not shrunk at all."""
    rows, _ = rotate(np.ones((2, 1), np.int16), np.eye(2), 5e-324, 1)
    assert rows.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("width", [1, 2, 20, 300])
def test_long_rows_come_close_to_the_norm(rng, width):
    """The bound is not slack: rows are clipped first and rounded to nearest after that, and none is lost."""
    columns = rng.integers(-32767, 32768, size=(width, 200)).astype(np.int16)
    rows, factors = rotate(columns, np.eye(width), 1.0, 1)
    norms = np.sqrt((rows.astype(float) ** 2).sum(axis=0))
    assert norms.max() <= NORM
    assert norms[np.abs(columns).max(axis=0) > 0].min() > grid_for(width) - np.sqrt(width) / 2 - 1
    sizes = np.sqrt((columns.astype(float) ** 2).sum(axis=0))
    np.testing.assert_allclose(factors, np.minimum(1, 1 / np.maximum(sizes, 1)), rtol=1e-12)
    assert np.abs(rows - columns * factors * grid_for(width)).max() <= 0.5 + 1e-6


def test_short_rows_are_not_shrunk(rng):
    columns = rng.integers(-1000, 1000, size=(4, 300)).astype(np.int16)
    matrix = rng.normal(size=(4, 3))
    exact = matrix.T @ columns
    radius = np.sqrt((exact**2).sum(axis=0)).max() * 2
    rows, factors = rotate(columns, matrix, radius, 1)
    assert (factors == 1).all()
    step = radius / grid_for(3)
    # Half a step, and the rounding of the matrix to 22 bits.
    assert np.abs(rows * step - exact).max() <= step / 2 + np.abs(matrix).max() * 2.0**-23 * 4000 + 1e-9


@settings(max_examples=200)
@given(designs(), st.data())
def test_a_row_depends_on_its_record_alone(design, data):
    columns, matrix, radius = design
    theta = matrix[:, 0] / 1e9
    rows, factors = rotate(columns, matrix, radius, 1)
    scores = linear_scores(columns, theta, 1)
    at = data.draw(st.integers(0, columns.shape[1] - 1))
    alone, factor = rotate(columns[:, [at]], matrix, radius, 1)
    assert (alone[:, 0] == rows[:, at]).all()
    assert factor[0] == factors[at]
    assert linear_scores(columns[:, [at]], theta, 1)[0] == scores[at]


def test_rows_do_not_depend_on_chunks_threads_or_neighbours(rng, monkeypatch):
    """Bit for bit, where a plain matrix product would differ in the last place."""
    columns = rng.integers(-32767, 32768, size=(9, 500)).astype(np.int16)
    matrix, theta = rng.normal(size=(9, 7)) * 10.0 ** rng.integers(-8, 8, 7), rng.normal(size=9)
    rows, factors = rotate(columns, matrix, 3.0, 1)
    scores = linear_scores(columns, theta, 1)
    order = rng.permutation(500)
    for chunk, jobs in ((1, 1), (7, 2), (64, 2), (499, 1), (8192, 2)):
        monkeypatch.setattr(moments, "_CHUNK", chunk)
        moved, shrunk = rotate(columns[:, order], matrix, 3.0, jobs)
        assert (moved == rows[:, order]).all()
        assert (shrunk == factors[order]).all()
        assert (linear_scores(columns[:, order], theta, jobs) == scores[order]).all()


def test_scores_are_the_product(rng):
    columns = rng.integers(-32767, 32768, size=(30, 1000)).astype(np.int16)
    theta = rng.normal(size=30)
    bound = 30 * 32767 * np.abs(theta).max() * 2.0**-23
    assert np.abs(linear_scores(columns, theta, 1) - theta @ columns).max() <= bound * (1 + 1e-9)


@given(hnp.arrays(float, st.integers(0, 6), elements=st.floats(-1e6, 1e6)), st.sampled_from([1e-3, 1.0, 77.0]))
def test_residuals_are_clipped_then_rounded(residuals, clip):
    got = round_residuals(residuals, clip)
    assert got.dtype == np.int16
    assert (np.abs(got.astype(int)) <= NORM).all()
    for r, g in zip(residuals, got.tolist(), strict=True):
        assert abs(g - min(max(Fraction(r) / Fraction(clip), -1), 1) * NORM) <= Fraction(1, 2) + Fraction(1, 10**6)


# ---- sums and their cost


class Keeper(SeededNoise):
    """Adds nothing, and keeps what it was given."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.calls = []

    def gaussian(self, values, scale):
        self.calls.append((values.astype(object), scale))
        return values


def released(rows, residuals, steps, jobs=1):
    """Integers and noise scales: above the diagonal, on it, gradient, squares."""
    keeper = Keeper()
    release_moments(AdaptiveAccount(ROOMY, keeper), rows, residuals, 1.0, 1.0, n_jobs=jobs, **steps)
    return keeper.calls


def plans(width, mu_squared=(0.5, 0.25, 0.03)):
    products, gradient, squares = mu_squared
    return {
        "products": plan_products("p", width, products),
        "gradient": plan_gradient("g", width, gradient),
        "squares": plan_gradient("s", 1, squares),
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
    residuals = draw(hnp.arrays(np.int16, records + 1, elements=int16.map(lambda v: max(v, -NORM))))
    return rows, residuals


@pytest.mark.parametrize("chunk", [1, 3, 8192])
@settings(max_examples=100)
@given(table=tables(), data=st.data())
def test_a_record_moves_sums_by_its_own_products(chunk, table, data):
    rows, residuals = table
    width, longer = rows.shape
    at = data.draw(st.sampled_from([0, longer // 2, longer - 1]))
    steps = plans(width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "_CHUNK", chunk)
        fewer = np.delete(rows, at, axis=1), np.delete(residuals, at)
        uu, ur, rr = (
            np.asarray(b, object) - np.asarray(a, object)
            for a, b in zip(joint_sums(*fewer, 1), joint_sums(rows, residuals, 2), strict=True)
        )
        own, r = rows[:, at].astype(object), int(residuals[at])
        assert (uu == np.outer(own, own)).all()
        assert (ur == own * r).all()
        assert rr == r * r
        needed = cost_of(released(*fewer, steps), released(rows, residuals, steps, 2))
    assert needed <= sum(s.mu_squared for s in steps.values())


@pytest.mark.parametrize("width", [1, 2, 7, 100])
@pytest.mark.parametrize("even", [False, True])
def test_the_cost_is_tight(width, even):
    """A record on the bound, along an axis and along the diagonal, needs what is charged."""
    row = np.full(width, int(NORM / sqrt(width))) if even else np.r_[NORM, np.zeros(width - 1)]
    steps = plans(width)
    nothing = np.zeros((width, 0), np.int16), np.zeros(0, np.int16)
    record = row.astype(np.int16)[:, None], np.array([NORM], np.int16)
    needed = cost_of(released(*nothing, steps), released(*record, steps))
    charged = sum(s.mu_squared for s in steps.values())
    assert 0.99 * charged < needed <= charged
    assert float(charged) == pytest.approx(0.78, rel=1e-12)


def test_the_scales_of_the_matrix():
    for mu_squared in np.geomspace(1e-9, 10, 100):
        step = plan_products("p", 3, mu_squared)
        assert 2 * Fraction(step.off_scale) ** 2 >= Fraction(step.scale) ** 2
        assert step.off_scale <= step.scale / sqrt(2) * (1 + 1e-14)
        assert step.mu_squared == NORM**4 / Fraction(step.scale) ** 2
        assert float(step.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert float(plan_gradient("g", 3, mu_squared).mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert step.rounding == 3 / (8 * Fraction(step.scale) ** 2) + 3 / (8 * Fraction(step.off_scale) ** 2)


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


def test_sums_do_not_depend_on_order_chunks_or_threads(rng, monkeypatch):
    rows = rng.integers(-9000, 9000, size=(6, 700)).astype(np.int16)
    residuals = rng.integers(-NORM, NORM + 1, size=700).astype(np.int16)
    wide, long = rows.astype(np.int64), residuals.astype(np.int64)
    wanted = wide @ wide.T, wide @ long, int(long @ long)
    order = rng.permutation(700)
    for chunk, jobs in ((1, 2), (13, 1), (350, 2), (699, 2), (8192, 1)):
        monkeypatch.setattr(moments, "_CHUNK", chunk)
        for got, exact in zip(joint_sums(rows[:, order], residuals[order], jobs), wanted, strict=True):
            assert np.array_equal(got, exact)


def test_the_largest_sums_are_exact():
    """More records of full norm than a chunk holds, in the corner where float64 would give out first."""
    n = 3 * moments._CHUNK + 5
    rows = np.full((1, n), NORM, np.int16)
    uu, ur, rr = joint_sums(rows, np.full(n, -NORM, np.int16), 2)
    assert (int(uu[0, 0]), int(ur[0]), rr) == (n * NORM**2, -n * NORM**2, n * NORM**2)
    assert moments._CHUNK * NORM**2 < 2**53
    assert moments._ENTRY * 2**15 * 2**14 < 2**53


def test_releases_are_in_the_units_of_the_data(rng):
    x = rng.normal(size=(4, 5000))
    columns = np.rint(np.clip(x / 4, -1, 1) * 32767).astype(np.int16)
    matrix = np.eye(4) * 4 / 32767
    radius, clip = 5.0, 3.0
    rows, factors = rotate(columns, matrix, radius, 1)
    residuals = rng.normal(size=5000)
    released = release_moments(
        AdaptiveAccount(ROOMY, Keeper()), rows, round_residuals(residuals, clip), radius, clip, **plans(4), n_jobs=1
    )
    clipped, shrunk = np.clip(residuals, -clip, clip), np.clip(x, -4, 4) * factors
    np.testing.assert_allclose(released.products, shrunk @ shrunk.T, atol=5000 * 2e-3)
    np.testing.assert_allclose(released.gradient, shrunk @ clipped, atol=5000 * 1e-3)
    assert released.squares == pytest.approx(clipped @ clipped, rel=1e-3)
    steps = plans(4)
    # One record's share of noise: radius·clip/μ, up to the grid's distance from NORM.
    assert released.gradient_noise == pytest.approx(radius * clip / sqrt(steps["gradient"].mu_squared), rel=1e-3)
    assert released.product_noise == pytest.approx(radius**2 / sqrt(steps["products"].mu_squared), rel=1e-3)
