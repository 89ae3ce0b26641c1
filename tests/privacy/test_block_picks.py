"""Picks among more candidates than fit in one list: in two stages, with the law of one."""

import mpmath
import numpy as np
import pytest

from exact import assert_law, log_softmax, softmax
from privreg.errors import BudgetError
from privreg.kernels.values import LARGEST
from privreg.mechanisms import median
from privreg.mechanisms.median import mass_at, noisy_median, plan_median, runs
from privreg.privacy.account import _BLOCK, AdaptiveAccount, block_scores
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Pick
from privreg.privacy.noise import OpenDPNoise, SeededNoise
from scripted import PickKeeper


@pytest.mark.parametrize("epsilon", [5.0, 0.1, 1e-4, 1e-6, 1e-8, median.SMALLEST_EPSILON])
def test_weights_are_known_to_their_allowance(epsilon, rng):
    """Rounded logarithms of masses and of block sums, against 40 digits: a quarter of the allowance is not used."""
    step = plan_median("m", epsilon)
    assert step.range - median.GRID >= 8  # the slack of the plan
    allowed = (step.range - median.GRID) / 8
    used = 0.0
    data = np.sort(rng.lognormal(sigma=3, size=700))
    keeper = PickKeeper()
    noisy_median(keeper, step, data)
    starts, utilities = runs(data, int(np.ceil(median.REACH * step.scale / median.GRID)))
    with mpmath.workdps(40):
        scale = mpmath.mpf(step.scale)
        for i in range(0, len(starts), 7):
            low, high = keeper.bounds(i)
            exact = int(utilities[i]) * (median.GRID // 2) + scale * mpmath.log(high - low)
            used = max(used, abs(int(keeper.scores[i]) - exact))
        scores = keeper.scores[: len(keeper.scores) // 37 * 37]
        blocks = np.arange(0, len(scores), 37)
        for got, block in zip(block_scores(scores, blocks, step.scale), scores.reshape(-1, 37), strict=True):
            top = int(block.max())
            total = mpmath.fsum(mpmath.exp((int(s) - top) / scale) for s in block)
            used = max(used, abs(int(got) - top - scale * mpmath.log(total)))
    assert 0.4 < used <= allowed * 0.75


def test_a_budget_that_scores_cannot_hold_is_refused(rng):
    """The last ε that is accepted leaves room in 64 bits, at both ends of the grid and in its middle."""
    with pytest.raises(BudgetError, match="raise epsilon"):
        plan_median("m", np.nextafter(median.SMALLEST_EPSILON, 0))
    step = plan_median("m", median.SMALLEST_EPSILON)
    least = 2 * -int(np.ceil(median.REACH * step.scale / median.GRID)) * (median.GRID // 2)
    most = step.scale * np.log(mass_at(LARGEST + 1))
    assert most - least < 2**62
    for data in (np.empty(0), np.full(5, 1e308), rng.normal(size=300)):
        keeper = PickKeeper()
        noisy_median(keeper, step, data)
        assert 0 <= keeper.scores.max() <= most + 1
        assert keeper.scores.min() >= least


def test_long_sums_of_weights(rng):
    """The longest blocks that the grid allows (√(4·LARGEST) runs), with weights of very different sizes."""
    size = int(np.sqrt(4 * LARGEST)) + 1
    scale = 2.0**50
    scores = np.rint(scale * np.concatenate([rng.uniform(-40, 0, size), np.zeros(size)])).astype(np.int64)
    got = block_scores(scores, np.array([0, size]), scale)
    with mpmath.workdps(40):
        for part, result in zip((scores[:size], scores[size:]), got, strict=True):
            exact = scale * mpmath.log(mpmath.fsum(mpmath.exp(int(s) / mpmath.mpf(scale)) for s in part))
            assert abs(int(result) - exact) <= 1 + scale * median._LOG_ERROR


class Chooser(SeededNoise):
    """Picks as told, and keeps what it was given."""

    def __init__(self, picks=()):
        super().__init__(np.random.default_rng(7))
        self.picks, self.calls = list(picks), []

    def pick(self, scores, scale):
        self.calls.append((scores.copy(), scale))
        return self.picks.pop(0)

    def uniform(self, low, high):
        return low


STEP = Pick("p", 1, 25.0)


ROOMY = Budget(5.0, 1e-6)


@pytest.mark.parametrize("size", [_BLOCK + 1, 300, 1000])
def test_two_stages_reach_every_candidate_once(size, rng):
    """The closed-form law of the two stages is the softmax up to the rounding of block scores."""
    scores = rng.integers(-200, 200, size)
    law, first = np.zeros(size), Chooser([0, 0])
    AdaptiveAccount(ROOMY, first).pick_within(STEP, scores, lambda i: (i, i + 1))
    blocks = first.calls[0][0]
    outer = softmax(blocks, STEP.scale)
    reached = []
    for b in range(len(blocks)):
        chooser = Chooser([b, 0])
        start = AdaptiveAccount(ROOMY, chooser).pick_within(STEP, scores, lambda i: (i, i + 1))
        (_, outer_scale), (inside, inner_scale) = chooser.calls
        assert outer_scale == inner_scale == STEP.scale
        np.testing.assert_array_equal(inside, scores[start : start + len(inside)])
        law[start : start + len(inside)] = outer[b] * softmax(inside, STEP.scale)
        reached += range(start, start + len(inside))
    assert reached == list(range(size))
    ratio = np.log(law) - log_softmax(scores, STEP.scale)
    assert np.ptp(ratio) <= 1 / STEP.scale + 1e-12  # half a grid step up, half a grid step down
    assert max(len(c) for c in (blocks, inside)) < 2 * np.sqrt(size) + 2


def test_short_lists_are_picked_from_at_once(rng):
    scores = rng.integers(-9, 9, _BLOCK)
    chooser = Chooser([5])
    assert AdaptiveAccount(ROOMY, chooser).pick_within(STEP, scores, lambda i: (10 * i, 10 * i + 10)) == 50
    np.testing.assert_array_equal(chooser.calls[0][0], scores)


@pytest.mark.parametrize(("noise", "draws"), [(SeededNoise(np.random.default_rng(3)), 8000), (OpenDPNoise(), 1500)])
def test_two_stages_follow_the_law(noise, draws, rng):
    """Chi-square at level 1e-7, candidates put together by tens."""
    scores = rng.integers(-60, 60, 400)
    counts = np.zeros(40)
    for _ in range(draws):
        counts[AdaptiveAccount(ROOMY, noise).pick_within(STEP, scores, lambda i: (i, i + 1)) // 10] += 1
    assert_law(counts, softmax(scores, STEP.scale).reshape(40, 10).sum(axis=1))
