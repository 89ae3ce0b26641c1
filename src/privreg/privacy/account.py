"""The only way from data to noise: a plan fixed in advance, whose steps are recorded before each draw."""

from collections.abc import Callable, Sequence

import numpy as np

from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import Int64, Noise
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.privacy.steps import Gaussian, Laplace, Pick, ProposeTestRelease, Step


class Account:
    """Holds a plan that fits a budget and carries it out step by step.

    The plan is checked against the budget before any data is touched. Each release must be the next planned step and is
    entered as spent before its noise is drawn, so that a fit that dies has spent what it may have released.
    """

    def __init__(self, plan: list[Step], budget: Budget, noise: Noise) -> None:
        accountant.check(plan, budget)
        self._plan = tuple(plan)
        self._budget = budget
        self._noise = noise
        self._spent = 0

    def pick(self, step: Pick, scores: Int64) -> int:
        self._spend(step)
        return self._noise.pick(scores, step.scale)

    def laplace(self, step: Laplace, value: int) -> int:
        self._spend(step)
        return self._noise.laplace(value, step.scale)

    def gaussian(self, step: Gaussian, values: Int64) -> Int64:
        if np.size(values) != step.coordinates:
            raise ValueError(f"step {step.name!r} was planned for {step.coordinates} coordinates")
        self._spend(step)
        return self._noise.gaussian(values, step.scale)

    def propose_test_release(
        self,
        step: ProposeTestRelease,
        distance: int,
        scores: Int64,
        grid: float,
        box: Callable[[int], Sequence[tuple[int, int]]],
    ) -> list[int] | None:
        """None if the noisy distance fails the test; otherwise a uniform lattice point of a box picked by its score.

        `box(i)` gives the bounds of box i, low ≤ coordinate < high; box i is picked with weight exp(scores[i]/grid).
        """
        self._spend(step)
        if self._noise.laplace(distance, step.scale) < step.threshold or not scores.size:
            return None
        return [self._noise.uniform(low, high) for low, high in box(self._noise.pick(scores, grid))]

    def groups(self, records: int, groups: int) -> Int64:
        """A random group for each record: costs nothing, because it is not released."""
        return self._noise.groups(records, groups)

    def receipt(self, unit: str = ONE_RECORD) -> Receipt:
        return Receipt(self._plan[: self._spent], self._budget, self._noise.private, unit)

    def _spend(self, step: Step) -> None:
        if self._spent >= len(self._plan) or self._plan[self._spent] != step:
            raise RuntimeError(f"step {step.name!r} is not the next one of the plan")
        self._spent += 1
