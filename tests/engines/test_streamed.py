"""Tables in Parquet files, larger than memory for all that the code knows: the same bits as in memory.

Statistics are exact integers, so with the same seed everything released is equal, whatever the files, the row groups,
the parts that are made of them and the number of threads.
"""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg import (
    DPKendall,
    ParquetTable,
    PrivateLinearRegression,
    TukeyRegression,
    load_model,
)
from privreg.engines import parquet as parquet_engine
from privreg.engines import parts as on_part
from privreg.engines.base import TARGET, Derived, runs_of_groups
from privreg.engines.streamed import Spill, StreamedRanks, spill_folder
from privreg.errors import SchemaError
from privreg.kernels.ranks import rank_column
from public_tables import public_engine
from tables_on_disk import ESTIMATORS, TOWNS, assert_same, fitted, make_frame, write_parts


@pytest.fixture(scope="module")
def frame():
    return make_frame(6000)


@pytest.fixture(scope="module")
def tables(frame, tmp_path_factory):
    """The same table in two ways: one file, and many files with row groups of very different sizes."""
    folder = tmp_path_factory.mktemp("tables")
    one = write_parts(frame.drop(columns="person"), folder / "one", [0, 6000], [10**6])
    cuts = [0, 1, 700, 701, 2500, 2500, 6000]
    return {"one": one, "many": write_parts(frame.drop(columns="person"), folder / "many", cuts, [500, 90, 10**6])}


