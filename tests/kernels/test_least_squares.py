"""One model for each group: the least-norm solution whatever the group's size or rank, and always finite numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privreg.kernels.least_squares import DEPENDENT, LARGEST, solve_groups


def solve(rows, target, sizes=None):
    bounds = np.concatenate([[0], np.cumsum([len(target)] if sizes is None else sizes)])
    models = np.full((bounds.size - 1, rows.shape[1] + 1), np.nan)
    units = np.full_like(models, np.nan)
    solve_groups(np.ascontiguousarray(rows, float), np.ascontiguousarray(target, float), bounds, models, units)
    return models, units


def reference(rows, target):
    """LAPACK's least-norm solution after scaling columns to unit length."""
    a = np.column_stack([rows, np.ones(len(target))])
    length = np.linalg.norm(a, axis=0)
    length[length == 0] = 1
    return np.linalg.lstsq(a / length, target, rcond=DEPENDENT)[0] / length, length


@pytest.mark.parametrize("d", [1, 2, 5, 9])
@pytest.mark.parametrize("kind", ["continuous", "badly scaled", "few levels", "dependent"])
def test_models_are_least_norm_solutions(rng, d, kind):
    sizes = np.append(rng.integers(0, 3 * d + 2, 120), 0)
    rows = rng.normal(size=(sizes.sum(), d))
    if kind == "badly scaled":
        rows *= 10.0 ** rng.integers(-8, 9, d)
    if kind == "few levels":
        rows = np.round(rows).clip(-1, 1)
    if kind == "dependent":
        rows[:, -1] = rows[:, 0] * 3
    target = rng.normal(size=len(rows))
    models, _ = solve(rows, target, sizes)
    at = 0
    for model, size in zip(models, sizes, strict=True):
        expected, length = reference(rows[at : at + size], target[at : at + size]) if size else (np.zeros(d + 1), 1.0)
        np.testing.assert_allclose(
            model * length, expected * length, rtol=0, atol=1e-9 * (1 + np.abs(expected * length).max())
        )
        at += size


def test_a_model_depends_on_its_own_group_only(rng):
    rows, target = rng.normal(size=(60, 3)), rng.normal(size=60)
    alone = [solve(rows[a : a + 6], target[a : a + 6])[0][0] for a in range(0, 60, 6)]
    np.testing.assert_array_equal(solve(rows, target, [6] * 10)[0], alone)


def test_units_follow_the_data():
    rows = np.array([[2.0, 0.0], [-8.0, 0.0], [4.0, 0.0]])
    _, units = solve(rows, np.array([1.0, -24.0, 3.0]))
    np.testing.assert_array_equal(units, [[3.0, 24.0, 24.0]])


hostile = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-200, 1e200, 1.7e308, -1.7e308])


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6), elements=hostile), st.data())
def test_hostile_numbers_give_finite_models(rows, data):
    target = data.draw(hnp.arrays(float, len(rows), elements=hostile))
    models, units = solve(rows, target)
    assert np.isfinite(models).all()
    assert np.abs(models).max() <= LARGEST
    assert (units >= 0).all()
    assert units.max() <= LARGEST
