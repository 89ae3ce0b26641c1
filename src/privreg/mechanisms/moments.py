"""Joint release of the moments that a least-squares step needs: Σ u·uᵀ, Σ u·r and Σ r².

Proof: docs/proofs/moments.md. Exact check: tests/test_moments.py.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from privreg.kernels.boosting import NORM, Int16, grid_for
from privreg.kernels.moments import joint_sums
from privreg.kernels.ranks import Float64
from privreg.privacy.account import Account
from privreg.privacy.steps import Gaussian, GaussianMatrix

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
    return GaussianMatrix(name, SQUARE, SQUARE / sqrt(mu_squared), width, SQUARE)


def plan_gradient(name: str, width: int, mu_squared: float) -> Gaussian:
    """One record moves Σ u·r by u·r, and |u|·|r| ≤ NORM². With width 1 it serves Σ r² too."""
    return Gaussian(name, SQUARE**2, SQUARE / sqrt(mu_squared), width, SQUARE)


def release_moments(
    account: Account,
    rows: Int16,
    residuals: Int16,
    radius: float,
    clip: float,
    *,
    products: GaussianMatrix | None = None,
    gradient: Gaussian,
    squares: Gaussian | None = None,
    n_jobs: int | None = None,
) -> Moments:
    """What the steps ask for, with noise, in the units of the data."""
    uu, ur, rr = joint_sums(rows, residuals, n_jobs)
    row = radius / grid_for(len(rows))  # a grid step
    residual = clip / NORM
    return Moments(
        None if products is None else account.gaussian_matrix(products, uu) * row**2,
        np.asarray(account.gaussian(gradient, ur) * (row * residual), np.float64),
        None if squares is None else float(account.gaussian(squares, np.array([rr]))[0]) * residual**2,
        gradient.scale * row * residual,
        0.0 if products is None else products.scale * row**2,
    )
