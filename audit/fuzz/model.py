"""Model files: with damage, or with odd values under a digest that fits."""

import json
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from audit.fuzz.draw import Draw, damaged
from audit.fuzz.outcome import Finding, folder, input_file, outcome
from audit.fuzz.record import CANARY
from privreg.errors import NotPrivateWarning
from privreg.estimators.loaded import load_model
from privreg.paper import make_method
from privreg.results.model_file import _digest, save_model
from privreg.results.release import release_of

# fmt: off
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e308, -1e308, 5e-324, 10**300, 10**400, 2**62, 2**63, 1e-300,
    "", "a", "auto", "\ud800", "\0", CANARY, "1e999", "x" * 3000, [], {}, [[]], [None], [1e308] * 3, {"a": 1},
)
# fmt: on


@cache
def _models() -> list[bytes]:
    """Files of a few kinds of model, as the product writes them."""
    rng = np.random.default_rng(7)
    X = pa.table({"a": rng.normal(size=2000), "b": rng.normal(size=2000), "t": ["north", "south"] * 1000})
    y, path = X["a"].to_numpy() + rng.normal(size=2000), folder() / "made.json"
    options: dict[str, Any] = {"random_state": 1, "n_jobs": 1, "categories": {"t": ["north", "south"]}}
    made = []
    for method in ("PrivateLinearRegression", "BAS", "K-Tukey"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            model = make_method(method, 2, 20.0, 1e-5, **options).fit(X, y)
        save_model(release_of(model, "y"), path)
        made.append(path.read_bytes())
    return made


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
            parent[key] = draw.pick(ODD_VALUES)
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
    X = pa.table({"a": [0.5, 1e308, None], "b": [-1.0, 5e-324, 2.0], "t": ["north", "south", "west"]})
    with np.errstate(all="ignore"):
        outcome(model.predict, X, allowed=ValueError)
        outcome(model.summary)
    again = folder() / "again.json"
    if outcome(model.save, again).message is None:
        back = outcome(load_model, again)
        if back.message is not None:
            raise Finding(f"a model that was loaded and saved is refused: {back.message}"[:400])
