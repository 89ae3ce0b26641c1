"""The method of `PrivateLinearRegression`, step by step: label, columns, screening, and phases of least squares.

Proof: docs/proofs/flagship.md. Exact check: tests/test_flagship_privacy.py.
"""

from math import log, sqrt

import numpy as np

from privreg.kernels.boosting import Int16
from privreg.kernels.moments import linear_scores, rotate, round_residuals
from privreg.kernels.ranks import Float64, rank_columns
from privreg.kernels.values import winsorise
from privreg.mechanisms.count import noisy_count, plan_noisy_count
from privreg.mechanisms.median import noisy_median, plan_median
from privreg.mechanisms.moments import Moments, plan_gradient, plan_products, release_moments
from privreg.mechanisms.quantile import noisy_quantile, plan_quantile
from privreg.mechanisms.screening import plan_screening, screen
from privreg.mechanisms.spread import Spread, noisy_histogram, plan_histogram, read_spread
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.steps import pick_epsilon
from privreg.regression.model import Scale, Term, WinsorisedModel
from privreg.regression.schedule import COUNT, PHASES, SQUARES, make_schedule
from privreg.tables import Records

CANDIDATES = np.geomspace(0.02, 2.0, 40)  # for the clip of residuals, in units of the label's limit
RADIUS = 1.05  # rows are shrunk to this times the root of their length
RIDGE = 0.8  # in units of the noise of the products
FEATURE_LIMIT = 4.0  # standard deviations
LABEL_LIMIT = 8.0
SMALLEST_COUNT = 20.0


