"""Estimates in the units of the data: values, standard errors, tests and intervals, one for each row that is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from privreg._types import Float64
from privreg.data.features import Feature
from privreg.estimators.private_linear.estimates import Estimates
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.results.statistics import JointTest

ESTIMATED, NOT_DETERMINED, NOT_IN_MODEL = "estimated", "not determined", "not in the model"
VISIBLE = 0.5  # standard errors by which the coefficients of predictions may differ without a word


@dataclass(frozen=True)
class Inference:
    """Of a model that is shown in so many rows; the intercept comes after them. NaN where there is no estimate.

    A constant has only an intercept, whose error is not known.
    """

    model: WinsorisedModel
    rows: int

    @cached_property
    def all_values(self) -> Float64:
        """Estimates, those that are not determined included."""
        values, estimates = np.full(self.rows + 1, np.nan), self.model.estimates
        values[-1] = self.model.target.centre
        if estimates is not None:
            slopes, constant = self._in_units(estimates)
            with np.errstate(all="ignore"):
                values[self.places] = (slopes * estimates.theta)[1:]
                values[-1] += constant @ estimates.theta
        return values

    @cached_property
    def all_errors(self) -> Float64:
        """Standard errors, those of what is not determined included."""
        errors, estimates = np.full(self.rows + 1, np.nan), self.model.estimates
        if estimates is not None:
            slopes, constant = self._in_units(estimates)
            with np.errstate(all="ignore"):
                errors[self.places] = (slopes * estimates.errors)[1:]
                errors[-1] = np.sqrt(np.maximum(constant @ estimates.covariance @ constant, 0.0))
        return errors

    def _in_units(self, estimates: Estimates) -> tuple[Float64, Float64]:
        """What one unit of θ is worth as a slope, and as a part of the intercept."""
        scales = [self.model.terms[place - 1].scale for place in estimates.places[1:]]
        with np.errstate(all="ignore"):
            slopes = self.model.target.unit * np.array([1.0, *(1 / scale.unit for scale in scales)])
            return slopes, slopes * np.array([1.0, *(-scale.centre for scale in scales)])

    @cached_property
    def places(self) -> list[int]:
        """The rows of the estimates, after the constant."""
        estimates = self.model.estimates
        return [] if estimates is None else [self.model.terms[place - 1].column for place in estimates.places[1:]]

    @cached_property
    def status(self) -> list[str]:
        """Why a row has no numbers, if it has none."""
        found, estimates = [NOT_IN_MODEL] * self.rows, self.model.estimates
        for term in self.model.terms:
            if term.sure:
                found[term.column] = NOT_DETERMINED
        if estimates is not None:
            for row, determined in zip(self.places, estimates.determined[1:], strict=True):
                found[row] = ESTIMATED if determined else NOT_DETERMINED
        return [*found, ESTIMATED]

    @property
    def determined(self) -> NDArray[np.bool_]:
        return np.array([status == ESTIMATED for status in self.status])

    @property
    def values(self) -> Float64:
        return np.where(self.determined, self.all_values, np.nan)

    @property
    def errors(self) -> Float64:
        return np.where(self.determined, self.all_errors, np.nan)

    @property
    def z(self) -> Float64:
        with np.errstate(all="ignore"):
            return self.values / self.errors

    @property
    def pvalues(self) -> Float64:
        """Two-sided, as if errors were normal."""
        return np.asarray(2 * ndtr(-np.abs(self.z)), np.float64)

    def interval(self, alpha: float) -> Float64:
        """Low and high end of each interval that fails to hold the coefficient with probability alpha."""
        with np.errstate(all="ignore"):
            return self.values[:, None] + np.outer(self.errors, quantile(alpha) * np.array([-1.0, 1.0]))

    def differs(self, coefficients: Float64) -> bool:
        """Whether those that predictions use are visibly others."""
        with np.errstate(all="ignore"):
            return bool((np.abs(self.values[:-1] - coefficients) > VISIBLE * self.errors[:-1]).any())

    def joint_tests(self, features: Sequence[Feature], names: Sequence[str]) -> list[JointTest]:
        """Of terms with several coefficients: levels of a category, or products of the same columns.

        `names` are those of the columns that features are made from.
        """
        terms: dict[tuple[int, ...], list[int]] = {}
        for i, row in enumerate(self.places, 1):
            terms.setdefault(tuple(source for source, _ in features[row].parts), []).append(i)
        several = [(":".join(names[j] for j in term), entries) for term, entries in terms.items() if len(entries) > 1]
        return [self._joint_test(name, entries) for name, entries in several]

    def _joint_test(self, term: str, entries: list[int]) -> JointTest:
        """bᵀV⁻¹b, which does not depend on units."""
        assert self.model.estimates is not None
        values, covariance = self.model.estimates.theta[entries], self.model.estimates.covariance
        try:
            with np.errstate(all="ignore"):
                inverse = np.linalg.pinv(covariance[np.ix_(entries, entries)], hermitian=True)
                statistic = max(float(values @ inverse @ values), 0.0)
        except np.linalg.LinAlgError:
            statistic = np.nan
        if not np.isfinite(statistic):
            return JointTest(term, None, len(entries), None)
        return JointTest(term, statistic, len(entries), float(chdtrc(len(entries), statistic)))


def quantile(alpha: float) -> float:
    """Standard errors to either side of an interval; ValueError unless alpha is a probability."""
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}")
    return float(ndtri(1 - alpha / 2))
