"""Models as plain JSON: released values and public names only, nothing that runs. Its schema is model.schema.json.

A digest over all values guards a file against accidents and careless edits, not against somebody who recomputes it.
Besides, everything is checked on reading, so that a file full of nonsense is refused and does not fail later.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from privreg import __version__
from privreg._json import entries, fields, flag, number, require, text, whole
from privreg.data.schema import Schema
from privreg.errors import ModelFileError
from privreg.privacy.origin import UNKNOWN, Origin
from privreg.privacy.receipt import PLANNED, Receipt
from privreg.results.outputs import write_whole
from privreg.results.release import Release, Saved

FORMAT = "privreg model"
VERSION = 4
_READING = "count all records"  # the first step of reading a table, in files that say no more about it
_RELEASED = ("estimator", "schema", "model", "receipt")


# ---- writing


def save_model(release: Release, path: str | PathLike[str]) -> None:
    """Write a fitted model, whole or not at all."""
    saved = release.saved
    if saved is None:
        raise ModelFileError(f"{release.method} cannot be saved; only the estimators of privreg itself can")
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"privreg {__version__}",
        "method": release.method,
        "target": saved.target,
        "named": saved.named,
        **_released(saved, release.receipt),
    }
    try:
        content["digest"] = _digest(content)
    except ValueError as error:
        raise ModelFileError("the model has numbers that are not finite, which JSON cannot hold") from error
    write_whole(path, json.dumps(content, indent=1) + "\n")


def fingerprint_of(release: Release) -> str | None:
    """What a ledger keeps of a released model, to find the entry of a model file by; None if there will be no file.

    It covers what was released and what it cost, not the names that are chosen when a file is written.
    """
    try:
        return None if release.saved is None else _digest(_released(release.saved, release.receipt))
    except ValueError:  # not finite: cannot be written either
        return None


def _released(saved: Saved, receipt: Receipt) -> dict[str, Any]:
    values = saved.estimator, saved.schema.to_dict(), saved.model, receipt.to_dict()
    return dict(zip(_RELEASED, values, strict=True))


def _digest(content: dict[str, Any]) -> str:
    values = {key: value for key, value in content.items() if key != "digest"}
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{sha256(canonical.encode()).hexdigest()}"


# ---- reading


@dataclass(frozen=True)
class ModelFile(Saved):
    """The content of a file. `model` is left to whoever knows the estimator."""

    method: str
    receipt: Receipt
    fingerprint: str  # as `fingerprint_of` the release that was written


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
        raise ModelFileError(f"{path} is not a privreg model file (it is nested too deeply)") from None
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
        raise ModelFileError(f"{path} was written by an older version of privreg and cannot be read; fit again")
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _checked(content: dict[str, Any]) -> ModelFile:
    fields(content, "format version written_by estimator method target named schema model receipt digest")
    text(content["written_by"], "written_by")
    receipt = read_receipt(content["receipt"])
    return ModelFile(
        estimator=text(content["estimator"], "estimator"),
        method=text(content["method"], "method"),
        target=None if content["target"] is None else text(content["target"], "target"),
        named=flag(content["named"], "named"),
        schema=with_origin(Schema.from_dict(content["schema"]), receipt),
        model=content["model"],
        receipt=receipt,
        fingerprint=_digest({key: content[key] for key in _RELEASED}),
    )


def _totals(record: Any, exactly: str | None = None) -> None:
    if exactly is not None:
        fields(record, exactly)
    require(number(record["epsilon"], "epsilon") >= 0, "epsilon must not be negative")
    require(0 <= number(record["delta"], "delta") < 1, "delta must be in [0, 1)")


def with_origin(schema: Schema, receipt: Receipt) -> Schema:
    """A schema and the receipt beside it in a file. Older files do not say whether the one paid for the other."""
    if schema.origin is not None or not schema.released:
        return schema
    own = any(event.name == _READING for event in receipt.events)
    return replace(schema, origin=Origin.of(receipt) if own else UNKNOWN)


def read_receipt(record: Any) -> Receipt:
    """A receipt from a file. ValueError for most kinds of nonsense, or another error."""
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
        require(steps <= len(record["steps"]), "there are fewer steps than the earlier part has")
    receipt = Receipt.from_dict(record)
    require(isfinite(receipt.epsilon), "the steps of the receipt have no finite total")
    return receipt
