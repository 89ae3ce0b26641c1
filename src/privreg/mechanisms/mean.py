"""The sum of clipped deviations from a public centre.

Proof: docs/proofs/mean.md. Exact check: tests/mechanisms/test_mean.py.
"""

from functools import partial
from typing import Unpack

import numpy as np

from privreg._types import Float64, Int64
from privreg.kernels.totals import Values, total_of
from privreg.privacy.account import Account
from privreg.privacy.events import About, Gaussian

GRID = 2**28  # grid steps for one clip


def plan_clipped_sum(name: str, mu_squared: float, **about: Unpack[About]) -> Gaussian:
    """One record moves the sum by at most one clip."""
    return Gaussian.costing(name, mu_squared, GRID, **about)


def clipped_sum(values: Float64, centre: float, clip: float) -> Int64:
    """Σ clip(x − centre, ±clip) in whole multiples of clip/GRID. What is no number counts for nothing."""
    inside = np.clip(values - centre, -clip, clip)  # clipped first: no quotient overflows
    whole = np.rint(np.where(inside == inside, inside, 0.0) / clip * GRID)
    return np.array([whole.astype(np.int64).sum()])


def noisy_clipped_sum(account: Account, event: Gaussian, values: Values, centre: float, clip: float) -> float:
    """The sum with noise of standard deviation clip·event.scale/GRID."""
    total = total_of(values, partial(clipped_sum, centre=centre, clip=clip))
    return float(account.gaussian(event, total)[0]) * (clip / GRID)
