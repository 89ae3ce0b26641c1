"""The last step: what predicts, how well it does, and the estimates to read."""

from dataclasses import replace
from math import hypot, sqrt

import numpy as np

from privreg._types import Float64
from privreg.estimators.private_linear.design import Fit
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.solve import Quality, solve
from privreg.estimators.private_linear.state import Setting, State, coordinates
from privreg.estimators.private_linear.target import mean_residual
from privreg.mechanisms.mean import GRID, plan_clipped_sum

CAUTION = 1.0  # standard deviations above what noise alone would give, from which slopes are believed
NORMAL_HALF, NORMAL_TENTH = 0.674, 1.645  # what half, and nine tenths, of a normal law's sizes are below
RESIDUAL_CLIP = 6.0  # residuals are clipped at so many of their deviations, to add up their squares,
EXPLAINED_CLIP = (2.5, 1.5)  # and what they explain by so many of those of predictions and of residuals
CHEAP = 0.003  # of the target's variance: both are clipped so far out that noise is at least this, and tails count
SHAPE = 0.4  # relative error of a variance that is read off quantiles as if of a normal law
HIDDEN = 0.06  # relative error of a variance whose tail is clipped


def finish(setting: Setting, state: State) -> State:
    """A last step by the gradient alone, shrunk; then how well that fits, and estimates from all that was released."""
    theta, doubt = shrunk(setting, state)
    if setting.schedule.mean_at_end:
        theta[0] += mean_residual(setting, state, theta)
    quality = measure(setting, state, theta)
    estimates = solve(setting, state, quality)
    model = WinsorisedModel(state.target, state.terms, theta, estimates)
    return replace(state, model=model, doubt=doubt)


def shrunk(setting: Setting, state: State) -> tuple[Float64, float]:
    """θ for predictions: the step and the slopes are shrunk by how much of them may be noise, which is told, too."""
    last = state.released[-1]
    frame, records, width = state.frame, setting.records, state.width
    held = np.maximum(np.diag(last.moments.products) / records, 1.0)
    step = last.moments.gradient / records / held
    noise = last.moments.gradient_noise / records
    old = noise_before(setting, state)
    # θ is off by that noise at least, and by what the new step shows beyond its own noise.
    error = np.maximum(old**2, float(step @ step) / width - noise**2)
    kept = error / (error + noise**2)
    whitened = coordinates(frame, state.theta) + kept * step
    constant = coordinates(frame, np.eye(len(frame))[0])
    constant *= (constant @ whitened) / (constant @ constant)
    slopes = whitened - constant
    variance = float(np.mean((kept * noise) ** 2 + ((1 - kept) * old) ** 2))
    expected = (width - 1 + CAUTION * sqrt(2 * (width - 1))) * variance  # of the squared length, were it all noise
    doubt = min(expected / max(float(slopes @ slopes), 1e-300), 1.0)
    return frame @ (constant + (1 - doubt) * slopes), doubt


def noise_before(setting: Setting, state: State) -> Float64:
    """Standard deviation of each coordinate of θ in the last frame, by the noise of the gradient that led to it."""
    before = state.released[-2]
    turned = coordinates(before.frame, state.frame)
    return np.asarray(before.moments.gradient_noise / setting.records * np.linalg.norm(turned, axis=0), np.float64)


def measure(setting: Setting, state: State, theta: Float64) -> Quality:
    """The residual variance of a model, and how much of the target's variance it explains."""
    assert state.lengths is not None
    usual, most = state.usual, state.target.limit / state.target.unit
    typical = max(state.lengths.quantile(0.5) / NORMAL_HALF, state.lengths.quantile(0.9) / NORMAL_TENTH) / usual
    far = min(max(2 * state.spread.distance(0.9), state.spread.distance(0.98)) / state.target.unit, most)
    share = setting.share(setting.schedule.quality)
    room = min(CHEAP * setting.records * sqrt(share), (2 * most) ** 2)  # no record has more
    squares = max(min(RESIDUAL_CLIP * typical, far) ** 2, room * min(typical, 1.0) ** 2)
    bent = coordinates(state.frame, theta)
    explained = float(bent @ state.released[-1].moments.products @ bent) / setting.records
    of_fit, of_rest = EXPLAINED_CLIP
    spread = min(max(sqrt(max(explained, 0.0)), 0.15), most)
    gains = max(of_fit * spread * (of_fit * spread + 2 * of_rest * typical), far**2, room)
    task = Fit(state.design, theta, squares, gains)
    found = setting.engine.total(task, task.design.columns)
    noisy = []
    for name, total, clip in (("residual variance", found[:1], squares), ("explained variance", found[1:], gains)):
        event = plan_clipped_sum(name, share, purpose="errors")
        value = float(setting.account.gaussian(event, total)[0]) * clip / GRID
        noisy.append((value / setting.records, clip * event.scale / event.grid / setting.records))
    (residual, noise), (gain, gain_noise) = noisy
    shape = SHAPE * typical**2  # a second opinion, which counts where the sum drowns in noise
    weight = shape**2 / (shape**2 + noise**2)
    residual = max(weight * residual + (1 - weight) * typical**2, 1e-12)
    return Quality(residual, hypot(shape * noise / hypot(shape, noise), HIDDEN * residual), max(gain, 0.0), gain_noise)
