"""Columns that go with a target, chosen by the side of a centre on which their values lie.

A column scores |Σ side·weight| over records. The side is +1 above the column's centre and −1 below it; the weight is
what a released model leaves of the record's target, clipped to [−1, 1]. A record adds at most 1 to a sum, whatever the
column, so scores need neither ranks nor a count. Proof: docs/proofs/sides.md. Exact check:
tests/mechanisms/test_sides.py.
"""

from collections.abc import Sequence

import numpy as np

from privreg._types import Float64, Int16, Int64
from privreg.kernels.values import FULL, winsorise
from privreg.mechanisms.peel import peel
from privreg.privacy.account import Account
from privreg.privacy.events import EarlyPick, Pick

GRID = FULL**2  # sides and weights are whole multiples of 1/FULL
RANGE = 2 * GRID  # adding a record changes a score by an amount in [−1, 1], so two columns' changes differ by at most 2


def plan_choice_by_sides(names: Sequence[str], epsilon: float, left_after: float = 0.0) -> list[Pick]:
    """Picks that cost `epsilon` of bounded range each."""
    return [EarlyPick.of_range(name, RANGE, epsilon, left_after, GRID, purpose="choice") for name in names]


def sides_of(values: Float64, centre: float) -> Int16:
    """±FULL above or below the centre, 0 at it."""
    return ((values > centre).astype(np.int16) - (values < centre)) * np.int16(FULL)


def sides_of_level(values: Float64, share: float) -> Int16:
    """How far a 0/1 column lies from the part of the records that has a 1, so that sides add up to about 0."""
    sides = np.empty(values.size, np.int16)
    winsorise(values, share, max(share, 1 - share), sides)
    return sides


def side_weights(residuals: Float64, clip: float, balance: float) -> Int16:
    """clip(r, ±clip)/clip less its mean `balance`, brought back to [−1, 1]. What is no number counts for nothing."""
    cut = (np.clip(residuals, -clip, clip) / clip - balance) / (1 + abs(balance))
    whole = np.rint(np.where(cut == cut, cut, 0.0) * FULL)
    return np.clip(whole, -FULL, FULL).astype(np.int16)


def side_sum(sides: Int16, weights: Int16) -> int:
    """Σ side·weight over a block of at most 2²² records: integers that float64 holds exactly."""
    return int(sides.astype(np.float64) @ weights.astype(np.float64))


def choose_by_sides(account: Account, events: Sequence[Pick], sums: Int64) -> list[int]:
    """The places of len(events) columns, in the order chosen."""
    return peel(account, events, np.abs(sums))
