"""Tables in files: what the schema is, the rule for each cell, and that no record changes how another is read."""

import csv
import datetime
import decimal
import math
import os
import re
import string
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privreg.data import text_file
from privreg.data.files import open_file
from privreg.data.tables import read_identities, read_table, read_target
from privreg.data.text_header import MISSING
from privreg.errors import SchemaError

slow_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
BLANKS = " \t\n\r\v\f"
LEVELS = ["north", "south", "east"]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path, categories=None, **options) -> dict[str, list]:
    file = open_file(path)
    return file.read(list(file.columns), categories or {}, **options).to_pydict()


def rows_of(path: Path, rows, header=("a", "b"), delimiter=",") -> Path:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def message(function, *arguments) -> str:
    with pytest.raises(SchemaError) as caught:
        function(*arguments)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    assert "\n" not in str(error)
    return str(error)


def number(cell: str) -> float | None:
    """The documented rule, written once more: what Python's float takes, less its extras."""
    cell = cell.strip(BLANKS)
    if "_" in cell or not cell.isascii() or cell != cell.strip() or set(cell) - set(string.digits + "+-.eE"):
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# ---------------------------------------------------------------- kinds of files


def test_the_operating_systems_errors_pass(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        open_file(tmp_path / "no.csv")
    assert missing.value.filename is not None
    if os.geteuid():
        secret = write(tmp_path / "secret.csv", "a\n1\n")
        secret.chmod(0)
        with pytest.raises(PermissionError):
            open_file(secret)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n \n\n", "is empty"),
        (b"\x1f\x8b\x08\x00abc", "compressed (gzip): unpack it first"),
        (b"BZh91AY", "compressed (bzip2): unpack it first"),
        (b'{"wage": 4711, "age": 3}\n{"wage": 2, "age": 3}\n', "is JSON: save it as CSV"),
        (b'[{"wage": 4711}]', "is JSON: save it as CSV"),
        (b'\xef\xbb\xbf \n[["wage", 4711]]', "is JSON: save it as CSV"),
        (b"<?xml version='1.0'?><wage>4711</wage>", "is XML or HTML: save it as CSV"),
        (b">\x04\x10 4711,b\n1,2\n", "neither Parquet nor UTF-8 text"),
        (b"PK\x03\x04abc", "zip archive or an Excel workbook: unpack it"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16 text: save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-be"), "neither Parquet nor UTF-8 text"),
        ("größe,b\n1,2\n".encode("latin-1"), "not UTF-8: save the file as UTF-8"),
        (b"PAR1 4711 broken", "could not be read as Parquet"),
        (b"a,,c\n1,2,3\n", "column 2 of"),
        (b',"  ",c\n1,2,3\n', "column 1 of"),
        (b"a, b ,b\n1,2,3\n", "two columns called 'b'"),
        (b'a,"b\n4711,5\n', "a quote that is not closed"),
        (b'a,"b\n4711,"5"\n', "a quote that is not closed"),  # that would put the record into a name
    ],
)
def test_unusable_files_are_refused_in_one_line_without_a_value(tmp_path, content, words):
    path = write(tmp_path / "pay.csv", content)
    said = message(open_file, path)
    assert words in said
    assert str(path) in said
    assert "4711" not in said


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "save the data in a file" in message(open_file, tmp_path / "pipe")


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "\n\na,b\r\n", "\ufeffa,b\n\n\n"])
def test_a_header_alone_is_a_table_without_records(tmp_path, content):
    file = open_file(write(tmp_path / "x.csv", content))
    assert file.columns == {"a": "number", "b": "number"}
    table = file.read(["b", "a"], {"a": ["x"]})
    assert table.schema == pa.schema([("b", pa.float64()), ("a", pa.string())])
    assert table.num_rows == 0
    assert list(file.batches(["a"], {})) == []
    assert read_table(table, {"a": ["x"]}).names == ["b", "a=x"]


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


# ---------------------------------------------------------------- kinds of columns


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


# ---------------------------------------------------------------- cells

