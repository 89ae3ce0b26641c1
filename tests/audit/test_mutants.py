"""Every privacy bug of audit/bugs is caught by the check that is named for it; without a bug none of them cries out."""

import numpy as np
import pandas as pd
import pytest

from audit.bugs import BUGS
from audit.cases import CASES
from audit.draws import wrong_laws, wrong_sources
from audit.mutants import ALL_CHECKS, OTHER, pairs_of
from audit.replay import CHECKS, check_pair
from privreg.privacy.noise import SeededNoise


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_caught(name):
    if name == "times as objects" and pd.__version__ < "3":
        pytest.skip("pandas 2 crashes the process when such times become objects")
    bug = BUGS[name]
    with bug.put_in():
        if bug.seen_by in OTHER:
            assert OTHER[bug.seen_by][1]()
        else:
            assert any(bug.seen_by in check_pair(bug.case, i).failed for i in range(pairs_of(bug.case)))


@pytest.mark.parametrize("check", [name for name in OTHER if name != "black box"])
def test_no_alarm_without_a_bug(check):
    """Of the checks that tests/audit/test_replay.py and tests/audit/test_blackbox.py do not run."""
    assert not OTHER[check][1]()


def test_bugs_are_listed_by_checks_that_exist():
    assert len(BUGS) >= 15
    assert all(bug.seen_by in ALL_CHECKS and bug.case in CASES for bug in BUGS.values())
    assert CHECKS.keys() <= ALL_CHECKS.keys()


def test_bugs_are_taken_out_again():
    with BUGS["spent afterwards"].put_in():
        assert check_pair("SubLasso", 1).failed
    assert not check_pair("SubLasso", 1).failed


def test_private_noise_has_its_law():
    assert wrong_laws(1_500) == []


def test_the_law_check_sees_a_scale_that_is_a_tenth_off(monkeypatch):
    original = SeededNoise.gaussian
    monkeypatch.setattr(SeededNoise, "gaussian", lambda self, values, scale: original(self, values, 1.1 * scale))
    assert wrong_laws(20_000, {"seeded": SeededNoise(np.random.default_rng(1))})


def test_private_fits_draw_from_opendp():
    assert wrong_sources() == []
