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

TRIALS = 10
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in METHODS},
    "Tukey, strict": ("Tukey", {"calibration": "strict"}),
    "L-Tukey, strict": ("L-Tukey", {"calibration": "strict"}),
    "K-Tukey, strict": ("K-Tukey", {"calibration": "strict"}),
    "BAS, reference ridge": ("BAS", {"ridge": "reference"}),
    "L-BAS, reference ridge": ("L-BAS", {"ridge": "reference"}),
    "K-BAS, reference ridge": ("K-BAS", {"ridge": "reference"}),
}


def run(file: Path) -> tuple[str, dict[str, float]]:
    import pandas as pd

    warnings.simplefilter("ignore")
    frame = pd.read_parquet(file)
    y = frame.pop("target").to_numpy(float)
    scores: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for trial in range(TRIALS):
        order = np.random.default_rng(trial).permutation(len(y))
        test, train = order[: len(y) // 10], order[len(y) // 10 :]
        for name, (method, options) in VARIANTS.items():
            seeded: dict[str, Any] = {} if method == "NonDP" else {"n_jobs": 1, "random_state": trial}
            model = make_method(method, k=5, **options, **seeded).fit(frame.iloc[train], y[train])
            released = getattr(getattr(model, "regressor_", model), "released_", True)
            scores[name].append(model.score(frame.iloc[test], y[test]) if released else -np.inf)
    return file.stem, {name: float(np.median(s)) for name, s in scores.items()}


def main(data: Path, published: Path | None) -> None:
    files = [f for f in sorted(data.glob("*.parquet")) if not f.stem.endswith(("_PARTIAL", "_NUMONLY"))]
    with ProcessPoolExecutor() as pool:
        ours = dict(pool.map(run, files))
    theirs: dict[str, dict[str, float]] = {}
    if published:
        for row in csv.DictReader(published.open()):
            task = row.pop("task_id")
            theirs[task] = {name: float(value) for name, value in row.items()}
    table = {name: {"ours": _json(row), "published": _json(theirs.get(name[:6], {}))} for name, row in ours.items()}
    positive = {m: sum(row[m] > 0 for row in ours.values()) for m in VARIANTS}
    rows = [theirs[name[:6]] for name in ours if name[:6] in theirs]
    summary = {
        "data sets": len(ours),
        "R² > 0, ours": positive,
        "R² > 0, published": {m: sum(row[m] > 0 for row in rows) for m in METHODS if rows},
        "other sign than published": [
            f"{name} {m}: {row[m]:.3g}, published {theirs[name[:6]][m]:.3g}"
            for name, row in ours.items()
            for m in METHODS
            if name[:6] in theirs and (row[m] > 0) != (theirs[name[:6]][m] > 0)
        ],
    }
    Path(__file__).with_suffix(".json").write_text(
        json.dumps({"trials": TRIALS, "k": 5, "summary": summary, "table": table}, indent=1, ensure_ascii=False) + "\n"
    )
    print(json.dumps(summary, indent=1, ensure_ascii=False))


def _json(row: dict[str, float]) -> dict[str, Any]:
    return {m: v if np.isfinite(v) else str(v) for m, v in row.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
