"""Small runs of the paper's evaluation, by the command."""

import pyarrow as pa
import pyarrow.parquet as pq

from privreg.paper.results import JOURNAL
from privreg.paper.trials import Trial


def write_table(file, n, rng, columns=6, **more):
    X = rng.normal(size=(n, columns))
    table = {f"c{j}": X[:, j] for j in range(columns)} | more
    pq.write_table(pa.table(table | {"target": X[:, 0] - X[:, 1] + rng.normal(size=n) / 4}), file)


def command(data, out, *more):
    """What is typed after `privreg`. One worker process unless more are asked for: each takes seconds to start."""
    words = ["paper", "run", "--data", data, "--out", out, "--trials", "3", "--k", "5", "--jobs", "1"]
    return [*words, "--methods", "NonDP,K-Tukey,PrivateLinearRegression", *more]


def lines(out):
    return [line for line in (out / JOURNAL).read_text().splitlines() if '"task"' in line]


def trial_of(file, **changes):
    values = {"task": 7, "file": file, "method": "NonDP", "k": None, "epsilon": None, "trial": 0, "delta": 1e-5}
    return Trial(**(values | {"seed": 0, "jitter": False} | changes))
