"""A schema that was released once is public: later fits use it at no cost."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privreg import (
    BoostedAdaSSP,
    DPKendall,
    Ledger,
    PrivateLinearRegression,
    Schema,
    SchemaError,
    SchemaReader,
    SubLasso,
    TukeyRegression,
    load_schema,
)
from privreg.estimators.select_then_regress import SelectThenRegress

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
