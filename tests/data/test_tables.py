"""The door for data: four kinds of table give the same columns, and only the schema can raise."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg.data.schema import Schema, declared_columns
from privreg.data.tables import read_table, read_target
from privreg.engines.base import OpenOptions
from privreg.engines.registry import open_source
from privreg.errors import SchemaError
from public_tables import array_engine, public_table

LEVELS = ["low", "mid", "high"]


COLOURS = ["mid", None, "high", "mid"]


def as_pandas():
    return pd.DataFrame(
        {
            "f": [1.5, np.nan, 3.0, np.inf],
            "i": pd.array([1, 2, None, 4], dtype="Int64"),
            "b": pd.array([True, False, None, True], dtype="boolean"),
            "c": pd.Categorical(COLOURS, categories=LEVELS),
        }
    )


def as_polars():
    return pl.DataFrame(
        {
            "f": [1.5, None, 3.0, float("inf")],
            "i": [1, 2, None, 4],
            "b": [True, False, None, True],
            "c": pl.Series(COLOURS, dtype=pl.Enum(LEVELS)),
        }
    )


def as_arrow():
    codes = pa.array([None if c is None else LEVELS.index(c) for c in COLOURS], pa.int8())
    return pa.table(
        {
            "f": pa.array([1.5, None, 3.0, float("inf")]),
            "i": pa.array([1, 2, None, 4]),
            "b": pa.array([True, False, None, True]),
            "c": pa.DictionaryArray.from_arrays(codes, LEVELS),
        }
    )


FRAMES = {"pandas": as_pandas, "polars": as_polars, "arrow": as_arrow}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_become_the_same_columns(kind):
    table = public_table(FRAMES[kind]())
    assert table.names == ["f", "i", "b=True", "c=mid", "c=high"]
    nan = np.nan
    expected = [
        [1.5, nan, 3.0, np.inf],
        [1, 2, nan, 4],
        [1, 0, nan, 1],
        [1, nan, 0, 1],
        [0, nan, 1, 0],
    ]
    for j, values in enumerate(expected):
        np.testing.assert_array_equal(table[j], values)
        assert table[j].dtype == np.float64
    np.testing.assert_array_equal(table.rows(np.array([3, 0])), np.array(expected).T[[3, 0]])
    assert table.complete().tolist() == [True, False, False, False]
    full = public_table(FRAMES[kind](), full=True)
    assert full.names == ["f", "i", "b=False", "b=True", "c=low", "c=mid", "c=high"]
    np.testing.assert_array_equal([full[2], full[4]], [[0, 1, nan, 0], [0, nan, 0, 0]])


@pytest.mark.parametrize("kind", FRAMES)
def test_levels_come_from_the_declaration_not_the_data(kind):
    """The level that no record has is there; so is the one that only a dropped record has."""
    frame = FRAMES[kind]()
    one_row = frame[:1] if kind != "arrow" else frame.slice(0, 1)
    none = frame[:0] if kind != "arrow" else frame.slice(0, 0)
    names = ["f", "i", "b=True", "c=mid", "c=high"]
    assert public_table(one_row).names == public_table(frame).names == public_table(none).names == names


@pytest.mark.parametrize("kind", ["pandas", "pandas object", "polars", "arrow"])
def test_declared_levels_of_text_and_codes(kind):
    data = {"s": ["x", "y", "other", None], "n": [1, 2, 1, 3]}
    frame = {
        "pandas": lambda: pd.DataFrame(data),
        "pandas object": lambda: pd.DataFrame({"s": pd.Series(data["s"], dtype=object), "n": data["n"]}),
        "polars": lambda: pl.DataFrame(data),
        "arrow": lambda: pa.table(data),
    }[kind]()
    levels = {"s": ["y", "x"], "n": [1, 2]}
    table = public_table(frame, levels)
    assert table.names == ["s=x", "n=2"]
    assert table.complete().tolist() == [True, True, True, False]  # an undeclared level counts as the reference
    np.testing.assert_array_equal(table[0], [1, 0, 0, np.nan])
    np.testing.assert_array_equal(table[1], [0, 1, 0, 0])
    full = public_table(frame, levels, full=True)
    assert full.names == ["s=y", "s=x", "n=1", "n=2"]
    assert full.complete().tolist() == [True, True, False, False]  # and as missing where there is no reference
    np.testing.assert_array_equal(full[1], [1, 0, np.nan, np.nan])
    np.testing.assert_array_equal(full[2], [1, 0, 1, np.nan])


def test_odd_objects_in_a_declared_column_are_missing_values():
    odd = pd.Series(["x", np.array([1, 2]), {"a": 1}, 3.5, None], dtype=object)
    table = public_table(pd.DataFrame({"s": odd}), {"s": ["x", "y"]}, full=True)
    assert table.complete().tolist() == [True, False, False, False, False]
    table = public_table(pd.DataFrame({"s": odd}), {"s": ["x", "y"]})
    assert table.complete().tolist() == [True, False, False, True, False]  # 3.5 is a value


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, 2], [3, 4]], np.int8),
        np.array([[True, False], [False, True]]),
        np.array([[1.5, 2], [3, 4]], np.float32),
        np.array([[1, 2], [3, 4]], np.uint64),
        np.asfortranarray([[1.0, 2], [3, 4]]),
        [[1, 2], [3, 4]],
    ],
)
def test_arrays_are_numbers(array):
    table = public_table(array)
    assert table.names == ["x0", "x1"]
    np.testing.assert_array_equal(table[1], np.asarray(array)[:, 1].astype(float))
    assert table.complete().all()


def test_a_long_double_beyond_float64_drops_its_record():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = array_engine(np.array([[np.longdouble("1e4000")], [1.0]]), np.array([0.0, 1.0]))
    assert records.n_records == 1


def test_incomplete_records_leave_no_trace(rng):
    """Inserting unusable records anywhere changes nothing that an estimator can see."""
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    clean = array_engine(X, y)
    dirty_X, dirty_y = X.copy(), y.copy()
    for value in (np.nan, np.inf, -np.inf):
        at = rng.integers(len(dirty_y))
        row = rng.normal(size=3)
        row[rng.integers(3)] = value
        dirty_X, dirty_y = np.insert(dirty_X, at, row, axis=0), np.insert(dirty_y, at, 0.0)
        at = rng.integers(len(dirty_y))
        dirty_X, dirty_y = np.insert(dirty_X, at, 0.0, axis=0), np.insert(dirty_y, at, value)
    dirty = array_engine(dirty_X, dirty_y)
    assert dirty.n_records == 40
    np.testing.assert_array_equal(dirty.target, clean.target)
    np.testing.assert_array_equal(dirty.block(0, 3, np.empty((3, 40))), clean.block(0, 3, np.empty((3, 40))))
    np.testing.assert_array_equal(dirty.block(1, 2, np.empty((3, 40))), [X[:, 1]])
    np.testing.assert_array_equal(dirty.rows(np.array([5, 2])), X[[5, 2]])


@pytest.mark.parametrize(
    ("table", "categories", "message"),
    [
        (pd.DataFrame({"town": ["a"]}), None, r"column 'town' is text; .*categories=\{'town': \[...\]\}"),
        (pl.DataFrame({"town": ["a"]}), None, "column 'town' is text"),
        (pa.table({"town": ["a"]}), None, "column 'town' is text"),
        (pd.DataFrame({"town": pd.Series([1, "a"], dtype=object)}), None, "column 'town' is text"),
        (pl.DataFrame({"town": pl.Series(["a"], dtype=pl.Categorical)}), None, "does not list the levels"),
        (pd.DataFrame({"a": [1]}), {"b": [1]}, "'b', but the table has no such feature"),
        (pd.DataFrame({"a": [1]}), {"a": ["x"]}, "holds numbers, so the text 'x' cannot be one of its levels"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), {"a": ["x"]}, "holds dates, so the text 'x' cannot"),
        (pd.DataFrame({"a": ["x"]}), {"a": ["x", "x"]}, "declared twice"),
        (pd.DataFrame({"a": ["x"]}), {"a": []}, "without levels"),
        (pd.DataFrame({"a": ["x"]}), {"a": "xyz"}, "must be a list"),
        (pd.DataFrame({"a": [1.0]}), {"a": [1.0, float("nan")]}, "all text or all numbers"),
        (pd.DataFrame({"a": ["x"]}), {"a": ["e\u0301", "\u00e9"]}, "declared twice"),
        (pd.DataFrame({"a": ["x"]}), {"a": ["\ud800"]}, "all text or all numbers"),
        (pd.DataFrame({"a": [1]}), {"a": [10**400]}, "all text or all numbers"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "unique"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), None, "two feature columns are called '1'"),
        (pd.DataFrame(index=[0, 1]), None, "no feature columns"),
        (np.zeros((3, 0)), None, "no feature columns"),
        (np.zeros(3), None, "Expected 2D array"),
        (np.array([["a"]]), None, "not numeric"),
        (np.array([[1, None]]), None, "not numeric"),
        (np.array([[1j]]), None, "Complex"),
        (pl.DataFrame({"b": [True]}), {"b": ["x"]}, "holds booleans, so the text 'x' cannot be one of its levels"),
        (pl.LazyFrame({"a": [1]}), None, "collect"),
    ],
)
def test_schema_errors_say_what_to_do(table, categories, message):
    with pytest.raises(SchemaError, match=message):
        public_table(table, "dtype" if categories is None else categories)


def test_text_and_mixed_objects_get_the_same_words():
    """Which of the two a column is depends on single values."""
    messages = []
    for values in (["a", "b"], ["a", 1]):
        with pytest.raises(SchemaError) as caught:
            public_table(pd.DataFrame({"s": pd.Series(values, dtype=object)}))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "y",
    [
        [1, 0, 1],
        np.array([True, False, True]),
        pd.Series([1, 0, 1]),
        pd.Series([True, False, True]),
        pl.Series([1, 0, 1]),
        pa.array([1, 0, 1]),
        pa.chunked_array([[1.0], [0.0, 1.0]]),
        pd.DataFrame({"y": [1, 0, 1]}),
    ],
)
def test_targets(y):
    np.testing.assert_array_equal(read_target(y), [1, 0, 1])


def test_missing_targets_are_nan():
    for y in (pl.Series([1, None]), pa.array([1, None]), pd.Series([1, None], dtype="Int64"), [1, np.nan]):
        np.testing.assert_array_equal(read_target(y), [1, np.nan])


@pytest.mark.parametrize(
    "y", [None, np.array(["a", "b"]), pd.Series(["a"]), np.zeros((2, 2)), pd.DataFrame({"a": [1], "b": [2]})]
)
def test_unusable_targets(y):
    with pytest.raises(SchemaError):
        read_target(y)


def test_length_mismatch_does_not_tell_the_lengths():
    with pytest.raises(SchemaError, match=r"^X and y have different numbers of rows$"):
        open_source(np.zeros((12345, 1)), np.zeros(777), OpenOptions())
    with pytest.raises(SchemaError, match=r"^groups and y have different numbers of rows$"):
        open_source(np.zeros((12345, 1)), np.zeros(12345), OpenOptions(groups=np.zeros(777)))


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "make",
    [
        lambda v: pa.table({"a": pa.array(v, pa.int64())}),
        lambda v: pa.table({"a": pa.array(v, pa.uint64())}),
        lambda v: pd.DataFrame({"a": pd.array(v, dtype="int64[pyarrow]")}),
        lambda v: pd.DataFrame({"a": pd.array(v, dtype="UInt64")}),
        lambda v: pl.DataFrame({"a": v}),
        lambda v: pa.RecordBatch.from_pydict({"a": v}),
    ],
)
def test_integers_that_float64_cannot_hold_are_rounded(make):
    """pyarrow's default cast raises, and prints the value."""
    frame = make([1, BIG, 3])
    np.testing.assert_array_equal(public_table(frame)[0], [1, float(BIG), 3])
    assert public_table(frame).names == ["a"]
    np.testing.assert_array_equal(public_table(frame, {"a": [1.0, 3]})[0], [0, 0, 1])
    if not isinstance(frame, pa.RecordBatch):
        np.testing.assert_array_equal(read_target(frame["a"]), [1, float(BIG), 3])


