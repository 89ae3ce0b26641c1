"""Text files: what the header line decides, which are the names and the separator."""

import pytest

from privreg.data.files import open_file
from text_tables import message, read, write


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
    assert read(write(tmp_path / "x.csv", 'x\n1,5\n\n""\n2,25\n')) == {"x": ["1,5", "", "2,25"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "\n", " \t\r\n\n", "\n" * 3_000_000])
def test_blank_lines_before_the_header(tmp_path, before, end):
    path = write(tmp_path / "x.csv", before + f"a,b{end}1,2{end}")
    assert read(path) == {"a": ["1"], "b": ["2"]}


def test_blanks_in_the_header_line_are_cells(tmp_path):
    assert read(write(tmp_path / "x.csv", "\n\n a\t b\n1\t2\n")) == {"a": ["1"], "b": ["2"]}
    assert read(write(tmp_path / "x.csv", "\n\ta\n1\t2\n")) == {"a": ["2"]}


@pytest.mark.parametrize(
    ("header", "names", "notes"),
    [
        ('"","a","b"', ["a", "b"], ("Column 1 has no name and is left out.",)),  # write.csv of R
        (",a,b", ["a", "b"], ("Column 1 has no name and is left out.",)),  # to_csv of pandas
        ("a,  ,b,", ["a", "b"], ("Columns 2, 4 have no names and are left out.",)),
        ("a" + "," * 12, ["a"], ("Columns 2, 3, 4, 5, 6, 7, 8, 9, … have no names and are left out.",)),
        ("Unnamed: 0,a", ["Unnamed: 0", "a"], ()),
    ],
)
def test_columns_without_a_name_are_ignored(tmp_path, header, names, notes):
    cells = [str(i) for i in range(header.count(",") + 1)]
    path = write(tmp_path / "x.csv", f"{header}\n{','.join(cells)}\n{cells[0]}\n")
    file = open_file(path)
    assert (list(file.columns), file.notes) == (names, notes)
    places = [i for i, name in enumerate(header.replace('"', "").split(",")) if name.strip()]
    assert read(path) == {name: [cells[i], None] for name, i in zip(names, places, strict=True)}
    assert file.select(names[:1]).notes == notes


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "a,b\n \n\t\n"])
def test_a_header_alone(tmp_path, content):
    path = write(tmp_path / "x.csv", content)
    assert read(path) == {"a": [], "b": []}
    assert open_file(path).columns == {"a": "text", "b": "text"}


@pytest.mark.parametrize("content", ["\n", " \r\n\t", "\n" * 3_000_000])
def test_blanks_alone_are_an_empty_file(tmp_path, content):
    assert message(open_file, write(tmp_path / "x.csv", content)).endswith("is empty")
