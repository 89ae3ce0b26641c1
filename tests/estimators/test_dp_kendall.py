"""DPKendall's output law in closed form, for every small data set over tie-rich domains and every neighbour.

The law is a product of softmaxes of the released scores. Two properties are checked with the production scores and
scales: the log-ratio of whole selections stays within ε, and in each round the spread (largest minus smallest) of the
log-ratios over outcomes stays within that round's ε and comes close to it. Variants with known mistakes must fail.
"""

from copy import copy
from itertools import permutations, product

import numpy as np
import pytest

from exact import all_data_sets, assert_law, log_softmax
from privreg import DPKendall
from privreg.estimators import base
from privreg.estimators.dp_kendall import ranges
from privreg.mechanisms.screening import GRID, round_scores
from privreg.privacy.accountant import Budget, even_picks
from privreg.privacy.noise import SeededNoise

EPSILON = 1.0

# Columns of each domain: the features, then the label.
GRID_OF_THREE = np.array(list(product(range(3), repeat=3)))
# a and s rise together, b and y rise together, and one record (0, 2) × (2, 0) contradicts both pairs: with s chosen,
# the scores of a and b move in opposite directions by nearly the most that is possible.
RISING_A_S = [(1, 0), (2, 1), (0, 2), (1, 1), (0, 0)]
RISING_B_Y = [(0, 1), (1, 2), (2, 0), (1, 1), (0, 0)]
THREE = np.array([(s, a, b, y) for (a, s), (b, y) in product(RISING_A_S, RISING_B_Y)])
FOUR = THREE[:, [0, 0, 1, 2, 3]]  # s twice: a redundancy that is not averaged counts it double

DOMAINS = {"two features": (GRID_OF_THREE, 2), "three features": (THREE, 3), "four features": (FOUR, 3)}


class Statistics:
    """C − D between all columns for many data sets at once, and the same after adding one record to each."""

    def __init__(self, points, counts):
        self.n = counts.sum(axis=1)
        self.columns = points.shape[1]
        self.pairs = np.zeros((self.columns, self.columns, len(counts)), np.int64)
        self.strict = np.zeros_like(
            self.pairs
        )  # pairs tied in neither column; on the diagonal, pairs not tied: for τ-b
        self.met = {}
        exact = counts.astype(np.float64)  # small integers: exact, and much faster to multiply
        signs = [np.sign(np.subtract.outer(points[:, c], points[:, c])) * 1.0 for c in range(self.columns)]
        for u in range(self.columns):
            for v in range(u + 1):
                for target, kernel in (
                    (self.pairs, signs[u] * signs[v]),
                    (self.strict, np.abs(signs[u] * signs[v])),
                ):
                    met = exact @ kernel  # what a further record at each point would add
                    target[u, v] = target[v, u] = (met * exact).sum(axis=1) / 2
                    self.met[id(target), u, v] = met.astype(np.int8)

    def plus(self, record):
        more = copy(self)
        more.n = self.n + 1
        more.pairs, more.strict = self.pairs.copy(), self.strict.copy()
        for u in range(self.columns):
            for v in range(u + 1):
                for old, new in ((self.pairs, more.pairs), (self.strict, more.strict)):
                    new[u, v] = new[v, u] = old[u, v] + self.met[id(old), u, v][:, record]
        return more


def correct(stats, left, chosen):
    """The production scores."""
    label, redundancy = _sums(stats, left, chosen)
    return round_scores(label, redundancy, len(chosen), stats.n[:, None])


def summed_redundancy(stats, left, chosen):
    """Broken: the redundancy is a sum instead of a mean."""
    label, redundancy = _sums(stats, left, chosen)
    return round_scores(label, redundancy * max(len(chosen), 1), len(chosen), stats.n[:, None])


def tau_b(stats, left, chosen):
    """Broken: τ-b, scaled by n/2 like the rest; 0 where it is undefined."""

    def score(u, v):
        norm = np.sqrt(stats.strict[u, u] * stats.strict[v, v])
        return np.abs(stats.pairs[u, v]) / np.maximum(norm, 1e-9) * stats.n / 2

    y = stats.columns - 1
    columns = [score(j, y) - (np.mean([score(j, c) for c in chosen], axis=0) if chosen else 0) for j in left]
    return np.floor(GRID * np.array(columns).T).astype(np.int64)


def _sums(stats, left, chosen):
    y = stats.columns - 1
    label = np.abs(stats.pairs[left, y]).T
    redundancy = sum((np.abs(stats.pairs[left, c]).T for c in chosen), np.zeros_like(label))
    return label, redundancy


def production_scales(k):
    return [step.scale for step in even_picks([str(t) for t in range(k)], ranges(k), Budget(EPSILON), GRID)]


def half_range(k):
    """Broken: noise for half the range."""
    return [scale / 2 for scale in production_scales(k)]