def test_an_arrow_dictionary_must_be_the_same_in_all_chunks():
    """Chunks that were encoded one by one carry the levels of their own records."""
    first, second = (pa.table({"c": pa.array(v).dictionary_encode()}) for v in (["a", "b"], ["secret"]))
    assert public_table(first).names == ["c=b"]
    assert public_table(pa.concat_tables([first, first])).names == ["c=b"]
    for broken in (pa.concat_tables([first, second]), first.filter([False, False]), first.schema.empty_table()):
        with pytest.raises(SchemaError, match=r"does not list the levels|without levels") as caught:
            public_table(broken)
        assert "secret" not in str(caught.value)
        assert public_table(broken, {"c": ["a", "b"]}).names == ["c=b"]


def test_pandas_frames_backed_by_arrow():
    column = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), LEVELS)
    frame = pd.DataFrame({"c": pd.Series(column, dtype=pd.ArrowDtype(column.type)), "i": [1, 2, 3]}).convert_dtypes(
        dtype_backend="pyarrow"
    )
    table = public_table(frame)
    assert table.names == ["c=mid", "c=high", "i"]
    assert table.complete().tolist() == [True, False, True]


def test_a_parquet_file_of_many_row_groups_keeps_its_levels(tmp_path):
    levels = [f"level {i}" for i in range(30)]
    frame = pd.DataFrame({"c": pd.Categorical(["level 3"] * 50 + ["level 7"] * 50, categories=levels)})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=10)
    import pyarrow.parquet as pq

    for table in (pq.read_table(tmp_path / "t.parquet"), pd.read_parquet(tmp_path / "t.parquet")):
        assert public_table(table).names == [f"c={level}" for level in levels[1:]]


