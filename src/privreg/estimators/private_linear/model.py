"""A linear model of winsorised columns: what `PrivateLinearRegression` releases, and how it predicts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privreg._json import entries, fields, flag, number, numbers, require, whole
from privreg._types import Float64
from privreg.data.tables import Table
from privreg.estimators.private_linear.estimates import Estimates

BLOCK = 65_536  # records whose products with the covariance are in memory at a time


@dataclass(frozen=True)
class Scale:
    """clip(x − centre, ±limit)/unit."""

    centre: float
    limit: float
    unit: float

    def apply(self, values: Float64) -> Float64:
        return np.clip(values - self.centre, -self.limit, self.limit) / self.unit

    def to_dict(self) -> dict[str, float]:
        return {name: float(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, record: Any, what: str) -> "Scale":
        fields(record, "centre limit unit")
        scale = cls(**{key: number(value, f"{what}: {key}") for key, value in record.items()})
        require(scale.limit >= 0 and scale.unit > 0, f"{what}: limit and unit must be positive")
        return scale


@dataclass(frozen=True)
class Term:
    """One column of the model's design, made from feature column `column`.

    If nothing stood out from the noise (`sure` is False), the scale is a guess. Such a term tells little more than on
    which side of the centre a value lies: it serves predictions, but has no coefficient that means anything.
    """

    column: int
    scale: Scale
    sure: bool = True

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, **self.scale.to_dict(), "sure": self.sure}

    @classmethod
    def from_dict(cls, record: Any, what: str, columns: int) -> "Term":
        fields(record, "column centre limit unit sure")
        column = whole(record["column"], f"{what}: column", 0, columns - 1)
        scale = {key: value for key, value in record.items() if key not in ("column", "sure")}
        return cls(column, Scale.from_dict(scale, what), flag(record["sure"], what))


@dataclass(frozen=True)
class WinsorisedModel:
    """target.centre + target.unit·clip(θ·[1, terms], ±target.limit/target.unit): what predicts, and estimates to read.

    A constant has no estimates.
    """

    target: Scale
    terms: tuple[Term, ...]
    theta: Float64
    estimates: Estimates | None = None

    def to_dict(self) -> dict[str, Any]:
        """As in a model file, which calls the target "label"."""
        return {
            "label": self.target.to_dict(),
            "terms": [term.to_dict() for term in self.terms],
            "theta": self.theta.tolist(),
            "estimates": None if self.estimates is None else self.estimates.to_dict(),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any], columns: int) -> "WinsorisedModel":
        """From what a model file has; ValueError for nonsense."""
        target = Scale.from_dict(record["label"], "label")
        terms = entries(record["terms"], "terms", lambda v, what: Term.from_dict(v, what, columns))
        theta = numbers(record["theta"], "theta", len(terms) + 1)
        require((record["estimates"] is None) == (not terms), "a model has estimates unless it is a constant")
        estimates = Estimates.from_dict(record["estimates"], len(terms)) if terms else None
        require(len({term.column for term in terms}) == len(terms), "a column has two terms")
        if estimates is not None:
            read = [terms[place - 1] for place in estimates.places[1:]]
            require(all(term.sure for term in read), "a column whose scale is a guess has an estimate")
        return cls(target, tuple(terms), theta, estimates)

    def placed(self, rows: Sequence[int]) -> "WinsorisedModel":
        """The same model, whose columns have these places among all that is shown."""
        return replace(self, terms=tuple(replace(term, column=rows[term.column]) for term in self.terms))

    def predict(self, table: Table) -> Float64:
        result = np.full(table.n_rows, self.theta[0])
        for term, weight in zip(self.terms, self.theta[1:], strict=True):
            result += weight * term.scale.apply(table.row(term.column))
        most = self.target.limit / self.target.unit
        return self.target.centre + self.target.unit * np.clip(result, -most, most)

    def prediction_error(self, table: Table) -> Float64:
        """Standard deviation of a new target about its prediction: of the residuals, and of the estimates."""
        assert self.estimates is not None
        rows = np.ones((len(self.estimates.places), table.n_rows))
        for row, place in zip(rows[1:], self.estimates.places[1:], strict=True):
            term = self.terms[place - 1]
            row[:] = term.scale.apply(table.row(term.column))
        doubt = np.empty(table.n_rows)
        for start in range(0, table.n_rows, BLOCK):
            some = rows[:, start : start + BLOCK]
            doubt[start : start + BLOCK] = np.einsum("ij,ij->j", some, self.estimates.covariance @ some)
        return self.target.unit * np.sqrt(self.estimates.residual + np.maximum(doubt, 0.0))

    def in_units(self, columns: int) -> Float64:
        """The matrix L with L·θ + (0, …, 0, target.centre) = coefficients of each column, intercept last.

        Inside all limits every term is linear. Terms whose scale is a guess count as 0, as they do at their centre.
        """
        matrix = np.zeros((columns + 1, len(self.theta)))
        matrix[columns, 0] = self.target.unit
        for t, term in enumerate(self.terms, 1):
            if not term.sure:
                continue
            slope = self.target.unit / term.scale.unit
            matrix[term.column, t] = slope
            matrix[columns, t] = -slope * term.scale.centre
        return matrix

    def intervals(self, columns: int) -> Float64:
        """Low and high end of the stretch in which the model is linear in each column; NaN for columns not in it."""
        ends = np.full((columns, 2), np.nan)
        for term in [term for term in self.terms if term.sure]:
            ends[term.column] = term.scale.centre - term.scale.limit, term.scale.centre + term.scale.limit
        return ends
