"""Who is one person: the same key is an equivalence relation, the same for every kind of column and engine."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg import ParquetTable, PrivateLinearRegression, SchemaError
from privreg.data.identities import key
from privreg.data.tables import read_identities
from privreg.engines.parquet import parquet_identities

MERGING = [2**126 + j * (2**61 - 1) for j in range(4000)]  # with the hash of the float 2¹²⁶

numbers = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70).map(float),
    st.floats(),
    st.booleans(),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats(width=16).map(np.float16),
    st.floats().map(np.longdouble),
    st.sampled_from([True, np.True_, 0.0, -0.0, 2.0**126, *MERGING[:3], Decimal("sNaN"), Decimal("-0"), Decimal(1)]),
    st.decimals(),
    st.fractions(),
)
others = st.one_of(
    st.none(),
    st.text(),
    st.sampled_from(["1", "n1", "b1", "", "\ud800", "\0", b"1", b"", b"\xff", pd.NA, pd.NaT, np.nan, UUID(int=1)]),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(),
    st.times(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([np.datetime64(1, u) for u in ("Y", "M", "D", "s", "ns", "as")] + [np.timedelta64("NaT")]),
    st.sampled_from([pd.Timestamp(1), pd.Timestamp(1, tz="Asia/Tokyo"), pd.Timedelta(1), object(), np.zeros(2), print]),
)
ids = st.recursive(numbers | others, lambda inner: st.tuples(inner, inner), max_leaves=4)


def same_people(codes):
    """Which pairs of rows belong together."""
    return {(i, j) for i, j in combinations(range(len(codes)), 2) if codes[i] == codes[j] >= 0}


@given(st.lists(ids, max_size=30), st.randoms())
@settings(max_examples=300, deadline=None)
def test_one_more_identifier_and_their_order_change_nobody_else(values, random):
    """The relation between two rows depends on these two rows alone."""
    codes = read_identities(values)
    assert codes.shape == (len(values),)
    assert same_people(codes) == {
        (i, j) for i, j in combinations(range(len(values)), 2) if key(values[i]) == key(values[j]) is not None
    }
    assert same_people(read_identities(values[1:])) == {(i - 1, j - 1) for i, j in same_people(codes) if i}
    order = random.sample(range(len(values)), len(values))
    shuffled = read_identities([values[i] for i in order])
    place = {row: i for i, row in enumerate(order)}
    assert same_people(shuffled) == {tuple(sorted((place[i], place[j]))) for i, j in same_people(codes)}
    assert ((codes == -1) == [key(v) is None for v in values]).all()


@given(numbers, numbers)
@settings(max_examples=500, deadline=None)
def test_numbers_are_one_person_if_their_exact_values_are_equal(one, two):
    def value(number):
        number = number.item() if isinstance(number, np.generic) and not isinstance(number, np.longdouble) else number
        if isinstance(number, bool | Decimal | Fraction) or not np.isfinite(float(number)):
            return None
        return Fraction(*number.as_integer_ratio())

    if None not in (value(one), value(two)):
        assert (key(one) == key(two)) == (value(one) == value(two))


def test_kinds_are_apart():
    apart = [1, True, "1", b"1", Decimal(1), 1.5, "n1", (1,), ((1,),), (1, 1), dt.date(1970, 1, 2), UUID(int=1)]
    apart += [dt.datetime(1970, 1, 2), dt.datetime(1970, 1, 2, tzinfo=dt.UTC), dt.timedelta(1), dt.time(1), np.inf]
    apart += ["a=b", "é", "e\u0301", ("1", 1), ("11",), ("1", "1"), Decimal("Infinity"), Decimal("1.5"), -np.inf]
    assert len({key(value) for value in apart}) == len(apart)
    assert None not in map(key, apart)


def test_the_same_person_in_other_words():
    instant = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    for one, two in [
        (2**126, 2.0**126),
        (0.0, -0.0),
        (np.int8(1), np.longdouble(1)),
        (Decimal("1.0"), Decimal("1.00")),
        (Decimal("-0"), Decimal(0)),
        (instant, pd.Timestamp("2020-01-01 21:00", tz="Asia/Tokyo")),
        (instant.replace(tzinfo=None), np.datetime64("2020-01-01T12")),
        (dt.timedelta(hours=36), pd.Timedelta("36h")),
        (np.str_("a"), "a"),
        (np.True_, True),
        (pa.scalar(5), 5.0),
    ]:
        assert key(one) == key(two) is not None


def test_huge_identifiers_are_neither_slow_nor_an_error():
    deep = 1
    for _ in range(5000):
        deep = (deep,)
    shared = 1
    for _ in range(60):
        shared = (shared, shared)  # 2⁶⁰ parts
    values = [10**6000, -(10**6000), Decimal("1e999999999"), Decimal("1e-999999999"), "x" * 10**6, deep, shared]
    assert (read_identities(values) >= 0).tolist() == [True] * 5 + [False] * 2


def test_dictionaries_are_what_they_stand_for():
    times = pa.array([1, 2, 2**40, 1], pa.int64())
    for kind in (pa.time64("ns"), pa.timestamp("s"), pa.timestamp("s", "Europe/Berlin"), pa.duration("ns")):
        column = times.view(kind)
        assert read_identities(column.dictionary_encode()).tolist() == read_identities(column).tolist()


@pytest.mark.parametrize("last", [np.float64(2.0**126), 2.0**126, 2**126])
def test_one_person_does_not_merge_others(last):
    """Python's equality would make one person of thousands, if one more joined."""
    codes = read_identities([*MERGING, last])
    assert len(set(codes[:4000])) == 4000
    assert codes[4000] == codes[0]
    X = np.random.default_rng(0).normal(size=(4001, 1))
    counts = [
        PrivateLinearRegression(3.0, 1e-4, random_state=0).fit(X[:n], X[:n, 0], groups=[*MERGING, last][:n]).n_records_
        for n in (4000, 4001)
    ]
    assert min(counts) > 3900


