"""From raw cells to numbers and codes: the same whatever kind of cells a column comes in."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.encode import level_codes, read_codes, read_numbers, tally
from privreg.data.raw import TEXT, TIME, Raw, texts_of
from privreg.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, Column, Schema
from privreg.data.tables import read_table

NAN = np.nan


def text(*cells):
    return Raw(TEXT, pa.array(cells, pa.string()))


def numbers(*values):
    return Raw(NUMBER, np.array(values, float))


def truths(*values):
    return Raw(BOOLEAN, np.array(values, np.int8))


def codes(raw, levels, found=False):
    """Numbers of levels, "other" or None."""
    got, missing = level_codes(raw, tuple(levels), found)
    return [None if absent else "other" if code < 0 else int(code) for code, absent in zip(got, missing, strict=True)]


# ---------------------------------------------------------------- numbers and dates


@pytest.mark.parametrize(
    ("raw", "mark", "expected"),
    [
        (text("1", " 2.5 ", "1e3", "1,5", "x", "NA", None, "inf", "1e400"), ".", [1, 2.5, 1000, *[NAN] * 6]),
        (text("1", "2,5", "1.5", None), ",", [1, 2.5, NAN, NAN]),
        (numbers(1, 2.5, NAN, np.inf), ",", [1, 2.5, NAN, np.inf]),
        (truths(1, 0, -1), ".", [1, 0, NAN]),
        (Raw(NUMBER, np.array([1, 2], np.int8)), ".", [1, 2]),
        (Raw(NUMBER, np.array([True, False])), ".", [1, 0]),
        (Raw(NUMBER, np.array([np.longdouble("1e4000"), 1])), ".", [np.inf, 1]),
    ],
)
def test_numbers_from_every_kind_of_cells(raw, mark, expected):
    got = read_numbers(raw, Column("x", NUMBER, mark=mark), fill=False)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, expected)


def test_dates_from_every_kind_of_cells():
    column = Column("x", DATE)
    written = text("1970-01-03", "1970-01-03T12:00", "1970-01-03T13:00+01:00", "1970-02-30", "3", None)
    np.testing.assert_array_equal(read_numbers(written, column, False), [2, 2.5, 2.5, NAN, NAN, NAN])
    typed = Raw(TIME, np.array([2, 2.5, NAN]))
    np.testing.assert_array_equal(read_numbers(typed, column, False), [2, 2.5, NAN])


def test_values_beyond_a_range_are_clipped_and_missing_ones_filled():
    raw = numbers(-5, 0.5, 9, NAN, np.inf, -np.inf)
    bounded = Column("x", NUMBER, range=(0.0, 1.0))
    np.testing.assert_array_equal(read_numbers(raw, bounded, False), [0, 0.5, 1, NAN, 1, 0])
    centred = Column("x", NUMBER, centre=7.0)
    np.testing.assert_array_equal(read_numbers(raw, centred, True), [-5, 0.5, 9, 7, 7, 7])
    np.testing.assert_array_equal(read_numbers(raw, centred, False), raw.values)
    np.testing.assert_array_equal(read_numbers(raw, Column("x", NUMBER), True), raw.values)  # no centre was released


# ---------------------------------------------------------------- levels


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (text("1", "2", " 2 ", "2.0", "02", "3", "NA", None), [0, 1, 1, "other", "other", "other", None, None]),
        (numbers(1, 2, 2.5, NAN), [0, 1, "other", None]),
        (truths(1, 0, -1), ["other", "other", None]),
    ],
)
def test_levels_that_are_text(raw, expected):
    for found in (False, True):
        assert codes(raw, ["1", "2"], found) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (text("1", "2", " 2 ", "2.0", "02", "2e0", "3", "x", "NA", None), [0, *[1] * 5, "other", "other", None, None]),
        (numbers(1, 2, 2.5, NAN, np.inf), [0, 1, "other", None, None]),
        (truths(1, 0, -1), [0, "other", None]),
    ],
)
def test_levels_that_are_numbers(raw, expected):
    assert codes(raw, [1, 2.0]) == expected


@pytest.mark.parametrize("levels", [(False, True), ("no", "yes")])
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (text("yes", "NO", " True", "false", "maybe", "NA", None), [1, 0, 1, 0, None, None, None]),
        (truths(1, 0, -1), [1, 0, None]),
    ],
)
def test_levels_that_are_yes_and_no(raw, expected, levels):
    assert codes(raw, levels) == expected


def test_numbers_may_be_truths():
    assert codes(numbers(1, 0, 2, NAN), (False, True)) == [1, 0, "other", None]
    assert codes(text("yes", "no", "True"), ("no", "yes"), found=True) == [1, 0, "other"]  # words that were found


def test_one_and_true():
    """`1`, "1" and 1.0 are written alike; True is a word of its own."""
    objects = Raw(TEXT, texts_of(np.array([1, "1", 1.0, True, "True", None], np.object_)))
    assert codes(objects, ["1", "True"]) == [0, 0, 0, 1, 1, None]
    assert codes(objects, [1, 2]) == [0, 0, 0, "other", "other", None]
    assert codes(objects, [False, True]) == [None, None, None, 1, 1, None]


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_spellings_of_one_text_are_one_level():
    raw = text(COMPOSED, DECOMPOSED, f" {DECOMPOSED}\t", "cafe", "CAFÉ")
    for level in (COMPOSED, DECOMPOSED, f" {DECOMPOSED} "):
        for found in (False, True):
            assert codes(raw, [level], found) == [0, 0, 0, "other", "other"]
    values, times = tally(raw)
    assert dict(zip(values.to_pylist(), times.tolist(), strict=True)) == {COMPOSED: 3, "cafe": 1, "CAFÉ": 1}


def test_words_for_missing_values_that_are_levels():
    raw = text("NA", "na", "null", "EU", "", None)
    assert codes(raw, ["EU"]) == [None, None, None, 0, None, None]
    assert codes(raw, ["NA", "EU"]) == [0, "other", None, 1, None, None]
    assert codes(raw, ["na", "EU"]) == ["other", 0, None, 1, None, None]
    assert codes(raw, ["NA", "EU"], found=True) == [None, None, None, 1, None, None]  # no such level can be found
    assert codes(raw, ["null", ""]) == [None, None, 0, "other", 1, None]


def test_levels_spelled_like_words_of_ours():
    raw = text("(other)", "(missing)", "a=b", "z", "NA")
    column = Column("c", CATEGORY, levels=("(other)", "(missing)", "a=b"), reference=0, other=True, missing=True)
    assert read_codes(raw, column, fill=True).tolist() == [0, 1, 2, column.other_code, column.missing_code]
    assert read_codes(raw, column, fill=False).tolist() == [0, 1, 2, 3, -1]


def test_other_values_are_missing_where_there_is_no_reference():
    column = Column("c", CATEGORY, levels=("a", "b"))
    for fill in (False, True):
        assert read_codes(text("b", "z", None), column, fill).tolist() == [1, -1, -1]


cell = (
    st.none()
    | st.sampled_from(["a", "b ", " b", "NA", "1", "1.0", "é", "e\u0301", "(other)", "", "yes"])
    | st.text(max_size=3)
)


@given(st.lists(cell, max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_codes_do_not_depend_on_neighbours_cuts_or_dictionaries(cells, cuts):
    cells = [None if c is None else c.encode("utf-8", "replace").decode() for c in cells]
    whole = pa.array(cells, pa.string())
    bounds = [0, *sorted(min(cut, len(cells)) for cut in cuts), len(cells)]
    chunks = [whole.slice(a, b - a) for a, b in pairwise(bounds)]
    forms = [whole, pa.chunked_array(chunks), whole.dictionary_encode(), pa.chunked_array(chunks).dictionary_encode()]
    forms.append(pa.chunked_array([chunk.dictionary_encode() for chunk in chunks]))
    for levels in (["b", "é", "NA"], [1, 2], [False, True], ["no", "yes"]):
        alone = [codes(text(c), levels)[0] for c in cells]
        for form in forms:
            assert codes(Raw(TEXT, form), levels) == alone


# ---------------------------------------------------------------- trained on one, predicted on another

SCHEMA = Schema(
    (
        Column("grade", CATEGORY, levels=("2", "1", "10"), found=True, reference=0),
        Column("pay", NUMBER, mark=","),
        Column("born", DATE),
        Column("flag", BOOLEAN, levels=("no", "yes"), reference=0),
    )
)
AS_TEXT = {
    "grade": ["1", "2", "10", "7", None],
    "pay": ["1,5", "2", "-3e2", "x", ""],
    "born": ["1970-01-03", "1970-01-03T12:00", "x", "", "1969-12-31"],
    "flag": ["yes", "no", "TRUE", "", "False"],
}
EXPECTED = [
    [1, 0, 0, 0, NAN],
    [0, 0, 1, 0, NAN],
    [1.5, 2, -300, NAN, NAN],
    [2, 2.5, NAN, NAN, -1],
    [1, 0, 1, NAN, 0],
]


def typed_pandas():
    return pd.DataFrame(
        {
            "grade": [1, 2, 10, 7, None],
            "pay": [1.5, 2, -300, None, None],
            "born": pd.to_datetime(["1970-01-03", "1970-01-03T12:00", None, None, "1969-12-31"], format="ISO8601"),
            "flag": pd.array([True, False, True, None, False], "boolean"),
        }
    )


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pa.table(AS_TEXT),
        lambda: pl.DataFrame(AS_TEXT),
        lambda: pd.DataFrame(AS_TEXT),
        lambda: pd.DataFrame(AS_TEXT).astype("category"),
        typed_pandas,
        lambda: pl.from_pandas(typed_pandas()),
        lambda: pa.Table.from_pandas(typed_pandas()),
        lambda: typed_pandas().astype(object),
        lambda: typed_pandas().astype({"grade": "Int64"}).astype({"grade": "category"}),
    ],
)
def test_a_model_of_text_predicts_on_typed_columns_and_the_reverse(frame):
    data = frame()
    if isinstance(data, pd.DataFrame) and data["pay"].dtype == object and not isinstance(data["pay"][0], str):
        data["pay"] = data["pay"].map(lambda v: None if v is None or v != v else str(v).replace(".", ","))
    table = read_table(data, SCHEMA)
    assert table.names == ["grade=1", "grade=10", "pay", "born", "flag=yes"]
    np.testing.assert_array_equal([table[j] for j in range(5)], EXPECTED)


def test_a_model_of_typed_columns_predicts_on_text():
    schema = Schema(
        (
            Column("grade", CATEGORY, levels=(2, 1, 10), reference=0),
            Column("pay", NUMBER),
            Column("born", DATE),
            Column("flag", BOOLEAN, levels=(False, True), reference=0),
        )
    )
    pointed = AS_TEXT | {"pay": ["1.5", "2", "-3e2", "x", ""]}
    for data in (pa.table(pointed), typed_pandas()):
        np.testing.assert_array_equal([read_table(data, schema)[j] for j in range(5)], EXPECTED)
