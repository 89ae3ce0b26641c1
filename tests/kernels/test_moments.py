"""Rows for the moments: shrunk to the norm, a function of their record alone, and whole numbers within their bounds."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from moment_rows import BLOCKS, ONE, in_blocks, int16, number
from privreg.kernels import moments
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import PARTS, linear_scores, rotate, round_residuals

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


@settings(max_examples=300)
@given(designs())
def test_rows_never_exceed_the_norm(design):
    rows, factors, squares = rotate(*design)
    own = (rows.astype(object) ** 2).sum(axis=0)
    assert (own <= NORM**2).all()
    assert (own == squares).all()
    assert ((factors >= 0) & (factors <= 1)).all()


def test_a_row_that_shrinking_cannot_fit_counts_for_nothing():
    """The factor is 5e-324 · 0.7, rounded to 5e-324: not shrunk at all."""
    rows, _, squares = rotate(np.ones((2, 1), np.int16), np.eye(2), 5e-324)
    assert rows.ravel().tolist() == [0, 0]
    assert squares.tolist() == [0]


@pytest.mark.parametrize("width", [1, 2, 20, 300])
def test_long_rows_come_close_to_the_norm(rng, width):
    """The bound is not slack: rows are clipped first and rounded to nearest after that, and none is lost."""
    columns = rng.integers(-32767, 32768, size=(width, 200)).astype(np.int16)
    rows, factors, _ = rotate(columns, np.eye(width), 1.0)
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
    rows, factors, _ = rotate(columns, matrix, radius)
    assert (factors == 1).all()
    step = radius / grid_for(3)
    # Half a step, and the rounding of the matrix to 22 bits.
    assert np.abs(rows * step - exact).max() <= step / 2 + np.abs(matrix).max() * 2.0**-23 * 4000 + 1e-9


@settings(max_examples=200)
@given(designs(), st.data())
def test_a_row_depends_on_its_record_alone(design, data):
    columns, matrix, radius = design
    theta = matrix[:, 0] / 1e9
    rows, scores = rotate(columns, matrix, radius), linear_scores(columns, theta)
    clips = np.array([0.5, 3.0])
    whole = round_residuals(scores, clips, rows.squares, 400)
    at = [data.draw(st.integers(0, columns.shape[1] - 1))]
    alone, score = rotate(columns[:, at], matrix, radius), linear_scores(columns[:, at], theta)
    for one, all_of_them in zip(alone, rows, strict=True):
        assert (one == all_of_them[..., at]).all()
    assert score[0] == scores[at[0]]
    assert (round_residuals(score, clips, alone.squares, 400) == whole[:, at]).all()
    for clip, each in zip(clips, whole, strict=True):  # and the other clips make no difference
        assert (round_residuals(scores, np.array([clip]), rows.squares, 400) == each).all()


@pytest.mark.parametrize(("size", "jobs"), BLOCKS)
def test_rows_do_not_depend_on_blocks_threads_or_neighbours(rng, size, jobs):
    """Bit for bit, where a plain matrix product would differ in the last place."""
    columns = rng.integers(-32767, 32768, size=(9, 500)).astype(np.int16)
    matrix, theta = rng.normal(size=(9, 7)) * 10.0 ** rng.integers(-8, 8, 7), rng.normal(size=9)
    rows, scores = rotate(columns, matrix, 3.0), linear_scores(columns, theta)
    order = rng.permutation(500)
    moved = np.ascontiguousarray(columns[:, order])

    def task(at):
        return [(at, rotate(moved[:, at], matrix, 3.0), linear_scores(moved[:, at], theta))]

    seen = []
    for at, some, score in in_blocks(task, 500, size, jobs):
        assert len(at) <= size
        for part, one in zip(some, rows, strict=True):
            assert (part == one[..., order[at]]).all()
        assert (score == scores[order[at]]).all()
        seen += at.tolist()
    assert sorted(seen) == list(range(500))


def test_scores_are_the_product(rng):
    columns = rng.integers(-32767, 32768, size=(30, 1000)).astype(np.int16)
    theta = rng.normal(size=30)
    bound = 30 * 32767 * np.abs(theta).max() * 2.0**-23
    assert np.abs(linear_scores(columns, theta) - theta @ columns).max() <= bound * (1 + 1e-9)


def test_a_residual_that_is_no_number_counts_for_nothing():
    squares = np.array([NORM**2, 0, 5])
    assert round_residuals(np.full(3, np.nan), ONE, squares, 400).tolist() == [[0, 0, 0]]
    infinite = np.array([np.inf, np.inf])  # −∞/∞
    assert round_residuals(np.array([np.nan, 1.0, -np.inf]), infinite, squares, 400).tolist() == [[0, 0, 0]] * 2


square = st.one_of(st.sampled_from([0, 1, 2, 3, NORM, NORM**2 - 1, NORM**2]), st.integers(0, NORM**2))


parts = st.one_of(st.sampled_from([1, 123, 410, 563, PARTS - 1, PARTS]), st.integers(1, PARTS))


def largest(squares, products):
    """The largest r with |u|²r² ≤ NORM⁴ − products/PARTS·|u|⁴, in integers of any size; none is above 2²⁴."""
    room = NORM**4 - Fraction(products, PARTS) * squares**2
    return min(isqrt(int(room // squares)), moments._MOST_RESIDUAL) if squares else moments._MOST_RESIDUAL


def limits_of(squares, products):
    """What residuals beyond every limit become."""
    beyond = np.full(len(squares), np.inf)
    return round_residuals(beyond, ONE, np.asarray(squares, np.int64), products)[0].astype(np.int64).tolist()


@settings(max_examples=300)
@given(number, st.sampled_from([1e-3, 1.0, 77.0]), square, parts)
def test_residuals_are_clipped_then_rounded(residual, clip, squares, products):
    """Within the limit of their row in integers, whatever they are."""
    ((whole,),) = round_residuals(np.array([residual]), np.array([clip]), np.array([squares]), products).tolist()
    got = int(whole)  # what follows is exact
    assert got == whole
    assert got**2 * squares <= NORM**4 - Fraction(products, PARTS) * squares**2
    most = largest(squares, products)
    wanted = most if residual == np.inf else min(max(Fraction(residual) / Fraction(clip) * NORM, -most), most)
    assert abs(got - wanted) <= Fraction(3, 2)  # half a step, and one where the root was rounded down


@pytest.mark.parametrize("products", [1, 123, 410, 563, 1023, PARTS])
def test_limits_are_the_largest_that_are_allowed(rng, products):
    """For short rows, for the longest ones, and for many between: the largest integer, or one less in a million."""
    squares = [*range(3000), *range(NORM**2 - 3000, NORM**2 + 1), *rng.integers(NORM**2, size=20_000).tolist()]
    exact = [largest(s, products) for s in squares]
    missed = [most - limit for limit, most in zip(limits_of(squares, products), exact, strict=True)]
    assert min(missed) == 0
    assert max(missed) <= 1
    assert sum(missed) <= 1


def test_where_a_limit_is_exactly_a_square_it_is_reached():
    """Short rows have no room to spare: N⁴ − a·|u|⁴ is a square times |u|² for |u|² = 1 without products' share."""
    assert limits_of([0, 1, 2**12, 2**12 + 1], 1)[:2] == [2**24, 2**24]
    for root in (3, 100, NORM // 64, NORM):
        room = NORM**4 - Fraction(1, PARTS) * root**4
        (limit,) = limits_of([root**2], 1)
        assert limit**2 * root**2 <= room
        assert limit == 2**24 or (limit + 1) ** 2 * root**2 > room


def test_the_whole_share_of_products_leaves_a_full_row_no_gradient():
    assert limits_of([NORM**2, NORM**2 - 1], PARTS)[0] == 0
    assert limits_of([NORM**2 - 1], PARTS)[0] > 0
