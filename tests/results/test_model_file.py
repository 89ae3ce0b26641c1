"""Model files: what comes back is what was saved, to the last bit."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from models import (
    KINDS,
    METHODS,
    columns,
    every_kind,
    every_method,
    fitted,
    predictions,
    saved,
    table,
)
from places import HELPERS
from privreg import PrivateLinearRegression, Schema, load_model
from privreg.estimators.loaded import LoadedModel
from privreg.paper import make_method
from privreg.results.model_file import save_model
from privreg.results.release import release_of


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
    assert back.schema_ == model.schema_
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
        summaries[f"{method}-{kind}"] = str(model.summary())
(folder / "summaries.json").write_text(json.dumps(summaries))
"""
    subprocess.run([sys.executable, "-c", script, HELPERS, tmp_path], check=True, timeout=300)
    summaries = json.loads((tmp_path / "summaries.json").read_text())
    for method in METHODS:
        for kind in KINDS:
            model = fitted(method, kind)
            there = np.load(tmp_path / f"{method}-{kind}.npy")
            assert np.array_equal(there, predictions(model, kind), equal_nan=True), (method, kind)
            assert summaries[f"{method}-{kind}"] == str(model.summary())


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
    save_model(release_of(model), tmp_path / "model.json")
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
    assert back.schema_.columns[1].found  # a type does not tell where its levels come from
    assert (back.predict(frame.astype({"sex": object})) == model.predict(frame)).all()


@every_method
def test_a_file_holds_nothing_but_releases(tmp_path, method):
    """Two neighbouring data sets whose releases are the same give the same file."""
    X, y = table("numpy"), columns()[1]
    for name, rows, target in (
        ("one", X, y),
        ("two", np.vstack([X, np.full((1, X.shape[1]), np.nan)]), np.append(y, 0.0)),
    ):
        options = {"n_jobs": 1, "random_state": 1, "schema": Schema.numbers(4)}  # reading would count all records
        make_method(method, 2, 40.0, 1e-5, **options).fit(rows, target).save(tmp_path / name)
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
    assert release_of(again, "price") == release_of(back)
    back.fit(table("numpy"), columns()[1])
    assert not hasattr(back, "target_name_")


@every_method
def test_estimators_are_still_cloned(method):
    model = fitted(method, "pandas")
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copied.save("nowhere.json")
