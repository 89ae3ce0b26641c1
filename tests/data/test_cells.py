"""Columns of text: the class and the value of each cell, whatever the column is made of."""

import datetime
import math
import re
import time
import unicodedata
import warnings
from datetime import UTC

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data import cells
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
    as_days,
    as_numbers,
    as_texts,
    as_truths,
    classes,
    count_classes,
)
from privreg.data.text_header import MISSING as WORDS
from privreg.data.written_numbers import is_number, read_number
from text_tables import BLANKS
from text_tables import cells as some_cells

EXACT = {
    MISSING: [*WORDS, "NA", "N/A", "NaN", "Null", " null\t", "   ", "\v\f\r\n", None],
    WHOLE: [
        *("0", "-0", "+1", "007", " 12 ", "1e5", "1E+05", "-1e-5", "20200101", "9" * 100_000, "1e999", "1e-999"),
        *("−1", "1%", "$1", "12 %", "£5", "5 €", "5\u202f€", "1 000", "1'234'567", "1\xa0000", "1’000", "(5)", "(12%)"),
        *("-$5", "$-5", "€ -5", "+€5", "5$", "₹ 100", "$1e5", "(1 000)", "(1e5)"),
    ],
    POINT: [
        *("1.", ".5", "-.5", "+1.5e3", "0.1", "\t3.14\n", "1.e5", ".0", "1." + "3" * 100_000),
        *("0.125", "01.234", "1.2345", "1234.567", "1.234e5", "1,234.5", "1,234.50", "1,234,567", "-12,345,678.9"),
        *("$1,234.50", "-$1,234.50", "$-1,234.50", "$ 1,234.50", "£5.1", "1'234.50", "1’234.5", "1 234.50", "12.5%"),
        *("(1,234.50)", "($1,234.50)", "−1.5", "12.5 %", "1" + ",000" * 20_000, "1.5 ₹", "¥ 1.5", "1,234,567.123"),
        ".5%",
    ],
    COMMA: [
        *("1,", ",5", "-,5", "+1,5e3", "0,1", " 1,5", "1,e5", "0,125", "1,2345", "1.234,5", "1.234.567", "1.234,50 €"),
        *("€ 1.234,50", "-1.234,50\xa0€", "1 234,50", "1\xa0234\xa0567,5", "1\u202f234,50", "1'234,5", "(1.234,50 €)"),
        *("12,5 %", "1.234.567,891"),
    ],
    EITHER_POINT: ["1.234", "-12.345", "+999.999", "$1.234", "100.000", "(1.234)", "1.234 %", "−1.234"],
    EITHER_COMMA: ["1,234", "-12,345", "+999,999", "$1,234", "100,000", "(1,234)", "1,234 €", "€-1,234", "−1,234"],
    DATE: [
        *("2020-02-29", "0001-01-01", "9999-12-31", " 1999-12-31 ", "2000-02-29", "2020-01-01T00:00"),
        *("2020-01-01 23:59", "2020-01-01T23:59:59", "2020-01-01T23:59:59.123456789012345678901234567890"),
        *("2020-01-01T10:00Z", "2020-01-01 10:00:00+02", "2020-01-01T10:00:00.5-0330", "2020-01-01T10:00+23:59"),
    ],
    TRUTH: ["true", "FALSE", "Yes", "no", " nO\t", "TRUE"],
    TEXT: [
        *("x", "1x", "0x10", "1_000", "1e", "1e+", "+-1", "--1", "+", "e5", "1.5.2", "1,5,2", "1.000.5", "1,000,5"),
        *("1-2", "inf", "-inf", "infinity", "1d5", "١", "１", "１.５", "1\xa0", "\xa01", "\ufeff1", "1000,000.5"),
        *("1,23,456", "1,2345.6", "1,234.", "1.234,", "0,123.5", "1,234 567", "1 234 56", "1  234", "1234 567"),
        *("1,234,", "1,234,567e5", "1.234,5e3", ",234.5", "1,,234", "1 234'567", "$", "%", "%5"),
        *("$5%", "$5$", "5%%", "€", "$ ", "$$5", "−", "−−5", "-−5", "$.", "$,", "(%)", "€%"),
        *("(-5)", "(+5)", "()", "(", "(5", "5)", "((5))", "( 5 )", "-(5)", "$(5)", "5-", "- 5", "-$-5"),
        *("5  %", "$  5", "5€€", "USD 5", "5 kr", "1\t000", "\xe2\x88", "¢5", "5 % x", "1\u2009000"),
        *("1\0", "\0", "na\0", "\0na", "true\0", "\x1b[31m1", "=cmd|' /C calc'!A0", "<b>1</b>"),
        *("1e5.5", ",", "..", "-."),
        *("nullx", "none of it", "yesno", "truey", "ｔrue", "ﬁ", "n a", "n/a/", "none", "?", ".", "-", "??"),
        *("+.", "+,", ".e5", ",e5", "--"),
        *("2020-02-30", "2020-13-01", "0000-00-00", "0000-01-01", "2019-02-29", "1900-02-29", "2020-00-01"),
        *("2020-01-00", "2020-01-32"),
        *( "2020-1-1", "2020/01/01", "01-01-2020", "12020-01-01", "-2020-01-01", "2020-01-01x"),
        *("2020-01-01T", "2020-01-01T1", "2020-01-01T24:00", "2020-01-01T10:60", "2020-01-01T10:00:60"),
        *("2020-01-01T1:00", "2020-01-01T10:00:", "2020-01-01T10:00:0", "2020-01-01T10:00:00.", "2020-01-01T10:00.5"),
        *("2020-01-01Z", "2020-01-0１"),
        *("2020-01-01  10:00", "2020-01-01\t10:00", "2020-01-01t10:00", "2020-01-01T10:00z", "2020-01-01T10:00+2"),
        *("2020-01-01T10:00+24", "2020-01-01T10:00+02:60", "2020-01-01T10:00+02:0", "2020-01-01T10:00 Z"),
        *("2020-01-01T10:00+02:000", "2020-01-01T10:00+020", "2020-01-01T10:00ZZ", "10:00", "2020-01", "2020-01-01T10"),
    ],
}  # fmt: skip
EVERY = [(cell, kind) for kind, given_cells in EXACT.items() for cell in given_cells]


