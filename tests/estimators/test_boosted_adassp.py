"""Boosted AdaSSP: no record, however hostile, moves a released integer by more than its step claims.

Proof: docs/proofs/adassp.md. The noise itself is covered by privacy/test_accountant.py and privacy/test_noise.py.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privreg import BoostedAdaSSP
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.engines import memory
from privreg.engines.memory import MemoryEngine
from privreg.estimators import base
from privreg.estimators.boosted_adassp import EIGEN_ERROR, EIGEN_SENSITIVITY, EIGEN_UNIT, _smallest_eigenvalue
from privreg.kernels.boosting import NORM, ResidualSums, RoundRows, gram, grid_for
from privreg.privacy.accountant import Budget, total
from privreg.privacy.noise import SeededNoise

extreme = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -1e-308, 1e-30, 3.7, 1e30, 1.7e308, -1.7e308])
number = st.one_of(extreme, st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False))
tables = hnp.arrays(float, st.tuples(st.integers(0, 8), st.integers(2, 6)), elements=number)
clips = st.sampled_from([1.0, 0.01, 250.0])


def rounded(table, clip=1.0, jobs=1):
    """The rounded rows of a table whose last column is the target, as a fit keeps them."""
    records = MemoryEngine(
        read_table(table[:, :-1], Schema.numbers(table.shape[1] - 1)), np.ascontiguousarray(table[:, -1]), jobs
    )
    return records.rounded(RoundRows(clip), table.shape[1])


def rows_of(table, clip=1.0):
    """All rounded rows (width × records), and the target."""
    blocks = rounded(table, clip).total(lambda columns, target: [(columns, target)])  # one thread: in order
    return np.concatenate([c for c, _ in blocks], axis=1), np.concatenate([t for _, t in blocks])


def residual_sums(columns, target, theta, clip):
    return ResidualSums(theta, clip)(columns, target)


@given(tables, clips)
def test_a_rounded_row_never_exceeds_the_norm(table, clip):
    columns, _ = rows_of(table, clip)
    squares = (columns.astype(object) ** 2).sum(axis=0) if columns.size else np.zeros(0)
    assert (squares <= NORM**2).all()


def test_rows_come_close_to_the_norm(rng):
    """The bound is not slack, and rounding is to nearest."""
    table = rng.normal(size=(2000, 21)) * 1e6
    columns, _ = rows_of(table)
    norms = np.sqrt((columns.astype(float) ** 2).sum(axis=0))
    assert norms.max() > NORM - 10
    x = np.column_stack([table[:, :-1], np.ones(2000)])
    exact = x / np.linalg.norm(x, axis=1)[:, None] * grid_for(21)
    assert np.abs(columns.T - exact).max() <= 0.5 + 1e-9


@given(tables, st.data())
@settings(max_examples=300)
def test_a_record_moves_sums_by_its_own_product_only(table, data):
    """The neighbour has the record at any place: exact integers, compared with the steps' sensitivities."""
    width = table.shape[1]
    record = data.draw(hnp.arrays(float, width, elements=number))
    place = data.draw(st.integers(0, len(table)))
    theta = data.draw(hnp.arrays(float, width, elements=st.floats(-1e95, 1e95))) / NORM
    clip_y = data.draw(clips)
    more = np.insert(table, place, record, axis=0)
    (columns, target), (other, longer) = rows_of(table), rows_of(more)
    change = (gram(other) - gram(columns)).astype(object)
    assert (change[np.triu_indices(width)] ** 2).sum() <= NORM**4
    own = other[:, place].astype(object)
    assert (change == np.outer(own, own)).all()
    sums = residual_sums(other, longer, theta, clip_y) - residual_sums(columns, target, theta, clip_y)
    assert (sums.astype(object) ** 2).sum() <= NORM**4
    alone = residual_sums(other[:, place : place + 1].copy(), longer[place : place + 1], theta, clip_y)
    assert (sums == alone).all()


@given(tables, st.data())
def test_a_record_moves_the_smallest_eigenvalue_by_at_most_its_claim(table, data):
    record = data.draw(hnp.arrays(float, table.shape[1], elements=number))
    before, after = (_smallest_eigenvalue(gram(rows_of(t)[0]))[0] for t in (table, np.vstack([table, record])))
    assert abs(int(after) - int(before)) <= EIGEN_SENSITIVITY


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 2])
def test_a_record_without_a_number_is_left_out(rng, value, column):
    table = rng.normal(size=(20, 3))
    record = np.ones(3)
    record[column] = value
    for place in (0, 7, 20):
        columns, target = rows_of(np.insert(table, place, record, axis=0))
        np.testing.assert_array_equal(columns, rows_of(table)[0])
        np.testing.assert_array_equal(target, table[:, -1])


def test_the_eigenvalue_moves_by_nearly_its_claim():
    """A huge record and one of zeros are two orthogonal rows of full norm: λ_min goes from 0 to NORM²."""
    table = np.zeros((2, 2))
    table[0, 0] = 1e9
    before, after = (_smallest_eigenvalue(gram(rows_of(t)[0]))[0] for t in (table[:1], table))
    assert int(after) - int(before) > 0.99 * EIGEN_SENSITIVITY


def test_the_eigenvalue_is_charged_for_its_rounding():
    assert EIGEN_SENSITIVITY * EIGEN_UNIT >= NORM**2 + EIGEN_ERROR + EIGEN_UNIT


