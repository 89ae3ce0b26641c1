"""One solve of everything that was released: unshrunk least squares on the winsorised table, with its uncertainty.

With H the mean of a·aᵀ and c that of a·y over records, every phase released noisy F′HF and F′(c − Hθ) in a frame F.
The last two phases are put together entry by entry, in the frame of the last, which is that of the one before turned
and stretched. All this is post-processing: docs/uncertainty.md.
"""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from privreg._types import Float64
from privreg.estimators.private_linear.estimates import Estimates
from privreg.estimators.private_linear.phases import MARGIN
from privreg.estimators.private_linear.state import Released, Setting, State, coordinates

# Margins, calibrated by results/coverage: docs/uncertainty.md.
SHRUNK = 0.08  # error of a product, at a radius of one root mean square; it falls with the fourth power of the radius
VISIBLE = 3.0  # standard errors that an eigenvalue of H must have, or it is held there
UNSEEN = 0.1  # of the residual variance: what a direction that is held may explain
R2_MARGIN = 1.4  # on the standard error of R²
ROBUST = 0.7  # the least by which errors may be smaller than with equal variances


class Quality(NamedTuple):
    """Residual variance of a model, and the variance that it explains, with standard errors."""

    residual: float
    residual_error: float
    explained: float
    explained_error: float

    @property
    def r2(self) -> float:
        return self.explained / (self.explained + self.residual)

    @property
    def r2_error(self) -> float:
        total = self.explained + self.residual
        errors = (self.residual * self.explained_error) ** 2 + (self.explained * self.residual_error) ** 2
        return R2_MARGIN * sqrt(errors) / total**2


@dataclass(frozen=True)
class Sums:
    """H and γ = c − H·t at a point t, in the frame of the last phase; variances of their errors, entry by entry."""

    products: Float64
    product_variance: Float64
    gradient: Float64
    gradient_variance: Float64
    leak: Float64  # by what the errors of H come into γ: a vector for each entry


def solve(setting: Setting, state: State, quality: Quality) -> Estimates:
    """θ of one term for each column whose scale is sure, and its covariance; of a constant if columns go together."""
    *_, before, last = state.released
    sums = combine(setting, before, last)
    places = [0, *(i for i, term in enumerate(state.terms, 1) if term.sure and not state.together)]
    chosen = coordinates(last.frame, np.eye(len(last.frame))[:, places])
    whole, start = coordinates(last.frame, last.theta), last.theta[places]
    rest = sums.gradient + sums.products @ (whole - chosen @ start)
    basis, triangle = np.linalg.qr(chosen)
    values, vectors = np.linalg.eigh(basis.T @ sums.products @ basis)
    turned = basis @ vectors
    doubts = VISIBLE * _eigenvalue_errors(turned, sums.product_variance)
    held = np.maximum(values, doubts)
    to_theta = np.linalg.solve(triangle, vectors) / held
    theta = start + to_theta @ (turned.T @ rest)

    spread = _errors(sums, chosen @ theta - whole)
    private = turned.T @ spread @ turned
    sampling = quality.residual * _robust(state, sums, quality) * np.minimum(held, 2.0) / setting.records
    unseen = np.where(values > doubts, 0.0, UNSEEN * quality.residual * held)
    covariance = to_theta @ (private + np.diag(sampling + unseen)) @ to_theta.T

    squared = chosen**2
    spread_out = sums.product_variance @ squared
    products = chosen.T @ sums.products @ chosen
    np.fill_diagonal(products, np.maximum(np.diag(products), 0.0))  # noise may have made mean squares negative
    return Estimates(
        tuple(places),
        theta,
        (covariance + covariance.T) / 2,
        products,
        np.sqrt(squared[:, 0] @ spread_out),
        np.sqrt(2 * np.einsum("ij,ij->j", squared, spread_out)),
        quality.residual,
        quality.residual_error,
        quality.r2,
        quality.r2_error,
    )


def combine(setting: Setting, before: Released, last: Released) -> Sums:
    """The products of both phases, weighted by their errors; then their gradients, both moved to the same point."""
    records, width = setting.records, last.frame.shape[1]
    turn = coordinates(before.frame, last.frame)  # an orthogonal matrix times a diagonal one
    stretch = np.sqrt((turn**2).sum(axis=0))
    entries = np.full((width, width), 0.5)
    np.fill_diagonal(entries, 1.0)
    first_variance = _product_variance(before, records) * np.outer(stretch, stretch) ** 2 * entries
    second_variance = _product_variance(last, records) * entries
    weight = first_variance / (first_variance + second_variance)
    first = turn.T @ before.moments.products @ turn / records
    products = (1 - weight) * first + weight * last.moments.products / records
    variance = weight * second_variance

    moved = coordinates(last.frame, last.theta - before.theta)
    first_gradient = turn.T @ before.moments.gradient / records - products @ moved
    first_error = _gradient_variance(before, records) * stretch**2
    second_error = np.full(width, _gradient_variance(last, records))
    whole = first_error + variance @ moved**2
    part = second_error / (whole + second_error)  # of the earlier gradient
    gradient = part * first_gradient + (1 - part) * last.moments.gradient / records
    error = part**2 * first_error + (1 - part) ** 2 * second_error
    error = error + _disagreement(first_gradient - last.moments.gradient / records, whole + second_error)
    return Sums(products, variance, gradient, error, np.outer(part, moved))


def _disagreement(differences: Float64, variances: Float64) -> Float64:
    """By how much two gradients visibly differ, squared: what the weights of shrunk rows may be worth there."""
    return np.where(differences**2 > VISIBLE**2 * variances, differences**2 - variances, 0.0)


def _product_variance(phase: Released, records: float) -> float:
    return (phase.moments.product_noise / records) ** 2 + (SHRUNK * phase.reach**-4) ** 2


def _gradient_variance(phase: Released, records: float) -> float:
    noise, excess = phase.moments.gradient_noise / records, MARGIN * phase.excess / records
    return noise**2 + excess**2 / phase.frame.shape[1]


def _eigenvalue_errors(vectors: Float64, variance: Float64) -> Float64:
    """Standard errors of v′Hv for unit vectors v, the columns."""
    squared = vectors**2
    pairs = 2 * np.einsum("ij,ij->j", squared, variance @ squared)
    return np.sqrt(np.maximum(pairs - np.diag(variance) @ squared**2, 0.0))


def _errors(sums: Sums, step: Float64) -> Float64:
    """Covariance of the errors of γ − H·step: entry (i, k) of H meets step_k in row i, and step_i in row k."""
    meets = step + sums.leak
    found = sums.product_variance * meets * meets.T
    np.fill_diagonal(found, (sums.product_variance * meets**2).sum(axis=1) + sums.gradient_variance)
    return found


def _robust(state: State, sums: Sums, quality: Quality) -> float:
    """Mean of |u|²r² over what it would be with residuals of equal variance: that of White's standard errors."""
    assert state.lengths is not None
    rows = max(float(np.diag(sums.products).clip(0.0).sum()), 1.0)
    return max(state.lengths.mean_square / rows / quality.residual, ROBUST)
