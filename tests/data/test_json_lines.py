"""JSON lines: the user names the columns, and each line is a record by itself."""

import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.data import json_lines
from privreg.data.files import JSON_LINES, TEXT, format_of, open_file
from privreg.data.json_lines import JsonLines
from text_tables import message, slow_fixture, write


def cells(path: Path, *columns: str) -> list[list]:
    return [list(row.values()) for row in JsonLines(path, columns).read(columns).to_pylist()]


def test_cells_are_the_text_that_they_would_be_in_a_text_file(tmp_path):
    lines = [
        '{"a": "x", "b": 1}',
        '{"b": 1.50, "a": null}',
        '  {"a": true, "b": false}  \r',
        '{"a": [1], "b": {"c": 2}}',
        '{"a": "é", "b": -1e999}',
        '{"a": "first", "a": "last", "b": 1}',
        "{}",
    ]
    path = write(tmp_path / "t.jsonl", "\ufeff" + "\n".join(lines))
    assert cells(path, "a", "b") == [
        ["x", "1"],
        [None, "1.50"],
        ["true", "false"],
        [None, None],
        ["é", "-1e999"],
        ["last", "1"],
        [None, None],
    ]
    assert JsonLines(path, ["b"]).columns == {"b": "text"}


HOSTILE = [
    b"",
    b"x",
    b"[1, 2]",
    b'"a"',
    b"1",
    b"null",
    b'{"a": "x"} {"a": "y"}',
    b'{"a": "x"',
    b'{"a": "\\ud800"}',
    b'{"a": "\xff"}',
    b'{"\xff": 1}',
    b'{"a": NaN}',
    b'{"a": -Infinity}',
    b'{"a": ' + b"9" * 100_000 + b"}",
    b'{"a": ' + b"[" * 200_000 + b"}",
    b'{"a": ' + b'{"a":' * 200_000,
    b'{"a": "' + b"x" * 100_000 + b'"}',
    b'{"new": 1, "a": "z"}',
    b"\x00{\x00}\x00",
    b'{"a": "\x00"}',
    b'\xef\xbb\xbf{"a": "x"}',
    b'{"a": 1, }',
    b"{'a': 1}",
    b'{"a": 0x1}',
    b'{"a": "\\ud83d\\ude00"}',
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("place", [0, 1, 3])
def test_one_line_changes_nothing_but_itself(tmp_path, line, place):
    lines = [b'{"a": "p", "b": true}', b'{"a": 2}', b'{"b": "q"}']
    before = cells(write(tmp_path / "t.jsonl", b"\n".join(lines)), "a", "b")
    lines.insert(place, line)
    after = cells(write(tmp_path / "t.jsonl", b"\n".join(lines)), "a", "b")
    assert len(after) == 3 + bool(line)
    assert after[:place] + after[len(after) - 3 + place :] == before


@given(st.lists(st.one_of(st.binary(max_size=30), st.text(max_size=9).map(lambda t: json.dumps({"a": t}).encode()))))
@slow_fixture
def test_each_line_is_read_as_if_it_were_alone(tmp_path, lines):
    lines = [line.replace(b"\n", b"") for line in lines]
    together = cells(write(tmp_path / "t.jsonl", b"{}\n" + b"\n".join(lines)), "a", "b")[1:]
    alone = [cells(write(tmp_path / "t.jsonl", b"{}\n" + line), "a", "b")[1:] for line in lines]
    assert together == list(chain.from_iterable(alone))


def test_a_new_key_in_the_last_record_adds_no_column(tmp_path):
    path = write(tmp_path / "t.jsonl", '{"a": 1}\n{"a": 2, "secret": 3}\n')
    assert list(open_file(path, columns=["a"]).columns) == ["a"]
    said = message(open_file, path)
    assert said == f"{path} has no header; name its columns with --features (columns= in Python)"


def test_a_line_that_is_too_long_is_a_record(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_LONGEST", 16)
    for long in ("x" * 15, "x" * 16, "x" * 17, "x" * 50):
        path = write(tmp_path / "t.jsonl", f'{{"a": 1}}\n{{"a": "{long}"}}\n{{"a": 2}}\n')
        assert cells(path, "a") == [["1"], [None], ["2"]]


def test_what_is_taken_for_json_lines(tmp_path):
    for name, content, known in [
        ("t.jsonl", "[1]", JSON_LINES),
        ("T.NDJSON", "x,y", JSON_LINES),
        ("t.json", '\n {"a": 1}', JSON_LINES),
        ("t", '{"a": 1}', JSON_LINES),
        ("t.csv", "a,b", TEXT),
        ("t", "a,b", TEXT),
        ("t", "{a},b", TEXT),
    ]:
        assert format_of(write(tmp_path / name, content)) is known, name
    for name, content in [("t.csv", '{"a": 1}'), ("t.json", '[{"a": 1}]'), ("t.json", '{\n  "a": 1\n}')]:
        assert "is JSON; save it as" in message(open_file, write(tmp_path / name, content))


def test_what_the_first_record_holds_does_not_change_the_format(tmp_path):
    """Taken for text, it would be a header, which is shown."""
    lines = [("t", line) for line in (b"{}", b'{ "a": 1}', b'{\t"a":1}')]
    lines += [("t.json", line) for line in HOSTILE if not line.startswith(b"[")]  # which is how a list of all begins
    for name, line in lines:
        assert format_of(write(tmp_path / name, line + b'\n{"a": 2}\n')) is JSON_LINES, (name, line)
