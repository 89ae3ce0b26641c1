"""What a fit knows: what is fixed from the count of the records on, and what each phase hands to the next."""

from dataclasses import dataclass, field, replace

import numpy as np

from privreg._types import Float64
from privreg.engines.base import Engine
from privreg.estimators.private_linear.design import Design
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.estimators.private_linear.schedule import Schedule
from privreg.estimators.private_linear.uncertainty import Directions
from privreg.mechanisms.spread import Spread
from privreg.privacy.account import AdaptiveAccount

WIDE_SIZE = 500  # S from which columns may get a second term: benchmarks/flagship.py, “no second terms for long tails”
WIDE_ROOM = 1.5  # times the columns: what the data must be able to carry for that


@dataclass(frozen=True)
class Setting:
    """Where records and noise come from, and who gets how much of the budget. Public, but for the engine."""

    account: AdaptiveAccount
    engine: Engine
    mu_squared: float  # the whole budget
    counted: float  # the noisy count of the records
    records: float  # a cautious (low) estimate of it
    size: float  # S, what the data can carry
    schedule: Schedule
    kept: int  # of 2³² words: those that keep a record in a sample for choosing

    def share(self, part: float) -> float:
        """μ² of this part of the budget."""
        return part * self.mu_squared

    @property
    def two_terms(self) -> bool:
        """Whether columns may get a second term with wider limits."""
        available, schedule = len(self.engine), self.schedule
        return schedule.columns == available and self.size > WIDE_SIZE and WIDE_ROOM * available <= schedule.capacity

    @property
    def room(self) -> int:
        """The most terms that there can be."""
        columns = self.schedule.columns
        return max(columns, min(2 * columns, self.schedule.capacity)) if self.two_terms else columns


@dataclass(frozen=True)
class State:
    """What has been released so far: the target's scale, the columns', and a model in a well-conditioned frame."""

    target: Scale
    spread: Spread  # of the target
    terms: tuple[Term, ...] = ()
    lost: tuple[int, ...] = ()  # levels that are too rare, or too common, to be used
    squares: float = 1.0  # mean squared norm of a record in the frame
    theta: Float64 = field(default_factory=lambda: np.zeros(1))
    frame: Float64 = field(default_factory=lambda: np.eye(1))
    directions: Directions | None = None
    model: WinsorisedModel | None = None  # at the end
    doubt: float = 1.0  # expected squared error of the model's slopes, as a part of their squared length

    def with_terms(self, terms: list[tuple[Term, float]], lost: list[int]) -> "State":
        """With these terms, of which the mean squares are given, and columns that have none."""
        squares = self.squares + sum(square for _, square in terms)
        added = tuple(term for term, _ in terms)
        return replace(self, terms=(*self.terms, *added), lost=(*self.lost, *lost), squares=squares)

    @property
    def design(self) -> Design:
        return Design(self.target, self.terms)