def column(values, kind=None):
    """Text as arrow has it, also with bytes that are not UTF-8."""
    raw = [value if isinstance(value, bytes | None) else value.encode("utf-8", "surrogateescape") for value in values]
    if kind is not None and pa.types.is_large_string(kind):
        return pa.array(raw, pa.large_binary()).view(pa.large_string())
    return pa.array(raw, pa.binary()).view(pa.string())


def class_of(cell):
    """The documented rule, written once more."""
    cell = cell.strip(BLANKS)
    lower = "".join(c.lower() if c.isascii() else c for c in cell)
    if lower in WORDS:
        return MISSING
    if lower in ("true", "false", "yes", "no"):
        return TRUTH
    with_point, with_comma = meant(cell, "."), meant(cell, ",")
    if with_point is None and with_comma is None:
        return TEXT if day_of(cell) is None else DATE
    if with_point is None or with_comma is None:
        return COMMA if with_point is None else POINT
    if with_point == with_comma:
        return WHOLE
    return EITHER_POINT if "." in cell else EITHER_COMMA


CURRENCY, SPACE = "[$€£¥₹]", "[ \xa0\u202f]?"
PLAIN = r"(?:[0-9]++{mark}?[0-9]*+|{mark}[0-9]++)(?:[eE][+-]?[0-9]++)?"
THOUSANDS = r"[1-9][0-9]{{0,2}}(?:{apart}[0-9]{{3}})++(?:{mark}[0-9]++)?"


