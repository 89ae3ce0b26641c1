"""The method of `PrivateLinearRegression`, step by step: label, columns, screening, and three phases of least squares.

Proof: docs/proofs/flagship.md. Exact check: tests/audit/test_replay.py.
"""

from dataclasses import replace
from math import log, sqrt

import numpy as np

from privreg._types import Float64, Int64
from privreg.engines.base import TARGET, Engine, PreparedColumns
from privreg.estimators.private_linear.design import Design, Phase, unexplained
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.estimators.private_linear.schedule import COUNT, PHASES, PRODUCTS, SQUARES, make_schedule
from privreg.estimators.private_linear.uncertainty import Directions, LastStep, cut_tails, squared_errors
from privreg.kernels.totals import Column
from privreg.kernels.values import Distances
from privreg.mechanisms.count import noisy_count, plan_noisy_count
from privreg.mechanisms.mean import noisy_clipped_sum, plan_clipped_sum
from privreg.mechanisms.median import noisy_median, plan_median, prepare_medians
from privreg.mechanisms.moments import Moments, plan_gradient, plan_products, plan_squares, release_moments
from privreg.mechanisms.peel import peel
from privreg.mechanisms.quantile import noisy_quantile, plan_quantile
from privreg.mechanisms.sampling import KEPT_ALL, plan_sampled_picks, rate_for
from privreg.mechanisms.screening import FIRST_RANGE, GRID, plan_screening, screen, screening_scores
from privreg.mechanisms.spread import Spread, noisy_histogram, plan_histogram, read_spread
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.events import pick_epsilon

SMALLEST_COUNT = 20.0
FEATURE_LIMIT = 4.0  # a column's limit is at most so many standard deviations
SECOND_TERM = 100  # records beyond the first term's limit that a second term needs
TARGET_LIMIT = 8.0  # and the label's, or more when the data can carry it
MEAN_LEVEL = 0.98  # deviations from the median are clipped at this quantile of their size
LATER = 0.5  # part of the chosen columns that is chosen by what the others leave unexplained
CLIPS = 2.0 ** (0.5 - np.arange(8) / 2)  # candidates for the clip of residuals, in units of the first phase's
CLIP_LEVEL = (30, 0.85, 0.98)  # of the residuals 1 − 30/S stay unclipped, between two bounds; for large S more
RADIUS = 1.05  # rows are shrunk to this times their root mean square
SMALLEST_SQUARE = 0.3  # of a coordinate: the least that rows are taken to measure
CAUTION = 1.0  # standard deviations above what noise alone would give, from which slopes are believed
RELIABLE = 12.0  # log-weight by which the median must be able to stand out from the grid
RIDGE = 0.8  # in units of the noise of the products
_LAST = len(PHASES) - 1


