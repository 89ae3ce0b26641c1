"""What a fit knows: what is fixed from the count of the records on, and what each phase hands to the next."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from privreg._types import Float64
from privreg.engines.base import Engine
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.design import Centre, Design
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.estimators.private_linear.schedule import Schedule
from privreg.mechanisms.lengths import Lengths
from privreg.mechanisms.moments import Moments
from privreg.mechanisms.sampling import KEPT_ALL
from privreg.mechanisms.spread import Spread
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.events import pick_epsilon

_ROUNDED = 1e-8  # of what is left: more than rounding of what single events cost can take away


class Early(NamedTuple):
    """How much a pick may tell (its ε), and the μ² that is left for what comes after it."""

    epsilon: float
    left_after: float


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
    wide: bool  # whether values are winsorised far out only
    public: MemoryEngine | None = None  # rows that are no secret, and tell about the columns

    @property
    def sampled(self) -> bool:
        """Whether columns are chosen on samples."""
        return self.kept != KEPT_ALL

    def share(self, part: float) -> float:
        """μ² of this part of the budget."""
        return part * self.mu_squared

    def early(self, part: float, left_after: float) -> Early:
        """A pick that gets this part of the budget, with another part left after it."""
        left = self.share(left_after * (1 - _ROUNDED))
        return Early(pick_epsilon(self.share(part), left), left)

    @property
    def left(self) -> float:
        """The part of the budget that is not spent yet."""
        return self.account.mu_squared / self.mu_squared * (1 - _ROUNDED)

    def next_picks(self, part: float, count: int) -> Early:
        """Each of the next `count` picks, of which each gets this part of the budget."""
        return self.early(part, max(self.left - count * part, 0.0))


@dataclass(frozen=True)
class Released:
    """What a phase released, in which frame, and what is known of its bias."""

    frame: Float64
    theta: Float64  # where the gradient was taken
    moments: Moments
    reach: float  # the radius to which rows were shrunk, as a multiple of their root mean square
    excess: float  # Σ (|u|·|r| − clip)⁺ over the records, as far as a histogram tells


class Expected(NamedTuple):
    """What public rows tell of the products in a frame before these are released: a diagonal matrix."""

    squares: Float64  # for one record
    error: float  # standard deviation of an entry


def coordinates(frame: Float64, vectors: Float64) -> Float64:
    """Of θ, or of several such vectors, in a frame. If this does not span all terms, they lie in its span."""
    if frame.shape[0] == frame.shape[1]:
        return np.asarray(np.linalg.solve(frame, vectors), np.float64)
    return np.asarray(np.linalg.lstsq(frame, vectors)[0], np.float64)


@dataclass(frozen=True)
class State:
    """What has been released so far: the target's scale, the columns', and a model in a well-conditioned frame."""

    target: Scale
    spread: Spread  # of the target
    terms: tuple[Term, ...] = ()
    hidden_part: float | None = None  # of the records that may be neither, if the target is taken to be 0 or 1
    together: bool = False  # whether the frame consists of a few weighted sums of the terms, not of the terms
    lost: tuple[int, ...] = ()  # levels that are too rare, or too common, to be used
    centres: dict[int, Centre] | None = None  # of all columns, if they were found before any was chosen
    squares: float = 1.0  # mean squared norm of a record in the frame
    length: float = 1.0  # root mean square of the norm of a record's terms, if they are used together
    theta: Float64 = field(default_factory=lambda: np.zeros(1))
    frame: Float64 = field(default_factory=lambda: np.eye(1))
    expected: Expected | None = None  # of the products in the frame
    released: tuple[Released, ...] = ()  # by each phase
    radius: float = 1.0  # to which the last phase shrank rows
    usual: float = 1.0  # root mean square of rows there
    lengths: Lengths | None = None  # of |u|·|r|, in the last phase that looked
    model: WinsorisedModel | None = None  # at the end
    doubt: float = 1.0  # part of the slopes' squared length that noise alone might have

    def with_terms(self, terms: list[tuple[Term, float]], lost: list[int]) -> "State":
        """With these terms, of which the mean squares are given, and columns that have none."""
        squares = self.squares + sum(square for _, square in terms)
        added = tuple(term for term, _ in terms)
        return replace(self, terms=(*self.terms, *added), lost=(*self.lost, *lost), squares=squares)

    @property
    def width(self) -> int:
        """Of the frame: in how many directions the model can be moved."""
        return self.frame.shape[1]

    @property
    def design(self) -> Design:
        return Design(self.target, self.terms)
