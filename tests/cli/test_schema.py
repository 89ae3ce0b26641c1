"""`privreg schema`, and fits that use what it found: levels, ranges, missing values, people."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import refused, run
from fit_command import BUDGET, ROWS
from privreg import Ledger, SchemaReader, load_model, load_schema

LEDGER = ("--ledger", "budget.db", "--dataset", "people")


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger("budget.db").create("people", "100", "1e-4")
    return folder


def reading(answer):
    return [step for step in answer["receipt"]["steps"] if step["purpose"] == "reading"]


def test_it_finds_kinds_and_levels(here):
    answer = json.loads(run("schema", here / "people.csv", "--epsilon", "3", "--out", "schema.json", "--json").stdout)
    columns = {column["name"]: column for column in answer["schema"]["columns"]}
    assert {name: column["kind"] for name, column in columns.items()} == {
        "name": "category",
        "age": "number",
        "school": "number",
        "town": "category",
        "noise": "number",
        "pay": "number",
        "family": "number",
    }
    assert set(columns["town"]["levels"]) == {"north", "south"}
    assert columns["name"]["left_out"] == "no value is common enough to be found at this budget"
    assert answer["warnings"] == ["name: no value is common enough to be found at this budget; left out."]
    assert answer["schema"]["records"] == pytest.approx(ROWS, rel=0.02)
    assert answer["receipt"]["epsilon"] <= 3
    assert answer["receipt"]["private"] is True
    assert answer["ledger"] is None
    assert load_schema("schema.json").to_dict() == answer["schema"]


def test_it_prints_a_table(here):
    result = run("schema", here / "people.csv", "--epsilon", "3", "--drop", "name", "--out", "s.json")
    for text in (
        "6 of 6 columns can be used, from about ",
        "levels (share)",
        "north",
        "south",
        "Shares are noisy estimates.",
        "protects any one record",
    ):
        assert text in result.stdout
    assert "Wrote the schema to s.json. Use it with privreg fit --schema s.json." in result.stdout.replace("\n", " ")
    assert result.stderr == ""


def test_a_fit_with_a_schema_pays_nothing_for_reading(here):
    run("schema", here / "people.csv", "--epsilon", "3", "--drop", "name,family", "--out", "schema.json")
    words = ("--target", "pay", *BUDGET, "--drop", "name,family", "--json")
    answer = json.loads(run("fit", here / "people.csv", *words, "--schema", "schema.json", "--out", "m.json").stdout)
    assert reading(answer) == []
    assert {c["feature"] for c in answer["coefficients"]} > {"age", "school", "noise"}
    assert reading(json.loads(run("fit", here / "people.csv", *words).stdout))
    again = json.loads(run("fit", here / "people.csv", *words, "--schema", "m.json").stdout)  # a model has one, too
    assert reading(again) == []
    other = ("--target", "age", *BUDGET, "--drop", "name,family", "--json")  # for another target
    assert reading(json.loads(run("fit", here / "people.csv", *other, "--schema", "schema.json").stdout)) == []
    chosen = run("select", here / "people.csv", *words[:-1], "--k", "1", "--schema", "schema.json", "--json")
    assert json.loads(chosen.stdout)["selected_features"] == ["school"]


def test_a_schema_that_does_not_fit_costs_nothing(here, tmp_path):
    run("schema", here / "people.csv", "--epsilon", "3", "--features", "age,school", "--out", "schema.json")
    (tmp_path / "text.json").write_text("no JSON")
    fit = ("fit", here / "people.csv", "--target", "pay", *BUDGET, *LEDGER, "--schema")
    for schema, more, message in (
        ("schema.json", (), "the schema has no column 'name'; it was read from a different table"),
        ("schema.json", ("--features", "age", "--missing", "fill"), 'a schema that was read with missing="fill"'),
        ("schema.json", ("--category", "town=a"), "--schema has levels and ranges of its own"),
        ("text.json", (), "text.json cannot be used as a schema: it is not JSON"),
        ("none.json", (), "none.json: No such file or directory"),
    ):
        assert message in refused(*fit, schema, *more)
    assert Ledger("budget.db").history() == []


def test_a_file_is_not_replaced_without_force(here, tmp_path):
    (tmp_path / "schema.json").write_text("old")
    words = ("schema", here / "people.csv", "--epsilon", "1", "--out", "schema.json")
    assert refused(*words) == "privreg schema: schema.json: the file already exists; --force replaces it\n"
    run(*words, "--force")
    assert load_schema("schema.json").names[0] == "name"


def test_it_spends_from_the_ledger_and_says_why(here):
    answer = json.loads(
        run("schema", here / "people.csv", "--epsilon", "2", *LEDGER, "--purpose", "for all of 2026", "--json").stdout
    )
    (entry,) = Ledger("budget.db").history()
    assert (str(entry.epsilon), entry.what, entry.purpose) == ("2.0", "read SchemaReader", "for all of 2026")
    assert answer["ledger"]["entries"] == 1
    run("fit", here / "people.csv", "--target", "pay", *BUDGET, *LEDGER, "--purpose", "the annual report")
    assert Ledger("budget.db").history()[1].purpose == "the annual report"
    shown = run("ledger", "history", "budget.db", "--json").stdout
    assert "the annual report" in shown


# ---- missing values and ranges


@pytest.fixture
def holes(people, tmp_path):
    lost = np.arange(ROWS) % 8 == 0
    people.assign(school=people["school"].where(~lost)).drop(columns=["name", "family"]).to_csv(
        tmp_path / "holes.csv", index=False
    )
    return lost


def test_missing_values_are_dropped_or_filled(here, holes):
    words = ("fit", "holes.csv", "--target", "pay", *BUDGET, "--json")
    dropped = json.loads(run(*words, "--out", "drop.json").stdout)
    assert dropped["records"] == pytest.approx(0.875 * ROWS, rel=0.03)
    (told,) = [warning for warning in dropped["warnings"] if "value is missing" in warning]
    assert "--missing fill" in told
    filled = json.loads(run(*words, "--missing", "fill", "--out", "fill.json").stdout)
    assert filled["records"] == pytest.approx(ROWS, rel=0.03)
    assert load_model("fill.json").schema_.columns[1].centre == pytest.approx(12, abs=1)
    for model, missing in (("drop.json", holes), ("fill.json", np.zeros(ROWS, bool))):
        lines = run("predict", model, "holes.csv").stdout.split()[1:]
        assert [line == "nan" for line in lines] == missing.tolist()


def test_ranges_are_known_from_outside(here):
    words = ("fit", here / "people.csv", "--target", "pay", *BUDGET, "--features", "age,school", "--json")
    answer = json.loads(run(*words, "--range", "age=30..40", "--range", "school=-5..25.5", "--out", "m.json").stdout)
    age, school = load_model("m.json").schema_.columns
    assert (age.range, school.range) == ((30.0, 40.0), (-5.0, 25.5))
    (found,) = [c for c in answer["coefficients"] if c["feature"] == "age"]
    assert 30 <= found["linear_to"] <= 40 + 10  # limits do not go beyond the range
    model = load_model("m.json")
    one, two = model.predict(pd.DataFrame({"age": [40.0, 90.0], "school": [12.0, 12.0]}))
    assert one == two  # values beyond are clipped


def test_named_columns_are_used_even_if_mostly_empty(here, people, tmp_path):
    people.assign(school=people["school"].where(np.arange(ROWS) % 5 == 0)).to_csv(tmp_path / "half.csv", index=False)
    words = ("fit", "half.csv", "--target", "pay", *BUDGET, "--json")
    left = json.loads(run(*words, "--drop", "name").stdout)
    (told,) = [warning for warning in left["warnings"] if warning.startswith("school: ")]
    assert told in (
        f"school: {reason}; left out." for reason in ("too many values are missing", "almost all values are missing")
    )
    named = json.loads(run(*words, "--features", "age,school", "--range", "school=0..30").stdout)
    assert named["columns"] == ["age", "school"]
    assert not any("left out." in text and "school" in text for text in named["warnings"])


# ---- people, with every method


@pytest.mark.parametrize("method", ["auto", "BAS", "Tukey", "K-BAS", "L-Tukey"])
def test_every_method_protects_people(here, method):
    words = ("--features", "age,school,noise", "--person", "family", "--rows-per-person", "2", "--method", method)
    answer = json.loads(run("fit", here / "people.csv", "--target", "pay", *BUDGET, *words, *LEDGER, "--json").stdout)
    assert answer["receipt"]["unit"] == "one person, at most 2 rows"
    assert answer["receipt"]["epsilon"] <= 3
    assert Ledger("budget.db").history()[0].unit == "person by family"
    assert "family" not in answer["columns"]


def test_reading_and_selecting_protect_people(here):
    people = ("--person", "family", "--rows-per-person", "2", "--json")
    answer = json.loads(run("schema", here / "people.csv", "--epsilon", "3", *people).stdout)
    assert answer["receipt"]["unit"] == "one person, at most 2 rows"
    assert "family" not in [column["name"] for column in answer["schema"]["columns"]]
    words = ("select", here / "people.parquet", "--target", "pay", "--k", "1", "--epsilon", "5")
    answer = json.loads(run(*words, "--features", "age,school,noise", *people).stdout)
    assert answer["receipt"]["unit"] == "one person, at most 2 rows"
    assert answer["selected_features"] == ["school"]


def test_a_schema_read_per_record_does_not_serve_people(here):
    run("schema", here / "people.csv", "--epsilon", "3", "--drop", "family", "--out", "records.json")
    run("schema", here / "people.csv", "--epsilon", "3", "--person", "family", "--out", "people.json")
    words = ("fit", here / "people.csv", "--target", "pay", *BUDGET, "--person", "family", *LEDGER, "--schema")
    said = refused(*words, "records.json").replace("\n", " ")
    assert "the schema protects one record, but this fit would protect one person, at most 1 row" in said
    assert Ledger("budget.db").history() == []
    answer = json.loads(run(*words, "people.json", "--json").stdout)
    told = "an earlier release (ε = 3, δ = 1e-6, one person, at most 1 row), whose cost comes on top."
    assert any(told in note for note in answer["notes"])


def test_what_was_chosen_with_a_schema_says_what_that_cost(here):
    run("schema", here / "people.csv", "--epsilon", "3", "--out", "schema.json")
    words = ("select", here / "people.csv", "--target", "pay", "--k", "1", *BUDGET, "--schema", "schema.json")
    said = run(*words).stdout.replace("\n", " ")
    assert "an earlier release (ε = 3, δ = 1e-6, one record), whose cost comes on top." in said


def test_a_seeded_schema_is_called_so(here, people):
    SchemaReader(3.0, random_state=1).fit(people.drop(columns="pay")).save("seeded.json")
    words = ("fit", here / "people.csv", "--target", "pay", *BUDGET, "--schema", "seeded.json")
    said = run(*words, "--verbose").stdout
    assert "NOT PRIVATE" in said
    assert "50:50" not in said
    assert "cannot be entered into a ledger" in refused(*words, *LEDGER).replace("\n", " ")


# ---- predictions


def test_a_file_without_a_column_that_is_left_out_will_do(here, people, tmp_path):
    run("fit", here / "people.csv", "--target", "pay", *BUDGET, "--out", "model.json")
    assert load_model("model.json").schema_.left_out == {
        "no value is common enough to be found at this budget": ["name"]
    }
    people.drop(columns=["name", "pay"]).to_csv(tmp_path / "new.csv", index=False)
    lines = run("predict", "model.json", "new.csv").stdout.splitlines()
    assert lines == run("predict", "model.json", here / "people.csv").stdout.splitlines()
    assert len(lines) == ROWS + 1
    people.drop(columns=["age"]).to_csv(tmp_path / "less.csv", index=False)
    assert "the model needs a column that is missing: no column 'age'" in refused("predict", "model.json", "less.csv")
