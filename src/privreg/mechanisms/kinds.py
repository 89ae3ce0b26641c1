"""How many cells of each column are missing, numbers, dates, truths or other text: noisy counts of all columns at once.

Proof: docs/proofs/kinds.md. Exact check: tests/mechanisms/test_kinds.py.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from privreg._types import Float64, Int64
from privreg.data.cells import CLASSES
from privreg.data.raw import Cells
from privreg.privacy.account import Account
from privreg.privacy.events import Gaussian

GRID = 2**28  # grid steps for one record


@dataclass(frozen=True)
class CountClasses:
    """How many cells of each column are of each class: columns × classes."""

    columns: tuple[Any, ...]  # None is the target

    def __call__(self, cells: Cells) -> Int64:
        return np.array([cells[name].class_counts() for name in self.columns], np.int64)


def plan_kinds(mu_squared: float, columns: int) -> Gaussian:
    """One record adds one to one count in each column, so the counts move by √columns together."""
    scale = GRID * sqrt(columns / mu_squared)
    return Gaussian("kinds of the columns", columns * GRID**2, scale, columns * CLASSES, GRID, purpose="reading")


def noisy_classes(account: Account, event: Gaussian, counts: Int64) -> Float64:
    """The counts with noise of standard deviation event.scale/GRID each: columns × classes."""
    return (account.gaussian(event, counts.ravel() * GRID) / GRID).reshape(counts.shape)
