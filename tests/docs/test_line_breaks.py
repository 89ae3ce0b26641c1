"""The code that the page gives for files with line breaks in cells does what it says."""

from pages import blocks
from places import ROOT
from text_tables import read, write


def test_cells_with_line_breaks_can_be_taken_apart(tmp_path, monkeypatch):
    page = blocks(ROOT / "docs" / "howto" / "fit-a-file.md")
    (code,) = (block.text for block in page if block.language == "python" and "clean.csv" in block.text)
    write(tmp_path / "people.csv", 'name,"note, long",pay\na,"one\ntwo\r\nthree",1.50\nb,,NA\nc,"x ""y""",007\n')
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    expected = {"name": ["a", "b", "c"], "note, long": ["one two three", "", 'x "y"'], "pay": ["1.50", "NA", "007"]}
    assert read(tmp_path / "clean.csv") == expected
    assert read(tmp_path / "people.csv")["name"].count(None) == 3  # as it is, a line is a record