def meant(cell, mark):
    """The digits of a number with this decimal mark, as Python writes them, with their sign; None if it is none."""
    sign = ""
    if found := re.fullmatch(r"\(([^+\u2212-].*)\)", cell, re.DOTALL):
        sign, cell = "-", found[1]
        if re.match(f"{CURRENCY}{SPACE}[+\u2212-]", cell):
            return None
    elif found := re.fullmatch(f"({CURRENCY}{SPACE})?([+\u2212-])(.*)", cell, re.DOTALL):
        sign, cell = ("+" if found[2] == "+" else "-"), (found[1] or "") + found[3]
    if found := re.fullmatch(f"{CURRENCY}{SPACE}([0-9.,].*)|([0-9.,].*?){SPACE}(?:{CURRENCY}|%)", cell, re.DOTALL):
        cell = found[1] or found[2]
    if re.fullmatch(PLAIN.format(mark=re.escape(mark)), cell):
        return sign.replace("+", "") + cell.replace(mark, ".")
    for apart in (",", ".", "'", "’", " ", "\xa0", "\u202f"):
        if apart != mark and re.fullmatch(THOUSANDS.format(apart=re.escape(apart), mark=re.escape(mark)), cell):
            return sign.replace("+", "") + cell.replace(apart, "").replace(mark, ".")
    return None


def day_of(cell):
    time_of_day = r"[T ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)?"
    found = re.fullmatch(rf"(\d{{4}})-(\d\d)-(\d\d)(?:{time_of_day})?", cell, re.ASCII)
    if found is None:
        return None
    *whole, fraction, zone = found.groups()
    sign, digits = (zone or "Z")[0], re.sub(r"\D", "", zone or "").ljust(4, "0")
    ahead = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if sign == "-" else 1)
    try:
        when = datetime.datetime(*[int(part or 0) for part in whole], tzinfo=UTC)
        datetime.time(int(digits[:2]), int(digits[2:]))
    except ValueError:
        return None
    seconds = when.hour * 3600 + when.minute * 60 + when.second - int(ahead.total_seconds())
    return when.toordinal() - 719_163 + (seconds + (float(fraction[:16]) if fraction else 0.0)) / 86400


def value_of(cell, mark):
    digits = meant(cell.strip(BLANKS), mark)
    value = math.nan if digits is None else float(digits)
    return value if math.isfinite(value) else math.nan


def bits(numbers):
    """To compare NaN with NaN and 0 with -0."""
    numbers = np.asarray(numbers, np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64).tolist()


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_classes_of_exact_cells(kind):
    found = classes(column([cell for cell, _ in EVERY], kind))
    assert found.dtype == np.uint8
    wrong = [(cell and cell[:40], meant, got) for (cell, meant), got in zip(EVERY, found, strict=True) if meant != got]
    assert wrong == []
    for cell, meant in EVERY:  # the rule above says the same
        assert cell is None or class_of(cell) == meant
    counts = count_classes(column([cell for cell, _ in EVERY], kind))
    assert counts.dtype == np.int64
    assert counts.tolist() == [len(EXACT[kind]) for kind in range(cells.CLASSES)]