@pytest.mark.parametrize(("files", "part_rows", "jobs"), [("one", 2**18, 1), ("many", 1, 3)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_files_give_the_bits_of_memory(name, files, part_rows, jobs, frame, tables, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", part_rows)
    features = frame.drop(columns=["y", "person"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that Tukey releases nothing, if so
        expected = ESTIMATORS[name]().fit(features, frame["y"])
        got = ESTIMATORS[name]().set_params(n_jobs=jobs).fit(tables[files], "y")
    assert_same(fitted(expected), fitted(got))
    assert list(got.feature_names_in_) == list(features.columns)
    assert got.n_features_in_ == features.shape[1]
    if hasattr(got, "predict") and name not in ("BAS", "L-BAS"):  # whose last digits depend on BLAS
        np.testing.assert_array_equal(got.predict(tables[files]), expected.predict(features))
    elif hasattr(got, "predict"):
        np.testing.assert_allclose(got.predict(tables[files]), expected.predict(features), rtol=1e-12)
    else:
        np.testing.assert_array_equal(got.transform(tables[files]), expected.transform(features))


@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_people(rows_per_person, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    table = write_parts(frame, tmp_path / "data", [0, 2000, 2001, 6000], [700, 5000])
    options = {"epsilon": 3.0, "rows_per_person": rows_per_person, "random_state": 5}
    expected = PrivateLinearRegression(**options)
    expected.fit(frame.drop(columns=["y", "person"]), frame["y"], groups=frame["person"])
    got = PrivateLinearRegression(**options).fit(table, "y", groups="person")
    assert_same(fitted(expected), fitted(got))
    assert "person" not in got.feature_names_in_
    assert got.receipt_.unit == expected.receipt_.unit


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(0, 30),
    cuts=st.lists(st.integers(0, 30), max_size=3),
    group=st.integers(3, 20),
    part=st.integers(1, 30),
    seed=st.integers(0, 9),
)
def test_every_statistic_is_the_same(tmp_path_factory, n, cuts, group, part, seed):
    """Sums, ranks, rounded rows and groups: against the records in memory."""
    frame = make_frame(n, seed).drop(columns=["person"])
    table = write_parts(frame, tmp_path_factory.mktemp("t") / "d", [0, *sorted(min(c, n) for c in cuts), n], [group])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_engine, "PART_ROWS", part)
        streamed = public_engine(table, "y", categories={"town": TOWNS}, n_jobs=2)
    memory = public_engine(frame.drop(columns="y"), frame["y"], n_jobs=1)
    assert streamed.names == memory.names
    assert streamed.n_records == memory.n_records
    rng = np.random.default_rng(seed)
    for a, b in ((streamed, memory), [r.subset(np.arange(0, memory.n_records, 2)) for r in (streamed, memory)]):
        assert a.totals([(TARGET, len), (0, np.size)]) == [b.n_records] * 2
        assert a.total(_products, [0, 2, 7]).tolist() == b.total(_products, [0, 2, 7]).tolist()
        wanted, columns, rankings = Derived(_first_less_target, (3,)), list(range(len(b))), (a.ranking(), b.ranking())
        for pivot in (TARGET, 4, wanted):
            got, expected = (ranking.concordance(pivot, columns) for ranking in rankings)
            np.testing.assert_array_equal(got, expected)
        order = rng.permutation(b.n_records)
        bounds = np.array([0, *sorted(rng.integers(0, b.n_records + 1, 3)), b.n_records - (b.n_records > 2)])
        bounds = np.maximum.accumulate(bounds)
        got, expected = (np.concatenate([*r.over_groups(order, bounds, _sums)]) for r in (a, b))
        np.testing.assert_array_equal(got, expected)
        rounded = [r.rounded(_thousandths, len(b)).total(_weighted) for r in (a, b)]
        np.testing.assert_array_equal(*rounded)


def _products(block):
    values = np.rint(np.clip(np.array(block.values), -9, 9) * 100).astype(np.int64)
    return values @ values.T


def _first_less_target(block):
    return block.values[0] - block.target


def _sums(rows, target, bounds):
    """In the order of the rows, which a floating-point sum shows."""
    return np.array([[float(i), rows[a:b].sum(), target[a:b].sum()] for i, (a, b) in enumerate(pairwise(bounds))])[
        :, 1:
    ]


def _thousandths(rows):
    return np.rint(np.clip(rows, -9, 9) * 1000).astype(np.int16).T.copy()


def _weighted(columns, target):
    return columns.astype(np.int64) @ np.rint(target * 10).astype(np.int64)


def test_runs_of_groups_are_spilled_and_come_back_in_order(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("privreg.engines.streamed._RUN", 300)
    monkeypatch.setattr(parquet_engine, "PART_ROWS", 1)
    table = write_parts(frame.drop(columns="person"), tmp_path / "d", [0, 4000, 6000], [333])
    expected = TukeyRegression(8.0, random_state=3).fit(frame.drop(columns=["y", "person"]), frame["y"])
    got = TukeyRegression(8.0, random_state=3).fit(table, "y")
    assert expected.released_
    assert_same(fitted(expected), fitted(got))


def test_a_table_without_rows(tmp_path):
    table = write_parts(make_frame(5).drop(columns=["person", "town"]), tmp_path / "d", [0, 0], [10])
    model = PrivateLinearRegression(random_state=0).fit(table, "y")
    assert model.selected_features_ == []
    assert model.predict(table).shape == (0,)


def test_the_model_file_is_that_of_memory(frame, tables, tmp_path):
    for i, fit in enumerate((lambda m: m.fit(frame.drop(columns=["y", "person"]), frame["y"]),
                             lambda m: m.fit(tables["many"], "y"))):  # fmt: skip
        fit(PrivateLinearRegression(2.0, random_state=1, categories={"town": TOWNS})).save(tmp_path / f"{i}.json")
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()
    model = load_model(tmp_path / "1.json")
    assert np.isfinite(model.predict(frame.drop(columns=["y", "person"]).dropna())).all()


@pytest.mark.parametrize(
    ("change", "target", "groups", "message"),
    [
        (None, None, None, "the target y is None"),
        (None, np.zeros(6000), None, "y must be the name of a column"),
        (None, "z", None, "y must be the name of a column"),
        (None, "y", "who", "groups must be the name of a column"),
        (None, "town", None, "not numeric"),
        ({"town": ["Ayr"], "nobody": ["a"]}, "y", None, "'nobody'"),
    ],
)
def test_what_is_wrong_is_said(change, target, groups, message, tables):
    model = PrivateLinearRegression(random_state=0, categories=change)
    with pytest.raises(SchemaError, match=message) as caught:
        model.fit(tables["many"], target, groups=groups)
    assert "6000" not in str(caught.value)


def test_a_table_of_text_alone(tmp_path):
    """Its levels are found, and those that are declared are taken; nothing is needed but a target of numbers."""
    word = pa.array(["a", "b", "b"] * 2000)
    y = np.arange(6000.0) % 3
    pq.write_table(pa.table({"word": word, "y": y}), tmp_path / "a.parquet", row_group_size=1000)
    table = ParquetTable(tmp_path / "a.parquet")
    memory = pd.DataFrame({"word": word.to_pandas()})
    for categories, levels in ((None, ("b", "a")), ({"word": ["c", "a", "b"]}, ("c", "a", "b"))):
        model = PrivateLinearRegression(3.0, random_state=0, categories=categories).fit(table, "y")
        assert model.schema_.columns[0].levels == levels
        assert_same(
            fitted(
                PrivateLinearRegression(3.0, random_state=0, categories=categories).fit(memory, pd.Series(y, name="y"))
            ),
            fitted(model),
        )


def test_some_columns_only(tables, frame):
    few = tables["many"].select(["x4", "x0", "y"])
    model = PrivateLinearRegression(2.0, random_state=2).fit(few, "y")
    expected = PrivateLinearRegression(2.0, random_state=2).fit(frame[["x4", "x0"]], frame["y"])
    # Records that miss a value elsewhere count here too.
    assert_same(fitted(expected), fitted(model))


def test_nothing_stays_behind(tables, tmp_path, monkeypatch):
    """Temporary files have no name: neither while they are written, nor after."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert spill_folder() == str(tmp_path)
    seen = []

    def look(_):
        seen.append(os.listdir(tmp_path))

    model = DPKendall(4, delta=1e-6, random_state=0)
    model.progress = look
    model.fit(tables["many"], "y")
    assert len(seen) > 5
    assert not any(seen)


@given(st.lists(st.tuples(st.sampled_from(["u1", "i4", "f8"]), st.integers(0, 20), st.integers(0, 3))))
def test_a_spill_gives_back_what_it_got(arrays):
    rng = np.random.default_rng(0)
    spill = Spill()
    given_ = [rng.integers(0, 100, size=(rows, columns)).astype(kind) for kind, rows, columns in arrays]
    places = [spill.write(array) for array in given_]
    for array, place in reversed(list(zip(given_, places, strict=True))):
        back = spill.read(place)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("missing", [(), ("pwrite", "preadv")])
def test_threads_share_a_spill(monkeypatch, missing):
    """Windows can neither read nor write at a place of a file without moving to it."""
    for name in missing:
        monkeypatch.delattr(os, name)
    spill = Spill()

    def there_and_back(number):
        array = np.full((37, number % 5), number)
        place = spill.write(array)
        out = np.empty_like(array)
        assert spill.read(place, out) is out
        return np.array_equal(out, array) and np.array_equal(spill.read(place), array)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(there_and_back, range(400)))
    with pytest.raises(OSError, match="has become shorter"):
        spill.read(spill.write(np.zeros(3))._replace(offset=10**9))


@pytest.mark.parametrize("values", [np.repeat([3.0, 1.0, 2.0], 4), np.arange(300.0) % 290, np.arange(70_000.0)])
def test_ranks_come_back_from_the_file(values, tmp_path):
    """One, two and four bytes a rank."""
    table = pd.DataFrame({"x": values, "y": values})
    records = public_engine(write_parts(table, tmp_path / "d", [0, len(table)], [1000]), "y", n_jobs=1)
    ranks, expected = StreamedRanks(records), rank_column(values)
    for _ in range(2):  # computed, and read
        got = ranks.load(0)
        assert got.distinct == expected.distinct
        np.testing.assert_array_equal(got.rank, expected.rank)
        np.testing.assert_array_equal(got.starts, expected.starts)


def test_what_is_shown_does_not_depend_on_the_parts(tables, monkeypatch):
    """The name of each pass, whatever the number of parts; and no number."""
    shown = {}
    for part_rows in (1, 2**18):
        monkeypatch.setattr(parquet_engine, "PART_ROWS", part_rows)
        model = PrivateLinearRegression(k=3, random_state=3, n_jobs=1)
        model.progress = shown.setdefault(part_rows, []).append
        model.fit(tables["many"], "y")
    assert shown[1] == shown[2**18]
    assert shown[1][0] == "counting the rows"
    assert shown[1].count("kinds of the columns") == 1
    assert "balance of the target" in shown[1]
    assert not any("%" in name for name in shown[1])


def test_a_file_that_goes_away_is_named(frame, tmp_path):
    table = write_parts(frame, tmp_path / "d", [0, 3000, 6000], [1000])
    (tmp_path / "d" / "part.1.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"part\.1"):
        PrivateLinearRegression(random_state=0).fit(table, "y")


def test_memory_does_not_grow_with_the_table(tmp_path):
    """A table of 240 MB is fitted with far less; were it held once, that alone would be more than is allowed."""
    n, d = 150_000, 200
    rng = np.random.default_rng(0)
    schema = pa.schema([*((f"x{j}", pa.float64()) for j in range(d)), ("y", pa.float64())])
    with pq.ParquetWriter(tmp_path / "wide.parquet", schema, use_dictionary=False) as writer:
        for _ in range(40):
            writer.write_table(pa.table(list(rng.normal(size=(d + 1, n // 40))), schema=schema))
    script = f"""
import warnings; warnings.simplefilter("ignore")
import numpy as np
from privreg import ParquetTable, PrivateLinearRegression
X = np.random.default_rng(0).normal(size=(3000, 5))
PrivateLinearRegression(k=3, random_state=0, n_jobs=2).fit(X, X.sum(axis=1))
read = lambda field: next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(field)) / 1024
before = read("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
PrivateLinearRegression(k=5, random_state=0, n_jobs=2).fit(ParquetTable({str(tmp_path / "wide.parquet")!r}), "y")
print(read("VmHWM") - before)
"""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not tell the peak of memory")
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 200


def test_runs_of_groups_are_whole_groups():
    bounds = np.array([0, 3, 3, 10, 11, 20])
    for most in (1, 4, 5, 11, 100):
        cuts = runs_of_groups(bounds, most)
        assert cuts[0] == 0
        assert cuts[-1] == 5
        assert (np.diff(cuts) > 0).all()
    assert runs_of_groups(np.array([0, 0]), 5).tolist() == [0, 1]


def test_places_are_the_inverse_of_the_order():
    assert on_part.places(np.array([2, 0, 4]), 5).tolist() == [1, -1, 0, -1, 2]
