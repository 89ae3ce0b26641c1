"""Models as plain JSON: released values and public names only, nothing that runs. Its schema is model.schema.json.

A digest over all values guards a file against accidents and careless edits, not against somebody who recomputes it.
Besides, everything is checked on reading, so that a file full of nonsense is refused and does not fail later.
"""

import json
from dataclasses import asdict
from hashlib import sha256
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg import __version__
from privreg.data.features import features_of_names
from privreg.data.tables import Categories
from privreg.errors import ModelFileError
from privreg.estimators.boosted_adassp import BoostedAdaSSP
from privreg.estimators.loaded import LoadedModel
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.estimators.regressor import PrivateRegressor
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.estimators.tukey import TukeyRegression
from privreg.privacy.receipt import Receipt
from privreg.results.json_values import entries, fields, flag, number, numbers, require, text, texts, whole
from privreg.results.outputs import write_whole

FORMAT = "privreg model"
VERSION = 2

_LINEAR = (BoostedAdaSSP, TukeyRegression, SelectThenRegress)
_ESTIMATORS = tuple(kind.__name__ for kind in (PrivateLinearRegression, *_LINEAR))


# ---- writing


def save_model(
    model: PrivateRegressor | SelectThenRegress | LoadedModel,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    method: str | None = None,
) -> None:
    """Write a fitted model, whole or not at all. `target` and `method` are names to show later."""
    if type(model) not in (PrivateLinearRegression, LoadedModel, *_LINEAR):  # a subclass may predict in its own way
        raise ModelFileError(f"a {type(model).__name__} cannot be written to a model file")
    check_is_fitted(model)
    plain = model if isinstance(model, PrivateLinearRegression | LoadedModel) else LoadedModel.of(model)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"privreg {__version__}",
        "estimator": plain.estimator_ if isinstance(plain, LoadedModel) else type(plain).__name__,
        "method": method or getattr(plain, "method_name_", type(plain).__name__),
        "target": target or getattr(plain, "target_name_", None),
        "n_features": int(plain.n_features_in_),
        "feature_names": list(plain.feature_names_in_) if hasattr(plain, "feature_names_in_") else None,
        "categories": _levels(plain.categories or {}),
        "columns": plain._names,
        "model": _linear(plain) if isinstance(plain, LoadedModel) else _winsorised(plain),
        "receipt": plain.receipt_.to_dict(),
    }
    try:
        content["digest"] = _digest(content)
    except ValueError as error:
        raise ModelFileError("the model has numbers that are not finite, which JSON cannot hold") from error
    write_whole(path, json.dumps(content, indent=1) + "\n")


def _linear(model: LoadedModel) -> dict[str, Any]:
    return {
        "coefficients": model.coef_.tolist(),
        "intercept": model.intercept_,
        "chosen": model._chosen,
        "shrunk_to": model.shrunk_to_,
        "released": model.released_,
        "notes": model.notes_,
    }


def _winsorised(model: PrivateLinearRegression) -> dict[str, Any]:
    released = model.model_
    return {
        "k": model.k if model.k == "auto" else int(model.k),
        "rows_per_person": int(model.rows_per_person),
        "people": model.receipt_.protects_people,
        "n_records": float(model.n_records_),
        "label": _scale(released.target),
        "terms": [{"column": term.column, **_scale(term.scale)} for term in released.terms],
        "theta": released.theta.tolist(),
        "covariance": [[v if isfinite(v) else None for v in row] for row in released.covariance.tolist()],
        "warnings": model.warnings_,
    }


def _scale(scale: Scale) -> dict[str, float]:
    return {name: float(value) for name, value in asdict(scale).items()}


def _levels(categories: Categories) -> list[Any]:
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


def load_model(path: str | PathLike[str]) -> PrivateLinearRegression | LoadedModel:
    """Read a model that `save` wrote. It predicts and prints as the original does.

    The digest in the file guards against accidents and careless edits, not against somebody who recomputes it.
    """
    path = Path(path)
    content = _parsed(path)
    _check_version(path, content)
    try:
        intact = content.get("digest") == _digest(content)
    except (ValueError, RecursionError):  # 1e999 is read as inf; writing may nest a little less deep than reading
        intact = False
    if not intact:
        raise ModelFileError(f"{path} was changed after it was written (its digest does not match)")
    try:
        with np.errstate(all="ignore"):
            return _rebuild(content)
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
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _check_version(path: Path, content: dict[str, Any]) -> None:
    if content["version"] > VERSION:
        by = str(content.get("written_by"))[:60].encode("unicode_escape").decode()  # one line, whatever it holds
        raise ModelFileError(f"{path} was written by a newer version ({by}); upgrade privreg")
    if content["version"] < VERSION:
        raise ModelFileError(f"{path} was written by an unreleased version of privreg and cannot be read; fit again")


def _rebuild(content: dict[str, Any]) -> PrivateLinearRegression | LoadedModel:
    fields(
        content,
        "format version written_by estimator method target n_features feature_names categories columns model receipt "
        "digest",
    )
    estimator, names = content["estimator"], texts(content["columns"], "columns")
    require(estimator in _ESTIMATORS, "no such estimator")
    receipt = _receipt(content["receipt"])
    model: PrivateLinearRegression | LoadedModel
    if estimator == PrivateLinearRegression.__name__:
        model = _read_winsorised(content["model"], len(names), receipt)
    else:
        model = _read_linear(content["model"], len(names), estimator)
    model.receipt_ = receipt
    model.categories = _read_levels(content["categories"], set(names))
    model.method_name_ = text(content["method"], "method")
    model.target_name_ = None if content["target"] is None else text(content["target"], "target")
    text(content["written_by"], "written_by")
    model.n_features_in_ = whole(content["n_features"], "n_features", 1)
    require(model.n_features_in_ <= len(names) == len(set(names)), "columns do not fit n_features")
    if content["feature_names"] is not None:
        known = texts(content["feature_names"], "feature_names")
        require(len(known) == len(set(known)) == model.n_features_in_, "feature_names do not fit n_features")
        model.feature_names_in_ = np.array(known, np.object_)
    model._features = features_of_names(names, content["feature_names"], model.categories or {})
    model._names = names
    return model


