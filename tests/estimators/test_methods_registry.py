"""A method that is entered in the registry, and nowhere else, is everywhere."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from privreg._theme import LIGHT
from privreg.cli.app import app
from privreg.errors import DataError
from privreg.estimators.methods import METHODS, REGISTRY, Method, make_method, private_methods, what_it_does
from privreg.paper.charts import sweep_chart
from privreg.paper.results import load
from privreg.paper.tables import as_latex
from toy_method import Toy

ABOUT = "It plays with noisy sums."
DATA_SETS = {7: "made_up", 8: "another"}


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    method = Method("toy", "toy_method:Toy", ABOUT, ("ridge",), label="to\ny", colour="series7")
    monkeypatch.setitem(REGISTRY, "toy", method)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(3)
    for task, name in DATA_SETS.items():
        X = rng.normal(size=(2000, 5))
        columns = {f"c{j}": X[:, j] for j in range(5)} | {"target": X[:, 0] - X[:, 1] + rng.normal(size=2000) / 4}
        pq.write_table(pa.table(columns), folder / f"{task}_{name}.parquet")
    return folder


def privreg(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_is_made_by_its_name():
    model = make_method("toy", k=3, epsilon=2.0, delta=1e-6, ridge="reference", random_state=0)
    assert type(model) is Toy
    assert (model.epsilon, model.delta, model.ridge, model.random_state) == (2.0, 1e-6, "reference", 0)
    assert what_it_does("toy") == what_it_does("Toy") == ABOUT
    assert private_methods()[-1] == "toy"
    assert "toy" not in METHODS


def test_fit_knows_it(folder, tmp_path):
    data, page = folder / "7_made_up.parquet", tmp_path / "report.html"
    fit = ("fit", data, "--target", "target", "--epsilon", 2, "--method", "toy")
    assert json.loads(privreg(*fit, "--report", page, "--json"))["method"] == "toy"
    assert f"toy. {ABOUT}" in page.read_text()
    for wrong, message in ((("--k", 3), "toy uses all columns; leave --k out"), (("--delta", 0), "delta must be")):
        refused = CliRunner().invoke(app, [str(word) for word in (*fit, *wrong)])
        assert refused.exit_code == 2
        assert message in refused.output
        assert "K-toy" not in refused.output


def test_the_evaluation_knows_it(folder, tmp_path, monkeypatch):
    """Also in its processes, which load the registry anew."""
    words = ("--methods", "toy,NonDP", "--trials", 2, "--k", 3, "--epsilon", "1,3", "--jobs", 2)
    summary = json.loads(privreg("paper", "run", "--data", folder, "--out", tmp_path, *words, "--json"))
    for task in DATA_SETS:
        cell = summary["other"]["3"][str(task)]["toy"]
        assert "error" not in cell, cell["error"]
        assert cell["median"] > 0
    files = json.loads(privreg("paper", "report", tmp_path, "--json"))["files"]
    assert "| toy " in (tmp_path / "report.md").read_text()
    assert "toy" in (tmp_path / "tables_k3.csv").read_text()
    assert "tables_k3.tex" in files
    results = load(tmp_path)
    assert r"\shortstack{\strut to\\y}" in as_latex(results, 3)
    assert {key[2] for key in results.trials} == {None}  # it does not depend on k
    monkeypatch.delitem(REGISTRY, "toy")
    with pytest.raises(DataError, match="trials of toy"):
        load(tmp_path)


def test_charts_have_its_colour():
    class Two:
        epsilons = (1.0, 3.0)

        def sweep(self, k):
            return {"toy": dict.fromkeys(self.epsilons, (0.1, 0.5, 0.9))}

    axes = sweep_chart(Two(), 5).figure.axes[0]
    assert axes.lines[-1].get_color() == LIGHT["series7"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["to\ny"]


def test_variants_are_for_the_evaluation_only():
    assert not any(name.endswith(("-strict", "-reference")) for name in private_methods())
    for method in REGISTRY.values():
        assert not method.variant_of or (method.variant_of in METHODS and method.name not in METHODS)
    assert make_method("L-Tukey-strict", calibration="paper").calibration == "strict"


def test_the_registry_loads_no_estimator():
    code = (
        "import sys, privreg.cli.app, privreg.estimators.methods as m\n"
        "m.REGISTRY['K-Tukey'].selects, m.what_it_does('BAS')\n"
        "print([n for n in ('numpy', 'sklearn', 'numba', 'opendp', 'matplotlib') if n in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
