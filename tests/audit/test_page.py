"""docs/verification.md says what the last `make audit` found, and what it found is what was promised."""

import pytest

from audit import page, results
from audit.bugs import BUGS
from audit.cases import CASES
from audit.mechanisms import MECHANISMS
from audit.mutants import ALL_CHECKS
from audit.replay import CHECKS
from places import ROOT

AUDITS = ("replay", "mutants", "bits", "blackbox", "fuzz")


def test_the_page_is_what_the_files_say():
    assert page.PAGE.read_text() == page.render()


@pytest.mark.parametrize("audit", AUDITS)
def test_results_come_from_the_whole_audit(audit):
    """Not from a shorter trial run; of single audits that were run again after it the file says so."""
    command = results.read(audit)["command"].partition(", and again")[0]
    assert command.partition(" --pairs ")[0] == f"python -m audit.{audit}"


def test_replay_found_nothing_in_thousands_of_pairs():
    found = results.read("replay")
    assert found["pairs"] >= 3_000
    assert found["wrong"] == []
    assert found["checks"].keys() == CHECKS.keys()
    assert found["cases"].keys() == CASES.keys()
    assert all(part <= 1 for case in found["cases"].values() for part in case["largest moves"].values())


def test_every_bug_was_caught():
    found = results.read("mutants")
    assert [row["bug"] for row in found["bugs"]] == list(BUGS)
    assert all(row["caught by"] for row in found["bugs"])
    assert found["checks"] == ALL_CHECKS
    assert found["alarms without a bug"] == []


def test_every_check_caught_something():
    """A check that no bug shows up in could be left out, or is broken."""
    seen = {check for row in results.read("mutants")["bugs"] for check in row["caught by"]}
    assert seen == set(ALL_CHECKS)


def test_no_bound_is_above_its_claim():
    found = results.read("blackbox")
    assert found["runs"] >= 200_000
    assert found["confidence"] >= 0.999
    assert all(0 <= row["bound"] <= row["epsilon"] for row in found["rows"])
    assert {row["noise"] for row in found["rows"]} == {"seeded", "OpenDP"}


def test_no_bit_was_wrong_and_nothing_was_found_by_fuzzing():
    assert all(not check["wrong"] for check in results.read("bits")["checks"])
    assert all(not target["findings"] for target in results.read("fuzz")["targets"].values())


def test_every_proof_and_test_is_listed():
    proofs = {proof for mechanism in MECHANISMS for proof in mechanism.proofs}
    assert proofs == {path.stem for path in (ROOT / "docs" / "proofs").glob("*.md")} - {"index"}
    for mechanism in MECHANISMS:
        for test in mechanism.tests:
            assert (ROOT / "tests" / test).is_file(), test
    audited = {row["mechanism"] for row in results.read("blackbox")["rows"]}
    stepped = {step for case in results.read("replay")["cases"].values() for step in case["largest moves"]}
    for mechanism in MECHANISMS:
        assert set(mechanism.audits) <= audited
        assert set(mechanism.steps) <= stepped
