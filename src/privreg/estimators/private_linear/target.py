"""The target's centre, spread and mean.

With little data each of these is hard to find, and cheaper ways are taken. Proof: docs/proofs/flagship.md.
"""

from dataclasses import replace
from math import log, sqrt

import numpy as np

from privreg._types import Float64
from privreg.engines.base import TARGET
from privreg.estimators.private_linear.design import Clipped
from privreg.estimators.private_linear.model import Scale, WinsorisedModel
from privreg.estimators.private_linear.scales import find_median, find_spread, finds_median, widened
from privreg.estimators.private_linear.schedule import COUNT, rescaled
from privreg.estimators.private_linear.state import Early, Setting, State
from privreg.kernels.totals import Column
from privreg.kernels.values import Away
from privreg.mechanisms.bands import Bands, Between, ZerosAndOnes, noisy_bands, plan_bands
from privreg.mechanisms.mean import GRID, noisy_clipped_sum, plan_clipped_sum
from privreg.mechanisms.median import noisy_median, plan_median
from privreg.mechanisms.spread import Spread, known_spread, read_both
from privreg.privacy.events import Gaussian

# What constants are worth was measured on the paper's tables, each left out in turn: results/flagship/ablations.csv,
# and for little data results/flagship/small_budgets.csv.
TARGET_LIMIT = 6.0  # the target's limit is at most so many standard deviations, or more when the data can carry it:
TARGET_SIZE = 20_000  # from this S on it grows with √S
MEAN_LEVEL = 0.98  # deviations from the median are clipped at this quantile of their size
STANDS_OUT = 3.0  # standard deviations of noise that a mean must lie from the median if the clip is a guess
OTHERS = 2.0  # standard deviations of noise that records may seem to be neither 0 nor 1 if none of them is
NEAR_FACTOR, NEAR_PART = 8.0, 0.35  # such a part of the records is within this factor of a median distance to believe
MEAN_DISTANCE, DEVIATION = 1.18, 1.48  # of a normal law, as multiples of the median distance


def read_target(setting: Setting) -> tuple[Setting, State]:
    """Centre and spread; and the setting, as the rest of the schedule depends on how they were found."""
    if setting.schedule.look:
        found = look_for_zeros_and_ones(setting)
        rest = rescaled(setting.schedule, setting.left, scale_known=found is not None)
        setting = replace(setting, schedule=rest)
        if found is not None:
            return setting, found
    values = setting.engine.column(TARGET)
    median = find_median(setting, "median of the target", values, of_target(setting))
    spread = spread_by_median_distance(setting, median) if setting.schedule.target_distance else None
    if spread is None:
        part = setting.schedule.target_histogram or setting.left / 2
        spread = find_spread(setting, "spread of the target", values, median, part, target_limit(setting))
    return setting, State(Scale(median, spread.limit, spread.unit), spread)


def finds_centre(setting: Setting) -> bool:
    """Whether the median of the target can stand out from the grid."""
    return finds_median(setting, of_target(setting))


def of_target(setting: Setting) -> Early:
    """How the median of the target is picked."""
    schedule = setting.schedule
    return setting.early(schedule.target_median, schedule.total - COUNT - schedule.recount - schedule.target_median)


def target_limit(setting: Setting) -> float:
    """The most standard deviations that the target's limit may be."""
    return TARGET_LIMIT * max(1.0, sqrt(setting.size / TARGET_SIZE), widened(setting) if setting.wide else 1.0)


def count_in(setting: Setting, name: str, part: float, values: Column, bands: Bands) -> tuple[Float64, float]:
    """Noisy counts of the target, and their standard deviation."""
    event = plan_bands(name, setting.share(part), bands, purpose="target")
    return noisy_bands(setting.account, event, values, bands), event.scale / event.grid


def look_for_zeros_and_ones(setting: Setting) -> State | None:
    """If the target has no other values, their shares are all there is to know of its centre and spread.

    A cheap look comes first. What is found is believed if noise alone may be what seems to be neither 0 nor 1, and if
    there seem to be more ones, and more zeros, than that.
    """
    schedule, values, bands = setting.schedule, setting.engine.column(TARGET), ZerosAndOnes()
    (zeros, ones, others), noise = count_in(setting, "look for zeros and ones", schedule.look, values, bands)
    if others > min(OTHERS * noise, zeros + ones):
        return None
    (zeros, ones, others), noise = count_in(setting, "count zeros and ones", schedule.zeros_and_ones, values, bands)
    if others > min(OTHERS * noise, zeros, ones):
        return None
    both = max(zeros + ones, 2 * noise)
    share = min(max(ones, noise), both - noise) / both
    limit = max(share, 1 - share)
    unit = max(sqrt(share * (1 - share)), limit / TARGET_LIMIT)
    hidden = min((max(others, 0.0) + OTHERS * noise) / setting.counted, 1.0)
    spread = known_spread(limit, limit, unit)  # hardly anything need be clipped
    return State(Scale(share, limit, unit), spread, hidden_part=hidden)


