"""The journal of a run: a row is on the disk before the next, and damage is named."""

import json
import os

import pytest

from privreg.errors import DataError
from privreg.paper import journal
from privreg.paper.results import JOURNAL
from privreg.paper.results import load as load_results


def test_journal_keeps_rows_and_names_a_damaged_line(tmp_path):
    file = tmp_path / "j"
    with journal.writing(file) as log:
        log.append({"a": "ü\n"})
        with pytest.raises(DataError, match="another run"), journal.writing(file):
            pass
    file.write_bytes(file.read_bytes() + b'{"b": 2')
    assert journal.read(file) == [{"a": "ü\n"}]
    with journal.writing(file) as log:
        log.append({"c": 3})
    assert journal.read(file) == [{"a": "ü\n"}, {"c": 3}]
    file.write_bytes(b"[]\n" + file.read_bytes())
    with pytest.raises(DataError, match="line 1 of j is damaged"):
        journal.read(file)


def test_a_row_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    safe = []
    monkeypatch.setattr(os, "fsync", lambda number: safe.append((tmp_path / "j").read_text()))
    with journal.writing(tmp_path / "j") as log:
        log.append({"a": 1})
        assert safe == ['{"a":1}\n']


@pytest.mark.parametrize("row", [{"end": {}}, {"task": 1}, {"run": {}}, {"run": 3}])
def test_a_journal_that_no_run_wrote_is_an_error_of_its_own(tmp_path, row):
    (tmp_path / JOURNAL).write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=JOURNAL):
        load_results(tmp_path)
