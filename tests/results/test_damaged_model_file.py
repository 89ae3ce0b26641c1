"""Model files: what is no model, or was changed, is refused in words of one line."""

import copy
import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from json_paths import at, kind_of, leaves, put, without
from models import (
    SCHEMA,
    City,
    columns,
    every_method,
    fitted,
    saved,
    table,
    text_of,
    write,
)
from privreg import BoostedAdaSSP, ModelFileError, NonDP, PrivateLinearRegression, SchemaError, load_model
from privreg.results.model_file import save_model
from privreg.results.release import release_of

# ---- what cannot be saved


def test_what_cannot_be_saved(tmp_path):
    class Mine(BoostedAdaSSP):
        def predict(self, X):
            return super().predict(X) + 1

    X, y = table("numpy"), columns()[1]
    for model in (Mine(rounds=2, random_state=1).fit(X, y), NonDP().fit(X, y)):
        with pytest.raises((ModelFileError, TypeError), match=r"cannot be saved|is not a private model"):
            save_model(release_of(model), tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", [pd.Timestamp("2020-01-01"), (1, 2), None, math.inf, math.nan, City.ROME, 10**400])
def test_levels_that_json_cannot_hold_are_refused_before_anything_is_spent(level):
    """So every schema can be written."""
    told = []
    model = BoostedAdaSSP(rounds=2, categories={"city": ["Oslo", level]}, progress=told.append, random_state=1)
    with pytest.raises(SchemaError, match="the levels of column 'city' must be all text or all numbers"):
        model.fit(table("pandas"), columns()[1])
    assert not told
    assert not hasattr(model, "receipt_")


def test_numbers_that_json_cannot_hold(tmp_path):
    model = copy.copy(fitted("BAS", "pandas"))
    model.intercept_ = math.nan
    with pytest.raises(ModelFileError, match="not finite"):
        model.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("levels", [[1, 2, 3], [0.1, 2.5, 1e300], [True, False], ["1", "2", "x=y"]])
def test_levels_keep_their_type(tmp_path, levels):
    frame = pd.DataFrame({"a": np.linspace(0, 1, 60), "b": pd.Series(levels * (60 // len(levels)))})
    model = BoostedAdaSSP(rounds=2, categories={"b": levels}, random_state=1)
    model.fit(frame, frame.a).save(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    assert [(type(v), v) for v in back.schema_.columns[1].levels] == [(type(v), v) for v in levels]
    assert (back.predict(frame) == model.predict(frame)).all()


# ---- what is refused


BAD = {
    "empty": b"",
    "blank": b" \n",
    "list": b"[]",
    "number": b"7",
    "object": b"{}",
    "other format": b'{"format": "other", "version": 4}',
    "no version": b'{"format": "privreg model"}',
    "version in words": b'{"format": "privreg model", "version": "4"}',
    "version with a point": b'{"format": "privreg model", "version": 4.0}',
    "version true": b'{"format": "privreg model", "version": true}',
    "version only": b'{"format": "privreg model", "version": 4}',
    "NaN": b'{"format": "privreg model", "version": 4, "x": NaN}',
    "infinity": b'{"format": "privreg model", "version": 4, "x": -Infinity}',
    "overflow": b'{"format": "privreg model", "version": 4, "x": 1e999}',
    "endless integer": b'{"format": "privreg model", "version": 4, "x": ' + b"9" * 10_000 + b"}",
    "deep": b"[" * 100_000,
    "deep object": b'{"format": "privreg model", "version": 4, "x": ' + b'{"a":' * 50_000,
    "deep and closed": b'{"format": "privreg model", "version": 4, "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    "binary": bytes(range(256)),
    "zeros": bytes(1000),
    "bom": b"\xef\xbb\xbf{}",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model\.json (is not|was changed)") as caught:
        load_model(tmp_path / "model.json")
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.json")
    with pytest.raises(ModelFileError, match="is a folder"):
        load_model(tmp_path)


def test_another_encoding_or_a_part(tmp_path):
    path = saved(tmp_path, "Tukey")
    text = path.read_text()
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        path.write_text(text, encoding=encoding)
        with pytest.raises(ModelFileError, match="is not a privreg model file"):
            load_model(path)
    for size in range(0, len(text.strip()), 37):
        path.write_text(text[:size])
        with pytest.raises(ModelFileError, match="or only a part of one"):
            load_model(path)


def test_a_key_that_occurs_twice(tmp_path):
    path = saved(tmp_path, "Tukey")
    text = path.read_text()
    path.write_text(text.replace('"released": true', '"released": true, "released": true'))
    with pytest.raises(ModelFileError, match="occurs twice"):
        load_model(path)


def test_other_versions(tmp_path):
    content = json.loads(text_of("Tukey"))
    newer = write(tmp_path / "m.json", content | {"version": 5, "written_by": "privreg 9.1"})
    with pytest.raises(
        ModelFileError, match=r"m\.json was written by a newer version \(privreg 9\.1\); upgrade privreg"
    ):
        load_model(newer)
    odd = write(tmp_path / "m.json", {"format": "privreg model", "version": 99, "written_by": ["a\nb"] * 99})
    with pytest.raises(ModelFileError, match=r"newer version.*upgrade"):
        load_model(odd)
    for version in (3, 2, 1, 0, -5):
        with pytest.raises(ModelFileError, match=r"m\.json was written by an older version.*fit again"):
            load_model(write(tmp_path / "m.json", content | {"version": version}))


@every_method
def test_a_change_of_any_field_is_refused(tmp_path, method):
    content = json.loads(text_of(method))
    for path in {kind_of(leaf): leaf for leaf in leaves(content)}.values():
        old = at(content, path)
        new = not old if isinstance(old, bool) else old * 1.01 + 1 if isinstance(old, int | float) else f"{old}x"
        with pytest.raises(ModelFileError, match=r"was changed|newer version|is not a privreg"):
            load_model(write(tmp_path / "m.json", put(content, path, new), digest=False))


@every_method
@given(data=st.data())
def test_a_change_of_any_character_is_refused(tmp_path_factory, method, data):
    folder = tmp_path_factory.getbasetemp()
    original = text_of(method, "numpy")
    place = data.draw(st.integers(0, len(original) - 1))
    character = data.draw(st.sampled_from('0123456789.-+eE "{}[],:\nabxNIntrue\\'))
    path = folder / f"changed-{method}.json"
    path.write_text(original[:place] + character + original[place + 1 :])
    try:
        back = load_model(path)
    except ModelFileError:
        return
    assert json.loads(path.read_text()) == json.loads(original)
    assert release_of(back) == release_of(fitted(method, "numpy"), "price")


# ---- nonsense whose digest fits

NUMBERS = [0, -1, 1, 2**70, 10**400, 0.5, -1e308, 1e308, 5e-324]


NONSENSE = [None, True, "", "x", "auto", *NUMBERS, [], {}, [[]], [None], {"a": 1}]


def refusal(act, *errors):
    """What an act says when it refuses; "" if it does not."""
    try:
        with np.errstate(all="ignore"):
            act()
    except errors as error:
        return str(error)
    return ""


@cache
def few_rows(kind):
    return table(kind)[:20]


def use(model, kind):
    """All that a model is used for."""
    str(model.summary())
    json.dumps(release_of(model).to_dict())
    if isinstance(model, PrivateLinearRegression):
        for table_of in (model.to_frame, model.conf_int, model.describe, model.correlations, model.wald_test_terms):
            table_of()
    model.receipt_.to_dict()
    told = refusal(lambda: model.predict(few_rows(kind)), ValueError)
    assert not told or any(word in told for word in ("feature", "categor", "level"))
    if isinstance(model, PrivateLinearRegression):
        assert refusal(lambda: model.predict(few_rows(kind), interval=0.9), ValueError) == told


def usable(path, kind):
    """Whether a file is read. If so, the model must work, or refuse the table."""
    told = refusal(lambda: use(load_model(path), kind), ModelFileError)
    assert not told or "is damaged: " in told
    return not told


@pytest.mark.filterwarnings("ignore:X has feature names")  # if the file says that there were none
@pytest.mark.parametrize("method", ["PrivateLinearRegression", "BAS", "K-Tukey"])
def test_a_field_of_the_wrong_kind_is_damage(tmp_path, method):
    """Every kind of field, missing, too many, or of any other type. What is read must follow the schema."""
    content = json.loads(text_of(method))
    del content["receipt"]["steps"][4:]
    valid = Draft202012Validator(SCHEMA).is_valid
    paths = {kind_of(leaf[:i]): leaf[:i] for leaf in leaves(content) for i in range(1, len(leaf) + 1)}
    for path in paths.values():
        if path[0] in ("format", "version", "digest"):
            continue
        changed = [put(content, path, value) for value in NONSENSE] + [without(content, path)]
        if isinstance(at(content, path), dict):
            changed.append(put(content, (*path, "more"), 1))
        for one in changed:
            fits = usable(write(tmp_path / "m.json", one), "pandas")
            assert not fits or valid(one | {"digest": content["digest"]}), path


@pytest.mark.parametrize(
    ("method", "path", "value"),
    [
        ("K-Tukey", ("model", "chosen"), [0, 0, 1]),
        ("K-Tukey", ("model", "chosen"), [0, 99, 1]),
        ("K-Tukey", ("model", "chosen"), None),
        ("K-Tukey", ("model", "coefficients"), [1.0] * 6),
        ("BAS", ("model", "chosen"), [0]),
        ("BAS", ("model", "shrunk_to"), None),
        ("BAS", ("model", "shrunk_to"), 0),
        ("Tukey", ("model", "shrunk_to"), 1.0),
        ("Tukey", ("model", "coefficients"), [1.0]),
        ("Tukey", ("estimator",), "PrivateLinearRegression"),
        ("Tukey", ("estimator",), "BoostedAdaSSP"),
        ("Tukey", ("schema", "columns"), []),
        ("Tukey", ("schema", "columns", 0, "name"), "rooms"),
        ("Tukey", ("schema", "columns", 0, "kind"), "category"),
        ("Tukey", ("schema", "columns", 0, "kind"), "colour"),
        ("Tukey", ("schema", "columns", 0, "mark"), ";"),
        ("Tukey", ("schema", "columns", 0, "range"), [1, 0]),
        ("Tukey", ("schema", "columns", 3, "levels"), ["Oslo", "Bergen"]),
        ("Tukey", ("schema", "columns", 3, "levels"), ["Oslo", "Oslo", "Rome"]),
        ("Tukey", ("schema", "columns", 3, "levels"), []),
        ("Tukey", ("schema", "columns", 3, "counts"), [1.0]),
        ("Tukey", ("schema", "columns", 3, "reference"), 3),
        ("Tukey", ("schema", "columns", 3, "reference"), None),
        ("Tukey", ("schema", "columns", 3, "other"), True),
        ("Tukey", ("schema", "columns", 3, "left_out"), "no reason"),
        ("Tukey", ("schema", "columns", 0, "left_out"), "no reason"),
        ("K-Tukey", ("schema", "columns", 0, "left_out"), "no reason"),
        ("Tukey", ("schema", "columns", 4, "found"), True),
        ("Tukey", ("schema", "target_mark"), "'"),
        ("Tukey", ("receipt", "requested"), {"epsilon": 0, "delta": 0.1}),
        ("Tukey", ("receipt", "requested"), {"epsilon": 40.0, "delta": 0}),
        ("Tukey", ("receipt", "steps", 0, "mechanism"), "magic"),
        ("Tukey", ("receipt", "steps", 0, "parameters"), {"scale": 1.0}),
        ("Tukey", ("receipt", "rows"), 0),
        ("Tukey", ("receipt", "composition"), "magic"),
        ("Tukey", ("receipt", "composition"), "gaussian, adaptive"),
        ("PrivateLinearRegression", ("model", "terms", 0, "column"), 6),
        ("PrivateLinearRegression", ("schema", "columns", 0, "left_out"), "no reason"),
        ("PrivateLinearRegression", ("model", "label", "unit"), 0),
        ("PrivateLinearRegression", ("model", "theta"), [1.0]),
        ("PrivateLinearRegression", ("model", "estimates"), None),
        ("PrivateLinearRegression", ("model", "estimates", "places"), [1, 2, 3, 4, 5, 6]),
        ("PrivateLinearRegression", ("model", "estimates", "places", 1), 2),
        ("PrivateLinearRegression", ("model", "estimates", "theta"), [1.0]),
        ("PrivateLinearRegression", ("model", "estimates", "covariance"), [[1.0]]),
        ("PrivateLinearRegression", ("model", "estimates", "covariance", 1, 1), -1.0),
        ("PrivateLinearRegression", ("model", "estimates", "products", 0), [1.0]),
        ("PrivateLinearRegression", ("model", "estimates", "mean_error", 0), -1.0),
        ("PrivateLinearRegression", ("model", "estimates", "residual"), -1.0),
        ("PrivateLinearRegression", ("model", "estimates", "r2_error"), -1.0),
        ("PrivateLinearRegression", ("model", "terms", 0, "sure"), False),
        ("PrivateLinearRegression", ("receipt", "rows"), None),
    ],
)
def test_nonsense_is_damage(tmp_path, method, path, value):
    content = json.loads(text_of(method))
    assert usable(write(tmp_path / "m.json", content), "pandas")
    with pytest.raises(ModelFileError, match=r"m\.json is damaged: ."):
        load_model(write(tmp_path / "m.json", put(content, path, value)))


def test_a_column_that_was_chosen_twice(tmp_path):
    content = json.loads(text_of("K-BAS"))
    content["model"]["chosen"] *= 2
    with pytest.raises(ModelFileError, match="damaged: chosen"):
        load_model(write(tmp_path / "m.json", content))
