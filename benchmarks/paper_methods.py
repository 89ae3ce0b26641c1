"""The paper's methods at k = 5 on its data sets, beside the published medians; writes benchmarks/paper_methods.json.

    python benchmarks/paper_methods.py DATA [PUBLISHED]

DATA holds `<task>_<name>.parquet` files with the label in `target`; names that end in PARTIAL or NUMONLY are skipped.
PUBLISHED is the paper's table as CSV (task_id, then a column for each method). Ten random 90/10 splits, (ln 3, 1e-5),
median test R². Noise is seeded, so the run can be repeated; a fit that released nothing counts as −inf.
"""

import csv
import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from privreg.paper import METHODS, make_method
from privreg.tables import read_table

TRIALS = 10
STRICT = {"calibration": "strict"}
# What the published runs did differently: their ridge, and features perturbed by ±1e-6 to break ties.
AS_PUBLISHED = {"ridge": "reference", "jitter": True}
JITTER = 1e-6
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    **{f"{name}, strict": (name, STRICT) for name in METHODS if "Tukey" in name},
    **{f"{name}, as published": (name, AS_PUBLISHED) for name in METHODS if name != "NonDP"},
}


def run(file: Path) -> tuple[str, dict[str, float], list[dict[str, Any]]]:
    """Median R² by variant, and what each trial of K-Tukey chose and reached."""
    import pandas as pd

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(file)
    y = frame.pop("target").to_numpy(float)
    table = read_table(frame)
    X = table.rows(np.arange(table.n_rows))
    scores: dict[str, list[float]] = {name: [] for name in VARIANTS}
    trials = []
    for trial in range(TRIALS):
        rng = np.random.default_rng(trial)
        order = rng.permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        perturbed = X + rng.uniform(-JITTER, JITTER, size=X.shape)
        for name, (method, options) in VARIANTS.items():
            settings: dict[str, Any] = {} if method == "NonDP" else {"n_jobs": 1, "random_state": trial}
            settings |= {key: value for key, value in options.items() if key != "jitter"}
            data = perturbed if "jitter" in options else X
            model = make_method(method, k=5, **settings).fit(data[train], y[train])
            released = getattr(getattr(model, "regressor_", model), "released_", True)
            scores[name].append(model.score(data[test], y[test]) if released else -np.inf)
            if name == "K-Tukey":
                chosen = ", ".join(table.names[j] for j in model.selected_features_)
                trials.append({"chosen": chosen, **_json({"R²": scores[name][-1]})})
    return file.stem, {name: float(np.median(s)) for name, s in scores.items()}, trials


def main(data: Path, published: Path | None) -> None:
    files = [f for f in sorted(data.glob("*.parquet")) if not f.stem.endswith(("_PARTIAL", "_NUMONLY"))]
    with ProcessPoolExecutor() as pool:
        runs = list(pool.map(run, files))
    ours = {name: medians for name, medians, _ in runs}
    theirs: dict[str, dict[str, float]] = {}
    if published:
        for row in csv.DictReader(published.open()):
            task = row.pop("task_id")
            theirs[task] = {name: float(value) for name, value in row.items()}
    known = [(name, row, theirs[name[:6]]) for name, row in ours.items() if name[:6] in theirs]

    def other_sign(suffix: str) -> list[str]:
        return [
            f"{name[7:]}, {m}: {row[m + suffix]:.2g}, published {paper[m]:.2g}"
            for name, row, paper in known
            for m in METHODS[1:]
            if (row[m + suffix] > 0) != (paper[m] > 0)
        ]

    summary = {
        "data sets": len(ours),
        "R² > 0, ours": {m: sum(row[m] > 0 for row in ours.values()) for m in VARIANTS},
        "R² > 0, published": {m: sum(paper[m] > 0 for _, _, paper in known) for m in METHODS if known},
        "other sign than published": other_sign(""),
        "other sign than published, with its ridge and jitter": other_sign(", as published"),
    }
    table = {
        name: {"ours": _json(row), "published": _json(theirs.get(name[:6], {})), "K-Tukey trials": trials}
        for name, row, trials in runs
    }
    Path(__file__).with_suffix(".json").write_text(
        json.dumps({"trials": TRIALS, "k": 5, "summary": summary, "table": table}, indent=1, ensure_ascii=False) + "\n"
    )
    print(json.dumps(summary, indent=1, ensure_ascii=False))


def _json(row: dict[str, float]) -> dict[str, Any]:
    return {m: v if np.isfinite(v) else str(v) for m, v in row.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
