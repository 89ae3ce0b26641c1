"""The gradient of least squares in all columns at once, Σ u·r: which weighted sum of them goes with what is left.

Proof: docs/proofs/gradient.md. Exact check: tests/mechanisms/test_gradient.py.
"""

import numpy as np

from privreg._types import Float64, Int64
from privreg.mechanisms.moments import SQUARE
from privreg.privacy.account import Account
from privreg.privacy.events import Gaussian


def plan_gradient(name: str, width: int, mu_squared: float) -> Gaussian:
    """One record moves Σ u·r by u·r, with |u|²r² ≤ NORM⁴."""
    return Gaussian.costing(name, mu_squared, SQUARE, width, purpose="coefficients")


def release_gradient(account: Account, event: Gaussian, sums: Int64) -> Float64:
    """The sums with noise, in units of the radius times the clip."""
    return np.asarray(account.gaussian(event, sums) / SQUARE, np.float64)
