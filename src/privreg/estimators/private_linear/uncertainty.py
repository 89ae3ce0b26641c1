"""How far coefficients may be off, estimated from released values only: docs/uncertainty.md."""

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from privreg._types import Float64

MARGIN = 1.1  # on variances that are themselves estimates


class Directions(NamedTuple):
    """Eigenvectors of noisy products; how much of each is signal, and its noise, in units of the regularised value."""

    vectors: Float64
    signal: Float64
    noise: Float64


class LastStep(NamedTuple):
    """What the last step saw, in the whitened frame."""

    moved: Float64  # the mean gradient
    noise: float  # standard deviation of the privacy noise in each of its entries
    sampling: float  # residual variance over the number of records
    level: float  # part of the residuals that was not clipped


def squared_errors(
    directions: Directions, step: LastStep, shrinking: Float64, frame: Float64, theta: Float64
) -> Float64:
    """Mean squared error of the whitened coefficients, as a matrix. `shrinking` is what shrinking took off them."""
    vectors, signal, product_noise = directions
    random = step.noise**2 + step.sampling * signal
    # The last step sees a part of what the model before it missed along each direction; how much that was is
    # estimated by empirical Bayes, with one prior variance for all directions.
    seen = signal * step.level
    moved = vectors.T @ step.moved
    prior = max(float((moved**2 - random).sum() / max((seen**2).sum(), 1e-300)), 0.0)
    weight = prior * seen / (prior * seen**2 + random)
    missed = (weight * moved) ** 2 + (1 - weight * seen) * prior
    # Three regularised steps leave (1 − seen)³ of a coefficient; along directions that are hardly seen,
    # coefficients are taken to be as large as elsewhere.
    usual = float((theta[1:] ** 2).mean()) / np.maximum((frame @ vectors) ** 2, 1e-300).sum(axis=0)
    own = random + np.maximum((1 - seen) ** 2 * missed, (1 - seen) ** 6 * usual)
    mixed = product_noise * float((product_noise * missed).sum()) / 2
    return (vectors * (MARGIN * (own + mixed + (vectors.T @ shrinking) ** 2))) @ vectors.T


def cut_tails(limits: Float64) -> Float64:
    """By what part a slope is too steep because a normal column is winsorised at so many standard deviations."""
    inside = 1 - 2 * ndtr(-limits)
    squares = inside - limits * np.exp(-(limits**2) / 2) * sqrt(2 / pi) + limits**2 * (1 - inside)
    return np.asarray(inside / squares - 1)
