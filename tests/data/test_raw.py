"""Raw cells: a column's type decides how they are read, each cell alone what it is, and none can fail."""

import datetime as dt
import enum
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.cells import (
    CLASSES,
    COMMA,
    DATE,
    EITHER_COMMA,
    EITHER_POINT,
    MISSING,
    POINT,
    TEXT,
    TRUTH,
    WHOLE,
    as_texts,
)
from privreg.data.raw import (
    OTHER_TYPE,
    TIME,
    ColumnType,
    Raw,
    level_text,
    levels_in_type,
    raw_of,
    text_of,
    texts_of,
    type_called,
    type_of,
)
from privreg.data.raw import TEXT as TEXTS
from privreg.data.schema import BOOLEAN, NUMBER

NAN = np.nan
DAY = dt.date(1970, 1, 3)
NOON = dt.datetime(1970, 1, 3, 12)


def read(column):
    series = nw.from_native(column, series_only=True)
    kind = type_of(series)
    return kind, raw_of(series, kind)


def arrow(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def paris(hour):
    return dt.datetime(1970, 1, 3, hour, tzinfo=dt.timezone(dt.timedelta(hours=1)))


NUMBERS = [
    (pd.Series([1, 2], dtype="int8"), [1, 2]),
    (pd.Series([1.5, None]), [1.5, NAN]),
    (pd.Series([1, None], dtype="Int64"), [1, NAN]),
    (pd.Series([1.5, None], dtype="float32"), [1.5, NAN]),
    (pd.Series([Decimal("1.50"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), [1.5, NAN]),
    (pl.Series([1, None], dtype=pl.UInt8), [1, NAN]),
    (pl.Series([Decimal("1.50"), None]), [1.5, NAN]),
    (pl.Series([None, None]), [NAN, NAN]),
    (arrow([2**63, None], pa.uint64()), [2.0**63, NAN]),
    (arrow([np.float16(1.5), None], pa.float16()), [1.5, NAN]),
    (arrow([Decimal("1.50"), None]), [1.5, NAN]),
    (pa.chunked_array([pa.nulls(2)]), [NAN, NAN]),
]
TIMES = [
    (pd.Series([NOON, None]), [2.5, NAN]),
    (pd.Series([NOON, None], dtype="datetime64[s]"), [2.5, NAN]),
    (pd.Series([paris(12), pd.NaT]), [2 + 11 / 24, NAN]),
    (pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date32())), [2, NAN]),
    (pl.Series([DAY, None]), [2, NAN]),
    (pl.Series([NOON, None]), [2.5, NAN]),
    (pl.Series([paris(12), None]).dt.convert_time_zone("Asia/Tokyo"), [2 + 11 / 24, NAN]),
    (arrow([DAY, None]), [2, NAN]),
    (arrow([DAY, None], pa.date64()), [2, NAN]),
    (arrow([NOON, None], pa.timestamp("ms")), [2.5, NAN]),
    (arrow([paris(12), None], pa.timestamp("us", "Asia/Tokyo")), [2 + 11 / 24, NAN]),
    (
        arrow([2**31 - 1, -(2**31)], pa.int32()).cast(pa.int32()).combine_chunks().view(pa.date32()),
        [2**31 - 1, -(2**31)],
    ),
]
BOOLEANS = [
    pd.Series([True, False, None], dtype="boolean"),
    pd.Series([True, False, None], dtype="bool[pyarrow]"),
    pl.Series([True, False, None]),
    arrow([True, False, None]),
]


@pytest.mark.parametrize(
    ("column", "values"),
    NUMBERS,
    ids=lambda v: "" if isinstance(v, list) else str(getattr(v, "dtype", getattr(v, "type", ""))),
)
def test_numbers(column, values):
    kind, raw = read(column)
    assert (kind, raw.kind) == (ColumnType(NUMBER, "number"), NUMBER)
    np.testing.assert_array_equal(raw.values, values)
    assert raw.values.dtype == np.float64
    lacking = int(np.isnan(values).sum())
    assert raw.class_counts().tolist() == [lacking, 0, 2 - lacking, *[0] * (CLASSES - 3)]


@pytest.mark.parametrize(("column", "values"), TIMES)
def test_times_are_days_in_greenwich(column, values):
    """A day of a calendar, or a point in time, whatever the zone it is shown in; none is too far away."""
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind, raw = read(column)
    assert (kind, raw.kind) == (ColumnType(TIME, "date"), TIME)
    np.testing.assert_array_equal(raw.values, np.array(values, float))
    assert raw.class_counts()[[MISSING, DATE]].tolist() == [
        int(np.isnan(values).sum()),
        2 - int(np.isnan(values).sum()),
    ]


@pytest.mark.parametrize("column", BOOLEANS)
def test_booleans(column):
    kind, raw = read(column)
    assert (kind, raw.kind) == (ColumnType(BOOLEAN, "boolean"), BOOLEAN)
    assert raw.values.tolist() == [1, 0, -1]
    assert raw.class_counts()[[MISSING, TRUTH]].tolist() == [1, 2]


SOME = ["b", None, "a", "b"]
TEXT_COLUMNS = {
    "text": [
        pd.Series(SOME, dtype="str"),
        pd.Series(SOME, dtype="string"),
        pd.Series(SOME, dtype="string[pyarrow]"),
        pl.Series(SOME),
        arrow(SOME),
        arrow(SOME, pa.large_string()),
        arrow(SOME).cast(pa.string_view()),
    ],
    "object": [pd.Series(SOME, dtype=object), pl.Series(SOME, dtype=pl.Object)],
    "category": [
        pd.Series(SOME, dtype="category"),
        pd.Series(pd.Categorical(SOME, categories=["z", "b", "a"], ordered=True)),
        pl.Series(SOME, dtype=pl.Categorical),
        arrow(SOME).dictionary_encode(),
        pa.chunked_array([pa.array(SOME[:2]).dictionary_encode(), pa.array(SOME[2:]).dictionary_encode()]),
        pd.Series(SOME).astype(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    ],
    "enum": [pl.Series(SOME, dtype=pl.Enum(["z", "b", "a"]))],
}


@pytest.mark.parametrize(
    ("words", "column"), [(words, column) for words, some in TEXT_COLUMNS.items() for column in some]
)
def test_text(words, column):
    kind, raw = read(column)
    assert (kind.kind, kind.words, kind.category) == (TEXTS, words, words == "category")
    assert kind.levels == (("z", "b", "a") if words == "enum" else None)
    assert raw.values.to_pylist() == SOME
    assert as_texts(raw.values).to_pylist() == SOME
    for rows in (slice(1, 3), slice(0, 0), slice(2, 99)):
        assert raw.take(rows).values.to_pylist() == SOME[rows]
    assert raw.take(np.array([True, True, False, True])).values.to_pylist() == ["b", None, "b"]
    assert raw.class_counts()[[MISSING, TEXT]].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([10, None, 7], dtype="Int64").astype("category"), ["10", None, "7"]),
        (pd.Series([10.0, None, 0.5]).astype("category"), ["10", None, "0.5"]),
        (pd.Series([True, None, False], dtype=object).astype("category"), ["True", None, "False"]),
        (pd.Series([DAY, None, 3], dtype=object).astype("category"), ["1970-01-03", None, "3"]),
        (pd.Series(pd.cut([5, np.nan, 15], [0, 10, 20])), ["(0, 10]", None, "(10, 20]"]),
        (arrow([10, None, 7]).dictionary_encode(), ["10", None, "7"]),
        (arrow([DAY, None]).dictionary_encode(), ["1970-01-03", None]),
        (arrow([b"a", None]).dictionary_encode(), [None, None]),
    ],
)
def test_categories_of_other_values_are_spelled(column, expected):
    kind, raw = read(column)
    assert kind.category
    assert raw.values.to_pylist() == expected


