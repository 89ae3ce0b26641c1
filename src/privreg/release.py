"""What a fit released, beside what was asked: the one source of tables, reports and JSON. Nothing else may be shown."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from sklearn.utils.validation import check_is_fitted

from privreg.privacy.receipt import Receipt
from privreg.regression.base import PrivateRegressor
from privreg.regression.private_linear import PrivateLinearRegression
from privreg.regression.selected import SelectThenRegress


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

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        named = {name: getattr(self, name) for name in ("method", "target", "columns")}
        return named | {
            "selected_features": [c.feature for c in self.coefficients],
            "coefficients": [asdict(c) for c in self.coefficients],
            "intercept": asdict(self.intercept),
            "prediction_range": self.prediction_range,
            "records": self.records,
            "notes": self.notes,
            "warnings": self.warnings,
            "receipt": self.receipt.to_dict(),
        }


def release_of(model: PrivateRegressor | SelectThenRegress, target: str = "y", method: str | None = None) -> Release:
    """What a fitted private model released. `target` and `method` are names to show."""
    check_is_fitted(model)
    method = method or type(model).__name__
    if isinstance(model, PrivateLinearRegression):
        return _of_private_linear(model, target, method)
    last = model.regressor_ if isinstance(model, SelectThenRegress) else model
    first = model.selector_ if isinstance(model, SelectThenRegress) else model
    released = getattr(last, "released_", True)
    value = dict(zip(map(str, first._names), model.coef_.tolist(), strict=True))
    chosen = model.selected_features_ if isinstance(model, SelectThenRegress) else first._names
    return Release(
        method,
        target,
        list(first._names),
        [Coefficient(name, value[name]) for name in map(str, chosen)] if released else [],
        Coefficient("(intercept)", model.intercept_),
        None,
        None,
        last._notes() if released else [],
        [] if released else last._notes(),
        model.receipt_,
    )


def _of_private_linear(model: PrivateLinearRegression, target: str, method: str) -> Release:
    interval = model.confidence_interval()
    coefficients = [
        Coefficient(
            model._names[j],
            float(model.coef_[j]),
            *map(_finite, (model.standard_error_[j], *interval[j], *model.linear_range_[j])),
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
    )


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