texts = st.text(max_size=12)
numberlike = st.text(alphabet="0123456789+-.eE _,xX\t", max_size=12)
floats = st.floats(allow_nan=True).map(str)
decimals = st.decimals(allow_nan=False, allow_infinity=False).map(str)
raw = st.binary(max_size=8).map(lambda b: b.decode("utf-8", "surrogateescape"))  # also what is not UTF-8
odd_numbers = [
    "1e400",
    "-1e400",
    "1e-400",
    "4.9e-324",
    "inf",
    "nan",
    "infinity",
    "0x10",
    "1d5",
    "1_0",
    "+1",
    "+-1",
    "1.",
]
odd_numbers += [
    ".5",
    ".",
    "-.5E+07",
    "١",
    "1\0",
    "\x001",
    "1\u00a0",
    '"',
    '""',
    "1 2",
    "0.1",
    "12345678901234567890",
]
odd_numbers += ["1" * 400, "0." + "0" * 400 + "1", "1e" + "9" * 60, "0." + "0" * 63 + "1e99", "9" * 64, "9" * 65]
fixed = st.sampled_from(odd_numbers)
cells = st.one_of(texts, numberlike, floats, decimals, fixed, raw).map(lambda cell: re.sub(r"[\r\n]", "", cell))


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


# ---------------------------------------------------------------- one record does not change another

base = [[str(i), str(i / 7), LEVELS[i % 3], "true" if i % 2 else "false"] for i in range(300)]


@given(cell=cells, column=st.integers(0, 3))
@slow_fixture
def test_a_cell_changes_no_other_record(tmp_path, cell, column):
    changed = [list(row) for row in base]
    changed[150][column] = cell
    levels = {"town": LEVELS}
    before = read(rows_of(tmp_path / "a.csv", base, ("i", "x", "town", "flag")), levels)
    after = read(rows_of(tmp_path / "b.csv", changed, ("i", "x", "town", "flag")), levels)
    for position, name in enumerate(before):
        same = [i for i in range(300) if i != 150 or position != column]
        assert [after[name][i] for i in same] == [before[name][i] for i in same]


@given(line=st.binary(max_size=30).filter(lambda b: not set(b) & set(b'\r\n"')))
@slow_fixture
def test_a_line_of_any_bytes_changes_no_other_record(tmp_path, capfd, line):
    lines = [",".join(row).encode() for row in base]
    header = b"i,x,town,flag"
    before = read(write(tmp_path / "a.csv", b"\n".join([header, *lines])), {"town": LEVELS})
    path = write(tmp_path / "b.csv", b"\n".join([header, *lines[:150], line, *lines[150:]]) + b"\n")
    after = read(path, {"town": LEVELS})
    extra = int(bool(line.strip(BLANKS.encode())))
    for name in before:
        assert after[name][:150] + after[name][150 + extra :] == before[name]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("odd", [b"1\xff", b"1", b"1,2,3", b"\xff,\xfe,\xfd", b"\0", b",,", b"9" * 5_000_000])
def test_rows_of_another_width(tmp_path, capfd, odd):
    path = write(tmp_path / "x.csv", b"a,b\n" + b"1,2\n" * 120 + odd + b"\n\n  \n3,4\n")
    assert read(path) == {"a": [1.0] * 120 + [None, 3.0], "b": [2.0] * 120 + [None, 4.0]}
    assert pa.concat_tables(open_file(path).batches(["a", "b"], {})).to_pydict() == read(path)
    assert capfd.readouterr() == ("", "")


