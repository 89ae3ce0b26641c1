"""Models as plain JSON: released values and public names only, nothing that runs. Its schema is model.schema.json.

A digest over all values guards a file against accidents and careless edits, not against somebody who recomputes it.
Besides, everything is checked on reading, so that a file full of nonsense is refused and does not fail later.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from privreg import __version__
from privreg.data.features import Feature, features_of_names
from privreg.errors import ModelFileError
from privreg.privacy.receipt import PLANNED, Receipt
from privreg._json import entries, fields, flag, number, require, text, texts, whole
from privreg.results.outputs import write_whole
from privreg.results.release import Release, Saved

FORMAT = "privreg model"
VERSION = 2


# ---- writing


def save_model(release: Release, path: str | PathLike[str]) -> None:
    """Write a fitted model, whole or not at all."""
    saved = release.saved
    if saved is None:
        raise ModelFileError(f"a {release.method} cannot be written to a model file")
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"privreg {__version__}",
        "estimator": saved.estimator,
        "method": release.method,
        "target": saved.target,
        "n_features": saved.n_features,
        "feature_names": saved.feature_names,
        "categories": _levels(saved.categories),
        "columns": release.columns,
        "model": saved.model,
        "receipt": release.receipt.to_dict(),
    }
    try:
        content["digest"] = _digest(content)
    except ValueError as error:
        raise ModelFileError("the model has numbers that are not finite, which JSON cannot hold") from error
    write_whole(path, json.dumps(content, indent=1) + "\n")


def _levels(categories: Mapping[Any, Sequence[Any]]) -> list[Any]:
    """Pairs of a column and its levels, as a reader of the file will have them."""

    def plain(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        try:
            back = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError):
            back = None
        if not isinstance(back, str | int | float) or str(back) != str(value):
            raise ModelFileError(f"the category level {value!r} cannot be written to a model file: use text or numbers")
        return back

    return [[plain(name), [plain(level) for level in levels]] for name, levels in categories.items()]


def _digest(content: dict[str, Any]) -> str:
    values = {key: value for key, value in content.items() if key != "digest"}
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{sha256(canonical.encode()).hexdigest()}"


# ---- reading


@dataclass(frozen=True)
class ModelFile(Saved):
    """The content of a file. `model` is left to whoever knows the estimator."""

    method: str
    columns: list[str]
    receipt: Receipt

    @property
    def features(self) -> list[Feature]:
        """What the columns stand for."""
        return features_of_names(self.columns, self.feature_names, self.categories)


@contextmanager
def read_model(path: str | PathLike[str]) -> Iterator[ModelFile]:
    """What a file holds; what goes wrong with it inside the block is a ModelFileError, too."""
    path = Path(path)
    content = _parsed(path)
    try:
        intact = content.get("digest") == _digest(content)
    except (ValueError, RecursionError):  # 1e999 is read as inf; writing may nest a little less deep than reading
        intact = False
    if not intact:
        raise ModelFileError(f"{path} was changed after it was written (its digest does not match)")
    try:
        yield _checked(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        reason = error if isinstance(error, ValueError) else repr(error)
        raise ModelFileError(f"{path} is damaged: {reason}") from error


def _parsed(path: Path) -> dict[str, Any]:
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, not a privreg model file")
    try:
        content = json.loads(
            path.read_bytes().decode(), object_pairs_hook=_without_duplicates, parse_constant=_no_constant
        )
    except RecursionError:
        raise ModelFileError(f"{path} is not a privreg model file (it is nested too deep)") from None
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path} is not a privreg model file (it is not text in UTF-8)") from error
    except ValueError as error:
        raise ModelFileError(f"{path} is not a privreg model file, or only a part of one ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or type(content.get("version")) is not int:
        raise ModelFileError(f"{path} is not a privreg model file")
    if content["version"] > VERSION:
        by = str(content.get("written_by"))[:60].encode("unicode_escape").decode()  # one line, whatever it holds
        raise ModelFileError(f"{path} was written by a newer version ({by}); upgrade privreg")
    if content["version"] < VERSION:
        raise ModelFileError(f"{path} was written by an unreleased version of privreg and cannot be read; fit again")
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _checked(content: dict[str, Any]) -> ModelFile:
    fields(
        content,
        "format version written_by estimator method target n_features feature_names categories columns model receipt "
        "digest",
    )
    names = texts(content["columns"], "columns")
    text(content["written_by"], "written_by")
    n_features = whole(content["n_features"], "n_features", 1)
    require(n_features <= len(names) == len(set(names)), "columns do not fit n_features")
    known = None
    if content["feature_names"] is not None:
        known = texts(content["feature_names"], "feature_names")
        require(len(known) == len(set(known)) == n_features, "feature_names do not fit n_features")
    return ModelFile(
        estimator=text(content["estimator"], "estimator"),
        method=text(content["method"], "method"),
        target=None if content["target"] is None else text(content["target"], "target"),
        n_features=n_features,
        feature_names=known,
        categories=_read_levels(content["categories"], set(names)),
        columns=names,
        model=content["model"],
        receipt=_receipt(content["receipt"]),
    )


def _read_levels(value: Any, columns: set[str]) -> dict[Any, list[Any]]:
    categories: dict[Any, list[Any]] = {}
    for pair in entries(value, "categories", lambda v, _: v):
        require(isinstance(pair, list) and len(pair) == 2, "categories must be pairs")
        levels = entries(pair[1], "categories", lambda v, _: v)
        require(all(isinstance(v, str | int | float) for v in (pair[0], *levels)), "levels must be text or numbers")
        require(0 < len(levels) == len(set(levels)) and pair[0] not in categories, "categories must be different")
        require(columns.issuperset(f"{pair[0]}={level}" for level in levels), "categories do not fit the columns")
        categories[pair[0]] = levels
    return categories


def _totals(record: Any, exactly: str | None = None) -> None:
    if exactly is not None:
        fields(record, exactly)
    require(number(record["epsilon"], "epsilon") >= 0, "epsilon must not be negative")
    require(0 <= number(record["delta"], "delta") < 1, "delta must be in [0, 1)")


def _receipt(record: Any) -> Receipt:
    first = isinstance(record, dict) and "before" in record  # a part of the budget was spent first
    fields(record, "epsilon delta requested unit private composition rows steps" + " before" * first)
    _totals(record)
    _totals(record["requested"], "epsilon delta")
    for step in entries(record["steps"], "steps", lambda v, _: v):
        about = isinstance(step, dict) and "purpose" in step  # old files do not say it
        fields(step, "name mechanism parameters cost" + " purpose column" * about)
        text(step["name"], "name of a step")
        if about:
            text(step["purpose"], "purpose of a step")
            if step["column"] is not None:
                whole(step["column"], "column of a step", 0)
        for part in ("parameters", "cost"):
            require(isinstance(step[part], dict), f"{part} of a step must be an object")
            for name, value in step[part].items():
                number(value, name)
    text(record["unit"], "unit")
    flag(record["private"], "private")
    if record["rows"] is None:  # as old files say of a plan
        require(record["composition"] == PLANNED, "composition does not fit rows")
    else:
        whole(record["rows"], "rows", 1)
    if first:
        fields(record["before"], "requested composition steps")
        _totals(record["before"]["requested"], "epsilon delta")
        steps = whole(record["before"]["steps"], "steps before", 0)
        require(steps <= len(record["steps"]), "there are fewer steps than were paid for before")
    receipt = Receipt.from_dict(record)
    require(isfinite(receipt.epsilon), "the steps of the receipt have no finite total")
    return receipt
