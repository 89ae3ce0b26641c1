"""Workbooks: the first row has the names, and each cell becomes text by itself."""

import datetime as dt
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data.files import EXCEL, format_of, open_file
from text_tables import message, read, slow_fixture, write

FILES = Path(__file__).with_name("files")


def workbook(path, rows, title="Data", **others):
    """A workbook; cells by their places in `others`."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    for place, value in others.items():
        sheet[place] = value
    book.create_sheet("Second").append(["z"])
    book.save(path)
    return path


def test_cells_are_the_text_that_they_would_be_in_a_text_file(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        [
            ["name", "value"],
            ["whole", 1],
            ["fraction", 1.5],
            ["large", 1e300],
            ["text", "01"],
            ["blanks", " x "],
            ["true", True],
            ["day", dt.date(2020, 1, 2)],
            ["time", dt.datetime(2020, 1, 2, 3, 4, 5)],
            ["of a day", dt.time(3, 4)],
            ["error", "#DIV/0!"],
            ["no value", "#N/A"],
            ["formula", "=1+1"],
            ["nothing", None],
            ["long", "x" * 32_767],
        ],
    )
    found = dict(zip(*read(path).values(), strict=True))
    assert found == {
        "whole": "1",
        "fraction": "1.5",
        "large": str(int(1e300)),
        "text": "01",
        "blanks": " x ",
        "true": "True",
        "day": "2020-01-02",
        "time": "2020-01-02T03:04:05",
        "of a day": None,
        "error": "",
        "no value": "",
        "formula": "",  # written, but never computed
        "nothing": "",
        "long": "x" * 32_767,
    }
    assert open_file(path).columns == {"name": "text", "value": "text"}


def test_nothing_beside_or_below_the_header_adds_a_column(tmp_path):
    rows = [["a", "b"], [1, 2], [3, 4]]
    plain = read(workbook(tmp_path / "t.xlsx", rows))
    for place in ("C2", "Z3", "AA1000"):
        file = open_file(workbook(tmp_path / "t.xlsx", rows, **{place: "extra"}))
        assert file.columns == {"a": "text", "b": "text"}
        assert file.notes == ()
        assert file.read(["a", "b"]).to_pydict() == plain


def test_columns_without_a_name_are_left_out_with_a_note(tmp_path):
    file = open_file(workbook(tmp_path / "t.xlsx", [["a", None, " ", "d"], [1, 2, 3, 4], [None, 9, 9, None]]))
    assert file.columns == {"a": "text", "d": "text"}
    assert file.notes == ("Columns 2, 3 of sheet 'Data' have no name in the first row and are left out.",)
    assert file.read(["d", "a"]).to_pydict() == {"d": ["4"], "a": ["1"]}
    file = open_file(workbook(tmp_path / "t.xlsx", [[None, "b"], [None, 2]]))
    assert file.notes == ("Column 1 of sheet 'Data' has no name in the first row and is left out.",)
    before = read(workbook(tmp_path / "t.xlsx", [[None, None, "b"], [None, None, 2]]))
    assert before == read(workbook(tmp_path / "t.xlsx", [[None, None, "b"], [7, None, 2]])) == {"b": ["2"]}


def test_blank_rows_are_no_records(tmp_path):
    rows = [["a", "b"], [1, None], [None, None], [None, 0], [None, False], [None, None], [2, 2]]
    assert read(workbook(tmp_path / "t.xlsx", rows)) == {"a": ["1", "", "", "2"], "b": ["", "0", "False", "2"]}


def test_merged_cells_hold_their_value_once(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["a", "b"], [1, 2], [3, 4], [5, 6]])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A2:A4")
    book.save(path)
    assert read(path) == {"a": ["1", "", ""], "b": ["2", "4", "6"]}


def test_sheets(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["a"], [1]])
    assert list(open_file(path).columns) == ["a"]
    assert list(open_file(path, sheet="Second").columns) == ["z"]
    assert message(open_file, path, None, "Third") == f"--sheet: no sheet 'Third' in {path}; it has 'Data', 'Second'"
    text = write(tmp_path / "t.csv", "a\n1\n")
    assert (
        message(open_file, text, None, "Data")
        == f"--sheet: {text} is CSV (UTF-8), which has no sheets; omit the option"
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "the first row of sheet 'Data' of {} is empty; put the column names there"),
        ([[None], ["a"]], "the first row of sheet 'Data' of {} is empty; put the column names there"),
        ([[1, 2.5], [3, 4]], "the first row of sheet 'Data' of {} holds numbers; add a row with column names above it"),
        ([["a", " a"], [3, 4]], "{} has two columns called 'a' in sheet 'Data'; rename one of them"),
        ([["a", 4711, 4711]], "{} has two columns with the same name in sheet 'Data'; rename one of them"),
    ],
)
def test_headers_that_cannot_be_used(tmp_path, rows, words):
    path = workbook(tmp_path / "t.xlsx", rows)
    assert message(open_file, path) == words.format(path)


def test_other_archives_are_refused_for_what_they_are(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("people.csv", "a,b\n1,2\n")
    assert message(open_file, tmp_path / "t.xlsx") == f"{tmp_path / 't.xlsx'} is a zip archive; unpack it first"


def test_opendocument(tmp_path):
    def cell(kind, value, text):
        return f'<table:table-cell office:value-type="{kind}" {value}><text:p>{text}</text:p></table:table-cell>'

    rows = [
        cell("string", "", "a") + cell("string", "", "b"),
        cell("float", 'office:value="1.5"', "1,5") + cell("date", 'office:date-value="2020-01-02"', "2.1.20"),
        cell("boolean", 'office:boolean-value="true"', "WAHR")
        + '<table:table-cell table:number-columns-repeated="9"/>',
        '<table:table-cell/><table:table-cell table:number-columns-repeated="2"/>' + cell("string", "", "beside"),
    ]
    names = "".join(f' xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    sheet = f'<office:body><office:spreadsheet><table:table table:name="S">{body}</table:table>'
    content = f"<office:document-content{names}>{sheet}</office:spreadsheet></office:body></office:document-content>"
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    assert read(tmp_path / "t.ods") == {"a": ["1.5", "True"], "b": ["2020-01-02", ""]}


def test_a_workbook_under_another_name(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["a"], [1]]).rename(tmp_path / "people.csv")
    assert format_of(path) is EXCEL
    assert read(path) == {"a": ["1"]}


def test_damaged_workbooks(tmp_path, capfd):
    path = workbook(tmp_path / "t.xlsx", [["a", "b"], *([i, "zq7x"] for i in range(99))])
    said = f"{path} could not be read as an Excel workbook or an OpenDocument spreadsheet"
    whole = path.read_bytes()
    assert message(open_file, write(path, whole[:-30])) == said
    assert message(open_file, write(path, whole[:200])) == said
    assert message(open_file, write(path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))) == said
    assert capfd.readouterr() == ("", "")


def test_old_workbooks_with_a_wrong_code_page(tmp_path):
    content = (FILES / "test_spec.xls").read_bytes()
    mark = b"\x42\x00\x02\x00\xb0\x04"
    assert content.count(mark) == 1
    sizes = [len(column) for column in read(FILES / "test_spec.xls").values()]
    for page in (1251, 1252, 932, 10_000):
        path = write(tmp_path / "t.xls", content.replace(mark, mark[:4] + page.to_bytes(2, "little")))
        assert [len(column) for column in read(path).values()] == sizes
    path = write(tmp_path / "t.xls", content.replace(mark, mark[:4] + b"\x34\x12"))  # one that nobody knows
    assert "could not be read as an Excel workbook" in message(open_file, path)


def with_cell(path, text, style):
    """A workbook whose last cell is written so, in XML, with the number of a format for dates in it."""
    workbook(path, [["a", "b"], [1, 2.5], [3, dt.datetime(2020, 1, 2)], [5, 6]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    number = re.search(rb'r="B3" s="([0-9]+)"', sheet)[1].decode()
    cell = re.search(rb'<c r="B4".*?</c>', sheet)[0]
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(cell, text.replace("s=?", f's="{number}"' * style).encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("error", ["#N/A", "#SPILL!", "#CALC!", "#ERROR!", "#GETTING_DATA", "Err:522", ""])
@pytest.mark.parametrize("formula", ["", "<f>A1&lt;2</f>", '<f t="shared" si="0"/>'])
def test_an_error_of_any_kind_is_missing(tmp_path, capfd, error, formula):
    cell = f'<c r="B4" t="e">{formula}<v>{error}</v></c>'
    assert read(with_cell(tmp_path / "t.xlsx", cell, True)) == {"a": ["1", "3", "5"], "b": ["2.5", "2020-01-02", ""]}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [-1e12, -1e300, 1e9, -1e9, 1e300, 123456789, 3e6, -1, 1.5e-300])
@pytest.mark.parametrize("shown", ["yyyy-mm-dd", "[h]:mm:ss", "h:mm"])
def test_a_number_that_no_date_has_is_read_like_any_other(tmp_path, capfd, number, shown):
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, dt.datetime(2020, 1, 2)], [5, number]]:
        book.active.append(row)
    book.active["B3"].number_format = shown
    book.save(path)
    found = read(path)
    assert (found["a"], found["b"][0]) == (["1", "5"], "2020-01-02")
    assert abs(number) < 1e7 or float(found["b"][1]) == number
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["1E+15", "-INF", "NaN", "1e999", " 1234567890 "])
def test_other_spellings_of_such_numbers(tmp_path, capfd, text):
    found = read(with_cell(tmp_path / "t.xlsx", f'<c r="B4" s=?><v>{text}</v></c>', True))
    assert found == read(with_cell(tmp_path / "t.xlsx", f'<c r="B4" s=?><v>{text}</v></c>', False))
    assert (found["a"], found["b"][:2]) == (["1", "3", "5"], ["2.5", "2020-01-02"])
    assert capfd.readouterr() == ("", "")


def test_a_row_that_the_library_cannot_read_is_a_record(tmp_path, monkeypatch):
    """As it is in workbooks that are not XML."""
    monkeypatch.setattr("privreg.data.excel.mended", lambda _: None)
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in [["a", "b"], [1, 2], [3, 1e10], [5, 6]]:
        book.active.append(row)
    book.active["B3"].number_format = "[h]:mm:ss"
    book.save(path)
    assert read(path) == {"a": ["1", None, "5"], "b": ["2", None, "6"]}


cell = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=9),
    st.sampled_from(["#N/A", "#REF!", "=1/0", "=A1", "'", "x" * 30_000, "_x000D_", "_xD800_"]),
    st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(9999, 12, 31)),
    st.timedeltas(dt.timedelta(0), dt.timedelta(9)),
)


@given(st.lists(cell, min_size=2, max_size=4), st.integers(1, 4))
@slow_fixture
def test_one_record_changes_nothing_but_itself(tmp_path, record, place):
    rows = [["a", "b"], [1, "x"], [2.5, True], [None, dt.date(2020, 1, 2)]]
    before = [list(row) for row in zip(*read(workbook(tmp_path / "t.xlsx", rows)).values(), strict=True)]
    rows.insert(place, record)
    file = open_file(workbook(tmp_path / "t.xlsx", rows))
    assert (list(file.columns), file.notes) == (["a", "b"], ())
    after = [list(row.values()) for row in file.read(["a", "b"]).to_pylist()]
    more = len(after) - len(before)
    assert more in (0, 1)
    assert after[: place - 1] + after[place - 1 + more :] == before