signs, tails = st.sampled_from(["", "+", "-"]), st.text("0123456789", max_size=25)
almost_numbers = st.builds(
    "{}{}{}{}{}".format,
    signs,
    tails,
    st.sampled_from(["", ".", ","]),
    tails,
    st.sampled_from(["", "e5", "E-7", "e+", "e"]),
)
before, after = (
    st.sampled_from(["", "$", "€ ", "-£", "¥-", "₹\xa0", "(", "($", "−", "+"]),
    st.sampled_from(["", "%", " %", "€", "\u202f€", " $", ")", "%)", " €)", "-", "e5"]),
)
groups = st.lists(st.text("0123456789", min_size=2, max_size=4) | st.sampled_from(["000", "123"]), max_size=4)
written_numbers = st.builds(
    lambda before, first, apart, rest, mark, tail, after: before + apart.join([first, *rest]) + mark + tail + after,
    before,
    st.text("0123456789", max_size=4),
    st.sampled_from([",", ".", "'", "’", " ", "\xa0", "\u202f", ""]),
    groups,
    st.sampled_from(["", ".", ","]),
    st.text("0123456789", max_size=20),
    after,
)
LIKE_A_DATE = r"[0-3]\d{3}-[01]\d-[0-3]\d([T ][0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,20})?)?(Z|[+-][0-2]\d(:?[0-6]\d)?)?)?"
almost_dates = st.one_of(
    st.from_regex(LIKE_A_DATE, fullmatch=True),
    st.datetimes().map(str),
    st.datetimes(timezones=st.just(UTC)).map(datetime.datetime.isoformat),
)  # fmt: skip
words = st.sampled_from([*WORDS, "true", "yes", "no", "false"]).flatmap(
    lambda word: st.tuples(*[st.sampled_from([c.lower(), c.upper()]) for c in word]).map("".join)
)
padding = st.text(BLANKS + "\xa0", max_size=2)
anything = st.builds(
    "{}{}{}".format, padding, st.one_of(some_cells, almost_numbers, written_numbers, almost_dates, words), padding
)


@given(st.lists(anything, max_size=30))
def test_classes_and_values_are_those_of_the_rule(given_cells):
    """Also of the last cells, which are nearer to the end of the bytes than kernels look at once."""
    got = column(given_cells)
    assert classes(got).tolist() == [class_of(cell) for cell in given_cells]
    for mark in ".,":
        assert bits(as_numbers(got, mark)) == bits([value_of(cell, mark) for cell in given_cells])
    days = [day_of(cell.strip(BLANKS)) for cell in given_cells]
    assert bits(as_days(got)) == bits([math.nan if day is None else day for day in days])
    truth = {"true": 1, "yes": 1, "false": 0, "no": 0}
    bare = [cell.strip(BLANKS) for cell in given_cells]
    assert as_truths(got).tolist() == [truth.get(cell.lower(), -1) if cell.isascii() else -1 for cell in bare]


@given(st.one_of(written_numbers, almost_numbers, some_cells))
def test_plain_python_reads_the_same(cell):
    """The twin that reads what is typed, and what the kernels leave to it."""
    for mark in ".,":
        value = read_number(cell, mark)
        assert bits([math.nan if value is None else value]) == bits([value_of(f"{cell}", mark)]) or cell != cell.strip()
    assert is_number(cell) == (meant(cell, ".") is not None or meant(cell, ",") is not None)


@pytest.mark.parametrize(
    ("cell", "point", "comma"),
    [
        ("1,234", 1234, 1.234), ("1.234", 1.234, 1234), ("-1,234", -1234, -1.234), ("$1,234.50", 1234.5, None),
        ("1.234,50 €", None, 1234.5), ("1'234.50", 1234.5, None), ("(1,234.50)", -1234.5, None), ("12 %", 12, 12),
        ("1,234,567", 1234567, None), ("1.234.567", None, 1234567), ("−5", -5, -5), ("0,125", None, 0.125),
        ("$9,007,199,254,740,993", 9007199254740992, None), ("9,007,199,254,740,993.1", 9007199254740993.1, None),
        ("£0.1", 0.1, None), ("1 234 567,891", None, 1234567.891), ("(0)", -0.0, -0.0), ("$1e400", None, None),
        ("€1" + ".000" * 200, None, None),
        ("123 456 789 012 345 678 901", 123456789012345678901, 1.2345678901234568e20),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(cell, point, comma):
    for mark, value in ((".", point), (",", comma)):
        expected = [math.nan if value is None else float(value)]
        assert bits(as_numbers(column([cell]), mark)) == bits(expected)
        assert bits(as_numbers(column([f"\t{cell} ", "x"]), mark)) == bits([*expected, math.nan])


# ---------------------------------------------------------------- values


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20), st.sampled_from([repr, "%.3e", "%.25g"])
)
def test_numbers_are_the_nearest(values, how):
    texts = [how % value if isinstance(how, str) else how(value) for value in values]
    for mark in ".,":
        got = as_numbers(column([text.replace(".", mark) for text in texts]), mark)
        assert bits(got) == bits([value_of(text, ".") for text in texts])


