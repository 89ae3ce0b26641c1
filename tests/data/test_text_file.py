"""Text files: no record changes how another is read, whatever the blocks."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data import text_file
from privreg.data.cells import as_numbers
from privreg.data.files import open_file
from privreg.data.raw import TEXT, ColumnType
from text_tables import BLANKS, LEVELS, cells, message, read, rows_of, slow_fixture, write

# ---------------------------------------------------------------- one record does not change another

base = [[str(i), str(i / 7), LEVELS[i % 3], "true" if i % 2 else "false"] for i in range(300)]


@given(cell=cells, column=st.integers(0, 3))
@slow_fixture
def test_a_cell_changes_no_other_record(tmp_path, cell, column):
    changed = [list(row) for row in base]
    changed[150][column] = cell
    before = read(rows_of(tmp_path / "a.csv", base, ("i", "x", "town", "flag")))
    after = read(rows_of(tmp_path / "b.csv", changed, ("i", "x", "town", "flag")))
    assert list(map(list, zip(*before.values(), strict=True))) == base
    assert after[list(before)[column]][150] == (None if any("\ud800" <= c <= "\udfff" for c in cell) else cell)
    for position, name in enumerate(before):
        same = [i for i in range(300) if i != 150 or position != column]
        assert [after[name][i] for i in same] == [before[name][i] for i in same]


@given(line=st.binary(max_size=30).filter(lambda b: not set(b) & set(b'\r\n"')))
@slow_fixture
def test_a_line_of_any_bytes_changes_no_other_record(tmp_path, capfd, line):
    lines = [",".join(row).encode() for row in base]
    header = b"i,x,town,flag"
    before = read(write(tmp_path / "a.csv", b"\n".join([header, *lines])))
    path = write(tmp_path / "b.csv", b"\n".join([header, *lines[:150], line, *lines[150:]]) + b"\n")
    after = read(path)
    extra = int(bool(line.strip(BLANKS.encode())))
    for name in before:
        assert after[name][:150] + after[name][150 + extra :] == before[name]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("odd", [b"1\xff", b"1", b"1,2,3", b"\xff,\xfe", b"\0", b",,", b"9" * 5_000_000, b'"1,2'])
def test_rows_that_are_odd(tmp_path, capfd, odd):
    path = write(tmp_path / "x.csv", b"a,b\n" + b"1,2\n" * 120 + odd + b"\n\n  \n3,4\n")
    assert read(path) == {"a": ["1"] * 120 + [None, "3"], "b": ["2"] * 120 + [None, "4"]}
    assert pa.concat_tables(open_file(path).batches(["a", "b"])).to_pydict() == read(path)
    assert capfd.readouterr() == ("", "")


def test_a_cell_that_is_not_utf8_is_missing_alone(tmp_path):
    cells = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b'"\xe9"']
    path = write(tmp_path / "x.csv", b"a,b\n" + b"".join(b"%s,\xc3\xa9\n" % cell for cell in cells) + b"\xc3\xa9,x\n")
    assert read(path) == {"a": [None] * 6 + ["é"], "b": ["é"] * 6 + ["x"]}
    table = open_file(path).read(["a", "b"])
    table.validate(full=True)
    # Nor is there anything of it in the column's bytes.
    assert b"".join(chunk.buffers()[2].to_pybytes() for chunk in table["a"].chunks if len(chunk)) == "é".encode()


def test_blank_lines_are_no_rows(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\n\n1,2\n   \n\n3,4\n\n")
    assert read(path) == {"a": ["1", "3"], "b": ["2", "4"]}
    tabs = write(tmp_path / "x.tsv", "a\tb\n\t\n \n1\t2\n\t\t\n")  # the right number of cells makes a row of blanks
    assert read(tabs) == {"a": ["", "1"], "b": ["", "2"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(tmp_path, end, monkeypatch):
    path = write(tmp_path / "x.csv", end.join(["\ufeffa,b", "1,2", "", '"x\x0b\x85\u2028","y"', "3,4"]))
    expected = {"a": ["1", "x\x0b\x85\u2028", "3"], "b": ["2", "y", "4"]}
    assert read(path) == expected
    for block in range(1, 12):
        monkeypatch.setattr(text_file, "_BLOCK", block)
        assert read(path) == expected


@pytest.mark.parametrize(
    "content", ["1", "1,2,3", '"', "1,\xff,3", "\0", "1,2,3\n4\n,,,\n", "1,2,3\n" * 200, "9,9,9\n1,2"]
)
def test_odd_rows_alone_are_no_error(tmp_path, content):
    """Nor does one make an error that a table without it does not make."""
    path = write(tmp_path / "x.csv", ("a,b\n" + content).encode("latin-1"))
    assert open_file(path).columns == {"a": "text", "b": "text"}
    good = ["1"] if content.endswith("\n1,2") else []
    assert read(path)["a"] == [None] * (len(content.split()) - len(good)) + good


def test_an_odd_last_row_has_its_place(tmp_path):
    path = write(tmp_path / "x.csv", "a,b\n1,2\n3,4\n5")
    assert read(path) == {"a": ["1", "3", None], "b": ["2", "4", None]}


def test_odd_and_blank_rows_between_blocks_have_their_places(tmp_path, monkeypatch):
    lines = [["1,2", "3", "", "   ", "4,5,6", '"7', "8,9"][i % 7] for i in range(500)]
    path = write(tmp_path / "x.csv", "\n".join(["a,b", *lines]))
    expected = [{"1,2": "1", "8,9": "8"}.get(line) for line in lines if line.strip()]
    assert read(path)["a"] == expected
    for block in (1, 7, 40):
        monkeypatch.setattr(text_file, "_BLOCK", block)
        assert read(path)["a"] == expected


@pytest.mark.parametrize("line", ["3" * 49 + ",4", "3,4" + "4" * 1000, " " * 60, '"' * 300 + ",4"])
@pytest.mark.parametrize("block", [1, 20, 1 << 20])
def test_a_line_that_is_too_long_is_odd(tmp_path, monkeypatch, line, block):
    monkeypatch.setattr(text_file, "_LONGEST", 50)
    monkeypatch.setattr(text_file, "_BLOCK", block)
    for end in ("\n5,6\n", ""):
        path = write(tmp_path / "x.csv", "a,b\n1,2\n" + line + end)
        assert read(path) == {"a": ["1", None, "5"][: 2 + bool(end)], "b": ["2", None, "6"][: 2 + bool(end)]}
    fits = write(tmp_path / "y.csv", "a,b\n1,2\n" + "3" * 47 + ",4")
    assert read(fits)["b"] == ["2", "4"]


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        (b"4" * 5_000_000, "4" * 5_000_000),
        (b"\0", "\0"),
        (b'"' + b"1," * 2_000_000 + b'"', "1," * 2_000_000),
        (b'"' + b'""' * 1_000_000 + b'x"', '"' * 1_000_000 + "x"),
    ],
    ids=["digits", "NUL", "separators", "quotes"],
)
def test_cells_that_are_long_or_odd(tmp_path, cell, meant):
    path = write(tmp_path / "x.csv", b"a,b\n" + b"1,2\n" * 200 + b"7," + cell + b"\n3,4\n")
    assert read(path) == {"a": ["1"] * 200 + ["7", "3"], "b": ["2"] * 200 + [meant, "4"]}
    file = open_file(path)
    assert pa.concat_tables(file.batches(["a", "b"])).to_pydict() == read(path)


def test_columns_in_any_order(tmp_path):
    path = rows_of(tmp_path / "x.csv", [["1", " NA", "true"], ["", "b", "x"]], "abc")
    file = open_file(path)
    assert file.columns == {"a": "text", "b": "text", "c": "text"}
    assert not file.typed
    table = file.read(["c", "a"], identifiers=["c"])
    assert table.to_pydict() == {"c": ["true", "x"], "a": ["1", ""]}
    assert set(table.schema.types) == {pa.string()}
    assert "has no column 'z'" in message(file.read, ["z"])
    assert file.levels("a") is None
    assert file.type_of("a") == ColumnType(TEXT, "text")


# ---------------------------------------------------------------- parts of a file


@given(
    text=st.text(alphabet='1,2"\n\r é,\n', max_size=120),
    block=st.integers(1, 60),
)
@slow_fixture
def test_rows_do_not_depend_on_the_blocks(tmp_path, text, block):
    path = write(tmp_path / "x.csv", "a,b\n" + "1,x\n" * 10 + text)
    file = open_file(path)
    whole = file.read(["b", "a"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_file, "_BLOCK", block)
        assert file.read(["b", "a"]).equals(whole)


def by_the_rule(content: bytes, separator: bytes, width: int) -> list[list[str | None]]:
    """The documented rule, written once more: a line is a record, and its cells are what a pattern finds in it."""
    other = b"[^" + re.escape(separator) + b"]"
    field = b'"((?:[^"]|"")*+)"(' + other + b'*+)|((?!")' + other + b"*+)"
    line_of_fields = re.compile(b"(?:" + field + b")(?:" + re.escape(separator) + b"(?:" + field + b"))*+")
    rows: list[list[str | None]] = []
    for line in re.split(rb"\r\n|\r|\n", content):
        cells, place = [], 0
        if not line:
            continue
        if line_of_fields.fullmatch(line):
            while place <= len(line):
                quoted, after, plain = (found := re.compile(field).match(line, place)).groups()
                cells.append(plain if quoted is None else quoted.replace(b'""', b'"') + after)
                place = found.end() + 1
        if len(cells) == width:
            rows.append([cell.decode("utf-8", "replace") for cell in cells])
            bad = [cell != text.encode() for cell, text in zip(cells, rows[-1], strict=True)]
            rows[-1] = [None if odd else text for odd, text in zip(bad, rows[-1], strict=True)]
        elif line.strip(BLANKS.encode()):
            rows.append([None] * width)
    return rows


pieces = st.sampled_from(
    [b"1", b",", b'"', b'""', b"\n", b"\r", b" ", b"\t", "é".encode(), b"\xff", b"\0", b"x" * 15, b";"]
)


@given(content=st.lists(pieces, max_size=60).map(b"".join), separator=st.sampled_from(",;\t|"))
@slow_fixture
def test_cells_are_those_of_the_rule(tmp_path, content, separator):
    path = write(tmp_path / "x.csv", f"a{separator}b{separator}c\n".encode() + content)
    table = open_file(path).read(["a", "b", "c"])
    table.validate(full=True)
    assert list(map(list, zip(*table.to_pydict().values(), strict=True))) == by_the_rule(content, separator.encode(), 3)


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
    table = open_file(path).read(["a", "b"]).to_pydict()
    assert [[table["a"].pop(150), table["b"].pop(150)]] == by_the_rule(line.encode(), separator.encode(), 2)
    assert table == {"a": [str(i) for i in range(400)], "b": [str(i + 0.5) for i in range(400)]}


def test_batches_are_what_read_gives(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 3))
    pd.DataFrame(values, columns=list("abc")).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr(text_file, "_BLOCK", 1 << 16)
    file = open_file(tmp_path / "x.csv")
    whole = file.read(["c", "a"])
    tables = list(file.batches(["c", "a"]))
    assert len(tables) > 10
    assert pa.concat_tables(tables).equals(whole)
    numbers = [as_numbers(whole[name], ".") for name in "ac"]
    np.testing.assert_array_equal(np.column_stack(numbers), values[:, [0, 2]])


def test_batches_may_be_left_early(tmp_path, capfd):
    path = write(tmp_path / "x.csv", "a,b\n" + "1.5,2.5\n" * 2_000_000)
    file = open_file(path)
    for _ in range(5):
        assert next(file.batches(["a"]))["a"][0].as_py() == "1.5"
    assert capfd.readouterr() == ("", "")
