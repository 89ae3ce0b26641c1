"""Tools for exact checks: exhaustive small data sets, columns in parts, and laws compared with samples."""

from itertools import combinations_with_replacement

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from privreg.engines.base import added

# A chi-square test at this level fails by chance once in ten million runs; the whole suite holds about twenty of them.
LEVEL = 1e-7
RARE = 20  # draws, below which chi-square is too rough


def all_data_sets(points, most):
    """Every data set of up to `most` records over `points` points, as counts (data sets × points)."""
    rows = [
        np.bincount(chosen, minlength=points) if chosen else np.zeros(points, int)
        for size in range(most + 1)
        for chosen in combinations_with_replacement(range(points), size)
    ]
    return np.array(rows, np.int64)


class Parts:
    """A column that comes in parts, cut at these places."""

    def __init__(self, values, cuts):
        whole = np.array(values, float)
        self.size, self._parts = whole.size, np.split(whole, sorted(cuts))

    def total(self, task):
        return added(task(part) for part in self._parts)


def softmax(scores, scale):
    weights = np.exp((scores - scores.max(axis=-1, keepdims=True)) / scale)
    return weights / weights.sum(axis=-1, keepdims=True)


def log_softmax(scores, scale):
    z = (scores - scores.max(axis=-1, keepdims=True)) / scale
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def worst_moves(points, scores_of, scale, most):
    """Over every data set of up to `most` records over `points`, and every record added to it: smallest and largest
    change of a score, and largest spread of the log-ratios of a pick with noise of this scale."""
    scores = {
        chosen: scores_of([points[i] for i in chosen])
        for size in range(most + 2)
        for chosen in combinations_with_replacement(range(len(points)), size)
    }
    low, high, spread = 0, 0, 0.0
    for chosen, before in scores.items():
        if len(chosen) > most:
            continue
        for record in range(len(points)):
            after = scores[tuple(sorted((*chosen, record)))]
            change = after - before
            low, high = min(low, change.min()), max(high, change.max())
            spread = max(spread, np.ptp(log_softmax(after, scale) - log_softmax(before, scale)))
    return low, high, spread


def assert_law(counts, probabilities):
    """Pearson's chi-square of observed counts against exact probabilities; rare outcomes are pooled.

    If the pool is rare, too, it has an exact test of its own: two draws where a tenth is expected are nothing unusual,
    but would be six deviations.
    """
    counts, probabilities = np.ravel(counts), np.ravel(probabilities)
    assert abs(probabilities.sum() - 1) < 1e-9
    total = counts.sum()
    expected = probabilities * total
    rare = expected < RARE
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < RARE:
        assert stats.binom.sf(counts[-1] - 1, total, expected[-1] / total) > LEVEL
        counts, expected = counts[:-1], expected[:-1] * (counts[:-1].sum() / expected[:-1].sum())
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, max(len(counts) - 1, 1)) > LEVEL


def gaussian_delta(mu, epsilon):
    """The curve of μ-GDP, for ε of either sign."""
    return np.exp(log_ndtr(-epsilon / mu + mu / 2)) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2))
