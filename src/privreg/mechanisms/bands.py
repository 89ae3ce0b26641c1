"""How many records a column has in each of a few bands that are known beforehand.

Proof: docs/proofs/bands.md. Exact check: tests/mechanisms/test_bands.py.
"""

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from privreg._types import Float64, Int64
from privreg.kernels.totals import Values, total_of
from privreg.privacy.account import Account
from privreg.privacy.events import About, Gaussian

GRID = 2**28  # grid steps for one record


@dataclass(frozen=True)
class ZerosAndOnes:
    """Values that are 0, values that are 1, and all others."""

    bands = 3

    def __call__(self, values: Float64) -> Int64:
        zeros, ones = np.count_nonzero(values == 0), np.count_nonzero(values == 1)
        return np.array([zeros, ones, values.size - zeros - ones], np.int64)


@dataclass(frozen=True)
class Between:
    """Values above one bound and not above another."""

    low: float
    high: float
    bands = 1

    def __call__(self, values: Float64) -> Int64:
        return np.array([np.count_nonzero((values > self.low) & (values <= self.high))], np.int64)


Bands = ZerosAndOnes | Between


def plan_bands(name: str, mu_squared: float, bands: Bands, **about: Unpack[About]) -> Gaussian:
    """One record is in one band at most."""
    return Gaussian.costing(name, mu_squared, GRID, bands.bands, **about)


def noisy_bands(account: Account, event: Gaussian, values: Values, bands: Bands) -> Float64:
    """How many records are in each band, plus noise of standard deviation event.scale/GRID."""
    return account.gaussian(event, total_of(values, bands) * GRID) / GRID
