"""Model files and schemas: with damage, or with odd values under a digest that fits."""

import json
import warnings
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from audit.fuzz.draw import Draw, damaged
from audit.fuzz.outcome import Finding, folder, input_file, outcome
from audit.fuzz.record import CANARY
from privreg import SchemaReader
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.errors import NotPrivateWarning
from privreg.estimators.loaded import load_model
from privreg.paper import make_method
from privreg.results.model_file import _digest, save_model
from privreg.results.release import release_of
from privreg.results.schema_file import load_schema

# fmt: off
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e308, -1e308, 5e-324, 10**300, 10**400, 2**62, 2**63, 1e-300,
    "", "a", "auto", "\ud800", "\0", CANARY, "1e999", "x" * 3000, [], {}, [[]], [None], [1e308] * 3, {"a": 1},
)
# fmt: on


@cache
def _models() -> list[bytes]:
    """Files of a few kinds of model, as the product writes them: with declared levels, with found ones, and filled."""
    X, y = _table()
    path = folder() / "made.json"
    options: dict[str, Any] = {"random_state": 1, "n_jobs": 1}
    declared, filled = {"categories": {"t": ["north", "south"], "u": ["x", "y"]}}, {"missing": "fill"}
    made = []
    for method, more in (
        ("PrivateLinearRegression", declared), ("BAS", declared), ("K-Tukey", declared),
        ("PrivateLinearRegression", filled), ("K-BAS", filled),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            model = make_method(method, 2, 20.0, 1e-5, **options, **more).fit(X, y)
        save_model(release_of(model, "y"), path)
        made.append(path.read_bytes())
    return made


def _table() -> tuple[pa.Table, Any]:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=(2, 2000))
    b[:100] = np.nan
    X = pa.table({"a": a, "b": b, "t": ["north", "south"] * 1000, "u": [*"xxyy"] * 500})
    return X, a + rng.normal(size=2000)


@cache
def _schemas() -> list[bytes]:
    """The same of schemas: files of their own, and those in model files."""
    made = []
    for missing in ("drop", "fill"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            reader = SchemaReader(4.0, 1e-3, missing=missing, ranges={"a": (-9, 9)}, random_state=1).fit(_table()[0])
        reader.save(folder() / "made.json")
        made.append((folder() / "made.json").read_bytes())
    return [*made, *_models()]


def fuzz_schema(data: bytes) -> None:
    """A schema with damage, or with odd values. What can be loaded must be of use: for reading, and for saving."""
    draw = Draw(data)
    content = draw.pick(_schemas())
    if draw.number(3):
        content = json.dumps(_with_odd_values(draw, json.loads(content))).encode()
    else:
        content = damaged(draw, content)
    found = outcome(load_schema, input_file(content))
    if found.value is None:
        return
    schema, X = found.value, _new_table()
    if outcome(Schema.from_dict, json.loads(json.dumps(schema.to_dict()))).value != schema:
        raise Finding("a schema that was loaded and saved is another one")
    usable = outcome(schema.choose, X.column_names)
    with np.errstate(all="ignore"):
        if usable.value is not None:
            outcome(lambda: read_table(X, usable.value).rows(np.arange(3)))
            outcome(lambda: [feature.name for feature in usable.value.features])


def _new_table() -> pa.Table:
    columns = {"a": [0.5, 1e308, None], "b": [-1.0, 5e-324, 2.0]}
    return pa.table({**columns, "t": ["north", "south", "west"], "u": ["x", None, "z"]})


def _with_odd_values(draw: Draw, content: Any) -> Any:
    """A JSON object with some of its parts, at any depth, replaced, removed or repeated."""
    for _ in range(draw.number(3) + 1):
        places = list(_places(content))
        if not places:
            break
        parent, key = draw.pick(places)
        edit = draw.number(6)
        if edit == 0:
            del parent[key]
        elif edit == 1 and isinstance(parent, list):
            parent.insert(0, parent[key])
        elif edit == 2 and isinstance(parent[key], float):
            parent[key] *= draw.pick((-1, 0.5, 1e-200, 1e200))
        else:
            parent[key] = deepcopy(draw.pick(ODD_VALUES))  # so that nothing is put into itself
    return content


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, key
        yield from _places(node[key])


def fuzz_model(data: bytes) -> None:
    """Any bytes, or a file with damage, or with odd values."""
    draw = Draw(data)
    mode, made = draw.number(8), draw.pick(_models())
    if mode == 0:
        content = draw.rest()
    elif mode == 1:
        content = damaged(draw, made)
    else:
        odd = _with_odd_values(draw, json.loads(made))
        try:
            content = json.dumps(odd | {"digest": _digest(odd)}).encode()
        except (ValueError, AttributeError, RecursionError):  # there is no such digest
            return
    found = outcome(load_model, input_file(content))
    if found.value is not None:
        _use(found.value)


def _use(model: Any) -> None:
    X = _new_table()
    with np.errstate(all="ignore"):
        outcome(model.predict, X, allowed=ValueError)
        outcome(model.summary)
    again = folder() / "again.json"
    if outcome(model.save, again).message is None:
        back = outcome(load_model, again)
        if back.message is not None:
            raise Finding(f"a model that was loaded and saved is refused: {back.message}"[:400])