def test_pandas_with_numbers_as_column_names():
    frame = pd.DataFrame(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert public_table(frame).names == ["0", "1"]
    np.testing.assert_array_equal(public_table(frame)[1], [2, 4])
    assert public_table(frame, {0: [1, 3]}).names == ["0=3", "1"]
    np.testing.assert_array_equal(read_target(frame[[0]]), [1, 3])


@pytest.mark.parametrize("levels", [np.array(["x", "y"]), ("x", "y"), pd.Series(["x", "y"])])
@pytest.mark.parametrize("dtype", ["str", object])
def test_levels_of_any_sequence(levels, dtype):
    table = public_table(pd.DataFrame({"s": pd.Series(["x", "y", "x"], dtype=dtype)}), {"s": levels})
    assert table.names == ["s=y"]
    assert table[0].tolist() == [0, 1, 0]


def test_numeric_levels_in_an_object_column():
    """Text and numbers that are written alike are the same; True is written as a word."""
    values = pd.Series([1, 2.0, np.int64(2), "2", " 2.0", True, "x", None], dtype=object)
    table = public_table(pd.DataFrame({"s": values}), {"s": np.array([1, 2])})
    np.testing.assert_array_equal(table[0], [0, 1, 1, 1, 1, 0, 0, np.nan])
    full = public_table(pd.DataFrame({"s": values}), {"s": np.array([1, 2])}, full=True)
    assert full.complete().tolist() == [True] * 5 + [False] * 3


@pytest.mark.parametrize("one_more", [2, "x", None, 3.5, 2**70, [1], float("nan")])
def test_untyped_containers_raise_for_all_values_or_for_none(one_more):
    """An object column or target is refused, with the same words, whatever it holds; with levels it is accepted."""
    messages = set()
    for values in (["1", "2"], ["1", "2", one_more]):
        column = pd.Series(values, dtype=object)
        for read in (lambda c: public_table(pd.DataFrame({"s": c})), read_target):
            with pytest.raises(SchemaError) as caught:
                read(column)
            messages.add(str(caught.value))
        assert public_table(pd.DataFrame({"s": column}), {"s": [1, 2]})[0][:2].tolist() == [0, 1]
    assert len(messages) == 2
    if not isinstance(one_more, list):
        assert public_table([[1, 2], [3, one_more]]).n_rows == 2
        assert read_target([1, one_more]).size == 2


def test_booleans_with_missing_values_as_targets():
    for y in (pa.array([True, None]), pd.array([True, None], dtype="boolean"), pl.Series([True, None]), [True, None]):
        np.testing.assert_array_equal(read_target(y), [1, np.nan])


def test_masked_values_are_missing():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]])
    assert public_table(masked).complete().tolist() == [True, False]
    np.testing.assert_array_equal(read_target(masked[:, 1]), [2, np.nan])


