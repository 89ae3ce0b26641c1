"""Joint release of the moments that a least-squares step needs: Σ u·uᵀ and Σ u·r.

Proof: docs/proofs/moments.md. Exact check: tests/mechanisms/test_moments.py.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from privreg._types import Float64
from privreg.kernels.boosting import NORM, grid_for
from privreg.kernels.moments import PARTS, Sums
from privreg.privacy.account import Account
from privreg.privacy.events import GaussianMoments

SQUARE = NORM**2


@dataclass(frozen=True)
class Moments:
    """Released sums over records, in the units of rows of norm at most `radius` and residuals of at most `clip`."""

    products: Float64
    gradient: Float64
    product_noise: float  # standard deviation of an entry on the diagonal; of others 1/√2 of it
    gradient_noise: float


def parts_for(share: float) -> int:
    """The share of the products in whole parts: at least one, and not all."""
    return min(max(round(share * PARTS), 1), PARTS - 1)


def plan_moments(name: str, width: int, mu_squared: float, products: int) -> GaussianMoments:
    """One record moves Σ u·uᵀ by u·uᵀ and Σ u·r by u·r, with |u|²r² ≤ NORM⁴ − products/PARTS·|u|⁴."""
    return GaussianMoments(name, SQUARE, SQUARE / sqrt(mu_squared), width, products, SQUARE, purpose="coefficients")


def release_moments(
    account: Account, event: GaussianMoments, sums: Sums, radius: float, clips: Float64, at: int = 0
) -> Moments:
    """The sums with noise, in the units of the data, for the clip number `at`.

    A clip is for residuals of rows at the full radius, but for what their products take; those of shorter rows may be
    larger in proportion.
    """
    products, gradient = account.gaussian_moments(event, sums.products, sums.gradients[at])
    row = radius / grid_for(event.width)  # a grid step
    step = row * float(clips[at]) / NORM
    return Moments(
        products * row**2,
        np.asarray(gradient * step, np.float64),
        event.diagonal_scale * row**2,
        event.scale * step,
    )
