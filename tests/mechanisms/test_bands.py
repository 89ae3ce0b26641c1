"""Counts in bands: one record moves one of them by one, whatever it is and wherever it stands.

Proof: docs/proofs/bands.md.
"""

from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Parts
from privreg.kernels.values import Away, code_of, distances_from
from privreg.mechanisms.bands import GRID, Between, ZerosAndOnes, noisy_bands, plan_bands
from privreg.mechanisms.median import noisy_median, plan_median, runs
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise
from scripted import Keeper

LARGEST = float(np.finfo(float).max)
HOSTILE = [0.0, -0.0, 1.0, -1.0, 1 + 2**-52, 1 - 2**-53, 5e-324, -5e-324, 2.0, 1e308, -1e308, LARGEST, -LARGEST]
finite = st.one_of(st.sampled_from(HOSTILE), st.floats(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
columns = st.lists(finite, max_size=20)
between = st.builds(lambda a, b: Between(min(a, b), max(a, b)), finite, finite)
ROOMY = Budget(5.0, 1e-6)


def released(values, bands):
    """The integers that get noise."""
    keeper, step = Keeper(), plan_bands("bands", 0.02, bands)
    values = values if isinstance(values, Parts) else np.array(values, float)
    noisy = noisy_bands(AdaptiveAccount(ROOMY, keeper), step, values, bands)
    ((integers, scale),) = keeper.calls
    assert noisy.tolist() == [integer / GRID for integer in integers]
    assert scale == step.scale
    assert step.coordinates == len(integers)
    assert step.sensitivity_squared == GRID**2
    assert step.mu_squared == Fraction(GRID) ** 2 / Fraction(scale) ** 2
    return integers


@settings(max_examples=400)
@given(columns, finite, st.one_of(st.just(ZerosAndOnes()), between), st.data())
def test_a_record_moves_one_count_by_one(values, record, bands, data):
    place = data.draw(st.integers(0, len(values)))
    before = released(values, bands)
    after = released([*values[:place], record, *values[place:]], bands)
    moved = [new - old for old, new in zip(before, after, strict=True)]
    assert moved == released([record], bands)
    assert sum(abs(move) for move in moved) in ((GRID,) if isinstance(bands, ZerosAndOnes) else (0, GRID))
    assert all(move in (0, GRID) for move in moved)


@given(columns, st.lists(st.integers(0, 20), max_size=4), st.one_of(st.just(ZerosAndOnes()), between))
def test_parts_give_the_same_counts(values, cuts, bands):
    assert released(Parts(values, cuts), bands) == released(values, bands)


def test_which_values_are_in_which_band():
    values = [0.0, -0.0, 1.0, 1.0, 1.0, 1 + 2**-52, 5e-324, -1.0, 2.0, LARGEST]
    assert released(values, ZerosAndOnes()) == [2 * GRID, 3 * GRID, 5 * GRID]
    assert released([], ZerosAndOnes()) == [0, 0, 0]
    assert released([0.0, 1.0, 1.5, 2.0, 2.0, 2.5, -1.5], Between(1.0, 2.0)) == [3 * GRID]


@given(columns, finite, st.integers(1, 20), st.booleans())
def test_distances_are_exact_up_to_one_rounding(values, centre, cut, split):
    """A record's is a function of its own value and the centre, and finite; 0 in the centre's grid cell."""
    column = Parts(values, [cut] if split else [])
    away = Away(column, centre)
    assert away.size == len(values)
    found = []
    away.total(lambda part: found.extend(part.tolist()) or 0)
    exact = [abs(Fraction(value) - Fraction(centre)) * (code_of(value) != code_of(centre)) for value in values]
    assert found == [float(d) if d <= Fraction(LARGEST) else LARGEST for d in exact]


@given(columns, finite)
def test_the_median_of_distances_is_the_median_of_those_numbers(values, centre):
    distances = distances_from(np.array(values, float), centre)
    for one, two in zip(runs(Away(Parts(values, []), centre), 50), runs(distances, 50), strict=True):
        assert one.tolist() == two.tolist()


def test_the_median_distance_of_a_normal_column(rng):
    """Half of a normal law lies within 0.674 deviations. The pick is off by a few ranks, the sample by 1 %."""
    values = 50 + 3 * rng.normal(size=20_000)
    account = AdaptiveAccount(ROOMY, SeededNoise(rng))
    distance = noisy_median(account, plan_median("distance", 0.5), Away(Parts(values, [7000]), 50.0))
    assert distance == pytest.approx(0.674 * 3, rel=0.05)


@pytest.mark.parametrize("bands", [ZerosAndOnes(), Between(1.0, inf)])
def test_the_noise(bands, rng):
    """Standard deviation 1/μ in records; its standard error here is 1.6 %."""
    step = plan_bands("bands", 0.04, bands)
    drawn = [noisy_bands(AdaptiveAccount(ROOMY, SeededNoise(rng)), step, np.full(9, 3.0), bands) for _ in range(2000)]
    assert np.std(drawn, axis=0) == pytest.approx(1 / sqrt(0.04), rel=0.1)
    assert np.mean(drawn, axis=0)[-1] == pytest.approx(9, abs=0.6)
