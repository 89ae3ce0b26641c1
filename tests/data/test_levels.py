"""Levels that came with a type are data unless they are declared: one is warned before anything is spent."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg import DPKendall, Ledger, ParquetTable, PrivateLinearRegression, PublicLevelsWarning, load_model
from privreg.paper import make_method
from privreg.results.release import release_of


def test_levels_that_came_with_a_type_are_warned_of(tmp_path):
    values = ["a", "b"] * 30
    ordered = pd.CategoricalDtype(["a", "b"], ordered=True)
    frame = pd.DataFrame({"t": pd.Categorical(values), "u": pd.Series(values, dtype=ordered), "x": 1.0, "b": True})
    y = np.arange(60.0)
    model = PrivateLinearRegression(1.0, 1e-6)
    frame.to_parquet(tmp_path / "file.parquet")
    arrow = pa.table({"t": pa.array(values).dictionary_encode(), "x": y})
    cases = [(frame, y, "t, u"), (arrow, y, "t")]
    cases += [(ParquetTable(tmp_path / "file.parquet").select(["t", "u", "b", "x"]), "x", "t, u")]
    for X, y, names in cases:
        with pytest.warns(PublicLevelsWarning, match=f"The levels of {names} came with"):
            model.fit(X, y)
        assert len([text for text in model.warnings_ if text.startswith(f"The levels of {names} came with")]) == 1
        assert "Warning: The levels of" in model.summary()
        selector = DPKendall(1, 1.0)
        with pytest.warns(PublicLevelsWarning, match=names):
            selector.fit(X, y)
        assert len(selector.warnings_) == 1
        for method in ("K-BAS", "BAS"):
            other = make_method(method, 2, 1.0, 1e-6).fit(X, y)
            assert "Warning: The levels of" in other.summary()
            assert release_of(other).warnings == other.warnings_ == selector.warnings_
            other.save(tmp_path / "model.json")
            assert release_of(load_model(tmp_path / "model.json")).warnings == selector.warnings_


@pytest.mark.filterwarnings("error")
def test_declared_levels_are_not_warned_of(tmp_path):
    values, y = ["a", "b"] * 30, np.arange(60.0)
    frame = pd.DataFrame({"t": pd.Categorical(values), "b": True})
    enum = pl.DataFrame({"t": pl.Series(values, dtype=pl.Enum(["a", "b"])), "x": y})
    enum.write_parquet(tmp_path / "enum.parquet")
    model = DPKendall(1, 1.0, categories={"t": ["a", "b"]}).fit(frame, y)
    assert model.warnings_ == []
    DPKendall(1, 1.0).fit(enum, y)
    DPKendall(1, 1.0).fit(ParquetTable(tmp_path / "enum.parquet"), "x")
    DPKendall(1, 1.0).fit(frame[["b"]], y)


@pytest.mark.filterwarnings("error")
def test_a_warning_of_levels_as_an_error_comes_before_anything_is_spent(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", 3, 1e-5)
    frame, y = pd.DataFrame({"t": pd.Categorical(["a", "b"] * 30), "x": 1.0}), np.arange(60.0)
    for name in ("K-BAS", "BAS", "PrivateLinearRegression"):
        model = make_method(name, 1, 1.0, 1e-6, ledger=ledger, dataset="d")
        with pytest.raises(PublicLevelsWarning):
            model.fit(frame, y)
    assert ledger.history() == []
