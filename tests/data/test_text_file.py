"""Text files: no record changes how another is read, whatever the blocks."""

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data import text_file
from privreg.data.files import open_file
from text_tables import BLANKS, LEVELS, cells, message, read, rows_of, slow_fixture, write

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
