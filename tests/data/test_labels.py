"""Results with labels, and without pandas."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from privreg.data import labels
from privreg.data.labels import labelled_frame, labelled_series, labelled_square, row_labels


@pytest.fixture
def no_pandas(monkeypatch):
    monkeypatch.setattr(labels, "_has_pandas", lambda: False)


def test_labels():
    series = labelled_series([1.0, 2.0], ["a", "a"], "coef")
    assert (series.name, series.index.tolist(), series.tolist()) == ("coef", ["a", "a"], [1.0, 2.0])
    frame = labelled_frame({"x": [1, 2], "y": [True, False]}, ["b", "c"])
    assert frame.columns.tolist() == ["x", "y"]
    assert frame.loc["c", "x"] == 2
    square = labelled_square([[1, 2], [3, 4]], ["a", "a"])
    assert square.index.tolist() == square.columns.tolist() == ["a", "a"]
    assert labelled_square([], []).shape == (0, 0)


def test_arrays(no_pandas):
    assert labelled_series([1.0], ["a"], "coef").tolist() == [1.0]
    assert labelled_frame({"x": [1, 2], "y": [True, False]}, ["b", "c"]).tolist() == [[1, 1], [2, 0]]
    assert labelled_square([[1.0]], ["a"]).tolist() == [[1.0]]
    assert row_labels(pd.DataFrame({"x": [1]})) is None


def test_rows_keep_the_labels_of_pandas_only():
    assert row_labels(pd.DataFrame({"x": [1]}, index=["q"])).tolist() == ["q"]
    assert row_labels(pl.DataFrame({"x": [1]})) is None
    assert row_labels(np.ones((2, 2))) is None
