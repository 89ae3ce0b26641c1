"""The phases of least squares: noisy moments in a frame, and the step that follows from them.

Two regularised Newton steps, each in a frame that the one before made well-conditioned, then one by the gradient alone.
Proof: docs/proofs/moments.md, docs/proofs/flagship.md.
"""

from dataclasses import replace
from math import log, sqrt

import numpy as np

from privreg._types import Float64, Int64
from privreg.estimators.private_linear.design import Phase
from privreg.estimators.private_linear.estimates import Estimates
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.schedule import PHASES, PRODUCTS, SQUARES
from privreg.estimators.private_linear.state import Setting, State
from privreg.estimators.private_linear.uncertainty import Directions, LastStep, cut_tails, squared_errors
from privreg.mechanisms.moments import Moments, plan_gradient, plan_products, plan_squares, release_moments
from privreg.mechanisms.quantile import noisy_quantile, plan_quantile
from privreg.privacy.events import pick_epsilon

# What constants are worth was measured on the paper's tables, each left out in turn: results/flagship/ablations.csv.
CLIPS = 2.0 ** (0.5 - np.arange(8) / 2)  # candidates for the clip of residuals, in units of the first phase's
CLIP_LEVEL = (30, 0.85, 0.98)  # of the residuals 1 − 30/S stay unclipped, between two bounds
CLIP_LARGE = 100  # and for large S more: 1 − 100/S
CLIP_ERROR = 1.45  # times ln(candidates)/ε: the records by which a noisy quantile may miss its level
RADIUS = 1.05  # rows are shrunk to this times their root mean square
SMALLEST_SQUARE = 0.3  # of a coordinate: the least that rows are taken to measure
CAUTION = 1.0  # standard deviations above what noise alone would give, from which slopes are believed
RIDGE = 0.8  # in units of the noise of the products


def moments(setting: Setting, state: State, phase: int) -> Moments:
    """Products and gradient in the current frame; in the last phase the gradient and the residual variance."""
    width, last = len(state.theta), phase == len(PHASES) - 1
    radius = RADIUS * sqrt(min(max(state.squares, SMALLEST_SQUARE * width), width))
    clips = clip_candidates(setting, state, phase)
    task = Phase(state.design, state.theta, state.frame, radius, clips, clipped=len(clips) == 1, last=last)
    found = setting.engine.total(task, task.design.columns)
    at = pick_clip(setting, phase, found.counts) if len(clips) > 1 else 0
    share, name = setting.share(setting.schedule.regression * PHASES[phase]), f"phase {phase + 1}: "
    part = SQUARES if last else PRODUCTS
    gradient = plan_gradient(name + "gradient", width, share * (1 - part))
    if last:
        squares = plan_squares(name + "residual variance", share * part)
        return release_moments(setting.account, found.sums, radius, clips, at, gradient=gradient, squares=squares)
    products = plan_products(name + "products", width, share * part)
    return release_moments(setting.account, found.sums, radius, clips, at, products=products, gradient=gradient)


def unclipped(setting: Setting) -> float:
    """The part of the residuals that is not to be clipped."""
    enough, low, high = CLIP_LEVEL
    return max(min(max(1 - enough / setting.size, low), high), 1 - CLIP_LARGE / setting.size)


def clip_candidates(setting: Setting, state: State, phase: int) -> Float64:
    """Where residuals of full rows may be clipped: at first by the target's spread alone."""
    first = state.spread.distance(unclipped(setting)) / state.target.unit
    return np.array([first]) if phase == 0 or not setting.schedule.quantile else np.sort(first * CLIPS)


def pick_clip(setting: Setting, phase: int, counts: Int64) -> int:
    """Which of the clips is taken: a noisy quantile."""
    epsilon = pick_epsilon(setting.share(setting.schedule.quantile))
    level = max(0.5, min(unclipped(setting), 1 - CLIP_ERROR * log(len(CLIPS)) / (epsilon * setting.records)))
    event, q = plan_quantile(f"phase {phase + 1}: clip of residuals", level, epsilon, purpose="coefficients")
    return noisy_quantile(setting.account, event, q, counts)


