"""A deep point among many: approximate Tukey depth, a test for stability, and a draw that prefers depth.

Proof: docs/proofs/tukey.md. Exact check: tests/mechanisms/test_depth.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, expm1, floor, log

import numpy as np

from privreg._types import Float64, Int64
from privreg.errors import BudgetError
from privreg.kernels.volumes import ADD_EXCESS, GRID, NOTHING, WIDTH_ERROR, log_volumes, log_weights
from privreg.privacy.account import Account
from privreg.privacy.accountant import scale_for
from privreg.privacy.events import ProposeTestRelease

MOST_DIMENSIONS = 2**14  # more could overflow the logarithm of a volume
STEEPEST = 64  # of rates: beyond it the draw is as good as deterministic, and integers would overflow
LATTICE = 2**1074  # every float64 is a whole multiple of 1/LATTICE


@dataclass(frozen=True)
class Calibration:
    """Which inequality makes a set of points safe, and what the draw costs.

    The set is safe at distance h if e^(lead·η)·V(t − outer − h)/u(t + inner + h) ≤ δ/e^(slack + excess·η), where V(p)
    is the volume of depth ≥ p and u(p) the integral of e^(η·(depth − p)) over it.
    """

    name: str
    unit: str
    depth: Fraction  # t as a part of the number of points: the draw is confined to points of at least this depth
    test_share: Fraction  # of ε
    steps: int  # the draw costs steps·η
    outer: int
    inner: int
    lead: int
    slack: float = 0.0
    excess: int = 0

    def t(self, points: int) -> int:
        return int(points * self.depth)


# One record replaces one model. Depth and share were chosen by measurement: benchmarks/tukey_groups.py.
STRICT = Calibration("strict", "one record", Fraction(3, 20), Fraction(3, 10), steps=2, outer=2, inner=1, lead=1)
# The published method: its Lemma with δ/(8e^η) for δ, and a draw that costs η. The draw protects one model.
PAPER = Calibration(
    "paper",
    "one model in the draw and one record in other steps (no guarantee for one record overall)",
    Fraction(1, 4),
    Fraction(1, 2),
    steps=1,
    outer=1,
    inner=-1,
    lead=2,
    slack=log(8),
    excess=1,
)


def plan_draw(
    name: str, epsilon: Fraction, delta: float, dimension: int, calibration: Calibration
) -> ProposeTestRelease:
    """The test and draw that together cost at most `epsilon`."""
    if dimension > MOST_DIMENSIONS:
        raise BudgetError(
            f"the Tukey mechanism handles at most {MOST_DIMENSIONS - 1} features; select fewer columns first"
        )
    # Each weight of the draw is known up to a factor e^(±ξ), so each probability up to e^(±2ξ), on both data sets.
    rounding = 4 * (dimension * WIDTH_ERROR + 2 / GRID)
    scale = scale_for(1, epsilon * calibration.test_share)
    rest = epsilon - 1 / Fraction(scale) - Fraction(rounding)
    units = floor(rest * GRID / calibration.steps)
    if units < 1:
        raise BudgetError(
            f"epsilon={float(epsilon):.3g} is too small for the Tukey mechanism with {dimension - 1} features"
        )
    rate = min(units, STEEPEST * GRID) / GRID
    return ProposeTestRelease(name, scale, rate, calibration.steps, rounding, delta, purpose="draw")


def distance_to_unsafety(
    volumes: Int64, points: int, dimension: int, event: ProposeTestRelease, calibration: Calibration
) -> int:
    """The largest h at which the calibration's inequality holds, −1 if there is none. Moves by at most 1: exactly."""
    c, t, rate = calibration, calibration.t(points), _rate(event, points)
    weights = log_weights(volumes, rate, _growth(rate))
    # Everything the computed logarithms may be wrong by, on the safe side; public, and the same for all data sets.
    error = 2 * dimension * WIDTH_ERROR + (points + 4) * ADD_EXCESS + event.rounding + 8 / GRID
    margin = ceil(GRID * (c.lead * rate / GRID + c.excess * rate / GRID + c.slack - log(event.delta) + error))
    largest = min(t - c.outer - 1, volumes.size - 2 - t - c.inner)
    h = np.arange(max(largest + 1, 0))
    inner = weights[t + c.inner + h]
    safe = (inner > NOTHING // 2) & (volumes[t - c.outer - h] + margin <= inner)
    return int(safe.sum()) - 1  # a first stretch of h, because V grows and u falls with h


def should_pass(points: int, dimension: int, event: ProposeTestRelease, calibration: Calibration) -> bool:
    """Whether so many points, were they drawn from a heavy-tailed law, would pass the test nearly always. Public."""
    quantiles = np.tan(np.pi * ((np.arange(points) + 0.5) / points - 0.5))  # Cauchy's
    width = log_volumes(quantiles[None])
    volumes = np.where(width == NOTHING, NOTHING, dimension * width)
    return distance_to_unsafety(volumes, points, dimension, event, calibration) >= event.threshold + 3 * event.scale


def can_pass(points: int, event: ProposeTestRelease, calibration: Calibration) -> bool:
    """Whether any set of so many points has a distance that reaches the threshold. Public."""
    return calibration.t(points) - calibration.outer - 1 >= event.threshold


def draw_deep(account: Account, event: ProposeTestRelease, models: Float64, calibration: Calibration) -> Float64 | None:
    """A point of large approximate Tukey depth among the rows of `models`, or None if the test fails.

    e^(η·depth) on depth ≥ t is a sum of constants on the nested boxes of depth ≥ p: weight e^(ηt)·V(t) for the first
    and e^(ηp)(1 − e^(−η))·V(p) for each deeper one. So a box is picked with that weight and a point of it uniformly,
    which is the law of drawing the depth and then a point of exactly that depth.
    """
    points, dimension = models.shape
    t, rate = calibration.t(points), _rate(event, points)
    columns = np.sort(models.T, axis=1)
    volumes = log_volumes(columns)
    distance = distance_to_unsafety(volumes, points, dimension, event, calibration)

    depth = np.arange(max(t, 1), points // 2 + 1)
    depth = depth[volumes[depth] > NOTHING // 2]
    scores = volumes[depth] + np.where(depth == t, 0, rate * (depth - t - 1) + _growth(rate))

    def box(i: int) -> Sequence[tuple[int, int]]:
        p = int(depth[i])
        return [(_on_lattice(c[p - 1]), _on_lattice(c[points - p])) for c in columns]

    point = account.propose_test_release(event, distance, scores, float(GRID), box)
    return None if point is None else np.array([float(Fraction(x, LATTICE)) for x in point])


def _rate(event: ProposeTestRelease, points: int) -> int:
    """GRID·η. For astronomically many points less than planned, so that no sum overflows."""
    return min(int(event.rate * GRID), 2**60 // (points + 2))


def _growth(rate: int) -> int:
    """GRID·ln(e^η − 1)."""
    eta = rate / GRID
    return round(GRID * (log(expm1(eta)) if eta < 30 else eta + log(-expm1(-eta))))


def _on_lattice(value: float) -> int:
    numerator, denominator = float(value).as_integer_ratio()
    return numerator * (LATTICE // denominator)
