"""The only way from data to noise: each event is checked against the budget and recorded before its draw."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privreg._types import Bool, Int64
from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.events import (
    Event,
    Gaussian,
    GaussianMoments,
    Laplace,
    LevelCounts,
    Pick,
    ProposeTestRelease,
    SampledPicks,
    round_down,
)
from privreg.privacy.noise import Noise
from privreg.privacy.receipt import ADAPTIVE, ONE_RECORD, PLANNED, Composition, Receipt

_BLOCK = 256  # candidates above which a pick is made in two stages


class Levels(NamedTuple):
    """Values that are common enough to be released."""

    passed: Int64  # positions among the counts that were given
    counts: Int64  # their noisy counts, in grid steps
    declared: Int64  # the noisy counts of declared levels, all of them


class Account(ABC):
    """Draws, each entered as spent beforehand, so that a fit that dies has spent what it may have released.

    `rows` is the number of records that the unit of privacy may own.
    """

    composition: ClassVar[Composition]

    def __init__(self, budget: Budget, noise: Noise, rows: int = 1) -> None:
        self._budget = budget
        self._noise = noise
        self._made: list[Event] = []
        self._rows = rows
        self._sampled: tuple[SampledPicks, int] | None = None  # the event whose sample is open, and the picks left
        self.watch: Callable[[str], None] | None = None

    def receipt(self, unit: str = ONE_RECORD) -> Receipt:
        """What was spent so far."""
        return Receipt(tuple(self._made), self._budget, self._noise.private, unit, self._rows, self.composition)

    @contextmanager
    def drawing_from(self, noise: Noise) -> Iterator[None]:
        """Meanwhile noise comes from here."""
        own, self._noise = self._noise, noise
        try:
            yield
        finally:
            self._noise = own

    @abstractmethod
    def _allow(self, event: Event) -> None:
        """Raise unless this may be the next event."""

    def _spend(self, event: Event) -> None:
        self._allow(event)
        self._sampled = None  # the picks of a sample are one event: no other comes in between
        self._made.append(event)
        if self.watch is not None:
            self.watch(event.name)

    def pick(self, event: Pick, scores: Int64) -> int:
        self._spend(event)
        return self._noise.pick(scores, event.scale)

    def sample(self, event: SampledPicks, records: int) -> Bool:
        """Which records are in the sample that the event's picks are made on. It must never leave the fit."""
        self._spend(event)
        kept = self._noise.sample(records, event.kept)
        self._sampled = event, event.picks
        return kept

    def sampled_pick(self, event: SampledPicks, scores: Int64) -> int:
        """The next pick of an event that `sample` paid for. `scores` come from the records of its sample alone."""
        if self._sampled is None or self._sampled[0] != event or self._sampled[1] < 1:
            raise RuntimeError(f"step {event.name!r} has no open sample with picks left")
        self._sampled = event, self._sampled[1] - 1
        return self._noise.pick(scores, event.scale)

    def pick_within(self, event: Pick, scores: Int64, bounds: Callable[[int], tuple[int, int]]) -> int:
        """A uniform integer of bounds(i), low ≤ integer < high, with i picked by its score.

        Long lists are picked from in two stages, a block by the sum of its weights and then one of the block: the same
        law up to the rounding of those sums, which the event's range must allow for (docs/proofs/median.md).
        """
        self._spend(event)
        first, last = 0, len(scores)
        if last > _BLOCK:
            size = max(int(sqrt(last)), 1)
            starts = np.arange(0, last, size)
            at = self._noise.pick(block_scores(scores, starts, event.scale), event.scale)
            first, last = int(starts[at]), min(int(starts[at]) + size, last)
        i = first + self._noise.pick(scores[first:last], event.scale)
        return self._noise.uniform(*bounds(i))

    def laplace(self, event: Laplace, value: int) -> int:
        self._spend(event)
        return self._noise.laplace(value, event.scale)

    def gaussian(self, event: Gaussian, values: Int64) -> Int64:
        if np.size(values) != event.coordinates:
            raise ValueError(f"step {event.name!r} was planned for {event.coordinates} coordinates")
        self._spend(event)
        return self._noise.gaussian(values, event.scale)

    def level_counts(self, event: LevelCounts, counts: Int64, declared: Int64) -> Levels:
        """Which values are common, by their counts in grid steps, and the noisy counts of those and of declared levels.

        The rule that keeps rare values secret is applied here, so that nobody else can forget it. The order of `counts`
        must depend on the values alone, because the released ones keep it.
        """
        candidates = np.flatnonzero(counts >= event.least * event.grid)
        self._spend(event)
        noisy = self._noise.gaussian(np.concatenate([counts[candidates], declared]), event.scale)
        found, of_declared = noisy[: candidates.size], noisy[candidates.size :]
        common = found > event.threshold
        return Levels(candidates[common], found[common], of_declared)

    def gaussian_moments(
        self, event: GaussianMoments, products: Int64, gradient: Int64
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A symmetric matrix with independent noise on and above the diagonal, mirrored below; and a vector."""
        if products.shape != (event.width, event.width) or gradient.shape != (event.width,):
            raise ValueError(f"step {event.name!r} was planned for moments of width {event.width}")
        self._spend(event)
        noisy = np.zeros(products.shape)
        above = np.triu_indices(event.width, 1)
        noisy[above] = self._noise.gaussian(products[above], event.off_scale)
        noisy += noisy.T
        noisy[np.diag_indices(event.width)] = self._noise.gaussian(np.diagonal(products).copy(), event.diagonal_scale)
        return noisy, np.asarray(self._noise.gaussian(gradient, event.scale), np.float64)

    def propose_test_release(
        self,
        event: ProposeTestRelease,
        distance: int,
        scores: Int64,
        grid: float,
        box: Callable[[int], Sequence[tuple[int, int]]],
    ) -> list[int] | None:
        """None if the noisy distance fails the test; otherwise a uniform lattice point of a box picked by its score.

        `box(i)` gives the bounds of box i, low ≤ coordinate < high; box i is picked with weight exp(scores[i]/grid).
        """
        self._spend(event)
        if self._noise.laplace(distance, event.scale) < event.threshold or not scores.size:
            return None
        return [self._noise.uniform(low, high) for low, high in box(self._noise.pick(scores, grid))]

    def groups(self, records: int, groups: int) -> Int64:
        """A random group for each record: costs nothing, because it is not released."""
        return self._noise.groups(records, groups)


class PlannedAccount(Account):
    """Carries out a plan, event by event, that was checked against the budget before any data was touched.

    A unit of several records is protected by group privacy: the plan must fit `for_each_record(budget, rows)`.
    """

    composition = PLANNED

    def __init__(self, plan: list[Event], budget: Budget, noise: Noise, rows: int = 1) -> None:
        accountant.check(plan, accountant.for_each_record(budget, rows))
        super().__init__(budget, noise, rows)
        self.plan = list(plan)

    def _allow(self, event: Event) -> None:
        if len(self._made) >= len(self.plan) or self.plan[len(self._made)] != event:
            raise RuntimeError(f"step {event.name!r} is not the next one of the plan")


class AdaptiveAccount(Account):
    """Carries out events that are chosen on the way, as long as their μ² and their δ′ fit the budget.

    Proof: docs/proofs/adaptive.md. Exact check: tests/privacy/test_adaptive.py. Every μ counts as many times as the
    unit of privacy may own records. `extra_delta` is the part of δ that is reserved for the δ′ of events.
    """

    composition = ADAPTIVE

    def __init__(self, budget: Budget, noise: Noise, rows: int = 1, extra_delta: float = 0.0) -> None:
        super().__init__(budget, noise, rows)
        self._left = accountant.adaptive_budget(accountant.less_delta(budget, extra_delta)) / rows**2
        self._extra_left = Fraction(extra_delta)

    @property
    def mu_squared(self) -> float:
        """What is left to spend, rounded down."""
        return round_down(self._left)

    @property
    def extra_delta(self) -> float:
        """What is left of δ′, rounded down."""
        return max(0.0, round_down(self._extra_left))

    def _allow(self, event: Event) -> None:
        if event.mu_squared is None:
            raise TypeError(f"step {event.name!r} has no cost in Gaussian differential privacy")
        if (
            event.mu_squared + event.unspent > self._left
            or event.rounding_distance > event.mu_squared * accountant.ADAPTIVE_ROUNDING
        ):
            raise RuntimeError(f"step {event.name!r} does not fit into what is left of the budget")
        if not event.covers(self._rows):
            raise RuntimeError(f"step {event.name!r} is for units of fewer than {self._rows} records")
        if (extra := event.extra_delta) > self._extra_left:
            raise RuntimeError(f"step {event.name!r} does not fit into what is left of the extra delta")
        self._left -= event.mu_squared
        self._extra_left -= extra


def block_scores(scores: Int64, starts: Int64, scale: float) -> Int64:
    """scale·ln Σ exp(score/scale) for each block, to a grid step."""
    highest = np.maximum.reduceat(scores, starts)
    sizes = np.diff(np.append(starts, len(scores)))
    weights = np.exp((scores - np.repeat(highest, sizes)) / scale)
    return highest + np.rint(scale * np.log(np.add.reduceat(weights, starts))).astype(np.int64)