def grow(state: State) -> State:
    """Room for new columns, which start at 0 and are not rotated."""
    old, width = len(state.theta), 1 + len(state.terms)
    frame = np.eye(width)
    frame[:old, :old] = state.frame
    return replace(state, theta=np.append(state.theta, np.zeros(width - old)), frame=frame)


def newton(setting: Setting, state: State, moments: Moments) -> State:
    """A regularised Newton step, and the frame in which the products look like n times the identity."""
    assert moments.products is not None
    raw, vectors = np.linalg.eigh(moments.products)
    raw = np.maximum(raw, 0)
    values = raw + RIDGE * moments.product_noise * sqrt(len(state.theta))
    return replace(
        state,
        theta=state.theta + state.frame @ (vectors @ ((vectors.T @ moments.gradient) / values)),
        frame=state.frame @ (vectors / np.sqrt(values / setting.records)) @ vectors.T,
        squares=float((raw / values).sum()),
        directions=Directions(vectors, raw / values, moments.product_noise / values),
    )


def finish(setting: Setting, state: State, moments: Moments) -> State:
    """A last step by the gradient alone; then the slopes are shrunk by how much of them may be noise."""
    assert moments.squares is not None
    assert state.directions is not None
    theta, frame, records = state.theta, state.frame, setting.records
    noise = moments.gradient_noise / records
    whitened = np.linalg.solve(frame, theta) + moments.gradient / records
    constant = np.linalg.solve(frame, np.eye(len(theta))[0])
    constant *= (constant @ whitened) / (constant @ constant)
    slopes = whitened - constant
    width = len(theta) - 1
    expected = (width + CAUTION * sqrt(2 * width)) * noise**2  # of the squared length, were it all noise, and more
    kept = max(0.0, 1 - expected / max(float(slopes @ slopes), 1e-300))
    final = frame @ (constant + kept * slopes)
    sampling = max(moments.squares, 0.0) / records**2
    step = LastStep(moments.gradient / records, noise, sampling, unclipped(setting))
    errors = squared_errors(state.directions, step, (1 - kept) * slopes, frame, final)
    covariance = frame @ errors @ frame.T
    limits = np.array([term.scale.limit / term.scale.unit for term in state.terms])
    covariance[np.diag_indices(len(final))] += (np.append(0.0, cut_tails(limits)) * final) ** 2
    estimates = _stand_in(state, final, covariance, max(moments.squares, 0.0) / records, records)
    model = WinsorisedModel(state.target, state.terms, final, estimates)
    return replace(state, model=model, doubt=float(np.trace(errors)) / max(float(slopes @ slopes), 1e-300))


def _stand_in(state: State, theta: Float64, covariance: Float64, residual: float, records: float) -> Estimates:
    """Estimates from the shrunk model, until they are made on their own."""
    first = {term.column: i for i, term in reversed([*enumerate(state.terms, 1)]) if term.sure}
    places = [0, *sorted(first.values())]
    products = np.asarray(np.linalg.inv(state.frame @ state.frame.T)[np.ix_(places, places)], np.float64)
    inside = np.zeros((len(places), len(theta)))  # where a column has two terms, their slopes add up
    inside[0, 0] = 1.0
    for i, term in enumerate(state.terms, 1):
        if term.sure:
            inside[places.index(first[term.column]), i] = (
                state.terms[first[term.column] - 1].scale.unit / term.scale.unit
            )
    own = inside @ theta
    explained = max(float(own[1:] @ products[1:, 1:] @ own[1:] - (products[0, 1:] @ own[1:]) ** 2), 0.0)
    errors = np.full(products.shape, 1 / sqrt(records))
    r2 = explained / max(explained + residual, 1e-300)
    own_covariance = inside @ covariance @ inside.T
    spread = residual * sqrt(2 / records)
    return Estimates(tuple(places), own, own_covariance, products, errors, residual, spread, r2, 2 / sqrt(records))