def test_floating_point_eigenvalues_are_within_the_allowance(rng):
    """Against 60 digits, for matrices as large as 2^30 records of full norm could make them."""
    for d in (2, 5, 12):
        a = rng.integers(-NORM // d, NORM // d, size=(d, 3 * d)).astype(object)
        a[0] = a[1] + rng.integers(-1, 2, size=3 * d)  # nearly singular
        matrix = (a @ a.T) * (2**30 // (3 * d))
        with mpmath.workdps(60):
            exact = min(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))
        computed = int(_smallest_eigenvalue(matrix.astype(np.int64))[0]) * EIGEN_UNIT
        assert abs(computed - exact) <= EIGEN_ERROR / 2 + EIGEN_UNIT


@pytest.mark.parametrize("n", [1023, 1024, 1025, 4999])
def test_a_record_moves_long_sums_by_its_own_product_only(rng, n):
    """Beyond a block of the vectorised loop, wherever the record is put in."""
    table = rng.normal(size=(n, 6)) * 10.0 ** rng.integers(-3, 4, 6)
    theta = rng.normal(size=6) / NORM
    columns, target = rows_of(table)
    for place in (0, 1, n // 2, 1023, n):
        more, longer = rows_of(np.insert(table, place, rng.normal(size=6) * 10, axis=0))
        change = residual_sums(more, longer, theta, 1.0) - residual_sums(columns, target, theta, 1.0)
        alone = residual_sums(more[:, place : place + 1].copy(), longer[place : place + 1], theta, 1.0)
        assert (change == alone).all()
        assert (change.astype(object) ** 2).sum() <= NORM**4


def test_sums_do_not_depend_on_order_blocks_or_threads(rng, monkeypatch):
    table = rng.normal(size=(3000, 7)) * 10.0 ** rng.integers(-3, 4, 7)
    columns, target = rows_of(table)
    theta = rng.normal(size=7) / NORM
    products, sums = gram(columns), residual_sums(columns, target, theta, 1.0)
    assert (products == columns.astype(np.int64) @ columns.T.astype(np.int64)).all()
    residual = np.clip(target - columns.T @ theta, -1, 1)
    np.testing.assert_allclose(sums, columns.astype(float) @ residual * NORM, rtol=1e-3, atol=NORM * 3000)
    shuffled = rng.permutation(3000)
    for size, jobs in ((1, 1), (1, 3), (7, 2), (100, 1), (999, 3), (1024, 2), (2**16, 1), (2**16, 3)):
        monkeypatch.setattr(memory, "_ENTRIES", 7 * size)
        moved = rounded(table[shuffled], jobs=jobs)
        sizes = moved.total(lambda columns, target: [target.size])
        assert sum(sizes) == 3000
        assert max(sizes) == min(size, 3000)
        assert (moved.total(gram) == products).all()
        assert (moved.total(ResidualSums(theta, 1.0)) == sums).all()


def test_floating_point_sums_are_caught(rng):
    """Adding rows as floats, as published code does: the other records' part of the sum changes too."""
    table = rng.normal(size=(1000, 3))
    rows = table / np.linalg.norm(table, axis=1)[:, None]
    more = np.vstack([[1e-3, 0.0, 0.0], rows])
    change = more.T @ more - rows.T @ rows - np.outer(more[0], more[0])
    assert np.abs(change).max() > 0


class Recorder(SeededNoise):
    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.calls = []

    def gaussian(self, values, scale):
        self.calls.append((values.copy(), scale))
        return values


@given(tables, st.data())
@settings(max_examples=60)
def test_whole_fits_on_neighbours(table, data):
    """With the noise removed the first two releases are compared; they have the planned size and scale."""
    record = data.draw(hnp.arrays(float, table.shape[1], elements=number))
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        for t in (table, np.vstack([table, record])):
            recorder = Recorder()
            patch.setattr(base, "noise_for", lambda _, recorder=recorder: recorder)
            model = BoostedAdaSSP(rounds=3, n_jobs=1).fit(t[:, :-1], t[:, -1])
            assert np.isfinite(model.coef_).all()
            calls.append(recorder.calls)
    before, after = calls
    steps = model.receipt_.steps
    assert [c[1] for c in before] == [c[1] for c in after] == [s.scale for s in steps]
    for (a, _), (b, _), step in list(zip(before, after, steps, strict=True))[:2]:
        assert a.size == step.coordinates
        assert ((b.astype(object) - a.astype(object)) ** 2).sum() <= step.sensitivity_squared


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0986, 1e-5), (5.0, 1e-9), (1.0, 0.3)])
@pytest.mark.parametrize("rounds", [1, 100])
def test_the_plan_is_split_in_three_and_uses_the_whole_budget(epsilon, delta, rounds):
    budget = Budget(epsilon, delta)
    plan = BoostedAdaSSP(epsilon, delta, rounds=rounds)._plan(budget, 7)
    assert 0.999999 * epsilon < total(plan, budget)[0] <= epsilon
    products, eigenvalue, *each = [Fraction(s.sensitivity_squared) / Fraction(s.scale) ** 2 for s in plan]
    assert float(eigenvalue / products) == pytest.approx(1)
    assert float(sum(each) / products) == pytest.approx(1)
    assert [s.coordinates for s in plan] == [36, 1] + [8] * rounds
