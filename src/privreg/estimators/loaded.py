"""Models from files: a released linear model without the method that made it, and how a file becomes a model."""

from os import PathLike
from typing import Any, NoReturn

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from privreg._json import entries, fields, flag, number, numbers, require, text, texts, whole
from privreg._types import Float64
from privreg.data.tables import Table
from privreg.estimators.boosted_adassp import linear_on_shrunk
from privreg.estimators.private_linear.estimator import LIMITS, PrivateLinearRegression
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.regressor import ReleasedModel, linear, linear_release
from privreg.estimators.table_estimator import TableEstimator
from privreg.privacy.receipt import Receipt
from privreg.results.model_file import ModelFile, read_model
from privreg.results.release import WARNING, Release

_SELECTS, _SHRINKS = "SelectThenRegress", "BoostedAdaSSP"
_LINEAR = ("TukeyRegression", _SHRINKS, _SELECTS)


class LoadedModel(ReleasedModel, RegressorMixin, TableEstimator):
    """A linear model from a file. It predicts and prints exactly as the fitted one did, and cannot be fitted again.

    Attributes
    ----------
    coef_ : ndarray
        One coefficient for each column, or for each level except the reference; 0 if it was not chosen.
    intercept_ : float
        The intercept.
    selected_features_ : list of str or int
        Names (or column numbers) in the order chosen, if the method chooses features.
    shrunk_to_ : float or None
        The norm to which rows are shrunk before prediction; None if they are not.
    released_ : bool
        Whether there is a model at all.
    notes_, warnings_ : list of str
        Plain sentences about the fit.
    receipt_ : Receipt
        What was spent, step by step.
    estimator_ : str
        The name of the class that was fitted.
    method_name_ : str
        The name of the method, to show.
    target_name_ : str or None
        The name of the target, to show; None if it is not known.
    """

    coef_: Float64
    intercept_: float
    shrunk_to_: float | None
    released_: bool
    notes_: list[str]
    warnings_: list[str]
    receipt_: Receipt
    estimator_: str
    method_name_: str
    target_name_: str | None

    _chosen: list[int] | None  # in the order chosen; None if the method uses every column

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Not possible: a file has the model, not the method that made it."""
        raise NotImplementedError(
            "a model from a file cannot be fitted; make a new estimator, for instance with privreg.paper.make_method"
        )

    @property
    def selected_features_(self) -> list[Any]:
        """The chosen columns, in the order chosen: names, or numbers for an array."""
        check_is_fitted(self)
        if self._chosen is None:
            raise AttributeError(f"{self.method_name_} uses every column, so it has no selected_features_")
        return self._labels(self._chosen)

    def predict(self, X: Any, *, inverse: bool = False) -> Float64:
        """Predict the target for each row; NaN where a value that the model needs is missing.

        Parameters
        ----------
        X : array, data frame or file
            New rows, with the columns that the model was fitted on.
        inverse : bool, default False
            Undo the function of the formula's target: for log(pay), the result is exp(prediction).

        Returns
        -------
        ndarray
            One prediction for each row.
        """
        return self._over(X, self._predict, inverse)

    def _predict(self, table: Table) -> Float64:
        rows = self._used if self._chosen is None else sorted(self._chosen)
        table, coef = table.choose_rows(rows), self.coef_[rows]
        if self.shrunk_to_ is None:
            return linear(table, coef, self.intercept_)
        return linear_on_shrunk(table, coef, self.intercept_, self.shrunk_to_)

    def _release(self, target: str | None = None, method: str | None = None) -> Release:
        check_is_fitted(self)
        return linear_release(
            self,
            target,
            method,
            self._names,
            self.notes_,
            chosen=self._chosen,
            released=self.released_,
            shrunk_to=self.shrunk_to_,
        )


def load_model(path: str | PathLike[str]) -> PrivateLinearRegression | LoadedModel:
    """Read a model that `save` wrote. It predicts and prints as the original does.

    The digest in the file guards against accidents and careless edits, not against somebody who recomputes it.

    Parameters
    ----------
    path : str or path
        The model file.

    Returns
    -------
    PrivateLinearRegression or LoadedModel
        A `LoadedModel` for all other methods; it cannot be fitted again.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from privreg import PrivateLinearRegression, load_model
    >>> X = np.random.default_rng(0).normal(size=(5_000, 2))
    >>> model = PrivateLinearRegression(epsilon=1.0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.json")
    ...     model.save(path)
    ...     again = load_model(path)
    >>> np.array_equal(again.predict(X), model.predict(X))
    True
    """
    with read_model(path) as file, np.errstate(all="ignore"):
        model = _flagship(file) if file.estimator == PrivateLinearRegression.__name__ else _linear(file)
        model.receipt_ = file.receipt
        model.method_name_, model.target_name_ = file.method, file.target
        model.n_features_in_ = len(file.schema.inputs)
        if file.named:
            model.feature_names_in_ = np.array(file.schema.inputs, np.object_)
        model._remember(file.schema)
    return model


def _flagship(file: ModelFile) -> PrivateLinearRegression:
    record, budget = file.model, file.receipt.budget
    public = isinstance(record, dict) and "public_rows" in record
    known = "k limits rows_per_person people n_records label terms theta estimates warnings"
    fields(record, known + " public_rows" * public)
    k = record["k"] if record["k"] == "auto" else whole(record["k"], "k", 1)
    limits = text(record["limits"], "limits")
    require(limits in LIMITS, "limits must be narrow or wide")
    persons = whole(record["rows_per_person"], "rows_per_person", 1)
    require(flag(record["people"], "people") == file.receipt.protects_people, "people does not fit the receipt")
    missing = "fill" if file.schema.fill else "drop"
    model = PrivateLinearRegression(
        budget.epsilon, budget.delta, k=k, limits=limits, rows_per_person=persons, missing=missing
    )
    rows = len(file.schema.rows)
    model._set(WinsorisedModel.from_dict(record, rows), rows)
    _check_used(model._chosen(), file)
    model.n_records_ = number(record["n_records"], "n_records")
    model.n_public_rows_ = whole(record["public_rows"], "public_rows", 1) if public else 0
    model.warnings_ = texts(record["warnings"], "warnings")
    return model


def _linear(file: ModelFile) -> LoadedModel:
    record, columns, estimator = file.model, len(file.schema.rows), file.estimator
    require(estimator in _LINEAR, "unknown estimator")
    fields(record, "coefficients intercept chosen shrunk_to released notes")
    model = LoadedModel()
    model.estimator_ = estimator
    model.coef_ = numbers(record["coefficients"], "coefficients", columns)
    model.intercept_ = number(record["intercept"], "intercept")
    model.released_ = flag(record["released"], "released")
    notes = texts(record["notes"], "notes")
    model.notes_ = [note for note in notes if not note.startswith(WARNING)]
    model.warnings_ = [note.removeprefix(WARNING) for note in notes if note.startswith(WARNING)]
    model.shrunk_to_ = None if record["shrunk_to"] is None else number(record["shrunk_to"], "shrunk_to")
    require(model.shrunk_to_ is None or model.shrunk_to_ > 0, "shrunk_to must be positive")
    model._chosen = None
    if record["chosen"] is not None:
        model._chosen = chosen = entries(record["chosen"], "chosen", lambda v, what: whole(v, what, 0, columns - 1))
        require(0 < len(chosen) == len(set(chosen)), "chosen must be different columns")
        require(not np.delete(model.coef_, chosen).any(), "a column that was not chosen has a coefficient")
    _check_used(np.flatnonzero(model.coef_).tolist() if model._chosen is None else model._chosen, file)
    selects, shrinks = estimator == _SELECTS, model.shrunk_to_ is not None
    require(selects == (model._chosen is not None), "chosen does not fit the estimator")
    require(selects or shrinks == (estimator == _SHRINKS), "shrunk_to does not fit the estimator")
    return model


def _check_used(rows: list[int], file: ModelFile) -> None:
    """A model computes only with what its schema has values for."""
    used = {feature.row for feature in file.schema.features}
    require(used.issuperset(rows), "a column that is left out has a coefficient")
