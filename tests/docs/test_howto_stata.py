"""The how-to page "From Stata": its Python runs with a stand-in for Stata's module, its commands as they are."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stand_in_sfi
from commands import run
from pages import blocks
from places import ROOT
from privreg.data.files import FORMATS
from stand_in_sfi import SYSTEM_MISSING, Data, Matrix

ROWS = 8000
REGIONS = {1: "north", 2: "south", 3: "west"}
SAVED, PREDICT, IN_MEMORY = [b.text for b in blocks(ROOT / "docs" / "howto" / "stata.md") if b.language == "stata"]


@pytest.fixture
def stata(tmp_path, monkeypatch):
    """Data in memory: pay = 1000 + 20 age + 100 schooling + 500 in the south; some ages are missing, two ways."""
    rng = np.random.default_rng(0)
    age, schooling, region = (
        rng.integers(20, 65, ROWS),
        rng.normal(12, 3, ROWS),
        rng.choice([1, 2, 3], ROWS, p=[0.5, 0.3, 0.2]),
    )
    pay = 1000 + 20 * age + 100 * schooling + 500 * (region == 2) + rng.normal(0, 300, ROWS)
    ages = age.tolist()
    ages[::100] = [SYSTEM_MISSING, SYSTEM_MISSING * 1.001] * (ROWS // 200)
    table = {"pay": pay, "schooling": schooling, "region": region}
    variables = {name: values.tolist() for name, values in table.items()} | {"age": ages}
    monkeypatch.setattr(Data, "variables", variables, raising=False)
    monkeypatch.setattr(Data, "labels", {"region": REGIONS}, raising=False)
    monkeypatch.setitem(sys.modules, "sfi", stand_in_sfi)
    monkeypatch.chdir(tmp_path)


def save(name):
    """As Stata's `save`: labels belong to the file."""
    table = pd.DataFrame(Data.getAsDict(missingval=np.nan))
    table["region"] = pd.Categorical(table["region"].map(REGIONS), list(REGIONS.values()))
    table.to_stata(name, write_index=False)


def shell(line):
    command, _, out = line.partition(">")
    assert command.split()[0] == "privreg"
    done = run(*shlex.split(command)[1:])
    if out:
        Path(out.strip()).write_text(done.stdout, encoding="utf-8")


def run_do_file(text):
    """Blocks of Python, `save` and `shell`; the only other line of the page is `matrix list`."""
    names = {}
    for code, line in re.findall(r"^python:\n(.*?)^end$|^(\w[^\n]*)$", text, re.MULTILINE | re.DOTALL):
        word, _, rest = line.partition(" ")
        if code:
            exec(compile(code, "stata.md", "exec"), names)
        elif word == "save":
            save(rest.partition(",")[0])
        elif word == "shell":
            shell(rest)
        else:
            assert line == "matrix list private"
    return names


def test_the_how_to_page_fits_the_data_in_memory(stata, capsys):
    model = run_do_file(IN_MEMORY)["model"]
    assert "region=south" in capsys.readouterr().out
    assert {"age", "schooling", "region=south"} <= set(model.selected_features_)
    predicted, age = np.array(Data.variables["predicted"]), np.array(Data.variables["age"])
    missing = age >= SYSTEM_MISSING
    assert missing.sum() == ROWS // 100
    assert (predicted[missing] == SYSTEM_MISSING).all()
    assert np.corrcoef(predicted[~missing], np.array(Data.variables["pay"])[~missing])[0, 1] > 0.7


def test_the_how_to_page_fits_a_saved_file(stata):
    if not any(".dta" in known.ends for known in FORMATS):
        pytest.skip("files of Stata cannot be read")
    pytest.importorskip("pyreadstat")
    run_do_file(SAVED)
    run_do_file(PREDICT)
    assert len(pd.read_csv("predictions.csv")) == ROWS
    assert Matrix.columns["private"] == ["b", "se", "low", "high"]
    table = dict(zip(Matrix.rows["private"], Matrix.stored["private"], strict=True))
    assert {"age", "_intercept_"} <= set(table)
    value, error, low, high = table["age"]
    assert abs(value - 20) < 10 * error
    assert low < value < high


def test_every_command_on_the_page_has_known_options():
    page = (ROOT / "docs" / "howto" / "stata.md").read_text()
    commands = [shlex.split(line.partition(">")[0]) for line in re.findall(r"^shell privreg (.*)$", page, re.MULTILINE)]
    assert len(commands) == 2
    for command in commands:
        told = run(command[0], "--help").stdout
        assert all(word in told for word in command if word.startswith("--"))
