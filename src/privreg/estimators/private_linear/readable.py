"""What a statistician reads off a fitted model, named as in statsmodels. All of it comes from released values."""

from collections.abc import Sequence
from math import nan, sqrt
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privreg._types import Float64
from privreg.data.features import Feature
from privreg.data.labels import labelled_frame, labelled_series, labelled_square
from privreg.data.schema import Schema
from privreg.estimators.private_linear.description import correlations, describe, finite, step_sizes
from privreg.estimators.private_linear.inference import Inference
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.regressor import shown_names
from privreg.results.release import Coefficient
from privreg.results.statistics import Statistics

INTERCEPT = "(intercept)"
_DESCRIBED = ("centre", "low", "high", "mean", "std", "share")


class ReadableModel:
    """Estimates, tests and descriptions of a `WinsorisedModel`. Rows are labelled if pandas can be imported.

    Estimates are those of least squares on the table with every column, and the target, clipped to its range. They
    have one row for each column, or for each level but the reference, in the order of the table; the intercept comes
    last. Rows are NaN if the column is not in the model, or if the budget does not determine its coefficient
    (`status_` says which).
    """

    model_: WinsorisedModel
    schema_: Schema
    coef_: Float64
    intercept_: float
    _names: list[str]
    _features: list[Feature]

    @property
    def params(self) -> Any:
        """The estimates. `predict` uses `coef_`, which is shrunk."""
        return self._series(self._inference.values, "coef")

    @property
    def bse(self) -> Any:
        """Standard errors of the estimates, from sampling and privacy noise together."""
        return self._series(self._inference.errors, "std_err")

    @property
    def tvalues(self) -> Any:
        """The estimates divided by their standard errors: z values, normal, not t distributed."""
        return self._series(self._inference.z, "z")

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of the test that a coefficient is 0."""
        return self._series(self._inference.pvalues, "pvalue")

    @property
    def determined_(self) -> Any:
        """Whether each row has an estimate."""
        return self._series(self._inference.determined, "determined")

    @property
    def status_(self) -> Any:
        """For each row, "estimated", "not determined" (at this budget) or "not in the model".

        A coefficient is not determined if, by its 95 % interval, an increase of one unit in its column (about a
        standard deviation) could raise or lower the target by more than one of the target's units.
        """
        return self._series(np.array(self._inference.status, np.object_), "status")

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float, default 0.05
            One minus the level of the intervals: 0.05 gives 95 % intervals.

        Returns
        -------
        data frame
            One row for each coefficient, with the columns "lower" and "upper".
        """
        return self._frame(dict(zip(("lower", "upper"), self._inference.interval(alpha).T, strict=True)))

    def to_frame(self) -> Any:
        """The table of coefficients.

        Returns
        -------
        data frame
            One row for each coefficient, with the columns coef, std_err, z, pvalue, lower, upper and determined.
        """
        found = self._inference
        lower, upper = found.interval(0.05).T
        columns = {"coef": found.values, "std_err": found.errors, "z": found.z, "pvalue": found.pvalues}
        return self._frame(columns | {"lower": lower, "upper": upper, "determined": found.determined})

    @property
    def r2_(self) -> float:
        """R² of the model that predicts, on the clipped target, estimated privately; NaN for a constant."""
        return _number(self._statistics().r2)

    @property
    def r2_error_(self) -> float:
        """The standard error of `r2_`."""
        return _number(self._statistics().r2_error)

    @property
    def residual_error_(self) -> float:
        """The residual standard error: the standard deviation of what `predict` leaves, in the units of the target."""
        return _number(self._statistics().residual_error)

    @property
    def residual_error_se_(self) -> float:
        """The standard error of `residual_error_`."""
        return _number(self._statistics().residual_error_se)

    def wald_test_terms(self) -> Any:
        """Joint tests that all coefficients of a term are 0: a category with several levels, or a product of columns.

        Returns
        -------
        data frame
            One row for each such term, with the columns statistic (χ²), df and pvalue.
        """
        tests = self._statistics().joint_tests
        columns = {
            "statistic": _numbers([test.statistic for test in tests]),
            "df": np.array([test.df for test in tests], np.int64),
            "pvalue": _numbers([test.pvalue for test in tests]),
        }
        return labelled_frame(columns, [test.term for test in tests])

    def describe(self) -> Any:
        """Describe each column, each level and the target (last), from what the fit released anyway.

        Returns
        -------
        data frame
            For a number: centre, low and high (values beyond are clipped), mean and std of the clipped values. For a
            level: share, the part of the records that have it. NaN where nothing was released.
        """
        described = self._statistics().description
        columns = {name: _numbers([getattr(row, name) for row in described]) for name in _DESCRIBED}
        return labelled_frame(columns, [row.name for row in described])

    def correlations(self) -> Any:
        """Correlations of the clipped columns of the model.

        Returns
        -------
        data frame
            A square table; NaN where a column's spread cannot be told from noise.
        """
        found = self._statistics().correlations
        return labelled_square([_numbers(row) for row in found.values], found.names)

    def plot(self, ax: Any = None) -> Any:
        """Draw the estimates with 95 % intervals.

        Numbers are drawn for an increase of one standard deviation and levels against their reference, so that bars can
        be compared.

        Parameters
        ----------
        ax : matplotlib axes or None, default None
            Axes to draw on. None makes a new figure.

        Returns
        -------
        matplotlib axes
        """
        from privreg import plot_coefficients

        return plot_coefficients(self, ax)

    @property
    def _inference(self) -> Inference:
        check_is_fitted(self)
        return Inference(self.model_, len(self._names))

    def _statistics(self, target: str | None = None) -> Statistics:
        """`target` is the name to show, if it was told."""
        inference, estimates = self._inference, self.model_.estimates
        described = describe(self.model_, self.schema_, shown_names(self, target, None)[1])
        if estimates is None:
            return Statistics(description=described)
        deviation, unit = sqrt(estimates.residual), self.model_.target.unit
        return Statistics(
            estimates.r2,
            estimates.r2_error,
            finite(deviation * unit),
            finite(_error_of_root(estimates.residual_error, deviation) * unit) if deviation > 0 else None,
            inference.differs(self.coef_),
            inference.joint_tests(self._features, self.schema_.names),
            described,
            correlations(self.model_, self._names),
        )

    def _shown_coefficients(self, rows: Sequence[int]) -> tuple[list[Coefficient], Coefficient]:
        """Those of these rows, as they are shown, and the intercept."""
        found, model, steps = self._inference, self.model_, step_sizes(self.model_)
        values = np.column_stack([found.values, found.errors, found.interval(0.05), found.z, found.pvalues])
        ranges, determined = model.intervals(len(self._names)), found.determined.tolist()

        def one(row: int) -> Coefficient:
            value, error, low, high, z, pvalue = map(finite, values[row])
            level = self._features[row].category is not None
            linear = (None, None) if level else map(finite, ranges[row])  # a level is 0 or 1
            return Coefficient(
                self._names[row],
                value,
                error,
                low,
                high,
                *linear,
                level=level,
                z=z,
                pvalue=pvalue,
                determined=determined[row],
                predicts=float(self.coef_[row]),
                step=None if level else finite(steps.get(row, nan)),
                reference=self.schema_.reference_of(self._features[row]),
            )

        *ends, z, pvalue = map(finite, values[-1])
        return [one(row) for row in rows], Coefficient(INTERCEPT, *ends, z=z, pvalue=pvalue, predicts=self.intercept_)

    def _series(self, values: Any, name: str) -> Any:
        return labelled_series(values, [*self._names, INTERCEPT], name)

    def _frame(self, columns: dict[str, Any]) -> Any:
        return labelled_frame(columns, [*self._names, INTERCEPT])


def _error_of_root(error: float, root: float) -> float:
    """Of a square root, from that of its square; near 0 no more than the root of that error."""
    return min(error / (2 * root), sqrt(error))


def _numbers(values: Sequence[float | None]) -> Float64:
    return np.array([_number(value) for value in values], np.float64)


def _number(value: float | None) -> float:
    return nan if value is None else value
