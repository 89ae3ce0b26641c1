"""The paper's data sets and published numbers are those of the paper."""

import csv

import numpy as np
import pytest

from paper_runs import trial_of
from places import SHARED
from privreg.estimators.methods import REGISTRY, make_method
from privreg.paper.datasets import find, kind, load, published, tasks
from privreg.paper.trials import run_trial

PUBLIC = SHARED / "paper"


def test_further_names_are_settings_of_the_seven():
    assert make_method("K-Tukey-strict", k=3).calibration == "strict"
    assert make_method("Tukey-strict").calibration == "strict"
    assert make_method("BAS-reference").ridge == "reference"
    assert make_method("L-BAS-reference").ridge == "reference"
    assert make_method("K-Tukey").calibration == "paper"
    assert make_method("PrivateLinearRegression", k=3, epsilon=2.0).get_params()["k"] == "auto"
    assert {m for m in REGISTRY if REGISTRY[m].selects} == {m for m in REGISTRY if m[1] == "-"}


def test_catalogue_and_published_tables_are_those_of_the_paper():
    if not PUBLIC.is_dir():
        pytest.skip("the paper is not on this machine")
    rows = list(csv.DictReader((PUBLIC / "datasets.csv").read_text().splitlines()))
    assert [(int(r["task_id"]), int(r["n"]), int(r["d"])) for r in rows] == [(t.id, t.n, t.d) for t in tasks().values()]
    for k in (5, 10):
        rows = list(csv.DictReader((PUBLIC / f"results_k{k}.csv").read_text().splitlines()))
        expected = {int(r.pop("task_id")): {m: float(v) for m, v in r.items()} for r in rows}
        assert published(k) == expected
    assert published(7) == {}


def test_the_papers_data_sets_have_the_published_size_and_fit(real_data):
    """17 complete ones; least squares agrees with the published NonDP column where it is stable."""
    found = find(real_data)
    complete = {}
    for task, file in found.items():
        table = load(file)
        if kind(task, file, table.y.size, table.d) == "complete":
            complete[task] = table, file
    assert len(complete) == 17
    assert len(found) == 22
    for task in (361072, 361073, 361074, 361076, 361087, 361089, 361093, 361094, 361098, 361099, 361102):
        table, file = complete[task]
        scores = [run_trial(trial_of(file, task=task, trial=t), lambda _: table, 1)["r2"] for t in range(5)]  # noqa: B023
        assert np.median(scores) == pytest.approx(published(5)[task]["NonDP"], abs=0.03), task
