"""Every privacy bug of audit/bugs is caught by the check that is named for it; without a bug none of them cries out."""

import numpy as np
import pytest

from audit.bugs import BUGS
from audit.draws import wrong_laws, wrong_sources
from audit.mutants import ALL_CHECKS, OTHER, PAIRS
from audit.replay import CHECKS, check_pair
from privreg.privacy.noise import SeededNoise


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_caught(name):
    bug = BUGS[name]
    with bug.put_in():
        if bug.seen_by in OTHER:
            assert OTHER[bug.seen_by][1]()
        else:
            assert any(bug.seen_by in check_pair(bug.case, i).failed for i in range(PAIRS))


@pytest.mark.parametrize("check", [name for name in OTHER if name != "black box"])
def test_no_alarm_without_a_bug(check):
    """Of the checks that tests/test_replay.py and tests/test_blackbox.py do not run."""
    assert not OTHER[check][1]()


def test_bugs_are_gone_afterwards():
    before = {name: dict(vars(bug)) for name, bug in BUGS.items()}
    assert len(before) >= 15
    assert all(bug.seen_by in ALL_CHECKS for bug in BUGS.values())
    assert CHECKS.keys() <= ALL_CHECKS.keys()
    assert not check_pair("SubLasso", 1).failed


def test_private_noise_has_its_law():
    assert wrong_laws(1_500) == []


def test_the_law_check_sees_a_scale_that_is_a_tenth_off(monkeypatch):
    original = SeededNoise.gaussian
    monkeypatch.setattr(SeededNoise, "gaussian", lambda self, values, scale: original(self, values, 1.1 * scale))
    assert wrong_laws(20_000, {"seeded": SeededNoise(np.random.default_rng(1))})


def test_private_fits_draw_from_opendp():
    assert wrong_sources() == []
