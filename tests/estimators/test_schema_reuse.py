"""A schema that was released once is public: later fits use it at no cost."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cards import shown
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    Ledger,
    NotPrivateWarning,
    PrivateLinearRegression,
    Schema,
    SchemaError,
    SchemaReader,
    SubLasso,
    TukeyRegression,
    load_model,
    load_schema,
)
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.privacy.origin import UNKNOWN, Origin
from privreg.results.model_file import _digest
from privreg.results.release import release_of

N = 4000
ESTIMATORS = {
    "PrivateLinearRegression": lambda **o: PrivateLinearRegression(3.0, **o),
    "TukeyRegression": lambda **o: TukeyRegression(20.0, **o),
    "BoostedAdaSSP": lambda **o: BoostedAdaSSP(3.0, rounds=3, **o),
    "SelectThenRegress": lambda **o: SelectThenRegress("kendall", "adassp", 2, 3.0, **o),
    "DPKendall": lambda **o: DPKendall(2, 3.0, **o),
    "SubLasso": lambda **o: SubLasso(2, 3.0, **o),
}
every = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def table(seed=0):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ayr", "Bath", "Cork"], N, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {"age": rng.normal(50, 10, N), "town": town, "id": [f"p{i}" for i in range(N)], "pay": rng.normal(size=N)}
    )
    frame["pay"] += frame["age"] / 5 + 3 * (town == "Bath")
    return frame


FRAME = table()
X, Y = FRAME[["age", "town", "id"]], FRAME["pay"]


def read(frame=X, **options):
    return SchemaReader(5.0, random_state=1, **options).fit(frame)


def purposes(model):
    return {event.purpose for event in model.receipt_.steps}


@every
def test_a_schema_costs_nothing_again(make):
    schema = read().schema_
    model = make(schema=schema, random_state=2).fit(X, Y)
    assert "reading" not in purposes(model)
    assert not any(event.name == "count all records" for event in model.receipt_.steps)
    assert model.receipt_.before is None
    assert model.receipt_.extra_delta == 0
    assert model.schema_.columns == schema.columns
    again = make(schema=model.schema_, random_state=2).fit(X, Y)  # of a model as well
    assert again.receipt_ == model.receipt_
    assert again.schema_ == model.schema_
    if hasattr(model, "coef_"):
        assert (again.coef_ == model.coef_).all()
        assert model.coef_.shape == (4,)
        assert model.coef_[3] == 0  # "id" is left out, and has its row


@every
def test_without_one_reading_is_paid_for(make):
    model = make(random_state=2, **({"delta": 1e-6} if "delta" in make().get_params() else {})).fit(X, Y)
    assert "reading" in purposes(model)
    assert model.receipt_.epsilon <= model.epsilon
    assert model.receipt_.delta <= 1e-6
    assert model.schema_.columns[1].levels[0] == "Ayr"


def test_one_schema_for_every_target():
    """A steward reads the whole table once, the later targets included."""
    schema = read(FRAME).schema_
    for target in ("pay", "age"):
        features = FRAME.drop(columns=target)
        model = PrivateLinearRegression(3.0, schema=schema, random_state=2).fit(features, FRAME[target])
        assert [column.name for column in model.schema_] == list(features)
        assert "reading" not in purposes(model)
        assert model.score(features, FRAME[target]) > 0.3


def test_columns_are_found_by_their_names():
    schema = read().schema_
    one = PrivateLinearRegression(3.0, schema=schema, random_state=2).fit(X, Y)
    other = PrivateLinearRegression(3.0, schema=schema, random_state=2).fit(X[["id", "town", "age"]], Y)
    assert [column.name for column in other.schema_] == ["id", "town", "age"]
    assert other.selected_features_ == ["town=Bath", "town=Cork", "age"]
    assert one.selected_features_ == ["age", "town=Bath", "town=Cork"]


def test_from_a_file(tmp_path):
    reader = read()
    reader.save(tmp_path / "schema.json")
    assert load_schema(tmp_path / "schema.json") == reader.schema_
    record = json.loads((tmp_path / "schema.json").read_text())
    assert (record["format"], record["version"]) == ("privreg schema", 1)
    assert record["receipt"] == json.loads(json.dumps(reader.receipt_.to_dict()))
    model = PrivateLinearRegression(3.0, schema=reader.schema_, random_state=2).fit(X, Y)
    model.save(tmp_path / "model.json")
    assert load_schema(tmp_path / "model.json") == model.schema_
    again = PrivateLinearRegression(3.0, schema=load_schema(tmp_path / "model.json"), random_state=2).fit(X, Y)
    assert again.summary() == model.summary()


def test_files_that_are_no_schema(tmp_path):
    whole = json.dumps({"format": "privreg schema", "version": 1, "schema": read().schema_.to_dict()})
    file = tmp_path / "schema.json"
    for content, reason in (
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is neither a privreg schema nor a privreg model"),
        ("{}", "it is neither a privreg schema nor a privreg model"),
        ('{"schema": 3}', "expected the fields records"),
        (whole.replace('"version": 1', '"version": 2'), "it was written by another version of privreg"),
        (whole.replace('"number"', '"colour"'), "column 'age': unknown kind"),
        (whole.replace('"target_mark": "."', '"target_mark": ";"'), "target_mark must be a period or a comma"),
    ):
        file.write_text(content)
        with pytest.raises(SchemaError) as caught:
            load_schema(file)
        assert str(caught.value).startswith(f"{file} cannot be used as a schema: ")
        assert reason in str(caught.value)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="it is not text"):
        load_schema(file)
    with pytest.raises(FileNotFoundError):
        load_schema(tmp_path / "nothing.json")


def test_a_number_that_is_too_large_is_no_schema(tmp_path):
    record = {"format": "privreg schema", "version": 1, "schema": read().schema_.to_dict()}
    record["schema"]["level_noise"] = 10**400
    (tmp_path / "schema.json").write_text(json.dumps(record))
    with pytest.raises(SchemaError, match="level_noise must be a finite number"):
        load_schema(tmp_path / "schema.json")


@every
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"schema": Schema.numbers(["age", "town"])},
            "the schema has no column 'id'; it was read from a different table",
        ),
        ({"schema": {"age": "number"}}, "schema must be a privreg.Schema, got dict"),
        ({"schema": "schema.json"}, "schema must be a privreg.Schema, got str"),
        ({"missing": "fill"}, 'missing="fill" needs a schema that was read with missing="fill"'),
        (
            {"categories": {"town": ["Ayr"]}},
            "the schema has its own levels and ranges; do not pass categories or ranges as well",
        ),
        ({"categories": "dtype"}, "the schema has its own levels and ranges"),
        ({"ranges": {"age": (0, 120)}}, "the schema has its own levels and ranges"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(make, options, message, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", "100", "1e-4")
    model = make(**{"schema": read().schema_, "ledger": ledger, "dataset": "d"} | options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "receipt_")
    assert ledger.history() == []


def test_a_schema_that_was_read_for_filling_serves_both(tmp_path):
    frame = X.assign(age=X["age"].where(X.index % 10 != 0))
    schema = read(frame, missing="fill").schema_
    assert schema.fill
    assert schema.columns[0].centre == pytest.approx(50, abs=2)
    filled = PrivateLinearRegression(3.0, schema=schema, missing="fill", random_state=2).fit(frame, Y)
    dropped = PrivateLinearRegression(3.0, schema=schema, random_state=2).fit(frame, Y)
    assert (filled.schema_.fill, dropped.schema_.fill) == (True, False)
    assert filled.n_records_ == pytest.approx(N, rel=0.02)
    assert dropped.n_records_ == pytest.approx(0.9 * N, rel=0.02)
    assert np.isfinite(filled.predict(frame)).all()
    assert np.isnan(dropped.predict(frame)).sum() == N // 10


def test_a_reader_makes_schemas_and_takes_none():
    with pytest.raises(ValueError, match="a SchemaReader makes a schema; do not pass one"):
        SchemaReader(schema=Schema.numbers(3)).fit(X)


def test_a_schema_may_be_changed_by_hand():
    """It is public, so whoever knows better may say so: another reference, or a column that is not wanted."""
    schema = read().schema_
    age, town, identity = schema.columns
    changed = replace(schema, columns=(age, replace(town, reference=1), identity))
    model = PrivateLinearRegression(3.0, schema=changed, random_state=2).fit(X, Y)
    assert model.selected_features_ == ["age", "town=Ayr", "town=Cork"]
    assert "Reference level: town = Bath." in str(model.summary())


def test_numbers_alone_need_nothing():
    """The schema of public numbers gives what an array without one gives, less what reading costs."""
    numbers = np.random.default_rng(0).normal(size=(N, 3))
    model = PrivateLinearRegression(schema=Schema.numbers(3), random_state=2).fit(numbers, numbers @ [1.0, 2.0, 3.0])
    assert model.receipt_.steps[0].name == "count the records"
    assert model.schema_.records is None
    named = pd.DataFrame(numbers, columns=["a", "b", "c"])
    other = PrivateLinearRegression(schema=Schema.numbers(["a", "b", "c"]), random_state=2)
    assert (other.fit(named, numbers @ [1.0, 2.0, 3.0]).coef_ == model.coef_).all()


# ---- what the earlier release cost, and whom it protects


PERSONS = np.arange(N) // 2
SENTENCE = "Levels and counts come from an earlier release (ε = 5, δ = 1e-6, one record), whose cost comes on top."


def as_private(schema):
    """As if the noise had not come from a seed."""
    return replace(schema, origin=replace(schema.origin, private=True))


def earlier_of(model):
    return model.schema_.origin


def test_a_schema_says_where_it_comes_from():
    assert read().schema_.origin == Origin(5.0, 1e-6, "one record", 1, private=False)
    people = SchemaReader(5.0, rows_per_person=2, random_state=1).fit(X, groups=PERSONS)
    assert people.schema_.origin == Origin(5.0, 1e-6, "one person, at most 2 rows", 2, private=False)
    assert Schema.numbers(3).origin is None
    numbers = BoostedAdaSSP(3.0, rounds=3, random_state=2).fit(X[["age"]], Y)
    assert numbers.schema_.origin is None  # types tell all, so nothing was read


@every
def test_what_a_fit_read_itself_is_its_own(make):
    model = make(random_state=2, **({"delta": 1e-6} if "delta" in make().get_params() else {})).fit(X, Y)
    assert model.schema_.origin == Origin(model.epsilon, 1e-6, "one record", 1, private=False)
    if hasattr(model, "summary"):
        assert "earlier release" not in str(model.summary())


@every
def test_a_later_fit_says_what_the_schema_cost(make):
    model = make(schema=as_private(read().schema_)).fit(X, Y)
    assert model.receipt_.private
    assert earlier_of(model) == Origin(5.0, 1e-6, "one record", 1, private=True, earlier=True)
    again = make(schema=model.schema_).fit(X, Y)  # it is still the first release that paid
    assert earlier_of(again) == earlier_of(model)
    assert SENTENCE in shown(model).text
    if hasattr(model, "summary"):
        assert SENTENCE in str(model.summary())
        assert release_of(model).earlier == earlier_of(model)
    assert SENTENCE in make(schema=as_private(read().schema_)).check(X, Y).notes


def test_a_fit_that_read_for_itself_is_the_origin_for_later_ones():
    first = PrivateLinearRegression(3.0, random_state=2).fit(X, Y)
    later = PrivateLinearRegression(1.0, schema=as_private(first.schema_)).fit(X, Y)
    assert "earlier release (ε = 3, δ = 1e-6, one record), whose cost comes on top." in str(later.summary())


def test_declared_schemas_cost_nothing():
    numbers = X[["age"]]
    model = PrivateLinearRegression(3.0, schema=Schema.numbers(["age"]), random_state=2).fit(numbers, Y, PERSONS)
    assert earlier_of(model) is None
    assert "earlier release" not in str(model.summary())


@every
def test_a_seeded_schema_makes_a_fit_not_private(make):
    with pytest.warns(NotPrivateWarning, match="the schema was read with random_state"):
        model = make(schema=read().schema_).fit(X, Y)
    assert not model.receipt_.private
    assert shown(model).title.endswith("NOT PRIVATE")


def test_a_seeded_schema_cannot_be_entered_into_a_ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", "100", "1e-4")
    model = PrivateLinearRegression(3.0, schema=read().schema_, ledger=ledger, dataset="d")
    with pytest.raises(ValueError, match="cannot be entered into a ledger; read it again with random_state=None"):
        model.fit(X, Y)
    assert ledger.history() == []


@every
def test_a_schema_that_protects_records_does_not_serve_people(make, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("d", "100", "1e-4")
    schema = as_private(read().schema_)
    for given, unit in ((schema, "one record"), (replace(schema, origin=None), "an unknown unit")):
        model = make(schema=given, ledger=ledger, dataset="d")
        for act in (model.fit, model.check):
            with pytest.raises(SchemaError, match=f"the schema protects {unit}, but this fit would protect one person"):
                act(X, Y, PERSONS)
        assert not hasattr(model, "receipt_")
    assert ledger.history() == []


def test_a_schema_that_protects_people_does():
    schema = SchemaReader(5.0, rows_per_person=2, random_state=1).fit(X, groups=PERSONS).schema_
    for rows in (1, 2):
        model = PrivateLinearRegression(3.0, schema=schema, rows_per_person=rows, random_state=2).fit(X, Y, PERSONS)
        assert model.receipt_.protects_people
    with pytest.raises(SchemaError, match=r"at most 2 rows, but .* at most 3 rows; .* rows_per_person=3"):
        PrivateLinearRegression(3.0, schema=schema, rows_per_person=3, random_state=2).fit(X, Y, PERSONS)


@pytest.mark.parametrize("make", [ESTIMATORS["PrivateLinearRegression"], ESTIMATORS["BoostedAdaSSP"]])
def test_model_files_keep_it(make, tmp_path):
    model = make(schema=as_private(read().schema_)).fit(X, Y)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert earlier_of(loaded) == earlier_of(model)
    assert str(loaded.summary()) == str(model.summary())
    assert SENTENCE in str(loaded.summary())


def older(path):
    """As a file was written before schemas said where they come from."""
    content = json.loads(path.read_text())
    del content["schema"]["origin"]
    for column in content["schema"]["columns"]:
        del column["typed"]
    if "digest" in content:
        content["digest"] = _digest(content)
    path.write_text(json.dumps(content))
    return path


def test_older_files_that_have_the_receipt_tell_it(tmp_path):
    reader = read()
    reader.save(tmp_path / "schema.json")
    assert load_schema(older(tmp_path / "schema.json")) == reader.schema_
    model = PrivateLinearRegression(3.0, random_state=2).fit(X, Y)
    model.save(tmp_path / "model.json")
    assert load_schema(older(tmp_path / "model.json")) == model.schema_
    assert str(load_model(tmp_path / "model.json").summary()) == str(model.summary())


def test_older_files_whose_schema_was_given_do_not_know(tmp_path):
    PrivateLinearRegression(3.0, schema=as_private(read().schema_)).fit(X, Y).save(tmp_path / "model.json")
    schema = load_schema(older(tmp_path / "model.json"))
    assert schema.origin == UNKNOWN
    told = "an earlier release of which is not known what it cost or whom it protects; that cost comes on top."
    assert told in str(load_model(tmp_path / "model.json").summary())
    later = PrivateLinearRegression(3.0, schema=schema).fit(X, Y)
    assert told in str(later.summary())
    by_hand = PrivateLinearRegression(3.0, schema=replace(schema, origin=None)).fit(X, Y)
    assert earlier_of(by_hand) == UNKNOWN


def test_a_schema_file_with_a_damaged_receipt_is_refused(tmp_path):
    read().save(tmp_path / "schema.json")
    content = json.loads((tmp_path / "schema.json").read_text())
    content["receipt"]["steps"][0]["mechanism"] = "magic"
    (tmp_path / "schema.json").write_text(json.dumps(content))
    with pytest.raises(SchemaError, match="cannot be used as a schema"):
        load_schema(tmp_path / "schema.json")


# ---- levels that a column's type told


def test_levels_of_a_type_are_neither_declared_nor_protected():
    frame = X.assign(town=X["town"].astype("category"))
    said = "Levels of town were taken from the column's type: they are not protected and may come from single records."
    model = PrivateLinearRegression(3.0, categories="dtype", random_state=2).fit(frame, Y)
    later = PrivateLinearRegression(3.0, schema=model.schema_, random_state=2).fit(X, Y)
    for each in (model, later):
        assert each.schema_.typed == release_of(each).typed == ["town"]
        assert said in str(each.summary())
        assert "Declared, not found in the data" not in str(each.summary())
    declared = PrivateLinearRegression(3.0, categories={"town": ["Ayr", "Bath"]}, random_state=2).fit(X, Y)
    assert "Declared, not found in the data: levels of town." in str(declared.summary())
    assert declared.schema_.typed == []