def _read_linear(record: Any, columns: int, estimator: str) -> LoadedModel:
    fields(record, "coefficients intercept chosen shrunk_to released notes")
    model = LoadedModel()
    model.estimator_ = estimator
    model.coef_ = numbers(record["coefficients"], "coefficients", columns)
    model.intercept_ = number(record["intercept"], "intercept")
    model.released_ = flag(record["released"], "released")
    model.notes_ = texts(record["notes"], "notes")
    model.shrunk_to_ = None if record["shrunk_to"] is None else number(record["shrunk_to"], "shrunk_to")
    require(model.shrunk_to_ is None or model.shrunk_to_ > 0, "shrunk_to must be positive")
    model._chosen = None
    if record["chosen"] is not None:
        model._chosen = chosen = entries(record["chosen"], "chosen", lambda v, what: whole(v, what, 0, columns - 1))
        require(0 < len(chosen) == len(set(chosen)), "chosen must be different columns")
        require(not np.delete(model.coef_, chosen).any(), "a column that was not chosen has a coefficient")
    selects = estimator == SelectThenRegress.__name__
    require(selects == (model._chosen is not None), "chosen does not fit the estimator")
    shrinks = model.shrunk_to_ is not None
    require(selects or shrinks == (estimator == BoostedAdaSSP.__name__), "shrunk_to does not fit the estimator")
    return model


def _read_winsorised(record: Any, columns: int, receipt: Receipt) -> PrivateLinearRegression:
    fields(record, "k rows_per_person people n_records label terms theta covariance warnings")
    k = record["k"] if record["k"] == "auto" else whole(record["k"], "k", 1)
    rows = whole(record["rows_per_person"], "rows_per_person", 1)
    model = PrivateLinearRegression(receipt.budget.epsilon, receipt.budget.delta, k=k, rows_per_person=rows)
    label = _read_scale(record["label"], "label")
    terms = entries(record["terms"], "terms", lambda v, what: _read_term(v, what, columns))
    theta = numbers(record["theta"], "theta", len(terms) + 1)
    covariance = np.array(
        entries(record["covariance"], "covariance", lambda v, what: numbers(v, what, theta.size, missing=True))
    )
    require(covariance.shape == (theta.size, theta.size), "covariance must be square")
    require(flag(record["people"], "people") == receipt.protects_people, "people does not fit the receipt")
    model._set(WinsorisedModel(label, tuple(terms), theta, covariance), columns)
    model.n_records_ = number(record["n_records"], "n_records")
    model.warnings_ = texts(record["warnings"], "warnings")
    return model


def _read_term(record: Any, what: str, columns: int) -> Term:
    fields(record, "column centre limit unit")
    column = whole(record["column"], f"{what}: column", 0, columns - 1)
    return Term(column, _read_scale({key: value for key, value in record.items() if key != "column"}, what))


def _read_scale(record: Any, what: str) -> Scale:
    fields(record, "centre limit unit")
    scale = Scale(**{key: number(value, f"{what}: {key}") for key, value in record.items()})
    require(scale.limit >= 0 and scale.unit > 0, f"{what}: limit and unit must be positive")
    return scale


def _read_levels(value: Any, columns: set[str]) -> Categories | None:
    categories: dict[Any, list[Any]] = {}
    for pair in entries(value, "categories", lambda v, _: v):
        require(isinstance(pair, list) and len(pair) == 2, "categories must be pairs")
        levels = entries(pair[1], "categories", lambda v, _: v)
        require(all(isinstance(v, str | int | float) for v in (pair[0], *levels)), "levels must be text or numbers")
        require(0 < len(levels) == len(set(levels)) and pair[0] not in categories, "categories must be different")
        require(columns.issuperset(f"{pair[0]}={level}" for level in levels), "categories do not fit the columns")
        categories[pair[0]] = levels
    return categories or None


def _receipt(record: Any) -> Receipt:
    fields(record, "epsilon delta requested unit private composition rows steps")
    fields(record["requested"], "epsilon delta")
    for totals in (record, record["requested"]):
        require(number(totals["epsilon"], "epsilon") >= 0, "epsilon must not be negative")
        require(0 <= number(totals["delta"], "delta") < 1, "delta must be in [0, 1)")
    for step in entries(record["steps"], "steps", lambda v, _: v):
        fields(step, "name mechanism parameters cost")
        text(step["name"], "name of a step")
        for part in ("parameters", "cost"):
            require(isinstance(step[part], dict), f"{part} of a step must be an object")
            for name, value in step[part].items():
                number(value, name)
    text(record["unit"], "unit")
    flag(record["private"], "private")
    if record["rows"] is None:
        require(record["composition"] == "planned", "composition does not fit rows")
    else:
        whole(record["rows"], "rows", 1)
        require(record["composition"] == "gaussian, adaptive", "composition does not fit rows")
    receipt = Receipt.from_dict(record)
    require(isfinite(receipt.epsilon), "the steps of the receipt have no finite total")
    return receipt