def worst_case(domain, scores=correct, scales=production_scales, most=5):
    """Largest |log-ratio| of whole selections, and largest spread of log-ratios in each round, in units of its ε."""
    points, k = DOMAINS[domain]
    features = points.shape[1] - 1
    counts = all_data_sets(len(points), most)
    before = Statistics(points, counts)
    noise = scales(k)
    whole, spreads, earlier = 0.0, np.zeros(k), {}
    for record in range(len(points)):
        after = before.plus(record)
        total = {(): np.zeros(len(counts))}
        for t in range(k):
            longer = {}
            for chosen, so_far in total.items():
                left = [j for j in range(features) if j not in chosen]
                if (chosen, t) not in earlier:
                    earlier[chosen, t] = log_softmax(scores(before, left, chosen), noise[t])
                ratio = log_softmax(scores(after, left, chosen), noise[t]) - earlier[chosen, t]
                spread = np.ptp(ratio, axis=1).max() if len(left) > 1 else 0.0
                spreads[t] = max(spreads[t], spread / (EPSILON / k))
                for at, j in enumerate(left):
                    longer[(*chosen, j)] = so_far + ratio[:, at]
            total = longer
        whole = max(whole, max(np.abs(ratio).max() for ratio in total.values()))
    return whole / EPSILON, spreads


ROUNDING = 1e-9  # of the logarithms and exponentials in this test


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_small_data_set_and_neighbour(domain):
    whole, spreads = worst_case(domain)
    assert whole <= 1 + ROUNDING
    assert (spreads <= 1 + ROUNDING).all()
    with_choice = [t for t in range(len(spreads)) if DOMAINS[domain][0].shape[1] - 1 - t > 1]
    assert (spreads[with_choice] > 0.8).all(), "the check is slack"


@pytest.mark.parametrize(
    ("domain", "mistake"),
    [
        ("two features", {"scores": tau_b}),
        ("two features", {"scales": half_range}),
        ("three features", {"scales": half_range}),
        ("four features", {"scores": summed_redundancy}),
    ],
)
def test_the_same_check_rejects_known_mistakes(domain, mistake):
    _, spreads = worst_case(domain, **mistake, most=4)
    assert spreads.max() > 1.2


class Recorder(SeededNoise):
    """Keeps the scores and scales that the estimator sends to the noise, and picks as told."""

    def __init__(self, picks):
        super().__init__(np.random.default_rng(0))
        self.picks, self.calls = list(picks), []

    def pick(self, scores, scale):
        self.calls.append((scores.tolist(), scale))
        return self.picks.pop(0)


def test_the_estimator_sends_exactly_these_scores_to_the_noise(monkeypatch, rng):
    """Ties the closed form above to what `fit` really does, on random data sets of the same domain."""
    for _ in range(60):
        counts = np.zeros((1, len(FOUR)), np.int64)
        for point in rng.integers(len(FOUR), size=rng.integers(0, 9)):
            counts[0, point] += 1
        records = rng.permutation(np.repeat(FOUR, counts[0], axis=0)).reshape(-1, 5)
        picks = [int(rng.integers(4)), int(rng.integers(3)), int(rng.integers(2))]
        recorder = Recorder(picks)
        monkeypatch.setattr(base, "noise_for", lambda _, recorder=recorder: recorder)
        selector = DPKendall(k=3, epsilon=EPSILON).fit(records[:, :4], records[:, 4])

        stats, left, chosen = Statistics(FOUR, counts), [0, 1, 2, 3], []
        for t, pick in enumerate(picks):
            assert recorder.calls[t] == (correct(stats, left, chosen)[0].tolist(), production_scales(3)[t])
            chosen.append(left.pop(pick))
        assert selector.ranking_.tolist() == chosen


def test_the_sampler_follows_the_closed_form_law():
    """2000 private fits; chi-square against the product of softmaxes (level 1e-7)."""
    records = np.array(
        [(0, 2, 1, 0), (1, 1, 0, 1), (2, 0, 1, 2), (1, 2, 2, 2), (0, 0, 1, 1), (2, 1, 0, 0), (0, 1, 2, 2)]
    )
    X, y = records[:, :3], records[:, 3]
    outcomes = list(permutations(range(3), 2))
    counts = np.zeros(len(outcomes))
    selector = DPKendall(k=2, epsilon=8.0, n_jobs=1)
    for _ in range(2000):
        counts[outcomes.index(tuple(selector.fit(X, y).ranking_))] += 1
    assert selector.receipt_.private

    stats = Statistics(records, np.ones((1, len(records)), np.int64))
    first, second = (8 * step for step in (GRID * 2.5 / 4 / 8, GRID * 5 / 4 / 8))
    law = []
    for a, b in outcomes:
        left = [j for j in range(3) if j != a]
        log_first = log_softmax(correct(stats, [0, 1, 2], []), first)[0, a]
        law.append(np.exp(log_first + log_softmax(correct(stats, left, [a]), second)[0, left.index(b)]))
    assert max(law) > 2 * min(law), "the law must not be flat, or this says little"
    assert_law(counts, np.array(law))
