"""How long residuals are, times their rows: a noisy histogram, and what it says of their tail.

A gradient is a sum of vectors u·r. Where these are clipped decides between noise, which grows with the clip, and bias,
which is what is cut off. Proof: docs/proofs/lengths.md. Exact check: tests/mechanisms/test_lengths.py.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from privreg._types import Float64, Int64
from privreg.privacy.account import Account
from privreg.privacy.events import Gaussian

GRID = 2**28  # grid steps for one record
EDGES = 2.0 ** np.arange(-6, 5)  # of the bins, in units of a public length; what is longer is in the last bin
BINS = EDGES.size + 1

# How a tail is read. Calibrated with results/coverage: docs/uncertainty.md says how.
TAIL = 0.08  # part of the records that is taken to be the tail, at most
MISFIT = 0.2  # relative error of a Pareto law in a bin
SLOPES = np.exp(np.linspace(log(1.15), log(7.0), 28))  # exponents that the tail may have
USUAL, VARIETY = 2.5, 0.4  # median of the exponents that are met, and standard deviation of their logarithm
LONGEST = 1.5  # times the last edge: where the tail ends


def plan_lengths(name: str, mu_squared: float) -> Gaussian:
    """One record is in one bin."""
    return Gaussian.costing(name, mu_squared, GRID, BINS, purpose="coefficients")


def length_counts(lengths: Float64, unit: float) -> Int64:
    """How many lengths are in each bin; one that is no number is in the first."""
    finite = np.where(lengths == lengths, lengths, 0.0)
    return np.bincount(np.searchsorted(EDGES * unit, finite, side="left"), minlength=BINS)


def noisy_lengths(account: Account, event: Gaussian, counts: Int64, unit: float, records: float) -> "Lengths":
    """The histogram with noise, ready to be read."""
    noisy = account.gaussian(event, counts * GRID) / GRID
    return Lengths(np.asarray(noisy, np.float64), event.scale / event.grid, unit, records)


@dataclass(frozen=True)
class Lengths:
    """A noisy histogram of lengths."""

    counts: Float64
    noise: float  # standard deviation of each count
    unit: float
    records: float  # about how many there are

    def quantile(self, level: float) -> float:
        """Log-linear inside a bin; not beyond the last edge, nor below half the first."""
        held = np.cumsum(np.maximum(self.counts, 0.0))
        parts = held / max(held[-1], 1e-300)
        at = min(int(np.searchsorted(parts, level)), BINS - 2)
        before = parts[at - 1] if at else 0.0
        inside = (level - before) / max(parts[at] - before, 1e-9)
        return float(self.unit * EDGES[at] * 2.0 ** (min(max(inside, 0.0), 1.0) - 1))

    def excess(self, clips: Float64) -> Float64:
        """Σ (length − clip)⁺ over the records, for each clip: the root of its mean square, given the histogram.

        Beyond a point that few records pass the tail is taken to follow a Pareto law. Its exponent is not known: each
        counts by how well it fits the histogram, and by how often it is met.
        """
        tail = self._tail
        beyond = np.maximum(clips / tail.start, 1.0)
        end = LONGEST * self.unit * EDGES[-1] / tail.start
        slopes = tail.slopes[:, None]
        cut = np.maximum(beyond ** (1 - slopes) - end ** (1 - slopes), 0.0) / (slopes - 1)
        each = tail.start * (np.maximum(1 - clips / tail.start, 0.0) + cut)
        return np.asarray(np.sqrt((tail.weights[:, None] * tail.squares[:, None] * each**2).sum(axis=0)))

    @property
    def mean_square(self) -> float:
        """Of a length, with the tail as above."""
        tail = self._tail
        end, slopes = LONGEST * self.unit * EDGES[-1] / tail.start, tail.slopes
        power = np.where(np.abs(slopes - 2) < 0.05, 2.05, slopes)  # no exponent is at the pole
        each = 1 + 2 * (1 - end ** (2 - power)) / (power - 2)
        beyond = float((tail.weights * tail.counts * each).sum()) * tail.start**2
        middles = self.unit * np.append(0.4 * EDGES[0], EDGES[:-1] * sqrt(2))[: tail.at + 1]
        return (float((np.maximum(self.counts[: tail.at + 1], 0.0) * middles**2).sum()) + beyond) / self.records

    @property
    def _tail(self) -> "_Tail":
        beyond = np.maximum(np.cumsum(self.counts[::-1])[::-1][1:], 0.0)  # of each edge
        falling = np.maximum.accumulate(beyond[::-1])[::-1]
        few = np.flatnonzero(falling <= TAIL * self.records)
        at = int(few[0]) if few.size else EDGES.size - 1
        seen = self.counts[at + 1 :]
        steps = (EDGES[at:] / EDGES[at]) ** -SLOPES[:, None]
        parts = np.column_stack([steps[:, :-1] - steps[:, 1:], steps[:, -1]])
        errors = np.sqrt(self.noise**2 + (MISFIT * np.maximum(seen, 0.0)) ** 2)
        known = ((parts / errors) ** 2).sum(axis=1)
        counts = np.maximum((parts / errors**2) @ seen / known, self.noise)
        misses = (((seen - counts[:, None] * parts) / errors) ** 2).sum(axis=1)
        likely = -(misses + np.log(known) + ((np.log(SLOPES) - log(USUAL)) / VARIETY) ** 2) / 2
        weights = np.exp(likely - likely.max())
        squares = counts**2 + np.minimum(1 / np.sqrt(known), counts) ** 2
        return _Tail(at, float(self.unit * EDGES[at]), SLOPES, weights / weights.sum(), counts, squares)


@dataclass(frozen=True)
class _Tail:
    """Pareto laws from `start` on: how likely each is, and how many records it has there."""

    at: int  # the edge where it starts
    start: float
    slopes: Float64
    weights: Float64
    counts: Float64
    squares: Float64  # mean squares of the counts
