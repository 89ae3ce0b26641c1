"""Peel's law in closed form on every small score vector and neighbour, and its sampler against that law."""

from itertools import permutations, product

import numpy as np

from exact import assert_law, log_softmax
from privreg.estimators.sub_lasso import VOTE_RANGE
from privreg.mechanisms.peel import peel
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget, even_picks
from privreg.privacy.noise import OpenDPNoise


def log_law(scores, scales):
    """Log-probability of every ordered selection, for each row of scores."""
    law = {(): np.zeros(len(scores))}
    for scale in scales:
        longer = {}
        for chosen, so_far in law.items():
            left = [j for j in range(scores.shape[1]) if j not in chosen]
            step = log_softmax(scores[:, left], scale)
            longer |= {(*chosen, j): so_far + step[:, at] for at, j in enumerate(left)}
        law = longer
    return law


def test_every_small_vote_and_neighbour():
    """Counts up to 4 on four columns; a neighbour moves each by −1, 0 or 1. Within ε, and close to it."""
    epsilon, k = 1.0, 2
    scales = [s.scale for s in even_picks(["p"] * k, [VOTE_RANGE] * k, Budget(epsilon))]
    votes = np.array(list(product(range(5), repeat=4)))
    before = log_law(votes, scales)
    whole = spread = 0.0
    for change in product((-1, 0, 1), repeat=4):
        after = log_law(votes + np.array(change), scales)
        ratio = np.array([after[s] - before[s] for s in before])
        whole = max(whole, np.abs(ratio).max())
        first = log_softmax(votes + np.array(change), scales[0]) - log_softmax(votes, scales[0])
        spread = max(spread, np.ptp(first, axis=1).max())
    assert 0.6 * epsilon < whole <= epsilon + 1e-12
    assert 0.8 * epsilon / k < spread <= epsilon / k + 1e-12


def test_sampler_follows_the_law():
    """1500 draws: a correct sampler fails once in ten million runs, one at half or twice the scale passes never."""
    budget = Budget(3.0)
    steps = even_picks(["p"] * 3, [VOTE_RANGE] * 3, budget)
    scores = np.array([0, 2, 4, 1], np.int64)
    outcomes = list(permutations(range(4), 3))
    counts = np.zeros(len(outcomes))
    for _ in range(1500):
        counts[outcomes.index(tuple(peel(PlannedAccount(steps, budget, OpenDPNoise()), steps, scores)))] += 1
    law = log_law(scores[None], [s.scale for s in steps])
    assert_law(counts, np.exp(np.array([law[o][0] for o in outcomes])))
