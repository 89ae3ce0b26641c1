"""What one record holds must not change how others are read: ways in which it once did, found in reviews."""

import datetime as dt

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from privreg import ParquetTable, SchemaReader
from privreg.data.cells import CLASSES
from privreg.data.raw import text_of, texts_of
from privreg.data.text_file import TextFile
from privreg.engines.base import OpenOptions
from privreg.engines.registry import open_source
from privreg.kernels.delimited import most_lines
from privreg.mechanisms.kinds import CountClasses


def counts(X, column, y=None):
    _, source = open_source(X, y, OpenOptions(1))
    return source.total_cells(CountClasses((column,)), [column])[0]


@pytest.mark.parametrize("size", [10**14, 10**15, 2**53 - 1, 2**53 + 1, 10**18, -(10**17)])
def test_a_missing_value_does_not_respell_large_codes(size):
    """It makes floats of pandas' integers: the codes are written as before, so that one record moves one count."""
    codes = [size + 256 * i for i in range(5)] * 4
    whole = pd.DataFrame({"c": pd.Series(codes).astype("category")})
    gap = pd.DataFrame({"c": pd.Series([*codes, None]).astype("category")})
    difference = counts(gap, "c") - counts(whole, "c")
    assert sorted(difference.tolist()) == [0] * (CLASSES - 1) + [1]
    assert text_of(size) == text_of(float(size)) == text_of(np.int64(size))


def test_in_a_partition_of_objects_too():
    codes = [10**16 + 256 * i for i in range(6)]
    parts = [pd.DataFrame({"c": codes, "y": 0.0}), pd.DataFrame({"c": [*codes, np.nan], "y": 0.0})]
    meta = pd.DataFrame({"c": pd.Series([], dtype=object), "y": pd.Series([], dtype=float)})
    frame = dd.from_map(lambda i: parts[i], range(2), meta=meta)
    assert counts(frame, "c", "y").tolist() == [1, 12, *[0] * (CLASSES - 2)]


class Day(dt.date):
    def isoformat(self):
        return "SECRET\ud800"


class Text(str):
    def encode(self, *_):
        raise RuntimeError("SECRET")


class Number(float):
    def is_integer(self):
        raise RuntimeError("SECRET")


def test_objects_of_a_class_of_ones_own():
    odd = np.array([Day(2020, 1, 2), Text("a"), Number(2.5), "b", "\ud800"], np.object_)
    assert texts_of(odd).to_pylist() == ["2020-01-02", "a", "2.5", "b", None]


@pytest.mark.parametrize(("name", "expected"), [("", -1), ("  ", -1), ("NA", -1), (" q ", 0), ("q", 0), ('" q"', 0)])
def test_people_in_text_files(tmp_path, name, expected):
    """Blanks around a name are no part of it, and a word for a missing value is nobody."""
    (tmp_path / "t.csv").write_text(f"who,x,y\nq,1,2\n{name},3,4\n")
    _, source = open_source(TextFile(tmp_path / "t.csv"), "y", OpenOptions(1, "who"))
    persons = source.row_identities()
    assert (persons[1] == persons[0]) == (expected == 0)
    assert (persons[1] < 0) == (expected < 0)


@pytest.mark.parametrize("odd", ["text", None, 5, dt.timedelta(1), dt.time(3), pd.NaT])
@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_an_odd_cell_among_the_dates_of_a_partition(odd, unit):
    days = pd.Series(pd.date_range("2001-03-04 05:06:07", periods=40, freq="37h")).astype(f"datetime64[{unit}]")
    whole = pd.DataFrame({"d": days, "y": 1.0})
    made = pd.DataFrame({"d": pd.Series([*days, odd], dtype=object), "y": 1.0})
    frame = dd.from_map(lambda i: (whole, made)[i], range(2), meta=whole[:0])
    _, source = open_source(frame, "y", OpenOptions(1))
    found = source.total_cells(Values(), ["d"])
    assert found[:40] == found[40:80]  # to the last bit
    assert np.isnan(float.fromhex(found[80]))


class Values:
    def __call__(self, cells):
        return [float(value).hex() for value in cells["d"].values]


@pytest.mark.parametrize("rows", [[], ["a"], ["b", "b"]])
def test_the_levels_of_an_enum_do_not_depend_on_rows(tmp_path, rows):
    enum = pl.Enum(["a", "b", "c;d", "é"])
    frame = pl.DataFrame({"e": pl.Series(rows, dtype=enum), "y": pl.Series([1.0] * len(rows), dtype=pl.Float64)})
    frame.write_parquet(tmp_path / "e.parquet")
    assert ParquetTable(tmp_path / "e.parquet").type_of("e").levels == ("a", "b", "c;d", "é")


def test_empty_lines_take_no_memory():
    assert most_lines(np.frombuffer(b"\n" * 10**6, np.uint8)) == 1
    assert most_lines(np.frombuffer(b"a\r\n\r\nb\nc", np.uint8)) >= 3


def test_whole_numbers_have_a_point_for_their_decimal_mark():
    """Without any mark there is nothing to tell, and noise tells it once in 160 times: 2.5 standard deviations."""
    frame = pd.DataFrame({"c": [str(i) for i in range(4000)]})
    marks = [SchemaReader(0.5, 1e-6, random_state=i).fit(frame).schema_.columns[0].mark for i in range(40, 80)]
    assert marks.count(".") >= 39
