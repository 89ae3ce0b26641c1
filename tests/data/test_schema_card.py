"""The card of a schema."""

from cards import shown
from privreg.data.schema import BOOLEAN, CATEGORY, NUMBER, Column, Schema


def test_what_each_column_holds():
    schema = Schema(
        (
            Column("age", NUMBER, range=(0.0, 120.0), n_missing=20.0),
            Column("pay", NUMBER, mark=","),
            Column("town", CATEGORY, levels=("a", "b"), counts=(60.0, 30.0), reference=0, other=True, n_other=10.0),
            Column("job", CATEGORY, levels=tuple(map(str, range(12)))),
            Column("smokes", BOOLEAN, levels=(False, True), reference=0),
            Column("id", CATEGORY, left_out="nearly every value is different"),
        ),
        records=100.0,
        warnings=("odd",),
    )
    card = shown(schema)
    assert card.title == "Schema of 6 columns"
    assert card.facts["Records"] == "about 100"
    assert card.facts["Missing values"] == "records without a value are left out"
    assert {row[0]: row[1:] for row in card.rows if len(row) == 4} == {
        "column": ["kind", "missing", "levels and ranges"],
        "age": ["number", "20 %", "declared between 0 and 120"],
        "pay": ["number (decimal comma)", "", ""],
        "town": ["category", "", "a (reference) 60 %, b 30 %, (other) 10 %"],
        "job": ["category", "", "0, 1, 2, 3, 4, 5, 6, 7 and 4 more"],
        "smokes": ["boolean", "", "False (reference), True"],
        "id": ["left out", "", "nearly every value is different"],
    }
    assert card.text.endswith("\nodd")


def test_a_schema_that_cost_nothing():
    card = shown(Schema.numbers(["a", "b"]))
    assert "Records" not in card.facts
    assert [row[:2] for row in card.rows if len(row) == 4][1:] == [["a", "number"], ["b", "number"]]
