"""One table for all engines, what is fitted to it, and whether two fits are the same to the last bit."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from privreg import (
    BoostedAdaSSP,
    DPKendall,
    ParquetTable,
    PrivateLinearRegression,
    SubLasso,
    TukeyRegression,
)
from privreg.estimators.select_then_regress import SelectThenRegress

ESTIMATORS = {
    "flagship": lambda: PrivateLinearRegression(2.0, random_state=3),
    "flagship, k = 3": lambda: PrivateLinearRegression(k=3, random_state=3),
    "flagship, on samples": lambda: PrivateLinearRegression(k=3, max_rows_for_selection=1500, random_state=3),
    "flagship, a constant": lambda: PrivateLinearRegression(0.001, random_state=3),
    "DPKendall": lambda: DPKendall(4, delta=1e-6, random_state=3),
    "SubLasso": lambda: SubLasso(4, delta=1e-6, random_state=3),
    "BAS": lambda: BoostedAdaSSP(rounds=5, random_state=3),
    "Tukey": lambda: TukeyRegression(8.0, random_state=3),
    "Tukey, paper": lambda: TukeyRegression(8.0, calibration="paper", random_state=3),
    "K-Tukey": lambda: SelectThenRegress("kendall", "tukey", 3, 20.0, random_state=1),
    "L-BAS": lambda: SelectThenRegress("sublasso", "adassp", 3, random_state=1),
}
TOWNS = ["Ayr", "Bath", "Cork"]


def make_frame(n, seed=0):
    """Numbers with ties, tails and holes, integers, booleans, categories, and people."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(6, n))
    frame = pd.DataFrame({f"x{j}": x[j] for j in range(6)})
    frame["x1"] = np.exp(3 * frame["x1"])
    frame["x3"] = np.rint(frame["x3"])
    frame["whole"] = rng.integers(-3, 9, n)
    frame["flag"] = rng.random(n) < 0.3
    frame["town"] = pd.Categorical.from_codes(rng.integers(-1, 3, n), TOWNS)
    frame["y"] = x[0] + 0.5 * x[2] - x[4] + 0.3 * frame["flag"] + rng.normal(size=n)
    frame.loc[frame.index[rng.random(n) < 0.01], "x2"] = np.nan
    frame.loc[frame.index[rng.random(n) < 0.01], "y"] = np.inf
    frame["person"] = rng.integers(0, max(n // 4, 1), n)
    return frame


def write_parts(frame, folder, cuts, group_rows):
    """The frame in several files, with row groups of several sizes."""
    folder.mkdir()
    for i, (a, b) in enumerate(pairwise(cuts)):
        table = pa.Table.from_pandas(frame.iloc[a:b], preserve_index=False)
        pq.write_table(table, folder / f"part.{i}.parquet", row_group_size=group_rows[i % len(group_rows)])
    return ParquetTable(folder)


def fitted(estimator):
    """Everything that a fit leaves, in a form that compares."""
    found = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name != "receipt_"}
    parts = {name: fitted(found.pop(name)) for name in ("selector_", "regressor_") if name in found}
    if hasattr(estimator, "receipt_"):  # parts of an estimator have none of their own
        found |= {"steps": estimator.receipt_.steps, "private": estimator.receipt_.private}
    return found | parts


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        if isinstance(a[name], dict):
            assert_same(a[name], b[name])
        elif isinstance(a[name], np.ndarray | float):  # NaN equals NaN
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)
        elif name == "model_":
            assert (a[name].target, a[name].terms) == (b[name].target, b[name].terms)
            np.testing.assert_array_equal(a[name].theta, b[name].theta)
            assert a[name].to_dict()["estimates"] == b[name].to_dict()["estimates"]
        else:
            assert a[name] == b[name], name