def spread_by_median_distance(setting: Setting, median: float) -> Spread | None:
    """The spread by the median distance from the median, if a count confirms it: many records are about so far away."""
    schedule, away = setting.schedule, Away(setting.engine.column(TARGET), median)
    event = plan_median("median distance", *setting.next_picks(schedule.target_distance, 1), purpose="target")
    distance = noisy_median(setting.account, event, away)
    if distance <= 0:
        return None
    band = Between(distance / NEAR_FACTOR, distance * NEAR_FACTOR)
    (near,), _ = count_in(setting, "records about so far away", schedule.target_near, away, band)
    if near <= NEAR_PART * setting.counted:
        return None
    deviation = DEVIATION * distance
    return known_spread(MEAN_DISTANCE * distance, TARGET_LIMIT * deviation, deviation)


# ---- the mean


def find_shift(setting: Setting, centre: float, spread: Spread, clip: float, part: float) -> float:
    """How far the target's mean lies from this centre, shrunk by how much of that may be noise.

    If the clip is a guess, it counts only if it stands out, and if the median can be relied on.
    """
    event = plan_clipped_sum("mean of the target", setting.share(part), purpose="target")
    values = setting.engine.column(TARGET)
    shift = noisy_clipped_sum(setting.account, event, values, centre, clip) / setting.counted
    noise = clip * event.scale / event.grid / setting.counted
    if not spread.sure and (abs(shift) < STANDS_OUT * noise or not finds_centre(setting)):
        return 0.0
    return shrunk_mean(shift, noise, clip)


def shrunk_mean(mean: float, noise: float, clip: float) -> float:
    """By how much of it may be noise."""
    mean *= max(0.0, 1 - noise**2 / max(mean**2, 1e-300))
    return min(max(mean, -clip), clip)


def settle_for_a_constant(setting: Setting, state: State) -> State:
    """The mean of the target, with all that is left. If its spread is not sure, half of that is for a second look."""
    target, spread = state.target, state.spread
    if not spread.sure:
        values, most = setting.engine.column(TARGET), target_limit(setting)
        again = find_spread(setting, "spread of the target again", values, target.centre, setting.left / 2, most)
        spread = read_both(spread, again, setting.records, most)
    clip = clip_of_mean(setting, spread, setting.left)
    shift = find_shift(setting, target.centre, spread, clip, setting.left)
    constant = replace(target, centre=target.centre + shift)
    return replace(state, model=WinsorisedModel(constant, (), np.zeros(1)))


def clip_of_mean(setting: Setting, spread: Spread, part: float) -> float:
    """Farther out the less noise there is: the bias of what is cut off falls off faster than noise grows."""
    noise = 1 / (setting.counted * sqrt(setting.share(part)))
    distance = spread.mean_distance or spread.limit  # a window of noise may hold no records
    return min(distance * max(1.0, log(1 / noise)), spread.limit)


def centred(setting: Setting, state: State) -> State:
    """With the target around its mean; with little data that comes last, and it stays around its median."""
    target, spread, part = state.target, state.spread, setting.schedule.target_mean
    if not part:
        return state
    shift = find_shift(setting, target.centre, spread, spread.distance(MEAN_LEVEL), part)
    unit = max(sqrt(max(spread.unit**2 - shift**2, 0.0)), spread.unit / 3)
    return replace(state, target=Scale(target.centre + shift, spread.limit, unit))


def mean_residual(setting: Setting, state: State, theta: Float64) -> float:
    """By how much predictions are too low on the average, in units of the target."""
    part = setting.schedule.mean_at_end
    clip = clip_of_mean(setting, state.spread, part) / state.target.unit
    event = plan_clipped_sum("mean of the residuals", setting.share(part), purpose="target")
    unit = clip / setting.counted
    total = residual_sum(setting, event, state, theta, clip)
    return shrunk_mean(total * unit, event.scale / event.grid * unit, clip)


def residual_sum(setting: Setting, event: Gaussian, state: State, theta: Float64, clip: float) -> float:
    """What predictions leave, clipped and added up with noise; in clips."""
    total = setting.engine.total(Clipped(state.design, theta, clip), state.design.columns)
    return float(setting.account.gaussian(event, total)[0]) / GRID
