"""Model files follow the schema, and their digest can be made by hand."""

import copy
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from json_paths import at, kind_of, leaves, put, without
from models import (
    SCHEMA,
    every_kind,
    every_method,
    fitted,
    saved,
    text_of,
)
from privreg import load_model
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace, LevelCounts
from privreg.privacy.receipt import ADAPTIVE, PLANNED, Receipt
from privreg.results.model_file import read_receipt

NEW = ("origin", "typed")  # fields that older files of this version lack


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


@every_method
@every_kind
def test_files_follow_the_schema(tmp_path, method, kind):
    for names in ({}, {"target": "price", "method": method}):
        Draft202012Validator(SCHEMA).validate(json.loads(saved(tmp_path, method, kind, **names).read_text()))


@every_method
def test_the_schema_refuses_other_files(tmp_path, method):
    content = json.loads(text_of(method))
    valid = Draft202012Validator(SCHEMA).is_valid
    paths = {kind_of(leaf[:i]): leaf[:i] for leaf in leaves(content) for i in range(1, len(leaf) + 1)}
    for path in paths.values():
        assert not valid(put(content, path, {"a": [1]}))
        if isinstance(path[-1], str) and path[-2:-1] not in (("parameters",), ("cost",)):
            assert valid(without(content, path)) == (path[-1] in NEW), path
        if isinstance(at(content, path), dict) and path[-1] not in ("parameters", "cost"):
            assert not valid(put(content, (*path, "more"), 1)), path
    assert not valid(content | {"more": 1})
    other = "TukeyRegression" if method in ("BAS", "PrivateLinearRegression") else "BoostedAdaSSP"
    assert not valid(content | {"estimator": other})


def in_two_parts():
    """A receipt with something before it, as JSON."""
    read = LevelCounts.costing("levels", 1e-4, 3, 2, 1, 1e-10, 2**28, purpose="reading")
    before = Receipt((read,), Budget(0.1, 1e-7), True, "one person", 2, ADAPTIVE)
    return Receipt((Laplace("count", 1, 20.0),), Budget(1.0, 1e-6), True, "one person", 2, PLANNED, before)


def test_a_receipt_in_two_parts():
    receipt = in_two_parts()
    record = json.loads(json.dumps(receipt.to_dict()))
    valid = Draft202012Validator({"$ref": "#/$defs/receipt", "$defs": SCHEMA["$defs"]}).is_valid
    assert valid(record)
    assert read_receipt(record) == receipt
    for path, value in [
        (("before",), None), (("before", "steps"), -1), (("before", "steps"), 1.5),
        (("before", "composition"), "magic"), (("before", "requested", "epsilon"), 0), (("before", "more"), 1),
    ]:  # fmt: skip
        assert not valid(put(record, path, value)), path
        with pytest.raises((ValueError, TypeError)):
            read_receipt(put(record, path, value))
    for path, value in [(("before", "steps"), 3), (("before", "requested", "epsilon"), 1.0)]:  # what no schema can say
        with pytest.raises(ValueError, match=r"fewer steps|epsilon"):
            read_receipt(put(record, path, value))


def test_the_digest_can_be_made_by_hand(tmp_path):
    """As the schema describes it, with nothing of ours."""
    import hashlib

    content = json.loads(text_of("L-BAS"))
    told = content.pop("digest")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert told == "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
def test_numbers_come_back_exactly(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "number.json"
    model = copy.copy(fitted("Tukey", "numpy"))
    model.intercept_ = value
    model.save(path)
    assert load_model(path).intercept_.hex() == value.hex()
