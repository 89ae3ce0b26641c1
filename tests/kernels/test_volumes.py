"""Integer logarithms: close to the true ones, and never decreasing, so that inequalities survive rounding exactly."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.kernels.volumes import (
    ADD_EXCESS,
    GRID,
    NOTHING,
    WIDTH_ERROR,
    log_add,
    log_volumes,
    log_weights,
    log_width,
)

widths = st.floats(min_value=5e-324, max_value=2.0**1001)
logs = st.integers(-(10**6) * GRID, 10**6 * GRID)


def width(value):
    return log_width(value, np.empty(1))


def all_widths(values):
    return np.array([width(v) for v in values])


@given(widths)
def test_log_width_is_close(value):
    assert abs(width(value) / mpmath.mpf(GRID) - mpmath.log(mpmath.mpf(value))) <= WIDTH_ERROR


@given(widths, st.one_of(widths, st.just(0.0)))
def test_log_width_never_decreases(a, b):
    assert width(min(a, b)) <= width(max(a, b))
    assert width(a) <= width(np.nextafter(a, np.inf))


def test_log_width_at_every_power_of_two_and_knot():
    powers = 2.0 ** np.arange(-1074, 1001)
    for below, at in zip(all_widths(np.nextafter(powers, 0)), all_widths(powers), strict=True):
        assert below <= at
    knots = 1 + np.arange(2**13) / 2**13
    for below, at in zip(all_widths(np.nextafter(knots, 0)), all_widths(knots), strict=True):
        assert below <= at


def test_no_width_is_nothing():
    assert width(0.0) == NOTHING
    assert log_add(NOTHING, 5) == log_add(5, NOTHING) == 5
    assert log_add(NOTHING, NOTHING) == NOTHING


@given(logs, st.integers(-45 * GRID, 45 * GRID))
def test_log_add_is_close(a, difference):
    b = a + difference
    true = mpmath.log(mpmath.exp(mpmath.mpf(a) / GRID) + mpmath.exp(mpmath.mpf(b) / GRID))
    excess = mpmath.mpf(log_add(a, b)) / GRID - true
    assert -2 / GRID - mpmath.exp(-40) <= excess <= ADD_EXCESS


@given(logs, st.integers(-45 * GRID, 45 * GRID), st.integers(0, 2**40))
def test_log_add_never_decreases(a, difference, more):
    b = a + difference
    for step in (1, more):
        assert log_add(a + step, b) >= log_add(a, b)
        assert log_add(a, b + step) >= log_add(a, b)


@given(st.integers(0, 40 * 2**11 + 2), st.integers(-2, 2))
def test_log_add_never_decreases_at_knots(knot, offset):
    z = max(knot * 2**25 + offset, 0)
    assert log_add(1, -z) >= log_add(0, -z)
    assert log_add(0, -z) >= log_add(0, -z - 1)


def test_volumes_by_hand():
    # Depths of {0, 1, 3, 7}: width 7 at depth 1, width 2 at depth 2. The second coordinate is ten times as wide.
    columns = np.array([[0.0, 1.0, 3.0, 7.0], [0.0, 10.0, 30.0, 70.0]])
    volumes = log_volumes(columns)
    assert volumes.size == 4
    np.testing.assert_allclose(volumes[1:3] / GRID, np.log([490.0, 40.0]), atol=1e-7)
    assert volumes[3] == NOTHING


def test_volumes_of_ties_and_extremes():
    columns = np.array([[-(2.0**1000), 0.0, 0.0, 2.0**1000], [0.0, 0.0, 5e-324, 5e-324]])
    volumes = log_volumes(columns)
    np.testing.assert_allclose(volumes[1] / GRID, np.log(2.0) * (1001 - 1074), atol=1e-6)
    assert volumes[2] == NOTHING


@pytest.mark.parametrize("eta", [1e-6, 0.01, 0.5, 3.0])
def test_weights_are_the_integral_of_e_to_the_depth(rng, eta):
    columns = np.sort(rng.standard_cauchy(size=(3, 41)), axis=1)
    volumes = log_volumes(columns)
    rate = round(eta * GRID)
    growth = round(GRID * float(mpmath.log(mpmath.expm1(mpmath.mpf(rate) / GRID))))
    weights = log_weights(volumes, rate, growth)
    true = (
        [mpmath.mpf(1)]
        + [mpmath.fprod(mpmath.mpf(c[41 - p]) - mpmath.mpf(c[p - 1]) for c in columns) for p in range(1, 21)]
        + [mpmath.mpf(0)]
    )
    for p in range(1, 21):
        shells = mpmath.fsum(
            mpmath.exp(mpmath.mpf(rate) / GRID * (q - p)) * (true[q] - true[q + 1]) for q in range(p, 21)
        )
        assert abs(weights[p] / mpmath.mpf(GRID) - mpmath.log(shells)) < 3 * WIDTH_ERROR + 42 * ADD_EXCESS
