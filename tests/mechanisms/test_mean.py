"""The clipped sum: one record moves it by its own contribution and by nothing else, and never by more than one clip.

Proof: docs/proofs/mean.md.
"""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact import Parts
from privreg.kernels.ranks import MAX_RECORDS
from privreg.kernels.values import FIRST_BIN, LARGEST, value_of
from privreg.mechanisms.mean import GRID, clipped_sum, noisy_clipped_sum, plan_clipped_sum
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise
from scripted import Keeper

LARGEST_FLOAT = float(np.finfo(float).max)
HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 1e-308, 2.0**-45, 1.0, 1 + 1e-16, -7.5, 1e308, -1e308, LARGEST_FLOAT]
finite = st.one_of(st.sampled_from(HOSTILE), st.floats(-1e3, 1e3), st.floats(allow_nan=False, allow_infinity=False))
# A centre is a value of the median's grid. A clip is a positive number; the smallest in a fit is the first bin's edge.
ENDS = [0.0, 1.0, value_of(1), value_of(LARGEST), -value_of(LARGEST)]
centres = st.one_of(st.integers(-LARGEST, LARGEST).map(value_of), st.sampled_from(ENDS))
CLIPS = [5e-324, 1e-308, 2.0 ** (FIRST_BIN / 2), 1.0, 3.0, 1e30, 1e308, LARGEST_FLOAT]
clips = st.one_of(
    st.sampled_from(CLIPS), st.floats(2.0**-45, 2.0**61), st.floats(0, exclude_min=True, allow_infinity=False)
)
STEP = plan_clipped_sum("mean", 0.02)
ROOMY = Budget(5.0, 1e-6)


def released(values, centre, clip):
    """The integer that gets noise."""
    keeper = Keeper()
    values = values if isinstance(values, Parts) else np.array(values, float)
    noisy_clipped_sum(AdaptiveAccount(ROOMY, keeper), STEP, values, centre, clip)
    (((integer,), scale),) = keeper.calls
    assert scale == STEP.scale
    return integer


@settings(max_examples=400)
@given(st.lists(finite, max_size=20), finite, centres, clips, st.data())
def test_a_record_moves_the_sum_by_its_own_part(values, record, centre, clip, data):
    """Wherever it stands, and without a warning: pytest turns warnings into errors."""
    place = data.draw(st.integers(0, len(values)))
    before = released(values, centre, clip)
    after = released([*values[:place], record, *values[place:]], centre, clip)
    assert after - before == released([record], centre, clip)
    assert (after - before) ** 2 <= STEP.sensitivity_squared == GRID**2


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("centre", ENDS)
def test_no_value_counts_for_more_than_one_clip(centre, clip):
    parts = [released([value], centre, clip) for value in [*HOSTILE, -LARGEST_FLOAT]]
    assert max(map(abs, parts)) <= GRID


@pytest.mark.parametrize("clip", CLIPS)
def test_the_bound_is_reached(clip):
    """From both sides, by the value at the clip and by all beyond it."""
    for value in (clip, LARGEST_FLOAT):
        assert released([value], 0.0, clip) == GRID
        assert released([-value], 0.0, clip) == -GRID


def test_values_that_are_not_finite_count_for_one_clip_or_nothing():
    for value, whole in ((np.inf, GRID), (-np.inf, -GRID), (np.nan, 0)):
        assert released([value], 1.0, 3.0) == whole
        assert released([7.0, value, -9.0], 1.0, 3.0) == whole


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(-100, 100), st.floats(1e-3, 1e6))
def test_the_sum_is_the_one_that_it_says(values, centre, clip):
    exact = [min(max(Fraction(v) - Fraction(centre), -Fraction(clip)), Fraction(clip)) for v in values]
    # Rounding to the grid costs half a step a record; the quotient 2⁻²⁵ of one, and the difference what `far` says.
    far = (abs(centre) + max(map(abs, values))) / clip * 2.0**-52 * GRID
    whole = clipped_sum(np.array(values), centre, clip)
    assert whole.shape == (1,)
    assert abs(int(whole[0]) - sum(exact) / Fraction(clip) * GRID) <= len(values) * (0.5 + 1e-6 + far)


def test_values_inside_the_clip_are_not_touched():
    values = np.array([0.25, -0.5, 0.75, 0.125])
    assert released(values + 3, 3.0, 1.0) == GRID * 5 // 8
    assert released(values * 8 + 3, 3.0, 8.0) == GRID * 5 // 8
    assert released(values + 3, 3.0, 0.5) == GRID * 3 // 4  # 1/2, −1, 1, 1/4


def test_the_order_of_records_does_not_matter(rng):
    values = rng.standard_cauchy(100_001) * 1e3
    assert len({released(rng.permutation(values), 7.0, 11.0) for _ in range(5)}) == 1


@given(st.lists(finite, max_size=20), st.lists(st.integers(0, 20), max_size=5), centres, clips)
def test_parts_of_the_records_do_not_matter(values, cuts, centre, clip):
    assert released(Parts(values, cuts), centre, clip) == released(values, centre, clip)


def test_the_largest_table_does_not_overflow():
    assert MAX_RECORDS * GRID < 2**62
    assert released(np.full(2**16, 1e308), 0.0, 1.0) == 2**16 * GRID


@pytest.mark.parametrize("clip", [2.0**-45, 1.0, 3.0, 1e30])
def test_units(clip):
    """One grid step is clip/GRID, so that a record at the clip counts for `clip`, and noise for scale·clip/GRID."""
    for more in (0, 1, -12345, GRID):
        noisy = noisy_clipped_sum(AdaptiveAccount(ROOMY, Keeper(more)), STEP, np.array([clip, clip / 2]), 0.0, clip)
        assert noisy == pytest.approx(clip * (1.5 + more / GRID), rel=1e-12)


def test_the_noise_has_the_scale_that_it_says(rng):
    """Standard deviation clip/μ; its standard error here is 1.6 %."""
    step = plan_clipped_sum("mean", 0.04)
    values = np.linspace(-1, 1, 101)
    drawn = [noisy_clipped_sum(AdaptiveAccount(ROOMY, SeededNoise(rng)), step, values, 0.0, 7.0) for _ in range(2000)]
    assert 7.0 * step.scale / step.grid == pytest.approx(7.0 / sqrt(0.04))
    assert np.std(drawn) == pytest.approx(7.0 / sqrt(0.04), rel=0.1)
    assert abs(np.mean(drawn)) < 5 * 35 / sqrt(2000)


def test_it_costs_what_was_asked_for():
    for mu_squared in np.geomspace(1e-10, 10, 50):
        step = plan_clipped_sum("mean", mu_squared)
        assert float(step.mu_squared) == pytest.approx(mu_squared, rel=1e-14)
        assert step.mu_squared == Fraction(GRID) ** 2 / Fraction(step.scale) ** 2
        assert step.coordinates == 1
        assert step.rounding_distance <= step.mu_squared / 2**42


def test_the_step_is_entered_before_the_draw():
    class Dying(SeededNoise):
        def gaussian(self, values, scale):
            raise KeyboardInterrupt

    account = AdaptiveAccount(ROOMY, Dying(np.random.default_rng(0)))
    with pytest.raises(KeyboardInterrupt):
        noisy_clipped_sum(account, STEP, np.zeros(3), 0.0, 1.0)
    assert account.receipt().steps == (STEP,)
