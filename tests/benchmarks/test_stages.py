"""Benchmarks that reach into the method: they must not name what is gone."""

import pytest

import flagship
import scaling_stages


def test_ablations_change_constants_that_there_are():
    assert len(flagship.ablations()) > 20


@pytest.mark.parametrize("last", [False, True])
def test_stages_time_the_phases_that_a_fit_has(last):
    task = scaling_stages.phase(4, last)
    assert (len(task.theta), len(task.design.terms), task.last) == (5, 4, last)
    assert (task.clips.size > 1) == last
