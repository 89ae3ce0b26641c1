"""What people see while they wait: stages in plain words, and nothing that was counted."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from privreg import DPKendall, ParquetTable, PrivateLinearRegression, SchemaReader
from privreg.cli.stage_names import CHOOSING, COLUMNS, FITTING, StageNames
from privreg.paper import make_method

PASS = "fitting: pass {} of 3"
RANGES = ["finding the range of the target", "finding the ranges of the columns"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 10, 4321), "town": rng.choice(["a", "b"], 4321)})
    return X.assign(pay=2 * X["age"] + 5 * (X["town"] == "b") + rng.normal(size=4321))


def told(estimator, table, *target, work=FITTING):
    """What is shown, each stage once."""
    said = []
    estimator.set_params(progress=StageNames(said.append, work))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(table, *target)
    return list(dict.fromkeys(said))


def test_a_fit_tells_what_comes_next(table):
    passes = [PASS.format(number) for number in (1, 2, 3)]
    said = told(PrivateLinearRegression(3.0, 1e-6), table, "pay")
    assert said == [COLUMNS, FITTING, *RANGES, *passes[1:], "measuring how well the model fits", "finishing"]


def test_a_selection_and_a_schema(table):
    assert told(DPKendall(1, epsilon=3.0, delta=1e-6), table, "pay", work=CHOOSING) == [COLUMNS, CHOOSING]
    assert told(SchemaReader(3.0, 1e-6), table, work=COLUMNS) == [COLUMNS]


@pytest.mark.parametrize("method", ["BAS", "K-Tukey"])
def test_methods_of_the_paper(table, method):
    said = told(make_method(method, k=1, epsilon=3.0, delta=1e-6), table, "pay")
    assert said[:2] == [COLUMNS, FITTING]
    rounds = [f"fitting: round {number}" for number in range(1, 101)]
    assert said[2:] == (rounds if method == "BAS" else [CHOOSING, "finishing"])


def test_passes_over_a_file_are_told_with_their_stage(table, tmp_path):
    table.to_parquet(tmp_path / "table.parquet")
    said = told(PrivateLinearRegression(3.0, 1e-6), ParquetTable(tmp_path / "table.parquet"), "pay")
    assert said[0] == "reading the data"
    assert f"{COLUMNS}, reading the data" in said
    assert "fitting: pass 2 of 3, reading the data" in said
    numbers = set(re.findall(r"\d+", " ".join(said)))
    assert numbers <= {"1", "2", "3"}  # of passes: no records and no parts of the file