def test_a_dictionary_with_a_value_that_python_has_no_object_for():
    days = pa.array([0, 2**31 - 1, 0], pa.int32()).view(pa.date32())
    for column in (
        pa.chunked_array([days.dictionary_encode()]),
        arrow([2**62, 0, 1], pa.timestamp("us")).dictionary_encode(),
    ):
        assert read(column)[1].values.to_pylist().count(None) == 1


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1], None]),
        pl.Series([dt.timedelta(1), None]),
        pl.Series([dt.time(1), None]),
        pl.Series([b"a", None]),
        pl.Series([{"a": 1}, None]),
        arrow([[1], None]),
        arrow([{"a": 1}, None]),
        arrow([b"a", None]),
        pd.Series([1j, 2]),
        pd.Series(pd.to_timedelta([1, None])),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([1.0, 0], dtype="Sparse[float]"),
    ],
)
def test_types_of_no_use(column):
    assert type_of(nw.from_native(column, series_only=True)).kind == OTHER_TYPE


def test_types_do_not_depend_on_values():
    for make in (lambda v: pd.Series(v, dtype=object), lambda v: pl.Series(v, dtype=pl.Object)):
        kinds = {
            type_of(nw.from_native(make(v), series_only=True)) for v in ([], [None], ["a"], [1], [[1]], [1.5, "a"])
        }
        assert kinds == {ColumnType(TEXTS, "object")}


def test_words_of_files_for_types():
    kinds = {"number": NUMBER, "boolean": BOOLEAN, "text": TEXTS, "category": TEXTS, "nothing": NUMBER, "date": TIME}
    kinds |= {"timestamp": TIME, "list<element: int64>": OTHER_TYPE, "": OTHER_TYPE}
    assert {word: type_called(word).kind for word in kinds} == kinds
    assert [word for word in kinds if type_called(word).category] == ["category"]