def test_blank_lines_are_no_rows(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\n\n1,2\n   \n\n3,4\n\n")
    assert read(path) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    assert pa.concat_tables(open_file(path).batches(["a", "b"], {})).to_pydict() == read(path)


@pytest.mark.parametrize(
    "content", ["1", "1,2,3", '"', "1,\xff,3", "\0", "1,2,3\n4\n,,,\n", "1,2,3\n" * 200, "9,9,9\n1,2"]
)
def test_odd_rows_alone_are_no_error(tmp_path, content):
    """Nor does one make an error that a table without it does not make."""
    path = write(tmp_path / "x.csv", ("a,b\n" + content).encode("latin-1"))
    assert open_file(path).columns == {"a": "number", "b": "number"}
    good = [1.0] if content.endswith("\n1,2") else []
    assert read(path)["a"] == [None] * (len(content.split()) - len(good)) + good


def test_an_odd_last_row_has_its_place(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\n1,2\n3,4\n5")
    assert read(path) == {"a": [1.0, 3.0, None], "b": [2.0, 4.0, None]}


def test_odd_and_blank_rows_between_blocks_have_their_places(tmp_path, monkeypatch):
    lines = [["1,2", "3", "", "   ", "4,5,6", '"7', "8,9"][i % 7] for i in range(500)]
    path = write(tmp_path / "x.csv", "\n".join(["a,b", *lines]))
    expected = [{"1,2": 1.0, "8,9": 8.0}.get(line) for line in lines if line.strip()]
    assert read(path)["a"] == expected
    for block in (1, 7, 40):
        monkeypatch.setattr(text_file, "_BLOCK", block)
        assert read(path)["a"] == expected


def test_a_line_that_is_too_long_is_odd(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "_LONGEST", 50)
    path = write(tmp_path / "x.csv", "a,b\n1,2\n" + "3" * 49 + ",4\n5,6\n")
    assert read(path) == {"a": [1.0, None, 5.0], "b": [2.0, None, 6.0]}


@pytest.mark.parametrize(
    "cell",
    [
        b"4" * 5_000_000,
        b"\0",
        b"x" * 5_000_000,
        b'"' + b"1," * 2_000_000 + b'"',
    ],
)
def test_cells_that_are_long_or_odd(tmp_path, cell):
    path = write(tmp_path / "x.csv", b"a,b\n" + b"1,2\n" * 200 + b"7," + cell + b"\n3,4\n")
    assert read(path) == {"a": [1.0] * 200 + [7.0, 3.0], "b": [2.0] * 200 + [None, 4.0]}
    file = open_file(path)
    assert pa.concat_tables(file.batches(["a", "b"], {})).to_pydict() == read(path)


def test_a_file_that_arrow_cannot_parse(tmp_path, monkeypatch):
    path = write(tmp_path / "x.csv", "a,b\n1,4711\n")
    file = open_file(path)

    def fail(*_, **__):
        raise pa.ArrowInvalid("the cell 4711")

    monkeypatch.setattr(text_file.pa_csv, "read_csv", fail)
    assert message(file.read, ["a"], {}) == f"{path} could not be read as CSV"


# ---------------------------------------------------------------- parts of a file


@given(
    text=st.text(alphabet='1,2"\n\r é,\n', max_size=120),
    block=st.integers(4, 60),
)
@slow_fixture
def test_rows_do_not_depend_on_the_blocks(tmp_path, text, block):
    path = write(tmp_path / "x.csv", "a,b\n" + "1,x\n" * 100 + text)
    file = open_file(path)
    whole = file.read(["b", "a"], {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_file, "_BLOCK", block)
        assert file.read(["b", "a"], {}).equals(whole)
        assert open_file(path).columns == file.columns


LINES = [
    *('1,2', '"1",2', '1,"2"', '"1","2"', '"a ""b"" c",2', '"a,b",2', '1,5" pipe', '"1"x,2', ' "1,2', '"",""'),
    *('"1,2', '1,"2', '1,"', '"', '"""', '"a""b,2', '1,"2""', '"1"",2', 'x"1,"2', '1,2,"3'),
]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line", LINES)
def test_no_record_reaches_into_another(tmp_path, line, separator):
    """Whatever one line holds, above all an open quote, the others are read as they are without it."""
    line = line.replace(",", separator)
    rows = [f"{i}{separator}{i}.5" for i in range(400)]
    head = f"a{separator}b\n"
    path = write(tmp_path / "x.csv", head + "\n".join([*rows[:150], line, *rows[150:]]) + "\n")
    table = open_file(path).read(["a", "b"], {}).to_pydict()
    expected = {"a": [float(i) for i in range(400)], "b": [i + 0.5 for i in range(400)]}
    alone = next(csv.reader([line], delimiter=separator, strict=False), [])
    closed = text_file._closed_quotes(separator).fullmatch(line) is not None
    if not closed or len(alone) != 2:
        assert (table["a"][150], table["b"][150]) == (None, None)
    del table["a"][150], table["b"][150]
    assert table == expected


def test_batches_are_what_read_gives(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 3))
    pd.DataFrame(values, columns=list("abc")).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr(text_file, "_BLOCK", 1 << 16)
    file = open_file(tmp_path / "x.csv")
    whole = file.read(["c", "a"], {})
    tables = list(file.batches(["c", "a"], {}))
    assert len(tables) > 10
    assert pa.concat_tables(tables).equals(whole)
    np.testing.assert_array_equal(np.column_stack([whole["a"], whole["c"]]), values[:, [0, 2]])


def test_batches_may_be_left_early(tmp_path, capfd):
    path = write(tmp_path / "x.csv", "a,b\n" + "1.5,2.5\n" * 2_000_000)
    file = open_file(path)
    for _ in range(5):
        assert next(file.batches(["a"], {}))["a"][0].as_py() == 1.5
    assert capfd.readouterr() == ("", "")


MEMORY = r"""
import re, sys
import pyarrow as pa
from privreg.data import files, text_file
text_file._BLOCK = 1 << 18
file = files.open_file(sys.argv[1])
rows = 0
for table in file.batches(["x0", "x1", "town"], {"town": ["north"]}):
    rows += table.num_rows
resident = re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace("\t", " "))  # not that of the parent
print(rows, pa.default_memory_pool().max_memory() >> 20, int(resident[1]) >> 10)
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, kind):
    rng = np.random.default_rng(0)
    part = pd.DataFrame(rng.normal(size=(100_000, 4)), columns=[f"x{i}" for i in range(4)])
    part["town"] = "north"

    def used(copies: int) -> tuple[int, int]:
        path = tmp_path / f"{copies}.{kind}"
        if kind == "csv":
            header, _, lines = part.to_csv(index=False).partition("\n")
            path.write_text(f"{header}\n{lines * copies}")
        else:  # one row group
            pd.concat([part] * copies).to_parquet(path, index=False, row_group_size=10**8, use_dictionary=False)
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True, timeout=120
        )
        rows, pool, resident = map(int, out.stdout.split())
        assert rows == copies * 100_000
        assert path.stat().st_size > copies << 21
        return pool, resident

    small, large = used(4), used(32)
    assert large[0] < small[0] + 24
    assert large[1] < small[1] + 64


# ---------------------------------------------------------------- round trips

frame = pd.DataFrame(
    {
        "x": np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250),
        "n": np.arange(500) - 250,
        "flag": np.arange(500) % 3 == 0,
        "town": pd.Categorical([LEVELS[i % 2] for i in range(500)], categories=LEVELS),
        "y": np.arange(500.0),
    }
)


@pytest.mark.parametrize(
    "options", [{}, {"sep": "\t"}, {"sep": ";", "decimal": ","}, {"sep": "|", "quoting": csv.QUOTE_ALL}]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_pandas_writes_as_text(tmp_path, options, encoding, end):
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False, encoding=encoding, lineterminator=end, **options)
    file = open_file(path)
    assert file.columns == {"x": "number", "n": "number", "flag": "boolean", "town": "text", "y": "number"}
    check_records(file)


@pytest.mark.parametrize("options", [{}, {"row_group_size": 77}, {"compression": "gzip"}])
def test_what_pandas_writes_as_parquet(tmp_path, options):
    path = tmp_path / "table"
    frame.to_parquet(path, index=False, **options)
    file = open_file(path)
    assert file.columns == {"x": "number", "n": "number", "flag": "boolean", "town": "category", "y": "number"}
    assert file.levels("town") == LEVELS  # with the level that no record has
    check_records(file)


def check_records(file):
    table = file.read(list(file.columns), {"town": LEVELS})
    got = read_table(table.drop_columns(["y"]), {"town": LEVELS})
    assert got.names == ["x", "n", "flag=False", "flag=True", "town=north", "town=south", "town=east"]
    expected = [frame.x, frame.n, ~frame.flag, frame.flag, *(frame.town == level for level in LEVELS)]
    for j, values in enumerate(expected):
        np.testing.assert_array_equal(got[j], values.astype(float))
    np.testing.assert_array_equal(read_target(table["y"]), frame.y)
    assert pa.concat_tables(file.batches(list(file.columns), {"town": LEVELS})).equals(table)


def test_what_the_csv_module_writes(tmp_path):
    odd = ['a "b"', "c,d", "e f", "g;h", "1", "é"]
    path = rows_of(tmp_path / "x.csv", [[cell, i] for i, cell in enumerate(odd)], ('the "name"', "i,j"))
    assert read(path) == {'the "name"': odd, "i,j": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}


# ---------------------------------------------------------------- Parquet


def parquet(path: Path, columns: dict, **options) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_parquet_kinds_and_values(tmp_path):
    day = datetime.date(2020, 1, 2)
    path = parquet(
        tmp_path / "x",
        {
            "int": pa.array([1, None], pa.uint64()),
            "half": pa.array([np.float16(1.5), None], pa.float16()),
            "money": pa.array([decimal.Decimal("1.50"), None]),
            "flag": [True, None],
            "text": pa.array(["a", None], pa.large_string()),
            "day": [day, None],
            "when": pa.array([1, None], pa.timestamp("ns")),
            "list": [[1], None],
            "nothing": pa.nulls(2),
            "a.b": [1.0, None],
            "__index_level_0__": [1, 2],
        },
    )
    file = open_file(path)
    assert file.columns == {
        "int": "number",
        "half": "number",
        "money": "number",
        "flag": "boolean",
        "text": "text",
        "day": "date",
        "when": "timestamp",
        "list": "list<element: int64>",
        "nothing": "nothing",
        "a.b": "number",
    }
    table = file.read(["a.b", "money", "half", "int", "flag", "text"], {"text": ["a"]})
    assert table.to_pydict() == {
        "a.b": [1.0, None],
        "money": [1.5, None],
        "half": [1.5, None],
        "int": [1, None],
        "flag": [True, None],
        "text": ["a", None],
    }
    assert table["money"].type == pa.float64()
    assert table["int"].type == pa.uint64()
    assert read_table(table, {"text": ["a"]}).names[-2:] == ["flag=True", "text=a"]
    ids = file.read(["when", "day", "money", "int"], {}, identifiers=["when", "day", "money"])
    assert ids.to_pydict() == {"when": [1, None], "day": [18263, None], "money": ["1.50", None], "int": [1, None]}
    for name in ids.column_names:
        assert (read_identities(ids[name]) >= 0).tolist() == [True, False]
    assert "cannot have levels" in message(file.read, ["day"], {"day": ["2020-01-02"]})
    assert "levels are booleans" in message(file.read, ["int"], {"int": [True]})


def test_parquet_columns_in_the_kind_of_their_levels(tmp_path):
    path = parquet(
        tmp_path / "x",
        {
            "int": pa.array([1, None, 20], pa.int8()),
            "float": [1.0, 1.5, None],
            "flag": [True, None, False],
            "text": ["1.5", " 2", "é"],
            "truth": ["TRUE", "x", None],
            "cat": pa.array(["b", "a", None]).dictionary_encode(),
        },
    )
    for name, kind in (("int", "numbers"), ("float", "numbers"), ("flag", "booleans")):
        said = f"column {name!r} holds {kind}, so the text '1' cannot be one of its levels; declare {kind}"
        assert message(read, path, {name: ["1"]}) == said
    text = {name: ["x"] for name in ("text", "truth", "cat")}
    assert read(path, text) == {
        "int": [1, None, 20],
        "float": [1.0, 1.5, None],
        "flag": [True, None, False],
        "text": ["1.5", " 2", "é"],
        "truth": ["TRUE", "x", None],
        "cat": ["b", "a", None],
    }
    numbers = read(path, {"int": [1], "float": [1], "flag": [1], "text": [1.5, 2], "truth": [True], "cat": [1]})
    assert numbers == {
        "int": [1.0, None, 20.0],
        "float": [1.0, 1.5, None],
        "flag": [1.0, None, 0.0],
        "text": [1.5, 2.0, None],
        "truth": [True, None, None],
        "cat": [None, None, None],
    }


@given(st.lists(st.one_of(st.none(), st.binary(max_size=6), st.text(max_size=4).map(str.encode)), max_size=8))
@slow_fixture
def test_parquet_text_that_is_not_utf8_is_missing(tmp_path, cells):
    binary = pa.array(cells, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(binary), binary.buffers())
    path = parquet(tmp_path / "x", {"t": texts, "n": pa.array(range(len(cells)), pa.int64())})

    def text(cell):
        try:
            return None if cell is None else cell.decode()
        except UnicodeDecodeError:
            return None

    for options in ({}, {"categories": {"t": ["x"]}}, {"identifiers": ["t"]}):
        assert read(path, **options)["t"] == [text(cell) for cell in cells]
    assert read(path, {"t": [1]})["t"] == [None if text(c) is None else number(text(c)) for c in cells]


def test_dictionaries_that_declare_nothing(tmp_path):
    path = tmp_path / "x"
    town = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0], pa.int8()), LEVELS)
    assert open_file(parquet(path, {"c": town}, row_group_size=2)).levels("c") == LEVELS
    other = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), LEVELS[::-1])
    with pq.ParquetWriter(path, pa.schema([("c", town.type)])) as writer:
        writer.write_table(pa.table({"c": town}))
        writer.write_table(pa.table({"c": other}))
    declared = f"{path} declares no levels for column 'c'; declare its levels with --category c=a,b,c"
    file = open_file(path)
    assert message(file.levels, "c") == declared  # row groups with different ones
    assert file.read(["c"], {"c": LEVELS})["c"].to_pylist() == ["south", "north", "south", "north", "east"]
    assert message(open_file(parquet(path, {"c": town}, use_dictionary=False)).levels, "c") == declared
    assert message(open_file(parquet(path, {"c": town.slice(0, 0)})).levels, "c") == declared  # none is stored
    pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical)}).write_parquet(path)
    assert message(open_file(path).levels, "c") == declared
    pl.DataFrame({"c": pl.Series(["south"] * 9, dtype=pl.Enum(LEVELS))}).write_parquet(path, row_group_size=4)
    assert open_file(path).levels("c") == LEVELS


def test_parquet_without_rows(tmp_path):
    file = open_file(parquet(tmp_path / "x", {"a": pa.array([], pa.int32()), "c": pa.array([]).cast(pa.string())}))
    assert file.read(["c", "a"], {"a": [1]}).to_pydict() == {"c": [], "a": []}
    assert list(file.batches(["a"], {})) == []


def test_a_damaged_parquet_file(tmp_path):
    path = parquet(tmp_path / "x", {"a": ["4711"] * 1000}, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    said = f"{path} could not be read as Parquet"
    assert message(open_file, write(path, whole[:-20])) == said
    file = open_file(write(path, whole[:4] + b"\xff" * 2000 + whole[2004:]))
    assert message(file.read, ["a"], {}) == said
    assert message(lambda: list(file.batches(["a"], {}))) == said


def test_parquet_names(tmp_path):
    columns = [pa.array([1]), pa.array([2])]
    pq.write_table(pa.Table.from_arrays(columns, ["a", "a"]), tmp_path / "x")
    assert "two columns called 'a'" in message(open_file, tmp_path / "x")
    pq.write_table(pa.table({}), tmp_path / "none")
    assert "has no columns" in message(open_file, tmp_path / "none")


def test_files_are_closed(tmp_path):
    script = textwrap.dedent("""
        import sys, warnings
        from privreg.data.files import open_file
        file = open_file(sys.argv[1])
        file.read(["a"], {})
        next(file.batches(["a"], {}))
    """)
    path = write(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 1000)
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")
