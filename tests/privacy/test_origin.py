"""Where a schema comes from, in words and in files."""

import json
from dataclasses import replace

import pytest

from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace
from privreg.privacy.origin import UNKNOWN, Origin
from privreg.privacy.receipt import Receipt, unit_words

READ = Origin(8.0, 1e-6, "one record", 1, private=True, earlier=True)


def test_what_it_cost_comes_on_top():
    assert READ.sentence == (
        "Levels and counts come from an earlier release (ε = 8, δ = 1e-6, one record), whose cost comes on top."
    )
    people = replace(READ, unit=unit_words(True, 3), rows=3)
    assert "(ε = 8, δ = 1e-6, one person, at most 3 rows), whose cost comes on top." in people.sentence


def test_a_seed_protects_nothing():
    told = replace(READ, private=False).sentence
    assert told.endswith("whose noise came from a seed (random_state), so they are not protected.")
    assert "ε" not in told


def test_what_is_not_known_is_not_made_up():
    assert "not known" in UNKNOWN.sentence
    assert "ε" not in UNKNOWN.sentence


def test_the_budget_is_what_holds():
    """Not the total of the steps, which may be less and was not fixed beforehand."""
    receipt = Receipt((Laplace("count", 1, 20.0),), Budget(1.0, 1e-6), False, "one person, at most 2 rows", 2)
    assert receipt.epsilon < 1
    assert Origin.of(receipt) == Origin(1.0, 1e-6, "one person, at most 2 rows", 2, private=False)


@pytest.mark.parametrize(
    ("origin", "rows", "protects"),
    [
        (READ, 1, False),
        (UNKNOWN, 1, False),
        (replace(READ, unit="one person, at most 2 rows", rows=2), 1, True),
        (replace(READ, unit="one person, at most 2 rows", rows=2), 2, True),
        (replace(READ, unit="one person, at most 2 rows", rows=2), 3, False),
    ],
)
def test_whom_it_protects(origin, rows, protects):
    assert origin.protects_people(rows) is protects


@pytest.mark.parametrize("origin", [READ, UNKNOWN, replace(READ, private=False, earlier=False)])
def test_files(origin):
    assert Origin.from_dict(json.loads(json.dumps(origin.to_dict()))) == origin


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": -1.0},
        {"epsilon": "8"},
        {"epsilon": None},
        {"delta": 1.0},
        {"delta": None},
        {"unit": None},
        {"rows": 0},
        {"rows": 1.5},
        {"private": 1},
        {"earlier": None},
        {"more": 1},
    ],
)
def test_nonsense_is_refused(changed):
    with pytest.raises(ValueError, match=r"must|expected"):
        Origin.from_dict(READ.to_dict() | changed)
