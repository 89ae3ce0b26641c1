"""Text files: the rule for each cell."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.files import open_file
from privreg.data.text_header import MISSING
from text_tables import BLANKS, cells, message, number, read, rows_of, slow_fixture, write


@given(st.lists(cells, min_size=1, max_size=20))
@slow_fixture
def test_the_rule_for_numbers(tmp_path, odd):
    path = rows_of(tmp_path / "x.csv", [["1", "x"]] * 100 + [[cell, "x"] for cell in odd])
    assert read(path)["a"][100:] == [number(cell) for cell in odd]


@given(st.lists(cells, min_size=1, max_size=20))
@slow_fixture
def test_the_rule_for_numbers_with_a_decimal_comma(tmp_path, odd):
    path = rows_of(tmp_path / "x.csv", [["1,5", "x"]] * 100 + [[cell, "x"] for cell in odd], delimiter=";")
    swapped = [cell.replace(".", "no").replace(",", ".") for cell in odd]
    assert read(path)["a"][100:] == [number(cell) for cell in swapped]


@given(st.lists(cells, min_size=1, max_size=20))
@slow_fixture
def test_the_rule_for_text_and_booleans(tmp_path, odd):
    path = rows_of(tmp_path / "x.csv", [["x", "true"]] * 100 + [[cell, cell] for cell in odd])

    def text(cell):
        cell = re.sub("\r\n?", "\n", cell).strip(BLANKS)
        valid = not any("\ud800" <= c <= "\udfff" for c in cell)
        return cell if valid and (cell == "-" or cell.lower() not in MISSING) else None

    got = read(path, {"a": ["x", "-"]})
    assert got["a"][100:] == [text(cell) for cell in odd]
    assert got["b"][100:] == [{"true": True, "false": False}.get(cell.strip(BLANKS).lower()) for cell in odd]


def test_exact_cells(tmp_path):
    path = write(
        tmp_path / "x.csv",
        b"n,b,t\r\n 1 ,TRUE, a b \r\n\t-2.5e3\t,\tFalse,NA\r\n1e400,yes,caf\xc3\xa9\r\n1e-400,1,caf\xe9\r\n"
        b'"7",True,"x, ""y"" z"\r\n\r\n0.1,true,\xef\xbb\xbf\r\n',
    )
    assert open_file(path).columns == {"n": "number", "b": "boolean", "t": "text"}
    assert read(path) == {
        "n": [1.0, -2500.0, None, 0.0, 7.0, 0.1],
        "b": [True, False, None, None, True, True],
        "t": ["a b", None, "café", None, 'x, "y" z', "\ufeff"],
    }


@pytest.mark.parametrize("word", MISSING)
def test_words_for_missing(tmp_path, word):
    path = rows_of(tmp_path / "x.csv", [["x", "1"], [word.upper(), word], [f" {word}\t", "2"]])
    assert read(path) == {"a": ["x", None, None], "b": [1.0, None, 2.0]}
    if word:  # a declared level is not missing
        assert read(path, {"a": ["x", word.upper()]})["a"][1] == word.upper()


def test_levels_decide_about_the_kind(tmp_path):
    path = rows_of(tmp_path / "x.csv", [["1", "1.0", "true"], [" 2", "2", "False"], ["x", "x", "x"]], "abc")
    assert read(path, {"a": ["1", "2"], "b": [1, 2.5], "c": ["true"]}) == {
        "a": ["1", "2", "x"],
        "b": [1.0, 2.0, None],
        "c": ["true", "False", "x"],
    }
    assert read(path, {"c": [False, True]})["c"] == [True, False, None]
    file = open_file(path)
    for levels in (["1", 2], [], [True, 1], [None]):
        assert "column 'a' must be all text or all numbers" in message(file.read, ["a"], {"a": levels})
    assert "has no column 'z'" in message(file.read, ["z"], {})
    assert "--category a=a,b,c" in message(file.levels, "a")


def test_identifiers_are_text(tmp_path):
    path = rows_of(tmp_path / "x.csv", [["12345678901234567890", "1"], ["12345678901234567891", "2"], ["007", "NA"]])
    got = read(path, identifiers=["a"])
    assert got == {"a": ["12345678901234567890", "12345678901234567891", "007"], "b": [1.0, 2.0, None]}
