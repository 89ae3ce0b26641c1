"""The spread of a column without bounds: a noisy histogram of distances from its centre, and how to read it.

Proof: docs/proofs/spread.md. Exact check: tests/mechanisms/test_spread.py.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Unpack

import numpy as np

from privreg._types import Float64
from privreg.kernels.totals import Values, total_of
from privreg.kernels.values import BINS, FIRST_BIN, Distances
from privreg.mechanisms.median import far_from_middle
from privreg.privacy.account import Account
from privreg.privacy.events import About, Gaussian

GRID = 2**28  # grid steps for one record

_EDGES = 2.0 ** (np.arange(FIRST_BIN, FIRST_BIN + BINS + 1) / 2)
_MIDDLES = 2.0 ** ((np.arange(FIRST_BIN, FIRST_BIN + BINS) + 0.5) / 2)

# Measured: benchmarks/flagship.py tries others (results/flagship/ablations.csv).
WINDOWS = (1, 2, 4, 6)  # bins looked at together
SURE = 5.5  # standard deviations of noise from which every window is kept
PLAUSIBLE = 4.5  # from which the best window is believed, if there is no such window
LIKELY = 1.5  # and from which a single bin at its edge is
TOGETHER = (8, 3.0)  # beyond the last bin that is kept, so many more are if together they stand out by so much
FEWEST_POOLED = 6  # columns that are read together


@dataclass(frozen=True)
class Spread:
    """How a column is winsorised and scaled: clip(x − centre, ±limit)/unit."""

    limit: float
    unit: float
    sure: bool  # whether anything stood out from the noise
    weights: Float64  # part of the records that is taken to be in each bin
    counts: Float64  # noisy numbers of records in each bin
    noise: float  # standard deviation of each

    @property
    def mean_square(self) -> float:
        """Of the winsorised and scaled column."""
        return float((self.weights * np.minimum(_MIDDLES, self.limit) ** 2).sum()) / self.unit**2

    def distance(self, level: float) -> float:
        """The quantile of the distance from the centre, not beyond the limit; log-linear inside a bin."""
        beyond = np.append(np.cumsum(self.weights[::-1])[::-1][1:], 0.0)
        held = np.flatnonzero(self.weights > 0)
        if not held.size:
            return self.limit
        enough = held[beyond[held] <= 1 - level]
        at = int(enough[0] if enough.size else held[-1])
        part = 1 - min(max((1 - level - beyond[at]) / self.weights[at], 0.0), 1.0)
        return min(self.limit, float(_EDGES[at] * (_EDGES[at + 1] / _EDGES[at]) ** part))

    @property
    def mean_distance(self) -> float:
        """Of the records that are in a bin."""
        return float(self.weights @ _MIDDLES) / max(float(self.weights.sum()), 1e-300)


def known_spread(distance: float, limit: float, unit: float) -> Spread:
    """A spread that was found without a histogram: all records are taken to lie at one distance."""
    weights = np.zeros(BINS)
    weights[min(max(int(np.searchsorted(_EDGES, distance, side="right")) - 1, 0), BINS - 1)] = 1.0
    return Spread(limit, unit, True, weights, weights, 0.0)


def plan_histogram(name: str, mu_squared: float, **about: Unpack[About]) -> Gaussian:
    """One record is in one bin at most."""
    return Gaussian.costing(name, mu_squared, GRID, BINS, **about)


def noisy_histogram(account: Account, event: Gaussian, values: Values, centre: float) -> Float64:
    """How many records lie at each distance from the centre, plus noise. Those in its own grid cell are not counted."""
    return account.gaussian(event, total_of(values, Distances(centre)) * GRID) / GRID


def plan_shared_histogram(name: str, mu_squared: float, **about: Unpack[About]) -> Gaussian:
    """One record has `per_record` values, each in one bin or in the last one, and each counts for an equal part."""
    return Gaussian.costing(name, mu_squared, GRID, BINS + 1, **about)


def noisy_shared_histogram(
    account: Account, event: Gaussian, values: Values, centre: float, per_record: int
) -> tuple[Float64, float]:
    """The same for columns that are taken together, in units of records; and how many lie in the centre's own cell."""
    counts = total_of(values, Distances(centre))
    step = GRID // per_record
    noisy = account.gaussian(event, np.append(counts, values.size - counts.sum()) * step) / (step * per_record)
    return noisy[:-1], float(noisy[-1])