def test_every_typed_column_agrees_with_its_values(tmp_path):
    """In memory by four libraries, and from Parquet: the rows that belong together are the same."""
    rng = np.random.default_rng(5)
    when = np.array(["2020-01-01", "2020-01-02", "NaT", "1700-01-01"], "M8[us]")
    columns = {
        "int8": pa.array([1, None, 2, -1], pa.int8()),
        "int64": pa.array([2**53, 2**53 + 1, None, 2**62], pa.int64()),
        "uint64": pa.array([2**63, 2**63 + 1, None, 1], pa.uint64()),
        "float64": pa.array([1.0, float("nan"), None, -0.0]),
        "float32": pa.array([0.1, 0.2, None, 1e30], pa.float32()),
        "bool": pa.array([True, False, None, True]),
        "text": pa.array(["a", "b", None, "1"]),
        "bytes": pa.array([b"a", b"b", None, b"\xff"]),
        "decimal": pa.array([Decimal("1.50"), Decimal("1.51"), None, Decimal("-1.50")]),
        "date": pa.array(when.astype("M8[D]")),
        "timestamp": pa.array(when),
        "zoned": pa.array(when).cast(pa.timestamp("us", "Asia/Tokyo")),
        "duration": pa.array(np.array([1, 2, "NaT", -1], "m8[ms]")),
        "category": pa.array(["a", "b", None, "c"]).dictionary_encode(),
    }
    rows = rng.integers(4, size=40)
    for name, values in columns.items():
        column = values.take(pa.array(rows))
        plain = values.to_pylist()
        first = [plain.index(v) if v is not None and v == v else -1 for v in plain]
        expected = same_people([first[row] for row in rows])
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"id": column}), path, row_group_size=7)
        forms = {
            "arrow": column,
            "chunks": pa.chunked_array([column.slice(0, 11), column.slice(11)]),
            "pandas on arrow": pd.Series(pd.arrays.ArrowExtensionArray(column)),
            "polars": pl.Series(column),
            "pandas": column.to_pandas(),
            "objects": column.to_pylist(),
        }
        if name in ("int64", "uint64"):
            del forms["pandas"]  # made floats of them
        for form, given_ids in forms.items():
            assert same_people(read_identities(given_ids)) == expected, (name, form)
        assert same_people(parquet_identities(ParquetTable(path), "id")) == expected, name


def test_points_in_time_that_python_cannot_hold():
    far = np.array([1, 2**62, -(2**62), 1], "M8[s]")
    for tz in (None, "UTC", "Asia/Tokyo", "America/New_York"):
        series = pd.Series(far) if tz is None else pd.Series(pd.arrays.DatetimeArray._simple_new(
            far.astype("M8[s]"), dtype=pd.DatetimeTZDtype("s", tz)
        ))  # fmt: skip
        assert read_identities(series).tolist() == [1, 2, 0, 1]
    assert read_identities(pa.array(far)).tolist() == [1, 2, 0, 1]
    assert same_people(read_identities(far)) == {(0, 3)}
    assert read_identities(np.array(["NaT", "2020"], "M8[Y]")).tolist()[0] == -1


def test_a_signalling_decimal_in_an_object_column_is_missing():
    series = pd.Series([Decimal(1), Decimal("sNaN"), Decimal("NaN"), Decimal("1.0")], dtype=object)
    assert read_identities(series).tolist() == [0, -1, -1, 0]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.period_range("2020", periods=3)),
        pd.Series(pd.interval_range(0, 3)),
        pd.Series([1j, 2j, 3j]),
        pl.Series([[1], [2], [3]]),
        pa.array([{"a": 1}, {"a": 2}, None]),
        np.array([1j, 2j, 3j]),
        np.zeros(3, "V4"),
    ],
)
def test_types_that_cannot_name_people_are_refused_by_their_type(column):
    for some in (column, column[:1], column[:0]):
        with pytest.raises(SchemaError, match="cannot tell people apart"):
            read_identities(some)
