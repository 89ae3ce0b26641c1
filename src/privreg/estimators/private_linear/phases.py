"""The phases of least squares: noisy moments in a frame, and the step that follows from them.

Two regularised Newton steps, each in a frame that the one before made well-conditioned, then one by the gradient alone.
Proof: docs/proofs/moments.md, docs/proofs/lengths.md, docs/proofs/flagship.md.
"""

from dataclasses import replace
from math import sqrt

import numpy as np

from privreg._types import Float64
from privreg.estimators.private_linear.design import Phase
from privreg.estimators.private_linear.state import Expected, Released, Setting, State
from privreg.mechanisms.lengths import Lengths, noisy_lengths, plan_lengths
from privreg.mechanisms.moments import Moments, parts_for, plan_moments, release_moments

# What constants are worth was measured on the paper's tables, each left out in turn: results/flagship/ablations.csv.
CLIPS = 2.0 ** (np.arange(-6, 7) / 2)  # candidates for the clip of residuals, in units of the first phase's
CLIP_LEVEL = (30, 0.85, 0.98)  # of the residuals 1 − 30/S stay unclipped, between two bounds
CLIP_LARGE = 100  # and for large S more: 1 − 100/S
RADIUS = 1.05  # rows are shrunk to this times their root mean square,
WIDEST = 3.0  # or in later phases to more, up to this
BEYOND = 2.0  # (or, where noise is so many times smaller, to the longest row with all but one column at its centre)
SHAKEN = 0.3  # as long as the noise of the products is expected to be at most this beside the products
SMALLEST_SQUARE = 0.3  # of a coordinate: the least that rows are taken to measure
RIDGE = 0.8  # in units of the noise of the products
CLIP_SIZE = 700  # the smallest S at which a histogram of lengths tells a better clip than the first phase's
CROWDED = 0.04  # p^1.5/S from which predictions suffer more from noise than estimates do from bias
DEAR = 2.0  # what noise counts for beside bias where the last clip is chosen: predictions suffer from it more
MARGIN = 1.0  # part of the excess by which clipping may move the gradient, were all records clipped in one direction


def moments(setting: Setting, state: State, phase: int) -> State:
    """Products and gradient in the current frame, with a clip that a histogram of lengths tells."""
    width, last = state.width, phase == len(setting.schedule.phases) - 1
    share = setting.share(setting.schedule.phases[phase])
    parts = parts_for(setting.schedule.products[phase])
    usual = sqrt(min(max(state.squares, SMALLEST_SQUARE * width), width))
    products = share * setting.schedule.products[phase]
    radius = state.radius if last else usual * (reach(setting, state, usual, products) if phase else RADIUS)
    first = state.spread.distance(unclipped(setting)) / state.target.unit
    unit = first * RADIUS * usual  # the longest |u|·|r| of the first phase
    looks = setting.schedule.lengths[phase]  # the share of a histogram of lengths, if there is one
    clips = (CLIPS if looks else np.ones(1)) * unit / radius
    stage = f"{setting.schedule.stage} {phase + 1}"
    event = plan_moments(f"{stage}: products and gradient", width, share, parts)
    task = Phase(state.design, state.theta, state.frame, radius, clips, parts, unit, bounded=not looks, last=last)
    found = setting.engine.total(task, task.design.columns)
    at, excess = 0, 0.0
    if looks:
        lengths = plan_lengths(f"{stage}: lengths of residuals", setting.share(looks))
        histogram = noisy_lengths(setting.account, lengths, found.lengths, unit, setting.records)
        excesses = histogram.excess(clips * radius)
        at = choose_clip(setting, histogram, clips * radius, excesses, clips * radius / sqrt(share), width, last)
        excess = float(excesses[at])
        state = replace(state, lengths=histogram)
    released = release_moments(setting.account, event, found.sums, radius, clips, at)
    step = Released(state.frame, state.theta, released, radius / usual, excess)
    return replace(state, released=(*state.released, step), radius=radius, usual=usual)


def reach(setting: Setting, state: State, usual: float, share: float) -> float:
    """The radius, as a multiple of the rows' root mean square: wide where noise allows, so that few rows are shrunk."""
    allowed = SHAKEN * setting.records * sqrt(share) / (sqrt(2 * state.width) * usual**2)
    longest = max((term.scale.limit / term.scale.unit for term in state.terms), default=0.0)
    far = min((longest / usual) ** 2, allowed / BEYOND)
    return sqrt(min(max(allowed, RADIUS**2), max(WIDEST**2, far)))


def unclipped(setting: Setting) -> float:
    """The part of the residuals that is not to be clipped."""
    enough, low, high = CLIP_LEVEL
    return max(min(max(1 - enough / setting.size, low), high), 1 - CLIP_LARGE / setting.size)


def choose_clip(
    setting: Setting, lengths: Lengths, clips: Float64, excesses: Float64, noise: Float64, width: int, last: bool
) -> int:
    """Which clip is taken: that of the first phase, a quantile of the lengths, or what is best for estimates.

    For these noise, in each direction, is balanced with the bias that what is cut off may have there.
    """
    if setting.size < CLIP_SIZE:
        return int(np.flatnonzero(CLIPS == 1)[0])
    if last and width**1.5 < CROWDED * setting.size:
        return int((DEAR * noise**2 + (MARGIN * excesses) ** 2 / width).argmin())
    return int(np.abs(np.log(clips / lengths.quantile(unclipped(setting)))).argmin())


def grow(state: State) -> State:
    """Room for new columns, which start at 0 and are not rotated."""
    old, width = len(state.theta), 1 + len(state.terms)
    frame = np.eye(width)
    frame[:old, :old] = state.frame
    return replace(state, theta=np.append(state.theta, np.zeros(width - old)), frame=frame)


def newton(setting: Setting, state: State) -> State:
    """A regularised Newton step, and the frame in which the products look like n times the identity."""
    moments = state.released[-1].moments
    products, noise = moments.products, moments.product_noise
    if state.expected is not None:
        products, noise = pooled(state.expected, moments, setting.records)
    raw, vectors = np.linalg.eigh(products)
    raw = np.maximum(raw, 0)
    values = raw + RIDGE * noise * sqrt(state.width)
    typical = float(np.exp(np.log(values).mean()))  # what an error is divided by in the new frame
    return replace(
        state,
        theta=state.theta + state.frame @ (vectors @ ((vectors.T @ moments.gradient) / values)),
        frame=state.frame @ (vectors / np.sqrt(values / setting.records)),
        squares=float((raw / values).sum()),
        expected=None if state.expected is None else Expected(raw / values, noise / typical),
    )


def pooled(expected: Expected, moments: Moments, records: float) -> tuple[Float64, float]:
    """Noisy products put together with what was expected of them, weighted by their errors; the error of the result."""
    error = records * expected.error
    weight = moments.product_noise**2 / (moments.product_noise**2 + error**2)  # of what was expected
    return (1 - weight) * moments.products + weight * records * np.diag(expected.squares), sqrt(weight) * error
