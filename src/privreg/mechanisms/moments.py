"""Joint release of the moments that a least-squares step needs: Σ u·uᵀ, Σ u·r and Σ r².

Proof: docs/proofs/moments.md. Exact check: tests/mechanisms/test_moments.py.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from privreg._types import Float64
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import Sums
from privreg.privacy.account import Account
from privreg.privacy.events import Gaussian, GaussianMatrix

SQUARE = NORM**2


@dataclass(frozen=True)
class Moments:
    """Released sums over records, in the units of rows of norm at most `radius` and residuals of at most `clip`."""

    products: Float64 | None
    gradient: Float64
    squares: float | None
    gradient_noise: float  # standard deviation of each entry
    product_noise: float = 0.0  # of an entry on the diagonal


def plan_products(name: str, width: int, mu_squared: float) -> GaussianMatrix:
    """One row u moves Σ u·uᵀ by u·uᵀ, and |u| ≤ NORM."""
    return GaussianMatrix(name, SQUARE, SQUARE / sqrt(mu_squared), width, SQUARE, purpose="coefficients")


def plan_gradient(name: str, width: int, mu_squared: float) -> Gaussian:
    """One record moves Σ u·r by u·r, and |u|·|r| ≤ NORM²."""
    return Gaussian.costing(name, mu_squared, SQUARE, width, purpose="coefficients")


def plan_squares(name: str, mu_squared: float) -> Gaussian:
    """One record moves Σ (r/2)² by at most NORM²."""
    return Gaussian.costing(name, mu_squared, SQUARE, purpose="errors")


def release_moments(
    account: Account,
    sums: Sums,
    radius: float,
    clips: Float64,
    at: int = 0,
    *,
    products: GaussianMatrix | None = None,
    gradient: Gaussian,
    squares: Gaussian | None = None,
) -> Moments:
    """What the events ask for, with noise, in the units of the data, for the clip number `at`.

    A clip is for residuals of rows at the full radius; those of shorter rows may be larger in proportion. Squares
    are of residuals clipped to twice that.
    """
    row = radius / grid_for(gradient.coordinates)  # a grid step
    residual = float(clips[at]) / NORM
    return Moments(
        None
        if products is None or sums.products is None
        else account.gaussian_matrix(products, sums.products) * row**2,
        np.asarray(account.gaussian(gradient, sums.gradients[at]) * (row * residual), np.float64),
        None
        if squares is None
        else float(account.gaussian(squares, sums.squares[at : at + 1])[0]) * (2 * residual) ** 2,
        gradient.scale * row * residual,
        0.0 if products is None else products.scale * row**2,
    )
