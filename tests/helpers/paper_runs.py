"""Small runs of the paper's evaluation, by the command."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from privreg.cli.app import app
from privreg.paper import runner
from privreg.paper.datasets import load
from privreg.paper.results import JOURNAL
from privreg.paper.trials import Trial, run_trial


def write_table(file, n, rng, columns=6, **more):
    X = rng.normal(size=(n, columns))
    table = {f"c{j}": X[:, j] for j in range(columns)} | more
    pq.write_table(pa.table(table | {"target": X[:, 0] - X[:, 1] + rng.normal(size=n) / 4}), file)


def command(data, out, *more):
    """What is typed after `privreg`. One worker process unless more are asked for: each takes seconds to start."""
    words = ["paper", "run", "--data", data, "--out", out, "--trials", "3", "--k", "5", "--jobs", "1"]
    return [*words, "--methods", "NonDP,K-Tukey,PrivateLinearRegression", *more]


def here(*words):
    """`privreg …` without a process for the command or for its trials: each takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run_all", _one_by_one)
        return CliRunner().invoke(app, [str(w) for w in words])


def _one_by_one(trials, jobs, started):
    for trial in trials:
        started(trial)
        yield run_trial(trial, load, 1)


def lines(out):
    return [line for line in (out / JOURNAL).read_text().splitlines() if '"task"' in line]


def trial_of(file, **changes):
    values = {"task": 7, "file": file, "method": "NonDP", "k": None, "epsilon": None, "trial": 0, "delta": 1e-5}
    return Trial(**(values | {"seed": 0, "jitter": False} | changes))
