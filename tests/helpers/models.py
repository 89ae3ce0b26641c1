"""Models of every method, fitted to every kind of table, and the files that hold them."""

import json
import tempfile
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg.paper import make_method
from privreg.results.model_file import _digest, save_model
from privreg.results.release import release_of

METHODS = ("PrivateLinearRegression", "BAS", "Tukey", "K-BAS", "K-Tukey", "L-BAS", "L-Tukey")
KINDS = ("numpy", "pandas", "polars", "pyarrow", "typed")
CITIES = ["Oslo", "Rome", 'a "b", ü=😀']
SCHEMA = json.loads(files("privreg.results").joinpath("model.schema.json").read_text())


class City(str, Enum):  # noqa: UP042 (its text is not its value)
    ROME = "Rome"


every_method = pytest.mark.parametrize("method", METHODS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def columns(n=3000, *, hostile=False):
    rng = np.random.default_rng(5)
    values = {
        "age": rng.normal(size=n),
        "rooms": rng.integers(0, 4, n).astype(float),
        "far": rng.normal(1000, 1e-3, n),
        "city": rng.choice(CITIES, n),
        "flag": rng.random(n) < 0.3,
    }
    y = values["age"] - 0.2 * values["rooms"] + (values["city"] == "Rome") + rng.normal(0, 0.1, n)
    if hostile:
        odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0]
        values["age"][: len(odd)] = odd
        values["rooms"][5 : 5 + len(odd)] = odd
        values["city"] = values["city"].astype(object)
        values["city"][15:17] = [None, "Paris"]
    return values, y


def table(kind, *, hostile=False):
    """Features as an input of this kind. "typed" has levels in a column's type."""
    values, _ = columns(hostile=hostile)
    if kind == "numpy":
        return np.column_stack([values["age"], values["rooms"], values["far"], values["flag"]])
    if kind == "polars":
        return pl.DataFrame(values | {"city": values["city"].tolist()}, schema_overrides={"city": pl.String})
    if kind == "pyarrow":
        return pa.table(values | {"city": pa.array(values["city"].tolist(), pa.string())})
    frame = pd.DataFrame(values)
    if kind == "typed":
        frame["city"] = frame["city"].astype(pd.CategoricalDtype(CITIES + ["Paris"] * hostile))
    return frame


@cache
def fitted(method, kind, epsilon=40.0):
    declared = {"numpy": None, "typed": "dtype"}.get(kind, {"city": CITIES})
    model = make_method(method, 3, epsilon, 1e-5, n_jobs=1, random_state=3, categories=declared)
    return model.fit(table(kind), columns()[1])


def predictions(model, kind):
    with np.errstate(all="ignore"):
        return model.predict(table(kind, hostile=True))


def saved(folder, fit, kind="pandas", **names):
    path = folder / f"{fit}-{kind}.json"
    save_model(release_of(fitted(fit, kind), **names), path)
    return path


@cache
def text_of(fit, kind="pandas"):
    with tempfile.TemporaryDirectory() as folder:
        return saved(Path(folder), fit, kind, target="price").read_text()


def write(path, content, *, digest=True):
    """A file with this content; its digest fits if it is told to."""
    if digest:
        content = content | {"digest": _digest(content)}
    path.write_text(json.dumps(content))
    return path
