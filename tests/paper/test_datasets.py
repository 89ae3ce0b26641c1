"""The folder of data sets: which files are found, and how they are prepared."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paper_runs import write_table
from privreg.errors import DataError
from privreg.paper.datasets import find, kind, load, name_of


def test_files_are_found_by_name_and_a_complete_one_is_preferred(tmp_path, rng):
    for name in ("361075_isolet_PARTIAL", "361075_isolet", "361092_yprop_4_1_NUMONLY", "12_a_b", "x_1", "13"):
        write_table(tmp_path / f"{name}.parquet", 3, rng)
    found = find(tmp_path)
    assert {task: file.stem for task, file in found.items()} == {
        12: "12_a_b",
        361075: "361075_isolet",
        361092: "361092_yprop_4_1_NUMONLY",
    }
    assert [name_of(file) for file in found.values()] == ["a_b", "isolet", "yprop_4_1"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"holds no <task>_<name>\.parquet"):
        find(empty)


def test_kind_compares_with_the_published_numbers():
    assert kind(361072, Path("361072_cpu_act.parquet"), 8192, 22) == "complete"
    assert kind(361072, Path("361072_cpu_act.parquet"), 8191, 22) == "partial"
    assert kind(361072, Path("361072_cpu_act.parquet"), 8192, 21) == "partial"
    assert kind(361072, Path("361072_cpu_act_PARTIAL.parquet"), 8192, 22) == "partial"
    assert kind(5, Path("5_x.parquet"), 8192, 22) == "other"


def test_preparation_drops_missing_rows_and_keeps_every_level(tmp_path):
    file = tmp_path / "1_a.parquet"
    colours = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 2, 0], pa.int8()), ["red", "green", "blue"])
    table = {"x": pa.array([1, 2, 3, None, 5], pa.int8()), "colour": colours, "target": [1.0, 2, 3, 4, None]}
    pq.write_table(pa.table(table), file)
    data = load(file)
    assert data.names == ["x", "colour=red", "colour=green", "colour=blue"]
    assert data.X.tolist() == [[1, 1, 0, 0], [2, 0, 0, 1]]
    assert data.y.tolist() == [1, 2]
    assert data.d == 5


def test_files_that_cannot_be_used_are_named(tmp_path):
    (tmp_path / "1_a.parquet").write_text("nothing")
    with pytest.raises(DataError, match=r"1_a\.parquet cannot be read"):
        load(tmp_path / "1_a.parquet")
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "2_b.parquet")
    with pytest.raises(DataError, match=r"2_b\.parquet has no column called 'target'"):
        load(tmp_path / "2_b.parquet")
    pq.write_table(pa.table({"x": [1.0], "target": ["a"]}), tmp_path / "3_c.parquet")
    with pytest.raises(DataError, match=r"3_c\.parquet cannot be used: the target is text"):
        load(tmp_path / "3_c.parquet")


def test_two_files_for_one_task_are_named(tmp_path, rng):
    for name in ("7_a", "7_b"):
        write_table(tmp_path / f"{name}.parquet", 3, rng)
    with pytest.raises(DataError, match=r"7_a\.parquet and 7_b\.parquet are for the same task"):
        find(tmp_path)
