"""Model files: what comes back is what was saved, to the last bit, and nothing else is taken for a model."""

import copy
import json
import math
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from models import (
    KINDS,
    METHODS,
    SCHEMA,
    City,
    columns,
    every_kind,
    every_method,
    fitted,
    predictions,
    saved,
    table,
    text_of,
    write,
)
from places import HELPERS
from privreg import BoostedAdaSSP, ModelFileError, NonDP, PrivateLinearRegression, load_model
from privreg.estimators.loaded import LoadedModel
from privreg.paper import make_method
from privreg.results.model_file import save_model
from privreg.results.release import release_of

# ---- what comes back


@every_method
@every_kind
def test_comes_back_to_the_last_bit(tmp_path, method, kind):
    model = fitted(method, kind)
    model.save(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    assert isinstance(back, PrivateLinearRegression if method == "PrivateLinearRegression" else LoadedModel)
    assert np.array_equal(predictions(back, kind), predictions(model, kind), equal_nan=True)
    assert np.isnan(predictions(back, kind)).any()
    assert back.coef_.tolist() == model.coef_.tolist()
    assert back.intercept_ == model.intercept_
    assert back.summary() == model.summary()
    assert back.receipt_ == model.receipt_
    assert back.categories == model.categories
    assert back.n_features_in_ == model.n_features_in_
    assert list(getattr(back, "feature_names_in_", [])) == list(getattr(model, "feature_names_in_", []))
    assert getattr(back, "selected_features_", None) == getattr(model, "selected_features_", None)
    assert release_of(back) == release_of(model)
    assert back.score(table(kind), columns()[1]) == model.score(table(kind), columns()[1])
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_the_same_in_a_new_process(tmp_path):
    for method in METHODS:
        for kind in KINDS:
            saved(tmp_path, method, kind)
    script = """
import sys, json, pathlib, warnings
sys.path.insert(0, sys.argv[1])
import numpy as np
from models import METHODS, KINDS, predictions
from privreg import load_model
folder, summaries = pathlib.Path(sys.argv[2]), {}
for method in METHODS:
    for kind in KINDS:
        model = load_model(folder / f"{method}-{kind}.json")
        np.save(folder / f"{method}-{kind}.npy", predictions(model, kind))
        summaries[f"{method}-{kind}"] = model.summary()
(folder / "summaries.json").write_text(json.dumps(summaries))
"""
    subprocess.run([sys.executable, "-c", script, HELPERS, tmp_path], check=True, timeout=300)
    summaries = json.loads((tmp_path / "summaries.json").read_text())
    for method in METHODS:
        for kind in KINDS:
            model = fitted(method, kind)
            there = np.load(tmp_path / f"{method}-{kind}.npy")
            assert np.array_equal(there, predictions(model, kind), equal_nan=True), (method, kind)
            assert summaries[f"{method}-{kind}"] == model.summary()


@every_method
def test_predicts_on_other_kinds_of_table(tmp_path, method):
    """Declared categories are in the file, so a plain text column of any library will do."""
    back = load_model(saved(tmp_path, method, "pandas"))
    expected = predictions(back, "pandas")
    for kind in ("polars", "pyarrow", "typed"):
        got = predictions(back, kind)
        assert np.array_equal(got, expected, equal_nan=True)
    with pytest.raises(ValueError, match="feature names"):
        back.predict(table("pandas").rename(columns={"age": "years"}))


@every_method
def test_an_array_stands_for_a_frame_of_numbers(tmp_path, method):
    """The model in the file does what the fitted one does."""
    numbers = table("pandas")[["age", "rooms", "far"]]
    model = make_method(method, k=2, calibration="strict").fit(numbers, columns()[1])
    save_model(model, tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but LoadedModel was fitted|but Private"):
        assert np.array_equal(back.predict(numbers.to_numpy()), model.predict(numbers))
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"),
    ):
        back.predict(numbers.to_numpy()[:, :2])
    with pytest.raises(ValueError, match=r"column 'city' .* is a category"):
        load_model(saved(tmp_path, method, "pandas")).predict(numbers.to_numpy())


@every_method
def test_the_same_release(tmp_path, method):
    model = fitted(method, "pandas")
    back = load_model(saved(tmp_path, method, target="price", method=method))
    assert release_of(back) == release_of(model, "price", method)
    assert (back.target_name_, back.method_name_) == ("price", method)
    assert release_of(back, "rent", "mine").target == "rent"
    assert release_of(back, "rent", "mine").method == "mine"
    back.save(tmp_path / "again.json")
    assert load_model(tmp_path / "again.json").target_name_ == "price"


def test_names_that_were_not_told(tmp_path):
    back = load_model(saved(tmp_path, "K-BAS"))
    assert (back.target_name_, back.method_name_, back.estimator_) == (None, "SelectThenRegress", "SelectThenRegress")
    assert release_of(back).target == "y"
    assert load_model(saved(tmp_path, "PrivateLinearRegression")).method_name_ == "PrivateLinearRegression"


@every_method
def test_a_model_that_was_not_released_comes_back(tmp_path, method):
    X, y = table("numpy")[:30], columns()[1][:30]
    if "Tukey" in method:
        with pytest.warns(UserWarning, match="No model was released"):
            model = make_method(method, 2, 0.1, 1e-6, n_jobs=1, random_state=1).fit(X, y)
    else:
        model = make_method(method, 2, 0.1, 1e-6, n_jobs=1, random_state=1).fit(X, y)
    model.save(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    assert back.summary() == model.summary()
    assert release_of(back) == release_of(model)
    assert getattr(back, "released_", True) == ("Tukey" not in method)


def test_people_and_typed_levels(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 3000), "sex": pd.Categorical(rng.choice(["f", "m"], 3000))})
    frame["city"] = rng.choice([1, 2, 3], 3000)
    y = frame.age * 2 + (frame.sex == "f") + rng.normal(size=3000)
    model = PrivateLinearRegression(categories={"city": np.array([1, 2, 3])}).fit(frame, y, groups=np.arange(3000))
    model.save(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    assert back.summary() == model.summary()
    assert (back.predict(frame) == model.predict(frame)).all()
    assert back.receipt_.unit == "one person, at most 1 row"
    with pytest.raises(ValueError, match="text"):  # the file cannot know what the type declared
        back.predict(frame.astype({"sex": object}))


@every_method
def test_a_file_holds_nothing_but_releases(tmp_path, method):
    """Two neighbouring data sets whose releases are the same give the same file."""
    X, y = table("numpy"), columns()[1]
    for name, rows, target in (
        ("one", X, y),
        ("two", np.vstack([X, np.full((1, X.shape[1]), np.nan)]), np.append(y, 0.0)),
    ):
        make_method(method, 2, 40.0, 1e-5, n_jobs=1, random_state=1).fit(rows, target).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_loaded_model_cannot_be_fitted(tmp_path):
    back = load_model(saved(tmp_path, "Tukey", "numpy"))
    X, y = table("numpy"), columns()[1]
    with pytest.raises(NotImplementedError, match="cannot be fitted"):
        back.fit(X, y)
    with pytest.raises(NotFittedError):
        clone(back).predict(X)
    with pytest.raises(NotImplementedError, match="cannot be fitted"):
        cross_val_score(back, X, y, cv=2, error_score="raise")
    assert back.predict(X).shape == y.shape
    assert not hasattr(back, "selected_features_")
    assert repr(back) == "LoadedModel()"


def test_a_loaded_flagship_can_be_fitted_again(tmp_path):
    back = load_model(saved(tmp_path, "PrivateLinearRegression", "numpy", target="price"))
    again = clone(back).set_params(random_state=3, n_jobs=1).fit(table("numpy"), columns()[1])
    assert again.summary() == back.summary()
    back.fit(table("numpy"), columns()[1])
    assert not hasattr(back, "target_name_")


@every_method
def test_estimators_are_still_cloned(method):
    model = fitted(method, "pandas")
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copied.save("nowhere.json")


# ---- what cannot be saved


def test_what_cannot_be_saved(tmp_path):
    class Mine(BoostedAdaSSP):
        def predict(self, X):
            return super().predict(X) + 1

    X, y = table("numpy"), columns()[1]
    for model in (Mine(rounds=2, random_state=1).fit(X, y), NonDP().fit(X, y)):
        with pytest.raises(ModelFileError, match="cannot be written"):
            save_model(model, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", [pd.Timestamp("2020-01-01"), (1, 2), None, math.inf, math.nan, City.ROME])
def test_levels_that_json_cannot_hold(tmp_path, level):
    model = copy.copy(fitted("BAS", "pandas"))
    model.categories = {"city": ["Oslo", level]}
    with pytest.raises(ModelFileError, match="category level"):
        model.save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


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
    assert [(type(v), v) for v in back.categories["b"]] == [(type(v), v) for v in levels]
    assert (back.predict(frame) == model.predict(frame)).all()


# ---- what is refused


BAD = {
    "empty": b"",
    "blank": b" \n",
    "list": b"[]",
    "number": b"7",
    "object": b"{}",
    "other format": b'{"format": "other", "version": 2}',
    "no version": b'{"format": "privreg model"}',
    "version in words": b'{"format": "privreg model", "version": "2"}',
    "version with a point": b'{"format": "privreg model", "version": 2.0}',
    "version true": b'{"format": "privreg model", "version": true}',
    "version only": b'{"format": "privreg model", "version": 2}',
    "NaN": b'{"format": "privreg model", "version": 2, "x": NaN}',
    "infinity": b'{"format": "privreg model", "version": 2, "x": -Infinity}',
    "overflow": b'{"format": "privreg model", "version": 2, "x": 1e999}',
    "endless integer": b'{"format": "privreg model", "version": 2, "x": ' + b"9" * 10_000 + b"}",
    "deep": b"[" * 100_000,
    "deep object": b'{"format": "privreg model", "version": 2, "x": ' + b'{"a":' * 50_000,
    "deep and closed": b'{"format": "privreg model", "version": 2, "x": ' + b"[" * 900 + b"]" * 900 + b"}",
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
    newer = write(tmp_path / "m.json", content | {"version": 3, "written_by": "privreg 9.1"})
    with pytest.raises(
        ModelFileError, match=r"m\.json was written by a newer version \(privreg 9\.1\); upgrade privreg"
    ):
        load_model(newer)
    odd = write(tmp_path / "m.json", {"format": "privreg model", "version": 99, "written_by": ["a\nb"] * 99})
    with pytest.raises(ModelFileError, match=r"newer version.*upgrade"):
        load_model(odd)
    for version in (1, 0, -5):
        with pytest.raises(ModelFileError, match=r"m\.json was written by an unreleased version.*fit again"):
            load_model(write(tmp_path / "m.json", content | {"version": version}))


def leaves(content, path=()):
    """Paths to all values that are neither objects nor lists."""
    if isinstance(content, dict | list) and content:
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [leaf for key, value in items for leaf in leaves(value, (*path, key))]
    return [path]


def at(content, path):
    for key in path:
        content = content[key]
    return content


def put(content, path, value):
    content = copy.deepcopy(content)
    at(content, path[:-1])[path[-1]] = value
    return content


def without(content, path):
    content = copy.deepcopy(content)
    del at(content, path[:-1])[path[-1]]
    return content


def kind_of(path):
    """Fields of one kind differ in positions only."""
    return tuple("…" if isinstance(key, int) else key for key in path)


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
    assert back.summary() == fitted(method, "numpy").summary()


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
    model.summary()
    json.dumps(release_of(model).to_dict())
    model.receipt_.to_dict()
    told = refusal(lambda: model.predict(few_rows(kind)), ValueError)
    assert not told or any(word in told for word in ("feature", "categor", "level"))


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
        ("K-Tukey", ("model", "coefficients"), [1.0] * 8),
        ("BAS", ("model", "chosen"), [0]),
        ("BAS", ("model", "shrunk_to"), None),
        ("BAS", ("model", "shrunk_to"), 0),
        ("Tukey", ("model", "shrunk_to"), 1.0),
        ("Tukey", ("model", "coefficients"), [1.0]),
        ("Tukey", ("estimator",), "PrivateLinearRegression"),
        ("Tukey", ("estimator",), "BoostedAdaSSP"),
        ("Tukey", ("columns",), ["a"] * 8),
        ("Tukey", ("n_features",), 9),
        ("Tukey", ("feature_names",), ["age", "age", "far", "city", "flag"]),
        ("Tukey", ("categories",), [["city", ["Oslo", "Bergen"]]]),
        ("Tukey", ("categories",), [["city", ["Oslo", "Oslo"]]]),
        ("Tukey", ("receipt", "requested"), {"epsilon": 0, "delta": 0.1}),
        ("Tukey", ("receipt", "requested"), {"epsilon": 40.0, "delta": 0}),
        ("Tukey", ("receipt", "steps", 0, "mechanism"), "magic"),
        ("Tukey", ("receipt", "steps", 0, "parameters"), {"scale": 1.0}),
        ("Tukey", ("receipt", "rows"), 1),
        ("PrivateLinearRegression", ("model", "terms", 0, "column"), 8),
        ("PrivateLinearRegression", ("model", "label", "unit"), 0),
        ("PrivateLinearRegression", ("model", "theta"), [1.0]),
        ("PrivateLinearRegression", ("model", "covariance"), [[1.0]]),
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


# ---- the schema


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
            assert not valid(without(content, path)), path
        if isinstance(at(content, path), dict) and path[-1] not in ("parameters", "cost"):
            assert not valid(put(content, (*path, "more"), 1)), path
    assert not valid(content | {"more": 1})
    other = "TukeyRegression" if method in ("BAS", "PrivateLinearRegression") else "BoostedAdaSSP"
    assert not valid(content | {"estimator": other})


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
