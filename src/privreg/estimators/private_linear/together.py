"""Many columns that are alike, such as pixels, frequencies or items of a questionnaire, used together.

If there are many more than the data can carry, a few chosen ones tell little of what all of them know. All get one
centre and one unit, for the price of a single column. Then each round adds a weighted sum of all columns to the model:
the gradient of what the model so far leaves, with noise. Noise in so many weights hardly matters to a sum of columns
that go together, and a regression on a few sums has few coefficients. Proof: docs/proofs/gradient.md,
docs/proofs/flagship.md.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from privreg._types import Float64
from privreg.engines.base import StackedColumns
from privreg.estimators.private_linear.choosing import choose
from privreg.estimators.private_linear.design import Gradient, Sizes
from privreg.estimators.private_linear.finish import finish
from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.phases import moments, newton
from privreg.estimators.private_linear.scales import Found, bounded, find_scales, level_scale, limit_of
from privreg.estimators.private_linear.schedule import together
from privreg.estimators.private_linear.state import Setting, State
from privreg.mechanisms.gradient import plan_gradient, release_gradient
from privreg.mechanisms.lengths import noisy_lengths, plan_lengths
from privreg.mechanisms.median import noisy_median, plan_median
from privreg.mechanisms.spread import (
    Spread,
    narrow_part,
    noisy_shared_histogram,
    plan_shared_histogram,
    read_spread,
)

ALIKE = (12, 0.9)  # columns are alike if so many half octaves have at least this part of the values off the centre,
FEWEST_AWAY = 3.0  # which must be this many standard deviations of the noise of as many bins
CLIP = 0.5  # residuals are clipped at this quantile of the target's distances: signs tell most of a direction
RADIUS = 0.85  # rows are shrunk to this times their root mean square
LONGEST = 16.0  # the unit of the histogram of sizes is the longest that a sum may be over this
ONE_SIGMA = 0.683  # of a normal law lies within one standard deviation


@dataclass(frozen=True)
class Common:
    """Where all columns lie, and how far they spread."""

    centre: float
    spread: Spread
    alike: bool  # whether the columns are of one size, as far as can be told

    @property
    def scale(self) -> Scale:
        return Scale(self.centre, self.spread.limit, self.spread.unit)


def find_common(setting: Setting) -> Common:
    """One median and one histogram for the values of all columns but levels, whose scale is known."""
    of_median, of_histogram = setting.schedule.common
    columns = [j for j, feature in enumerate(setting.engine.features) if feature.share is None]
    values = StackedColumns(setting.engine, columns)
    median = plan_median("median of all columns", *setting.next_picks(of_median, 1), purpose="columns")
    centre = noisy_median(setting.account, median, values, len(columns))
    event = plan_shared_histogram("spread of all columns", setting.share(of_histogram), purpose="columns")
    histogram, at_centre = noisy_shared_histogram(setting.account, event, values, centre, len(columns))
    spread = read_spread(histogram, event.scale / event.grid, setting.records, limit_of(setting))
    bins, part = ALIKE
    away = setting.records - at_centre
    noise = sqrt(bins) * event.scale / event.grid
    alike = spread.sure and away > FEWEST_AWAY * noise and narrow_part(histogram, bins) >= part * away
    return Common(centre, spread, alike)


def regress_together(setting: Setting, state: State, common: Common) -> State:
    """Choose columns that stand alone, and add a weighted sum of all columns in each round."""
    schedule = together(setting.schedule, setting.size)
    setting = replace(setting, schedule=schedule)
    everything = list(range(len(setting.engine)))
    ranking = None if setting.sampled else setting.engine.ranking()
    single = choose(setting, state, everything, schedule.columns, ranking)
    searched = [j for j in single if setting.engine.features[j].share is None]
    own = dict(zip(searched, find_scales(setting, searched, None), strict=True))
    state = with_all_columns(setting, state, common, single, own)
    for number in range(schedule.rounds):
        state = with_weighted_sum(setting, state, number)
        state = newton(setting, moments(setting, state, number))
    return finish(setting, moments(setting, state, schedule.rounds))


def with_all_columns(setting: Setting, state: State, common: Common, single: list[int], own: dict[int, Found]) -> State:
    """Terms for all columns; the frame has the constant, and those that stand alone, whose scale is their own."""
    terms: list[tuple[Term, float]] = []
    lost: list[int] = []
    for j, feature in enumerate(setting.engine.features):
        if j in own and own[j].spread.sure:
            terms.append((Term(j, own[j].scale), own[j].spread.mean_square))
        elif feature.share is None:
            terms.append((Term(j, bounded(feature, common.scale)), common.spread.mean_square))
        elif (of_level := level_scale(feature)) is not None:
            terms.append((Term(j, of_level), 1.0))
        else:
            lost.append(j)
    places = [i for i, (term, _) in enumerate(terms, 1) if term.column in single]
    squares = [1.0, *(square for _, square in terms)]
    return replace(
        state.with_terms(terms, lost),
        together=True,
        theta=np.zeros(len(squares)),
        frame=np.eye(len(squares))[:, [0, *places]],
        squares=1 + sum(squares[place] for place in places),
        length=sqrt(sum(squares)),
    )


def with_weighted_sum(setting: Setting, state: State, number: int) -> State:
    """The gradient of what the model leaves, as one more direction in which it can be moved."""
    schedule, design = setting.schedule, state.design
    radius = RADIUS * state.length
    clip = state.spread.distance(CLIP) / state.target.unit
    event = plan_gradient(
        f"round {number + 1}: weights of all columns", len(state.theta), setting.share(schedule.gradient)
    )
    found = setting.engine.total(Gradient(design, state.theta, radius, clip), design.columns)
    weights = release_gradient(setting.account, event, found)
    weights[0] = 0.0  # the constant has a direction already
    weights /= max(float(np.linalg.norm(weights)), 1e-300)
    direction = weights / _typical_size(setting, state, weights, number)
    return replace(state, frame=np.column_stack([state.frame, direction]), squares=state.squares + 1)


def _typical_size(setting: Setting, state: State, weights: Float64, number: int) -> float:
    """Of a weighted sum: the root of its mean square, were it normal."""
    unit = RADIUS * state.length / LONGEST
    event = plan_lengths(f"round {number + 1}: sizes of their sum", setting.share(setting.schedule.sizes))
    counts = setting.engine.total(Sizes(state.design, weights, unit), state.design.columns)
    return noisy_lengths(setting.account, event, counts, unit, setting.records).quantile(ONE_SIGMA)
