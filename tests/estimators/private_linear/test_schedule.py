"""Who gets how much of the budget: parts of it that never add up to more than the whole."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.estimators.private_linear.schedule import (
    COUNT,
    MANY_MORE,
    MOST_COLUMNS,
    TELLS_ALIKE,
    make_schedule,
    phase_shares,
    together,
)
from privreg.mechanisms.moments import parts_for

sizes = st.one_of(st.sampled_from([0.0, 39.9, 40.0, 150.0, 1e9]), st.floats(0.1, 1e6))


@settings(max_examples=500)
@given(sizes, st.integers(0, 3000), st.one_of(st.none(), st.integers(1, 2000)), st.floats(0, 1), st.booleans())
def test_shares_add_up_to_one(size, available, wanted, known, public):
    """Of all that a fit may do: added exactly they are 1 up to rounding, far below the 1e-9 that is held back."""
    schedule = make_schedule(size, available, wanted, int(known * available), public)
    assert_whole(schedule)
    if schedule.columns:
        assert min(*schedule.lengths[1:], schedule.quality, *schedule.phases) > 0
        assert max(schedule.target_mean, schedule.mean_at_end) > 0
        assert all(0 < share < 1 for share in schedule.products)


def assert_whole(schedule):
    parts = [COUNT, schedule.target_median, schedule.target_histogram, schedule.target_mean, schedule.recount]
    parts += [schedule.look, schedule.target_distance, schedule.target_near, schedule.mean_at_end]
    parts += [
        schedule.selection,
        schedule.balance,
        *schedule.lengths,
        schedule.quality,
        schedule.quality,
        *schedule.phases,
        *schedule.common,
        *[schedule.gradient, schedule.sizes] * schedule.rounds,
    ]
    for share, columns in ((schedule.medians, schedule.searched), (schedule.histograms, schedule.unknown)):
        assert columns or not share  # each column has its own, and there are no more than that
        parts.append(share)
    assert min(parts) >= 0
    assert abs(sum(map(Fraction, parts)) - 1) < 1e-12
    assert schedule.total == pytest.approx(1, abs=1e-12)


@settings(max_examples=300)
@given(st.floats(40, 3000), st.integers(1, 1200), st.integers(0, 1200), st.booleans(), st.booleans())
def test_columns_that_are_used_together_share_what_others_would_have(size, available, known, public, some):
    """They are looked at only if there are many more than the data can carry, and nobody asked for a few."""
    schedule = make_schedule(size, available, 5 if some else None, min(known, available), public)
    many = size >= TELLS_ALIKE and MANY_MORE * schedule.columns <= available <= MOST_COLUMNS
    assert any(schedule.common) == (many and not public and not some and known < available)
    if any(schedule.common):
        joint = together(schedule, size)
        assert_whole(joint)
        assert joint.left == pytest.approx(schedule.left, abs=1e-12)
        assert len(joint.phases) == len(joint.lengths) == len(joint.products) == joint.rounds + 1
        assert min(joint.gradient, joint.sizes, joint.quality, joint.lengths[-1], *joint.phases) > 0
        assert joint.columns == joint.searched == joint.unknown == (1 if size < 300 else 2)


@given(sizes.filter(bool), st.integers(0, 1000))
def test_parts_of_the_phases(size, columns):
    phases, products = phase_shares(size, columns)
    assert len(phases) == len(products) == 3
    assert sum(phases) == pytest.approx(1, abs=1e-12)
    assert all(0 < parts_for(share) < 1024 for share in products)


@given(sizes, st.integers(1, 300))
def test_public_rows_leave_the_choice_of_columns_and_save_their_scales(size, available):
    without, schedule = make_schedule(size, available, None), make_schedule(size, available, None, public=True)
    assert (schedule.columns, schedule.capacity) == (without.columns, without.capacity)
    assert schedule.target == without.target
    assert schedule.medians == schedule.histograms == schedule.unknown == 0
    if schedule.columns:
        assert sum(schedule.phases) > sum(without.phases)
        assert [phase / sum(schedule.phases) for phase in schedule.phases] == pytest.approx([0.10, 0.40, 0.50])
        assert schedule.products == (0.10, 0.30, 0.12)


@given(sizes, st.integers(1, 1500), st.floats(0, 1), st.booleans())
def test_columns_are_chosen_by_sides_where_all_centres_can_be_found(size, available, known, public):
    known = int(known * available)
    schedule = make_schedule(size, available, None, known, public)
    if schedule.by_sides:
        assert schedule.columns < available
        assert schedule.selection
        assert schedule.balance
        assert schedule.searched == (0 if public else available - known)
        assert schedule.medians >= schedule.searched * 170 / size**2 * (1 - 1e-12)
    else:
        assert schedule.balance == 0
        assert schedule.searched == schedule.unknown
        assert not (public and schedule.selection)  # which tell all centres


@pytest.mark.parametrize(("size", "by_sides"), [(100, False), (150, False), (200, True), (2000, True)])
def test_the_smallest_size_for_sides(size, by_sides):
    assert make_schedule(size, 30, 5).by_sides is by_sides


@pytest.mark.parametrize(
    ("size", "columns"), [(39.9, 0), (40, 3), (100, 3), (200, 7), (390, 14), (400, 14), (1000, 26), (1e7, 1000)]
)
def test_columns_that_the_data_can_carry(size, columns):
    """In proportion to S while it is small, then to its power of 2/3; three at least."""
    assert make_schedule(size, 2000, None).columns == columns


def test_a_constant_is_mostly_a_mean_and_a_median():
    little, more = make_schedule(39.0, 10, None), make_schedule(150.0, 0, None)
    assert little.target_mean > 0.6 > 3 * max(little.target_median, little.target_distance)
    assert little.target_distance > little.target_near > 0 == little.target_histogram
    assert more.target_mean > 0.6 > more.target_histogram == 0.27
    assert more.target_distance == more.look == 0