@pytest.mark.parametrize(
    "cell",
    [
        *("9007199254740993", "9007199254740992", "9007199254740993.0", "0.1", "1e22", "1e23"),
        *("0.000000000000000000000000000000000000001", "1.7976931348623157e308", "1.7976931348623159e308", "5e-324"),
        *("123456789012345678e-22", "2e-324", "1e-400", "-1e-400"),
        *( "1e400", "-1e400", "+1e22", "+0.30000000000000004", "-0", "+0", "0e999", "-0.0e-9"),
        *("1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e400", "9" * 19, "0" * 50 + "1", "1e0000000000000000005"),
        "2.2250738585072011e-308",
    ],
)  # fmt: skip
def test_numbers_that_are_hard_to_round(cell):
    for given_cell in (cell, f" {cell}\t"):
        assert bits(as_numbers(column([given_cell, "x", "1"]), ".")) == bits([value_of(cell, "."), math.nan, 1.0])
        comma = given_cell.replace(".", ",")
        assert bits(as_numbers(column([comma]), ",")) == bits([value_of(cell, ".")])


def test_days():
    exact = {
        "1970-01-01": 0.0,
        "1969-12-31": -1.0,
        "0001-01-01": -719_162.0,
        "2020-02-29T12:00": 18321.5,
        "1970-01-01 06:00:00Z": 0.25,
        "1970-01-01T06:00:00+06:00": 0.0,
        "1970-01-01T00:00-12": 0.5,
        "1970-01-01T00:00:00.864": 0.864 / 86400,
        "1970-01-02x": math.nan,
    }
    assert bits(as_days(column(list(exact)))) == bits(list(exact.values()))


def test_truths():
    got = as_truths(column(["true", " YES ", "False", "nO", "1", "", None, "truth"]))
    assert got.dtype == np.int8
    assert got.tolist() == [1, 1, 0, 0, -1, -1, -1, -1]


# ---------------------------------------------------------------- text


def test_texts():
    given_cells = [
        " a ",
        "a",
        "NA",
        None,
        "",
        "b",
        b"\xff",
        b"\xed\xa0\x80",
        "cafe\u0301",
        "caf\xe9",
        "A",
        "a\0",
        "\xa0a",
    ]
    got = as_texts(column(given_cells))
    got.validate(full=True)
    assert got.to_pylist() == ["a", "a", None, None, None, "b", None, None, "caf\xe9", "caf\xe9", "A", "a\0", "\xa0a"]
    assert sorted(got.dictionary.to_pylist()) == sorted({"a", "b", "caf\xe9", "A", "a\0", "\xa0a"})
    assert got.dictionary.type == pa.large_string()
    assert got.indices.type in (pa.int32(), pa.int64())


@given(st.lists(anything, max_size=30))
def test_texts_are_those_of_the_rule(given_cells):
    def text(cell):
        cell = cell.strip(BLANKS)
        valid = not any("\ud800" <= c <= "\udfff" for c in cell)
        return unicodedata.normalize("NFC", cell) if valid and class_of(cell) != MISSING else None

    got = as_texts(column(given_cells))
    assert got.to_pylist() == [text(cell) for cell in given_cells]
    assert len(set(got.dictionary.to_pylist())) == len(got.dictionary)


def test_dictionaries_without_what_no_cell_has():
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 3], pa.int8()), pa.array(["a", None, "unused", " b "]))
    second = pa.DictionaryArray.from_arrays(pa.array([2, 0, 0], pa.int8()), pa.array(["b", "c", "NA"]))
    got = as_texts(pa.chunked_array([first, second]))
    assert got.to_pylist() == ["a", None, None, "b", None, "b", "b"]
    assert sorted(got.dictionary.to_pylist()) == ["a", "b"]


