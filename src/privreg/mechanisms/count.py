"""A lower estimate of the number of records.

Proof: docs/proofs/count.md. Exact check: tests/mechanisms/test_count.py.
"""

from fractions import Fraction
from math import ceil, log
from numbers import Real

import numpy as np

from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget, scale_for
from privreg.privacy.events import Gaussian, Laplace

FAILURE = 1e-4  # the paper's η
GRID = 2**28  # grid steps for one record, where noise is Gaussian


def check_share(share: float) -> None:
    """Raise ValueError unless the count may spend this part of ε."""
    if not (isinstance(share, Real) and 0 < share < 1):
        raise ValueError(f"count_share must be between 0 and 1, got {share!r}")


def plan_count(budget: Budget, share: float) -> Laplace:
    """The count that spends this part of the budget's ε."""
    scale = scale_for(1, Fraction(budget.epsilon) * Fraction(float(share)))
    return Laplace("count the records", 1, scale, purpose="count")


def lower_count(account: Account, event: Laplace, n: int, failure: float = FAILURE) -> int:
    """n plus discrete Laplace noise, less its (1 − failure) quantile: above n with probability at most `failure`."""
    return account.laplace(event, n) - ceil(event.scale * log(1 / (2 * failure)))


def plan_noisy_count(name: str, mu_squared: float) -> Gaussian:
    """The count that costs so much of Gaussian differential privacy."""
    return Gaussian.costing(name, mu_squared, GRID, purpose="count")


def noisy_count(account: Account, event: Gaussian, n: int) -> float:
    """n plus Gaussian noise of standard deviation event.scale/GRID."""
    return float(account.gaussian(event, np.array([n * GRID]))[0]) / GRID
