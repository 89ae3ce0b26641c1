"""Text files: what the first rows decide, which are the separator, the kinds and the decimal mark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.files import open_file
from text_tables import read, rows_of, slow_fixture, write


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b;c,d", ["a", "b;c", "d"]),
        ("a;b,c;d", ["a", "b,c", "d"]),
        ("a\tb", ["a", "b"]),
        ("a|b|c", ["a", "b", "c"]),
        ('"x;y;z",b', ["x;y;z", "b"]),
        ('"a ""q"" ,;;;",  "b b" ,c"d', ['a "q" ,;;;', "b b", 'c"d']),
        ("only one", ["only one"]),
        ("größe,\u2028x", ["größe", "x"]),
    ],
)
def test_the_header_line_decides_about_the_separator(tmp_path, header, names):
    assert list(open_file(write(tmp_path / "x.csv", header + "\n")).columns) == names
    assert list(open_file(write(tmp_path / "x.csv", "\ufeff" + header + "\r\n")).columns) == names


def test_one_column_needs_no_separator(tmp_path):
    assert read(write(tmp_path / "x.csv", 'x\n1,5\n\n""\n2,25\n')) == {"x": [1.5, None, 2.25]}


def test_kinds_are_those_of_at_least_half_of_the_cells(tmp_path):
    rows = [
        ["1", "x", "true", "true", "NA", "1"],
        ["x", "x", "x", "FALSE", "?", "true"],
        ["-", "1", ".", "1", "", "x"],
    ]
    path = rows_of(tmp_path / "x.csv", rows, list("abcdef"))
    expected = {"a": "number", "b": "text", "c": "boolean", "d": "boolean", "e": "number", "f": "text"}
    assert open_file(path).columns == expected
    assert read(path, {"b": ["x"]})["a"] == [1.0, None, None]
    assert read(path)["d"] == [True, False, None]


@given(odd=st.lists(st.sampled_from(["x", "1", "true"]), min_size=1, max_size=150), blank=st.booleans())
@slow_fixture
def test_the_first_hundred_rows_decide_alone(tmp_path, odd, blank):
    first = [["1", "x", "true"]] * 100
    path = rows_of(tmp_path / "x.csv", first + [[cell] * 3 for cell in odd] + [[]] * blank, "nxb")
    assert open_file(path).columns == {"n": "number", "x": "text", "b": "boolean"}


def test_the_hundredth_row_still_counts_and_rows_of_another_width_are_rows(tmp_path):
    def kind(rows):
        return open_file(rows_of(tmp_path / "x.csv", rows)).columns["a"]

    assert kind([["1", "1"]] * 50 + [["x", "1"]] * 50) == "number"
    assert kind([["1", "1"]] * 49 + [["x", "1"]] * 51) == "text"
    assert kind([["1", "1"]] * 49 + [["x", "1"]] * 50 + [["1", "1"]] * 100) == "number"
    assert kind([["1"]] * 2 + [["1", "1"]] * 48 + [["x", "1"]] * 50 + [["1", "1"]] * 100) == "text"


def test_the_decimal_mark_is_one_for_the_file(tmp_path):
    path = write(tmp_path / "x.csv", "a;b;t\n1,5;-,5e1;u\n2;3,;v\n+7,25;1.5;w\n")
    assert open_file(path).columns == {"a": "number", "b": "number", "t": "text"}
    assert read(path) == {"a": [1.5, 2.0, 7.25], "b": [-5.0, 3.0, None], "t": ["u", "v", "w"]}
    tie = write(tmp_path / "tie.csv", "a;b\n1,5;1.5\n")
    assert open_file(tie).columns == {"a": "text", "b": "number"}
    comma = write(tmp_path / "comma.csv", 'a,b\n"1,5",2\n"1,5",2\n')
    assert open_file(comma).columns == {"a": "text", "b": "number"}
    # After the schema rows a point is not a decimal mark, nor is a comma where it is a point.
    later = write(tmp_path / "later.csv", "a\tb\n" + "1,5\t1\n" * 100 + "1.5\t1,5\n")
    assert {name: values[-1] for name, values in read(later).items()} == {"a": None, "b": 1.5}