class Fitting:
    """One fit: carries out the schedule on the records through the account."""

    def __init__(self, account: AdaptiveAccount, records: Records, wanted: int | None, n_jobs: int | None) -> None:
        self._account, self._records, self._n_jobs = account, records, n_jobs
        self._mu_squared = account.mu_squared * (1 - 1e-9)  # rounding of single steps must not add up to more
        step = plan_noisy_count("count the records", self._share(COUNT))
        self.records = max(noisy_count(account, step, records.n_records) - 1 / sqrt(self._share(COUNT)), SMALLEST_COUNT)
        self.size = self.records * sqrt(self._mu_squared)
        self.schedule = make_schedule(self.size, len(records), wanted)
        self.terms: list[Term] = []
        self.sure_label = False

    def warnings(self) -> list[str]:
        """What may be wrong with the fit, in plain words; decided from released values only."""
        return []

    def _share(self, part: float) -> float:
        """μ² of this part of the budget."""
        return part * self._mu_squared

    def run(self) -> WinsorisedModel:
        schedule = self.schedule
        centre = self._median("median of the label", self._records.target, schedule.label_median)
        if not schedule.columns:
            return WinsorisedModel(Scale(centre, 1.0, 1.0), (), np.zeros(1), np.full((1, 1), np.nan))
        most = LABEL_LIMIT * max(1.0, sqrt(self.size / 2000))
        spread, *_ = self._spread("spread of the label", self._records.target, centre, schedule.label_histogram, [most])
        self.sure_label = spread.sure
        self.label = Scale(centre, spread.limit, spread.unit)
        self._target = self.label.apply(self._records.target)
        self._columns = np.empty((1 + self._room(), self._target.size), np.int16)
        self._columns[0] = 32767
        return self._phases()

    def _room(self) -> int:
        """The most terms that there can be."""
        columns = self.schedule.columns
        return max(columns, min(2 * columns, self.schedule.capacity)) if self._wide() else columns

    def _wide(self) -> bool:
        """Whether columns may get a second term with wider limits."""
        available = len(self._records)
        return self.schedule.columns == available and self.size > 500 and 1.5 * available <= self.schedule.capacity

    # ---- columns

    def _median(self, name: str, values: Float64, part: float) -> float:
        return noisy_median(self._account, plan_median(name, pick_epsilon(self._share(part))), values)

    def _spread(self, name: str, values: Float64, centre: float, part: float, most: list[float]) -> list[Spread]:
        step = plan_histogram(name, self._share(part))
        histogram = noisy_histogram(self._account, step, values, centre)
        return [read_spread(histogram, step.scale / step.grid, self.records, m) for m in most]

    def _add_columns(self, chosen: list[int]) -> None:
        """Centre, spread and 16-bit values of these columns. Wider copies are put after all others."""
        schedule = self.schedule
        limits = [FEATURE_LIMIT]
        if self._wide():
            limits.append(4 * sqrt(self.size / 500))
        copies: list[tuple[Term, Int16]] = []
        out = np.empty((1, self._target.size))
        for j in chosen:
            values = next(iter(self._records.block(j, j + 1, out)))
            centre = self._median(f"median of column {j}", values, schedule.medians / schedule.columns)
            part = schedule.histograms / schedule.columns
            narrow, *wider = self._spread(f"spread of column {j}", values, centre, part, limits)
            self._add(Term(j, Scale(centre, narrow.limit, narrow.unit)), values)
            for wide in wider:
                if wide.limit > narrow.limit and len(chosen) + len(copies) < self._room():
                    term = Term(j, Scale(centre, wide.limit, wide.unit))
                    copies.append((term, _in_16_bits(values, term.scale)))
        for term, column in copies:
            self.terms.append(term)
            self._columns[len(self.terms)] = column

    def _add(self, term: Term, values: Float64) -> None:
        self.terms.append(term)
        winsorise(values, term.scale.centre, term.scale.limit, self._columns[len(self.terms)])

    # ---- least squares

    def _phases(self) -> WinsorisedModel:
        schedule, available = self.schedule, len(self._records)
        left = list(range(available))
        screening = schedule.columns < available
        ranks = rank_columns(self._records, self._n_jobs) if screening else []

        def choose(target: Float64, count: int) -> list[int]:
            epsilon = pick_epsilon(self._share(schedule.selection / schedule.columns))
            steps = plan_screening([f"choose feature {len(self.terms) + i + 1}" for i in range(count)], epsilon)
            places = screen(self._account, steps, target, [ranks[j] for j in left], self._n_jobs)
            chosen = [left[i] for i in places]
            left[:] = [j for j in left if j not in chosen]
            return chosen

        second = schedule.columns // 2
        self._add_columns(choose(self._target, schedule.columns - second) if screening else left)
        theta, frame = np.zeros(1), np.eye(1)
        for phase in range(3):
            if phase == 1 and screening:
                self._add_columns(choose(self._residuals(theta), second))
            theta, frame = _grow(theta, frame, 1 + len(self.terms))
            last = phase == 2
            moments = self._moments(phase, theta, frame)
            if not last:
                theta, frame = self._newton(theta, frame, moments)
        return self._finish(theta, frame, moments)

    def _residuals(self, theta: Float64) -> Float64:
        most = self.label.limit / self.label.unit
        return self._target - np.clip(linear_scores(self._design(), theta * self._units(), self._n_jobs), -most, most)

    def _design(self) -> Int16:
        return self._columns[: 1 + len(self.terms)]

    def _units(self) -> Float64:
        """What one step of each 16-bit column is worth."""
        return np.array([1.0, *(t.scale.limit / t.scale.unit for t in self.terms)]) / 32767

    def _moments(self, phase: int, theta: Float64, frame: Float64) -> Moments:
        schedule, last = self.schedule, phase == 2
        radius = RADIUS * sqrt(len(theta))
        rows, factors = rotate(self._design(), frame * self._units()[:, None], radius, self._n_jobs)
        residuals = self._residuals(theta)
        if not last:
            residuals *= factors
        clip = self._clip(phase, residuals)
        share = self._share(schedule.regression * PHASES[phase])
        name, width = f"phase {phase + 1}: ", len(theta)
        rounded = round_residuals(residuals, clip)
        if last:
            gradient = plan_gradient(name + "gradient", width, share * (1 - SQUARES))
            squares = plan_gradient(name + "residual variance", 1, share * SQUARES)
            return release_moments(
                self._account, rows, rounded, radius, clip, gradient=gradient, squares=squares, n_jobs=self._n_jobs
            )
        products = plan_products(name + "products", width, share / 2)
        gradient = plan_gradient(name + "gradient", width, share / 2)
        return release_moments(
            self._account, rows, rounded, radius, clip, products=products, gradient=gradient, n_jobs=self._n_jobs
        )

    def _clip(self, phase: int, residuals: Float64) -> float:
        epsilon = pick_epsilon(self._share(self.schedule.quantile))
        level = max(0.98, 1 - 100 / self.size)
        level = max(0.5, min(level, 1 - 1.45 * log(len(CANDIDATES)) / (epsilon * self.records)))
        step, q = plan_quantile(f"phase {phase + 1}: clip of residuals", level, epsilon)
        candidates = CANDIDATES * (self.label.limit / self.label.unit)
        return noisy_quantile(self._account, step, q, np.abs(residuals), candidates)

    def _newton(self, theta: Float64, frame: Float64, moments: Moments) -> tuple[Float64, Float64]:
        """A regularised Newton step, and the frame in which the products look like n times the identity."""
        assert moments.products is not None
        values, vectors = np.linalg.eigh(moments.products)
        values = np.maximum(values, 0) + RIDGE * moments.product_noise * sqrt(len(theta))
        theta = theta + frame @ (vectors @ ((vectors.T @ moments.gradient) / values))
        return theta, frame @ (vectors / np.sqrt(values / self.records)) @ vectors.T

    def _finish(self, theta: Float64, frame: Float64, moments: Moments) -> WinsorisedModel:
        """A last step by the gradient alone, then shrunk towards the constant by how much of it may be noise."""
        assert moments.squares is not None
        noise = moments.gradient_noise / self.records
        whitened = np.linalg.solve(frame, theta) + moments.gradient / self.records
        self.kept = max(0.0, 1 - len(theta) * noise**2 / float(whitened @ whitened))
        variance = max(moments.squares / self.records, 0.0)
        covariance = (noise**2 + variance / self.records) * frame @ frame.T
        return WinsorisedModel(self.label, tuple(self.terms), self.kept * frame @ whitened, covariance)


def _grow(theta: Float64, frame: Float64, width: int) -> tuple[Float64, Float64]:
    """Room for new columns, which start at 0 and are not rotated."""
    wider = np.eye(width)
    wider[: len(theta), : len(theta)] = frame
    return np.append(theta, np.zeros(width - len(theta))), wider


def _in_16_bits(values: Float64, scale: Scale) -> Int16:
    out = np.empty(values.size, np.int16)
    winsorise(values, scale.centre, scale.limit, out)
    return out
