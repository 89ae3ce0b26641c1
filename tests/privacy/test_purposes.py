"""What events are for: said by whoever plans them, kept in files, and known for files that do not say it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import privreg
from privreg import (
    BoostedAdaSSP,
    DPKendall,
    PrivateLinearRegression,
    Schema,
    SubLasso,
    TukeyRegression,
    load_model,
)
from privreg.privacy.events import event_from_dict
from privreg.privacy.purposes import OTHER, PURPOSES, purpose_of
from privreg.privacy.receipt import Receipt
from privreg.results.model_file import _digest

pytestmark = pytest.mark.filterwarnings("ignore::privreg.NotPrivateWarning", "ignore::privreg.NotReleasedWarning")

MADE = {
    "all columns": lambda: PrivateLinearRegression(3.0, 1e-6, random_state=1),
    "chosen": lambda: PrivateLinearRegression(3.0, 1e-6, k=2, random_state=1),
    "sampled": lambda: PrivateLinearRegression(5.0, 1e-6, k=2, max_rows_for_selection=300, random_state=1),
    "constant": lambda: PrivateLinearRegression(0.02, 1e-6, random_state=1),
    "kendall": lambda: DPKendall(2, 1.0, random_state=1),
    "sub-lasso": lambda: SubLasso(2, 1.0, random_state=1),
    "tukey": lambda: TukeyRegression(1.0, 1e-6, random_state=1),
    "boosted": lambda: BoostedAdaSSP(1.0, 1e-6, random_state=1),
}

NUMBERS = Schema.numbers(4)


def fitted(name, schema=NUMBERS):
    """Without reading, which files from before do not have, unless there is no schema."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 4))
    return MADE[name]().set_params(schema=schema).fit(X, X[:, 0] + rng.normal(size=2000))


# Steps that files from before events had a purpose cannot have.
NEWER = ("look for zeros and ones", "count zeros and ones", "median distance", "records about so far away")


@pytest.mark.parametrize("name", MADE)
def test_every_event_has_a_purpose_and_old_names_tell_the_same(name):
    receipt = fitted(name).receipt_
    for event, record in zip(receipt.events, receipt.to_dict()["steps"], strict=True):
        assert event.purpose in PURPOSES
        assert (event.column is not None) == (event.purpose == "columns")
        assert event_from_dict(record) == event
        if event.name in NEWER:
            continue
        as_before(record)
        read = event_from_dict(record)
        assert (read.purpose, read.column) == (event.purpose, event.column)


def test_reading_has_a_purpose_of_its_own():
    events = fitted("all columns", schema=None).receipt_.events
    assert [(e.name, e.purpose) for e in events[:2]] == [
        ("count all records", "count"),
        ("kinds of the columns", "reading"),
    ]
    assert all(event.purpose in PURPOSES for event in events)


def test_names_that_nobody_knows():
    record = {"name": "something", "mechanism": "laplace", "parameters": {"sensitivity": 1, "scale": 2.0}}
    assert event_from_dict(record).purpose == "other"
    assert purpose_of("other") == purpose_of("no such purpose") == OTHER


def rewritten(path, change):
    content = json.loads(path.read_text())
    for step in content["receipt"]["steps"]:
        change(step)
    content["digest"] = _digest(content)
    path.write_text(json.dumps(content))


def as_before(step):
    step.pop("purpose")
    step.pop("column")
    step["name"] = step["name"].replace("of the target", "of the label")
    if step["name"].endswith(" variance"):  # it had one name, and was a part of the last phase
        step["name"] = "phase 3: residual variance"


def test_model_files_from_before_are_read(tmp_path):
    model, file = fitted("chosen"), tmp_path / "model.json"
    model.save(file)
    assert load_model(file).receipt_ == model.receipt_
    rewritten(file, as_before)
    for old, new in zip(load_model(file).receipt_.steps, model.receipt_.steps, strict=True):
        assert replace(old, name=new.name) == new


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step.pop("purpose"),
        lambda step: step.pop("column"),
        lambda step: step.update(purpose=None),
        lambda step: step.update(purpose=3),
        lambda step: step.update(column=-1),
        lambda step: step.update(column="3"),
        lambda step: step.update(column=1.5),
        lambda step: step.update(column=True),
    ],
)
def test_purposes_and_columns_of_another_kind_are_refused(change, tmp_path):
    file = tmp_path / "model.json"
    fitted("boosted").save(file)
    rewritten(file, change)
    with pytest.raises(privreg.ModelFileError, match="damaged"):
        load_model(file)


def test_long_runs_are_one_line():
    receipt = fitted("boosted").receipt_
    assert "boosting round 1 … 100" in str(receipt)
    assert Receipt.from_dict(receipt.to_dict()) == receipt
