"""`privreg plan` as a user types it."""

import json

import pytest

import privreg
from commands import refused, run

OPTIONS = {"rows": "100", "columns": "3", "epsilon": "1"}


def words(options):
    return [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]


def test_it_reads_no_data_and_prints_the_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("plan", "--rows", "300", "--columns", "3", "--epsilon", "2")
    expected = privreg.plan(300, 3, 2.0)
    head, table, *_ = result.stdout.split("\n\n")
    assert head == expected.headline
    shown = [line.split() for line in table.splitlines()]
    assert [shown[0], *shown[2:]] == [" ".join(row).split() for row in expected.cells]
    told = " ".join(result.stdout.split())
    assert expected.legend(expected.cells[0]) in told
    assert "No data was read and nothing was spent." in told
    assert list(tmp_path.iterdir()) == []


def test_it_prints_one_json_object():
    result = run("plan", "--rows", "40", "--columns", "2", "--epsilon", "0.5", "--delta", "1e-5", "--json")
    assert json.loads(result.stdout) == privreg.plan(40, 2, 0.5, 1e-5).to_dict()
    assert len(result.stdout.splitlines()) == 1


@pytest.mark.parametrize(("option", "value"), [("epsilon", "0"), ("epsilon", "-1"), ("delta", "0"), ("delta", "1")])
def test_a_wrong_budget_is_one_line(option, value):
    assert refused("plan", "--json", *words(OPTIONS | {option: value})).startswith(f"privreg plan: --{option} must be")


@pytest.mark.parametrize(
    ("option", "value"), [("rows", "-1"), ("rows", "many"), ("columns", "0"), ("epsilon", "nan"), ("epsilon", None)]
)
def test_wrong_usage_names_the_option(option, value):
    assert f"--{option}" in refused("plan", *words(OPTIONS | {option: value}))
