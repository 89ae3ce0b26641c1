"""Does the choice of features explain the signs that still differ from the published ones?

    python benchmarks/paper_selection.py DATA

Takes the medians at k = 5 of results/paper-as-published/ (with the published ridge and perturbed data) whose sign
differs from the paper's, and repeats their trials with other features; writes selection.json beside them.

- L- methods: chosen by votes as in the published code. The Lasso stops after 1000 rounds and its penalty falls on the
  intercept too; every group votes for k columns, if need be for some whose coefficient is 0. Groups have d records as
  in that code, or k + 1 as with us.
- K- methods: chosen without noise.
"""

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso
from sklearn.metrics import r2_score

from privreg import DPKendall
from privreg.estimators.methods import with_published_ridge
from privreg.paper import make_method
from privreg.paper.datasets import DataSet, find, load, published
from privreg.paper.results import COMPARED, Results, as_json
from privreg.paper.results import load as load_results
from privreg.paper.trials import JITTER

RESULTS = Path(__file__).resolve().parents[1] / "results" / "paper-as-published"
K, TRIALS, EPSILON = 5, 10, log(3)
SELECTION = 0.05 * EPSILON
VOTES = {"votes, groups of d": 0, f"votes, groups of {K + 1}": K + 1}


def other_signs(results: Results) -> list[tuple[int, str]]:
    """(task, method) of the selecting methods whose sign differs."""
    differ = results.signs(K, reference=True)["differ"]
    return [(row["task"], row["method"]) for row in differ if row["method"] in COMPARED]


def votes(X: Any, y: Any, group: int, rng: np.random.Generator) -> Any:
    """How many groups have a column among their k largest coefficients."""
    rows = np.column_stack([X, np.ones(y.size)])
    order = rng.permutation(y.size)
    counts = np.zeros(X.shape[1])
    for i in range(y.size // group):
        part = order[i * group : (i + 1) * group]
        model = Lasso(fit_intercept=False, max_iter=1000).fit(rows[part], y[part])
        counts[np.argsort(np.abs(model.coef_[:-1]))[-K:]] += 1
    return counts


def score(data: DataSet, task: int, method: str, way: str, trial: int) -> float:
    """R² of one trial with the features chosen that way; splits and perturbation as in the run."""
    rng = np.random.default_rng([0, task, trial])
    train, test = data.split(rng)
    X = data.X + rng.uniform(-JITTER, JITTER, data.X.shape)
    if way in VOTES:
        counts = votes(X[train], data.y[train], VOTES[way] or data.d, rng)
        chosen = np.argsort(counts + rng.gumbel(scale=2 * K / SELECTION, size=counts.size))[-K:]
        rest = 0.9 * EPSILON
    else:
        chosen = DPKendall(K, 1e6, n_jobs=1, random_state=trial).fit(X[train], data.y[train]).ranking_
        rest = 0.95 * EPSILON
    chosen = np.sort(chosen)
    regression = with_published_ridge(method).split("-", 1)[1]
    model = make_method(regression, epsilon=rest, n_jobs=1, random_state=trial).fit(X[train][:, chosen], data.y[train])
    if not getattr(model, "released_", True):
        return -np.inf
    return float(r2_score(data.y[test], model.predict(X[test][:, chosen])))


def median(case: tuple[Path, int, str, str]) -> float:
    file, task, method, way = case
    warnings.simplefilter("ignore")
    data = load(file)
    return float(np.median([score(data, task, method, way, trial) for trial in range(TRIALS)]))


def main(folder: Path) -> None:
    files, results = find(folder), load_results(RESULTS)
    cases = [
        (files[task], task, method, way)
        for task, method in other_signs(results)
        for way in (VOTES if method.startswith("L") else ["without noise"])
    ]
    with ProcessPoolExecutor() as pool:
        medians = list(pool.map(median, cases))
    found: dict[str, dict[str, Any]] = {}
    for (_, task, method, way), value in zip(cases, medians, strict=True):
        row = found.setdefault(f"{task} {method}", {"published": as_json(published(K)[task][method])})
        row[way] = as_json(value)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (RESULTS / "selection.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