def narrow_part(histogram: Float64, width: int) -> float:
    """The most records in so many neighbouring bins."""
    sums = np.append(0.0, np.cumsum(histogram))
    return float((sums[width:] - sums[:-width]).max())


def read_spread(histogram: Float64, sigma: float, records: float, most: float) -> Spread:
    """Post-processing that never fails: the largest limit that is at most `most` times the winsorised deviation."""
    kept, sure = _kept_bins(histogram, sigma)
    weights = np.where(kept, np.maximum(histogram, 0), 0)
    weights = weights / max(records, weights.sum())
    bins = np.flatnonzero(kept)
    limits = _EDGES[bins + 1]
    variances = (weights * np.minimum(_MIDDLES, limits[:, None]) ** 2).sum(axis=1)
    fitting = np.flatnonzero(limits**2 <= most**2 * variances)
    at = fitting[-1] if fitting.size else 0
    unit = max(sqrt(variances[at]), float(limits[at]) / most)
    return Spread(float(limits[at]), unit, sure, weights, histogram, sigma)


def pooled(histograms: Float64, sigma: float) -> tuple[Float64, float]:
    """Histograms of several columns, each drawn towards their mean by how much of their variety in a bin is noise.

    With them the noise that is left, on the average over records.
    """
    if len(histograms) < FEWEST_POOLED:
        return histograms, sigma
    mean, variance = histograms.mean(axis=0), histograms.var(axis=0, ddof=1)
    own = np.maximum(0.0, 1 - sigma**2 / np.maximum(variance, 1e-300))
    left = np.average(own**2, weights=np.maximum(mean, 1e-9)) + 1 / len(histograms)
    return own * histograms + (1 - own) * mean, sigma * min(sqrt(left), 1.0)


def read_both(first: Spread, second: Spread, records: float, most: float) -> Spread:
    """What two histograms of the same distances tell together: the less noise one has, the more it counts."""
    trust = second.noise**2 / (first.noise**2 + second.noise**2)
    histogram = trust * first.counts + (1 - trust) * second.counts
    return read_spread(histogram, sqrt(trust) * first.noise, records, most)


def _kept_bins(histogram: Float64, sigma: float) -> tuple[np.ndarray, bool]:
    """Which bins are taken to hold records, and whether any window stood out."""
    kept = np.zeros(BINS, bool)
    likely = np.append(histogram > LIKELY * sigma, False)
    sums = np.append(0.0, np.cumsum(histogram))
    best, best_score = slice(0, 1), -np.inf
    for width in WINDOWS:
        window = (sums[width:] - sums[:-width]) / (sqrt(width) * sigma)
        for first in np.flatnonzero(window > SURE).tolist():
            inside = np.flatnonzero(likely[first : first + width])
            if inside.size:
                low, high = first + int(inside[0]), first + int(inside[-1]) + 1
                while low > 0 and likely[low - 1]:
                    low -= 1
                while likely[high]:
                    high += 1
                kept[low:high] = True
        exponents = (np.arange(window.size) + FIRST_BIN + width / 2) / 2
        score = np.maximum(window, 0) ** 2 / 2 - np.log1p(far_from_middle(exponents))
        if score.max() > best_score:
            first = int(score.argmax())
            best, best_score = slice(first, first + width), float(score.max())
    if kept.any():
        last = int(np.flatnonzero(kept)[-1])
        kept[last : _further(histogram, sigma, last + 1)] = True
        return kept, True
    kept[best] = True
    return kept, bool(histogram[best].sum() > PLAUSIBLE * sigma * sqrt(best.stop - best.start))


def _further(histogram: Float64, sigma: float, end: int) -> int:
    """Where a long tail ends whose bins stand out only together: from `end` on, or there if there is none."""
    most, deviations = TOGETHER
    while (ahead := histogram[end : end + most]).size:
        together = np.cumsum(ahead) / (sigma * np.sqrt(np.arange(1, ahead.size + 1)))
        far = np.flatnonzero((together > deviations) & (ahead > sigma / 2))
        if not far.size:
            break
        end += int(far[-1]) + 1
    return end
