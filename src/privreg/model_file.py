"""Models as plain JSON: released values only, nothing that runs."""

import json
from dataclasses import asdict
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from privreg import __version__
from privreg.errors import ModelFileError
from privreg.privacy.receipt import Receipt
from privreg.regression.model import Scale, Term, WinsorisedModel
from privreg.regression.private_linear import PrivateLinearRegression

FORMAT = "privreg model"
VERSION = 1


def save_model(model: PrivateLinearRegression, path: str | PathLike[str]) -> None:
    """Write a fitted model."""
    parameters = {
        "epsilon": model.receipt_.budget.epsilon,
        "delta": model.receipt_.budget.delta,
        "k": model.k if model.k == "auto" else int(model.k),
        "rows_per_person": int(model.rows_per_person),
    }
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"privreg {__version__}",
        "estimator": type(model).__name__,
        "parameters": parameters,
        "categories": [[name, list(levels)] for name, levels in (model.categories or {}).items()],
        "people": model._people,
        "columns": model._names,
        "feature_names": list(getattr(model, "feature_names_in_", [])),
        "n_features": model.n_features_in_,
        "label": asdict(model.model_.label),
        "terms": [{"column": term.column, **asdict(term.scale)} for term in model.model_.terms],
        "theta": model.model_.theta.tolist(),
        "covariance": [[v if isfinite(v) else None for v in row] for row in model.model_.covariance.tolist()],
        "n_records": model.n_records_,
        "warnings": model.warnings_,
        "receipt": model.receipt_.to_dict(),
    }
    text = json.dumps(content, indent=1, default=_plain, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def load_model(path: str | PathLike[str]) -> PrivateLinearRegression:
    """Read a model that `save` wrote. It predicts and prints as the original does."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        newer = int(content["version"]) > VERSION
        if content["format"] != FORMAT:
            raise ValueError
    except (ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path} is not a privreg model file") from error
    if newer:
        raise ModelFileError(f"{path} was written by a newer version ({content.get('written_by')}); upgrade privreg")
    try:
        return _rebuild(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} is damaged: {error!r}") from error


def _rebuild(content: dict[str, Any]) -> PrivateLinearRegression:
    categories = dict(content["categories"]) or None
    model = PrivateLinearRegression(**content["parameters"], categories=categories)
    columns = content["columns"]
    terms = tuple(Term(t["column"], Scale(t["centre"], t["limit"], t["unit"])) for t in content["terms"])
    covariance = np.array(content["covariance"], np.float64)
    theta = np.array(content["theta"], np.float64)
    model._people = content["people"]
    model._set(WinsorisedModel(Scale(**content["label"]), terms, theta, covariance), len(columns))
    model.n_records_ = content["n_records"]
    model.warnings_ = content["warnings"]
    model.receipt_ = Receipt.from_dict(content["receipt"])
    model.n_features_in_ = content["n_features"]
    if content["feature_names"]:
        model.feature_names_in_ = np.array(content["feature_names"], np.object_)
    model._names = columns
    return model


def _plain(value: Any) -> Any:
    """numpy scalars as the Python values they hold."""
    if isinstance(value, np.generic):
        return value.item()
    raise ModelFileError(f"the category level {value!r} cannot be written to a model file: declare text or numbers")