class Fitting:
    """One fit: carries out the schedule on the records through the account."""

    def __init__(
        self, account: AdaptiveAccount, records: Engine, wanted: int | None, most_rows: int | None = None
    ) -> None:
        self._account, self._engine = account, records
        self._mu_squared = account.mu_squared * (1 - 1e-9)  # rounding of single steps must not add up to more
        event = plan_noisy_count("count the records", self._share(COUNT))
        self._counted = max(noisy_count(account, event, records.n_records), SMALLEST_COUNT)
        self.records = max(self._counted - event.scale / event.grid, SMALLEST_COUNT)  # rather too low than too high
        self.size = self.records * sqrt(self._mu_squared)
        self.schedule = make_schedule(self.size, len(records), wanted)
        self._kept = KEPT_ALL if most_rows is None else rate_for(most_rows, self.records)
        self.terms: list[Term] = []
        self._lost = 0  # columns whose spread was not found
        self.doubt = 1.0  # expected squared error of the slopes, as a part of their squared length

    def run(self) -> WinsorisedModel:
        """Spend the budget and return the model."""
        if not self.schedule.columns:
            event = plan_noisy_count("count the records again", self._share(self.schedule.recount))
            self._counted = max(noisy_count(self._account, event, self._engine.n_records), SMALLEST_COUNT)
            self.records = self._counted
        self._read_target()
        if self.constant:
            self._spend_the_rest()
            return WinsorisedModel(self.target, (), np.zeros(1), np.full((1, 1), np.nan))
        self._squares = 1.0  # mean squared norm of a record in the current frame
        return self._phases()

    def warnings(self) -> list[str]:
        """What may be wrong with the fit, in plain words; decided from released values only."""
        texts = []
        if not self.schedule.columns:
            texts.append("the model is a constant: these are too few records for more at this budget.")
        elif self.constant:
            texts.append("the model is a constant: the label's spread drowned in noise, or is tiny beside its size.")
        if pick_epsilon(self._share(self.schedule.target_median)) * self.records / 2 < RELIABLE:
            texts.append("the centre of the label is unreliable at this budget: all predictions may be far off.")
        if self._lost:
            lost = "1 column" if self._lost == 1 else f"{self._lost} columns"
            texts.append(f"the spread of {lost} drowned in noise, or is tiny beside its size: no use is made of it.")
        if not self.constant and self.doubt > 0.5:
            texts.append("most of what the fit found may be noise.")
        return texts

    @property
    def constant(self) -> bool:
        """Whether the model is a constant: too little data, or a label whose spread drowns in the noise."""
        return not self.schedule.columns or not self._target_spread.sure

    def _share(self, part: float) -> float:
        """μ² of this part of the budget."""
        return part * self._mu_squared

    # ---- the label

    def _read_target(self) -> None:
        """Median, spread, and how far the mean lies from the median."""
        schedule, values = self.schedule, self._engine.column(TARGET)
        most = TARGET_LIMIT * max(1.0, sqrt(self.size / 2000))
        median = self._median("median of the target", values, schedule.target_median)
        (spread,) = self._spreads("spread of the target", values, median, schedule.target_histogram, [most])
        clip = spread.distance(MEAN_LEVEL)
        event = plan_clipped_sum("mean of the target", self._share(schedule.target_mean), purpose="target")
        shift = noisy_clipped_sum(self._account, event, values, median, clip) / self._counted
        noise = clip * event.scale / event.grid / self._counted
        shift *= max(0.0, 1 - noise**2 / max(shift**2, 1e-300)) if spread.sure else 0.0
        shift = min(max(shift, -clip), clip)
        unit = max(sqrt(max(spread.unit**2 - shift**2, 0.0)), spread.unit / 3)
        self.target = Scale(median + shift, spread.limit, unit)
        self._target_spread = spread

    def _spend_the_rest(self) -> None:
        """A label whose spread drowns in the noise has its median released once more, with all that is left."""
        if self.schedule.columns:
            rest = 1 - COUNT - self.schedule.target
            centre = self._median("median of the target again", self._engine.column(TARGET), rest)
            self.target = replace(self.target, centre=centre)

    # ---- columns

    def _room(self) -> int:
        """The most terms that there can be."""
        columns = self.schedule.columns
        return max(columns, min(2 * columns, self.schedule.capacity)) if self._two_terms() else columns

    def _two_terms(self) -> bool:
        """Whether columns may get a second term with wider limits."""
        available = len(self._engine)
        return self.schedule.columns == available and self.size > 500 and 1.5 * available <= self.schedule.capacity

    def _median(self, name: str, values: Column, part: float, column: int | None = None) -> float:
        epsilon, purpose = pick_epsilon(self._share(part)), _purpose(column)
        return noisy_median(self._account, plan_median(name, epsilon, purpose=purpose, column=column), values)

    def _spreads(
        self, name: str, values: Column, centre: float, part: float, most: list[float], column: int | None = None
    ) -> list[Spread]:
        """One noisy histogram, read with each of the limits."""
        event = plan_histogram(name, self._share(part), purpose=_purpose(column), column=column)
        histogram = noisy_histogram(self._account, event, values, centre)
        return [read_spread(histogram, event.scale / event.grid, self.records, m) for m in most]

    def _add_columns(self, chosen: list[int]) -> None:
        """Centres and spreads of these columns. Second terms, for long tails, come after all others.

        Centres come first, then spreads, so that two or three passes over the records serve all columns.
        """
        schedule, columns = self.schedule, PreparedColumns(self._engine, chosen)
        part = schedule.medians / schedule.columns
        prepare_medians(columns, plan_median("", pick_epsilon(self._share(part))))
        centres = [self._median(f"median of column {j}", c, part, j) for j, c in zip(chosen, columns, strict=True)]
        columns.prepare([Distances(centre) for centre in centres])
        limits = [FEATURE_LIMIT]
        if self._two_terms():
            limits.append(FEATURE_LIMIT * sqrt(self.size / 500))
        second: list[tuple[Term, Spread]] = []
        part = schedule.histograms / schedule.columns
        for j, column, centre in zip(chosen, columns, centres, strict=True):
            narrow, *wider = self._spreads(f"spread of column {j}", column, centre, part, limits, j)
            self._add(Term(j, Scale(centre, narrow.limit, narrow.unit)), narrow)
            for wide in wider:
                enough = wide.beyond(narrow.limit) * self.records >= SECOND_TERM
                if enough and len(chosen) + len(second) < self._room():
                    second.append((Term(j, Scale(centre, wide.limit, wide.unit)), wide))
        for term, spread in second:
            self._add(term, spread)

    def _add(self, term: Term, spread: Spread) -> None:
        self.terms.append(term)
        self._squares += spread.mean_square
        self._lost += not spread.sure

    # ---- least squares

    def _phases(self) -> WinsorisedModel:
        schedule, available = self.schedule, len(self._engine)
        left = list(range(available))
        screening = schedule.columns < available
        choose = self._choose if self._kept == KEPT_ALL else self._choose_on_a_sample
        self._ranking = self._engine.ranking() if screening and self._kept == KEPT_ALL else None
        later = int(schedule.columns * LATER) if screening else 0
        theta, frame = np.zeros(1), np.eye(1)
        self._add_columns(choose(theta, left, schedule.columns - later) if screening else left)
        for phase in range(_LAST):
            if phase == 1 and later:
                self._add_columns(choose(theta, left, later))
            theta, frame = _grow(theta, frame, 1 + len(self.terms))
            theta, frame = self._newton(theta, frame, self._moments(phase, theta, frame))
        return self._finish(theta, frame, self._moments(_LAST, theta, frame))

    def _choose(self, theta: Float64, left: list[int], count: int) -> list[int]:
        """Columns that go with what the model leaves unexplained, taken off `left`."""
        assert self._ranking is not None
        epsilon = pick_epsilon(self._share(self.schedule.selection / self.schedule.columns))
        events = plan_screening([f"choose feature {len(self.terms) + i + 1}" for i in range(count)], epsilon)
        pairs = self._ranking.concordance(unexplained(self._design(), theta), left)
        return _take(left, screen(self._account, events, pairs, self._engine.n_records))

    def _choose_on_a_sample(self, theta: Float64, left: list[int], count: int) -> list[int]:
        """The same, by the records of a secret sample. Each choice has a sample of its own."""
        first = len(self.terms) + 1
        name = f"choose feature {first}" if count == 1 else f"choose features {first} to {first + count - 1}"
        cost = self._share(count * self.schedule.selection / self.schedule.columns)
        name += ", on a sample"
        event = plan_sampled_picks(name, count, self._kept, FIRST_RANGE, cost, GRID, purpose="choice")
        sample = self._engine.subset(np.flatnonzero(self._account.sample(event, self._engine.n_records)))
        pairs = sample.ranking().concordance(unexplained(self._design(), theta), left)
        return _take(left, peel(self._account, event, screening_scores(pairs, sample.n_records)))

    def _design(self) -> Design:
        return Design(self.target, tuple(self.terms))

    def _moments(self, phase: int, theta: Float64, frame: Float64) -> Moments:
        """Products and gradient in the current frame; in the last phase the gradient and the residual variance."""
        width = len(theta)
        radius = RADIUS * sqrt(min(max(self._squares, SMALLEST_SQUARE * width), width))
        clips = self._clips(phase)
        task = Phase(self._design(), theta, frame, radius, clips, clipped=len(clips) == 1, last=phase == _LAST)
        found = self._engine.total(task, task.design.columns)
        at = self._clip(phase, found.counts) if len(clips) > 1 else 0
        share, name = self._share(self.schedule.regression * PHASES[phase]), f"phase {phase + 1}: "
        part = SQUARES if phase == _LAST else PRODUCTS
        gradient = plan_gradient(name + "gradient", width, share * (1 - part))
        if phase == _LAST:
            squares = plan_squares(name + "residual variance", share * part)
            return release_moments(self._account, found.sums, radius, clips, at, gradient=gradient, squares=squares)
        products = plan_products(name + "products", width, share * part)
        return release_moments(self._account, found.sums, radius, clips, at, products=products, gradient=gradient)

    def _clips(self, phase: int) -> Float64:
        """Where residuals of full rows may be clipped: at first by the label's spread alone."""
        enough, low, high = CLIP_LEVEL
        self._level = max(min(max(1 - enough / self.size, low), high), 1 - 100 / self.size)
        first = self._target_spread.distance(self._level) / self.target.unit
        return np.array([first]) if phase == 0 or not self.schedule.quantile else np.sort(first * CLIPS)

    def _clip(self, phase: int, counts: Int64) -> int:
        """Which of the clips is taken: a noisy quantile."""
        epsilon = pick_epsilon(self._share(self.schedule.quantile))
        name = f"phase {phase + 1}: clip of residuals"
        level = max(0.5, min(self._level, 1 - 1.45 * log(len(CLIPS)) / (epsilon * self.records)))
        event, q = plan_quantile(name, level, epsilon, purpose="coefficients")
        return noisy_quantile(self._account, event, q, counts)

    def _newton(self, theta: Float64, frame: Float64, moments: Moments) -> tuple[Float64, Float64]:
        """A regularised Newton step, and the frame in which the products look like n times the identity."""
        assert moments.products is not None
        raw, vectors = np.linalg.eigh(moments.products)
        raw = np.maximum(raw, 0)
        values = raw + RIDGE * moments.product_noise * sqrt(len(theta))
        self._squares = float((raw / values).sum())
        self._directions = Directions(vectors, raw / values, moments.product_noise / values)
        theta = theta + frame @ (vectors @ ((vectors.T @ moments.gradient) / values))
        return theta, frame @ (vectors / np.sqrt(values / self.records)) @ vectors.T

    def _finish(self, theta: Float64, frame: Float64, moments: Moments) -> WinsorisedModel:
        """A last step by the gradient alone; then the slopes are shrunk by how much of them may be noise."""
        assert moments.squares is not None
        noise = moments.gradient_noise / self.records
        whitened = np.linalg.solve(frame, theta) + moments.gradient / self.records
        constant = np.linalg.solve(frame, np.eye(len(theta))[0])
        constant *= (constant @ whitened) / (constant @ constant)
        slopes = whitened - constant
        width = len(theta) - 1
        expected = (width + CAUTION * sqrt(2 * width)) * noise**2  # of the squared length, were it all noise, and more
        kept = max(0.0, 1 - expected / max(float(slopes @ slopes), 1e-300))
        final = frame @ (constant + kept * slopes)
        sampling = max(moments.squares, 0.0) / self.records**2
        event = LastStep(moments.gradient / self.records, noise, sampling, self._level)
        errors = squared_errors(self._directions, event, (1 - kept) * slopes, frame, final)
        self.doubt = float(np.trace(errors)) / max(float(slopes @ slopes), 1e-300)
        covariance = frame @ errors @ frame.T
        limits = np.array([term.scale.limit / term.scale.unit for term in self.terms])
        covariance[np.diag_indices(len(final))] += (np.append(0.0, cut_tails(limits)) * final) ** 2
        return WinsorisedModel(self.target, tuple(self.terms), final, covariance)


def _purpose(column: int | None) -> str:
    return "target" if column is None else "columns"


def _take(left: list[int], places: list[int]) -> list[int]:
    """Columns at these places, taken off `left`."""
    chosen = [left[i] for i in places]
    left[:] = [j for j in left if j not in chosen]
    return chosen


def _grow(theta: Float64, frame: Float64, width: int) -> tuple[Float64, Float64]:
    """Room for new columns, which start at 0 and are not rotated."""
    wider = np.eye(width)
    wider[: len(theta), : len(theta)] = frame
    return np.append(theta, np.zeros(width - len(theta))), wider