def test_levels_in_types():
    def levels(column):
        return levels_in_type(nw.from_native(column, series_only=True))

    assert levels(pd.Series(pd.Categorical(["a"], categories=["c", "a"]))) == ["c", "a"]
    assert levels(arrow(["a", "b"]).dictionary_encode()) == ["a", "b"]
    both = [pa.array(v).dictionary_encode() for v in (["a"], ["b"])]
    assert levels(pa.chunked_array(both)) is None
    assert levels(pa.chunked_array(both[:1] * 2)) == ["a"]
    assert levels(pl.Series(["a"], dtype=pl.Categorical)) is None


# ---------------------------------------------------------------- cells that are Python objects


class Colour(enum.IntEnum):
    RED = 3


class Word(str):
    __slots__ = ()


class Hostile:
    """Fails at whatever one may ask of it."""

    def _fail(self, *_):
        raise ValueError("secret 48611")

    __eq__ = __ne__ = __str__ = __repr__ = __bool__ = __len__ = __iter__ = __float__ = __int__ = __array__ = _fail
    __hash__ = None


class Number(int):
    def __int__(self):
        raise ValueError("secret 48611")

    __index__ = __str__ = __repr__ = __int__


CELLS = [
    ("a", "a"),
    (" a ", " a "),
    ("", ""),
    ("NA", "NA"),  # which words stand for a missing value is told later
    ("a\0b", "a\0b"),
    (Word("w"), "w"),
    (np.str_("w"), "w"),
    ("\ud800", None),
    ("a\udfffb", None),
    (True, "True"),
    (np.False_, "False"),
    (1, "1"),
    (-7, "-7"),
    (np.int8(5), "5"),
    (np.uint64(2**64 - 1), str(2**64)),  # as float64 has it
    (Colour.RED, "3"),
    (10**4000, None),  # beyond float64
    (10**5000, None),
    (1.0, "1"),
    (-0.0, "0"),
    (np.float32(2), "2"),
    (0.1, "0.1"),
    (1e300, str(int(1e300))),
    (np.longdouble(3), "3"),
    (np.inf, None),
    (np.nan, None),
    (np.float32("nan"), None),
    (Fraction(1, 2), "0.5"),
    (Fraction(10**400), None),
    (Decimal("1.50"), "1.50"),
    (Decimal("NaN"), None),
    (Decimal("sNaN"), None),
    (dt.date(2020, 2, 29), "2020-02-29"),
    (dt.datetime(2020, 2, 29, 1, 2, 3), "2020-02-29T01:02:03"),
    (pd.Timestamp("2020-02-29T01:02:03Z"), "2020-02-29T01:02:03+00:00"),
    (pd.NaT, None),
    (np.datetime64("NaT"), None),
    (np.datetime64("2020-01-01"), None),
    (pd.NA, None),
    (None, None),
    (b"bytes", None),
    (bytearray(b"bytes"), None),
    (memoryview(b"bytes"), None),
    (np.bytes_(b"bytes"), None),
    (1j, None),
    ([1], None),
    ({"a": 1}, None),
    (np.array([1, 2]), None),
    (np.array(1), None),
    (dt.time(1), None),
    (dt.timedelta(1), None),
    (object(), None),
    (Hostile(), None),
    (Number(3), None),
    (Hostile, None),
]


def cells(values):
    made = np.empty(len(values), np.object_)
    for i, value in enumerate(values):
        made[i] = value
    return made


@pytest.mark.parametrize("place", range(len(CELLS)))
def test_each_cell_is_read_alone(place):
    """As one of a column of text, as one among all others, and alone."""
    value, expected = CELLS[place]
    for others in ([], ["x", None, "y"], ["x", 1], ["x", Hostile(), float("nan")], [b"z", 2.5]):
        for at in (0, len(others)):
            got = texts_of(cells([*others[:at], value, *others[at:]])).to_pylist()
            assert got[at] == expected
            del got[at]
            assert got == texts_of(cells(others)).to_pylist()


def test_all_cells_together(capfd):
    values, expected = zip(*CELLS, strict=True)
    assert texts_of(cells(values)).to_pylist() == list(expected)
    _, raw = read(pd.Series(cells(values), dtype=object))
    assert raw.values.to_pylist() == list(expected)
    assert raw.class_counts().sum() == len(CELLS)
    assert capfd.readouterr() == ("", "")


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)))
def test_columns_of_text_are_themselves(values):
    assert texts_of(cells(values)).to_pylist() == values


@given(st.integers(-(10**14), 10**14))
def test_whole_numbers_are_written_alike(value):
    spelled = {text_of(kind(value)) for kind in (int, float, np.int64, np.float64, Fraction, np.longdouble)}
    assert spelled == {str(value)} == {level_text(value)}


def test_classes_of_text():
    some = ["", " na ", "12", "-1.5e3", "1,5", "1,500", "2.500", "2020-01-31", "yes", "x", None, "1.5.5"]
    counts = Raw(TEXTS, pa.array(some)).class_counts()
    expected = np.zeros(CLASSES, int)
    expected[[WHOLE, POINT, COMMA, EITHER_POINT, EITHER_COMMA, DATE, TRUTH]] = 1
    expected[[MISSING, TEXT]] = 3, 2
    assert counts.tolist() == expected.tolist()
