"""Estimates to read: least squares on the winsorised table, with errors. Predictions use the model's own θ."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privreg._json import entries, fields, number, numbers, require, whole
from privreg._types import Float64

Z95 = 1.959964  # standard errors to either side of a 95 % interval
_FIELDS = "places theta covariance products mean_error square_error residual residual_error r2 r2_error"


@dataclass(frozen=True)
class Estimates:
    """Least squares on the winsorised table, one term a column, neither ridged nor shrunk; from released values only.

    All is in the units of the model: those of the target, and of the terms.
    """

    places: tuple[int, ...]  # entries of the model's θ: 0, the constant, then one term of each column with a sure scale
    theta: Float64
    covariance: Float64  # of theta: sampling, privacy noise and allowances for bias
    products: Float64  # mean over the records of a·aᵀ for these terms, a₀ = 1
    mean_error: Float64  # standard errors of the means, in the first row of the products
    square_error: Float64  # and of the squares, on their diagonal
    residual: float  # variance of the residuals
    residual_error: float  # its standard error
    r2: float
    r2_error: float

    @property
    def errors(self) -> Float64:
        """Standard errors of theta."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether the budget determines a coefficient: its 95 % interval is at most ±1 in these units.

        Beyond, a standard deviation of the column might be worth more than one of the target either way, which says
        nothing. The constant is always determined.
        """
        told = Z95 * self.errors <= 1
        told[0] = True
        return told

    def to_dict(self) -> dict[str, Any]:
        """As in a model file."""
        return {
            "places": list(self.places),
            "theta": self.theta.tolist(),
            "covariance": self.covariance.tolist(),
            "products": self.products.tolist(),
            "mean_error": self.mean_error.tolist(),
            "square_error": self.square_error.tolist(),
            **{name: float(getattr(self, name)) for name in ("residual", "residual_error", "r2", "r2_error")},
        }

    @classmethod
    def from_dict(cls, record: Any, terms: int) -> "Estimates":
        """From what a model file has, of a model with so many terms; ValueError for nonsense."""
        fields(record, _FIELDS)
        places = entries(record["places"], "places", lambda v, what: whole(v, what, 0, terms))
        require(places[:1] == [0] and len(places) == len(set(places)), "places must be 0 and different terms")
        size = len(places)
        found = cls(
            places=tuple(places),
            theta=numbers(record["theta"], "theta", size),
            covariance=_matrix(record["covariance"], "covariance", size),
            products=_matrix(record["products"], "products", size),
            mean_error=numbers(record["mean_error"], "mean_error", size),
            square_error=numbers(record["square_error"], "square_error", size),
            residual=number(record["residual"], "residual"),
            residual_error=number(record["residual_error"], "residual_error"),
            r2=number(record["r2"], "r2"),
            r2_error=number(record["r2_error"], "r2_error"),
        )
        squares = *np.diag(found.covariance), *np.diag(found.products), found.residual
        errors = *found.mean_error, *found.square_error, found.residual_error, found.r2_error
        require(min(*squares, *errors) >= 0, "variances must not be negative")
        return found


def _matrix(value: Any, what: str, size: int) -> Float64:
    rows = entries(value, what, lambda v, what: numbers(v, what, size))
    require(len(rows) == size, f"{what} must be square")
    return np.array(rows)
