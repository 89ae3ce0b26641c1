"""What a fit released, beside what was asked: the one source of tables, reports and JSON. Nothing else may be shown."""

from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from sklearn.utils.validation import check_is_fitted

from privreg.estimators.loaded import LoadedModel
from privreg.estimators.private_linear.estimator import Z95, PrivateLinearRegression
from privreg.estimators.regressor import WARNING, PrivateRegressor
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.privacy.receipt import Receipt


@dataclass(frozen=True)
class Coefficient:
    """One feature of a model, in the units of the data. None where the method does not tell."""

    feature: str
    value: float
    error: float | None = None  # standard error, of sampling and privacy noise together
    low: float | None = None  # ends of the 95 % interval
    high: float | None = None
    linear_from: float | None = None  # ends of the range in which the model is linear in this feature
    linear_to: float | None = None
    outer_value: float | None = None  # slope beyond that range, of columns with long tails, up to a second one
    outer_from: float | None = None
    outer_to: float | None = None
    level: bool = field(default=False, kw_only=True)  # a level of a category, or of a boolean: 0 or 1


@dataclass(frozen=True)
class Release:
    """A fitted model in words and numbers."""

    method: str
    target: str
    columns: list[str]  # all that were offered, one for each level of a category
    coefficients: list[Coefficient]  # in the order chosen; empty if the model is a constant
    intercept: Coefficient
    prediction_range: tuple[float, float] | None
    records: float | None  # a private estimate, rather too low than too high
    notes: list[str]
    warnings: list[str]
    receipt: Receipt
    differences: list[Coefficient] = field(default_factory=list)  # between levels of a category, named "town=b − a"
    shrunk_to: float | None = None  # norm to which rows are shrunk before the formula is applied

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        named = {name: getattr(self, name) for name in ("method", "target", "columns")}
        return named | {
            "selected_features": [c.feature for c in self.coefficients],
            "coefficients": [asdict(c) for c in self.coefficients],
            "intercept": asdict(self.intercept),
            "differences": [asdict(c) for c in self.differences],
            "prediction_range": self.prediction_range,
            "records": self.records,
            "notes": self.notes,
            "warnings": self.warnings,
            "receipt": self.receipt.to_dict(),
        }


def release_of(
    model: PrivateRegressor | SelectThenRegress | LoadedModel, target: str | None = None, method: str | None = None
) -> Release:
    """What a fitted private model, or one from a file, released.

    `target` and `method` are names to show. By default they are those that the file has, or "y" and the class.
    """
    check_is_fitted(model)
    target = target or getattr(model, "target_name_", None) or "y"
    method = method or str(getattr(model, "method_name_", type(model).__name__))
    if isinstance(model, PrivateLinearRegression):
        return _of_private_linear(model, target, method)
    plain = model if isinstance(model, LoadedModel) else LoadedModel.of(model)
    columns = range(len(plain._names)) if plain._chosen is None else plain._chosen
    return Release(
        method,
        target,
        list(plain._names),
        [Coefficient(plain._names[j], float(plain.coef_[j])) for j in columns] if plain.released_ else [],
        Coefficient("(intercept)", plain.intercept_),
        None,
        None,
        [note for note in plain.notes_ if not note.startswith(WARNING)] if plain.released_ else [],
        [note.removeprefix(WARNING) for note in plain.notes_ if note.startswith(WARNING) or not plain.released_],
        plain.receipt_,
        shrunk_to=plain.shrunk_to_,
    )


def _of_private_linear(model: PrivateLinearRegression, target: str, method: str) -> Release:
    interval, outer, levels = model.confidence_interval(), model.model_.outer(), model._levels()
    coefficients = [
        Coefficient(
            model._names[j],
            float(model.coef_[j]),
            _finite(model.standard_error_[j]),
            *map(_finite, (*interval[j], *model.linear_range_[j])),
            *outer.get(j, (None, None, None)),
            level=j in levels,
        )
        for j in model._chosen()
    ]
    return Release(
        method,
        target,
        list(model._names),
        coefficients,
        Coefficient("(intercept)", model.intercept_, *map(_finite, model.intercept_interval())),
        model.prediction_range(),
        model.n_records_,
        model._facts(),
        list(model.warnings_),
        model.receipt_,
        [
            Coefficient(name, value, *map(_finite, (error, value - Z95 * error, value + Z95 * error)), level=True)
            for name, value, error in model.level_differences()
        ],
    )


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