def test_columns_of_a_frame_are_found_by_name_and_those_of_an_array_by_place():
    schema = Schema(declared_columns(["a", "b"], {"b": [1, 2]}))
    frame = pd.DataFrame({"c": ["x", "y"], "b": [2, 1], "a": [5.0, 6.0]})
    for table in (read_table(frame, schema), read_table(np.array([[5.0, 2], [6, 1]]), schema)):
        assert table.names == ["a", "b=2"]
        np.testing.assert_array_equal(table.rows(np.arange(2)), [[5, 1], [6, 0]])
    with pytest.raises(SchemaError, match=r"column 'a' is of type List.*, which cannot be used"):
        read_table(pl.DataFrame({"a": [[1]], "b": [1]}), schema)


def test_columns_that_are_left_out_are_not_looked_at():
    """Not even by their type; and their places among what is shown stay."""
    columns = declared_columns(["a", "b", "c"], {"c": ["x", "y"]})
    schema = Schema((columns[0], replace(columns[1], left_out="no use"), columns[2]))
    table = read_table(pl.DataFrame({"a": [1.0, 2.0], "b": [[1], [2]], "c": ["y", "x"]}), schema)
    assert table.names == ["a", "c=y"]
    assert table.row(2).tolist() == [1, 0]
    assert table.choose_rows([2, 0]).rows(np.arange(2)).tolist() == [[1, 1], [0, 2]]
    assert table.choose([1])[0].tolist() == [1, 0]
    array = read_table(np.array([[1.0, np.nan, 3.0]]), Schema((*schema.columns[:2], replace(columns[1], name="d"))))
    assert array.names == ["a", "d"]
    assert array.complete().all()
    assert array.row(2).tolist() == [3]


def test_features_of_an_array_that_are_chosen_keep_their_values(rng):
    X = rng.normal(size=(20, 4)).astype(np.float32)
    table = public_table(X).choose([3, 1])
    assert table.names == ["x3", "x1"]
    np.testing.assert_array_equal(table.rows(np.array([5, 0])), X[[5, 0]][:, [3, 1]])
    np.testing.assert_array_equal(table.columns([1], slice(2, 9)), [X[2:9, 1]])
    np.testing.assert_array_equal(table.block(0, 2, np.array([7, 3]), np.empty((2, 2))), X[[7, 3]][:, [3, 1]].T)