def test_many_values_and_long_ones():
    many = pa.array([f"id {i}" for i in range(1_000_000)])
    begin = time.perf_counter()
    got = as_texts(many)
    assert time.perf_counter() - begin < 10  # a loop over pairs of values would take hours
    assert len(got.dictionary) == 1_000_000
    long = "x" * (1 << 20)
    assert as_texts(pa.array([f" {long} ", long, long + "y"])).to_pylist() == [long, long, long + "y"]


# ---------------------------------------------------------------- what a column is made of

FUNCTIONS = {
    "classes": classes,
    "count_classes": count_classes,
    "points": lambda got: bits(as_numbers(got, ".")),
    "commas": lambda got: bits(as_numbers(got, ",")),
    "days": lambda got: bits(as_days(got)),
    "truths": as_truths,
    "texts": lambda got: as_texts(got).to_pylist(),
}
MIXED = [
    *[cell for cell, _ in EVERY if cell is None or len(cell) < 60],
    b"\xff",
    b"1\xff",
    "é",
    "e\u0301",
    "0.12345678901234567",
]


def ways(array):
    """The same cells, held in other ways."""
    n = len(array)
    yield "large", array.cast(pa.large_binary()).view(pa.large_string())
    yield "chunks", pa.chunked_array([array.slice(i, 7) for i in range(0, n, 7)])
    yield "empty chunks", pa.chunked_array([array.slice(0, 0), array.slice(0, 3), array.slice(3, 0), array.slice(3)])
    yield "offset", pa.concat_arrays([array.slice(n - 11), array]).slice(11)
    yield "dictionary", array.dictionary_encode()
    parts = [array.slice(i, 13).dictionary_encode() for i in range(0, n, 13)]
    yield "dictionaries", pa.chunked_array(parts)
    yield "the same dictionary", pa.chunked_array([array.dictionary_encode().slice(i, 13) for i in range(0, n, 13)])
    yield "unsigned", pa.DictionaryArray.from_arrays(pa.array(range(n), pa.uint16()), array)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_depends_on_how_a_column_is_held(name):
    array, function = column(MIXED), FUNCTIONS[name]
    whole = function(array)
    for way, other in ways(array):
        np.testing.assert_array_equal(np.asarray(function(other)), np.asarray(whole), err_msg=way)
    valid = array.filter(pa.array([not isinstance(cell, bytes) for cell in MIXED]))
    view = valid.cast(pa.large_binary()).view(pa.large_string()).cast(pa.string_view())
    np.testing.assert_array_equal(np.asarray(function(view)), np.asarray(function(valid)))
    if name != "count_classes":
        np.testing.assert_array_equal(np.asarray(function(array.slice(5, 40))), np.asarray(whole)[5:45])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_no_cells(kind):
    for empty in (pa.array([], kind), pa.chunked_array([], kind), pa.array(["1"], pa.string()).cast(kind).slice(1)):
        assert count_classes(empty).tolist() == [0] * CLASSES
        for function in (classes, as_days, as_truths, as_texts, lambda got: as_numbers(got, ",")):
            assert len(function(empty)) == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_nulls_alone(kind):
    nulls = pa.nulls(9, kind)
    assert count_classes(nulls).tolist() == [9] + [0] * (CLASSES - 1)
    assert np.isnan(as_numbers(nulls, ".")).all()
    assert np.isnan(as_days(nulls)).all()
    assert (as_truths(nulls) == -1).all()
    assert as_texts(nulls).null_count == 9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_raises_or_warns(name):
    hostile = column([*MIXED, "9" * 100_000, "1." + "9" * 100_000, "1e" + "9" * 100_000, b"\xff" * 1000, b"\0" * 1000])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for _, other in ways(hostile):
            FUNCTIONS[name](other)
