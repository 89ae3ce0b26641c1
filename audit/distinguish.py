"""How well two neighbouring tables can be told apart by what is released: scores of many runs, and the ε they prove.

A score is the logarithm of the ratio of an output's probabilities on the two tables, by the declared laws. It only
chooses which event to look at: how often that event happens is counted, so a bound holds whatever the noise really is.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np
from scipy.special import betaincinv, logsumexp

from audit.changes import passes
from audit.recording import Added, Call, Recording
from privreg._types import Float64, Int64
from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Event, Gaussian, GaussianMoments, Laplace, Pick, ProposeTestRelease
from privreg.privacy.noise import Noise, SeededNoise
from privreg.privacy.receipt import PLANNED, Composition, Receipt

NONE_ADDED = Added()
Pair = tuple[Call, Call]  # one step on both tables, after the same earlier outputs


class Free(Account):
    """The product's draws without a limit: an audit repeats a step as often as it likes."""

    def __init__(self, noise: Noise) -> None:
        super().__init__(Budget(1.0), noise)

    def _allow(self, step: Event) -> None:
        pass


# ---- what an output says about the table that it came from


def draw_scores(pair: Pair, side: int, runs: int, noise: Noise) -> Float64:
    """The log-ratio, first table over second, of each of so many outputs of a step on one of the tables.

    Gaussian noise of all runs is drawn in one go, and only for coordinates that differ between the tables: on the
    others the noise has the same law on both, and says nothing.
    """
    account, step = Free(noise), pair[side].step
    mine, one, two = (call.statistic for call in (pair[side], *pair))
    if isinstance(step, Pick) and isinstance(one, tuple):
        scores, bounds = mine
        drawn = [account.pick_within(step, scores, bounds.__getitem__) for _ in range(runs)]
        return _log_density(step, one, drawn) - _log_density(step, two, drawn)
    if isinstance(step, Pick):
        ratio = log_law(one, step.scale) - log_law(two, step.scale)
        return ratio[[account.pick(step, mine) for _ in range(runs)]]
    if isinstance(step, Laplace):
        outputs = np.array([account.laplace(step, mine) for _ in range(runs)])
        return np.asarray((np.abs(outputs - two) - np.abs(outputs - one)) / step.scale)
    if isinstance(step, Gaussian):
        return _draw_gaussians(account, step, mine, one, two, runs)
    if isinstance(step, GaussianMoments):
        return _draw_moments(Free(_Ahead(noise, runs)), step, mine, one, two, runs)
    return draw_tests(pair, side, runs, noise)[:, 1]


def log_law(scores: Int64, scale: float) -> Float64:
    """Logarithms of a pick's probabilities."""
    return np.asarray(scores / scale - logsumexp(scores / scale))


def _log_density(step: Pick, statistic: Any, outputs: list[int]) -> Float64:
    """Of integers, each from a stretch that was picked by its score."""
    scores, bounds = statistic
    starts = np.array([low for low, _ in bounds])
    density = log_law(scores, step.scale) - np.log([float(high - low) for low, high in bounds])
    return np.asarray(density[np.searchsorted(starts, outputs, side="right") - 1])


def _draw_gaussians(account: Account, step: Gaussian, mine: Int64, one: Int64, two: Int64, runs: int) -> Float64:
    at = np.flatnonzero(one != two)
    if not at.size:
        return np.zeros(runs)
    outputs = account.gaussian(replace(step, coordinates=runs * at.size), np.tile(mine[at], runs))
    return _gaussian_ratio(outputs.reshape(runs, -1), one[at], two[at], step.scale)


def _draw_moments(account: Account, step: GaussianMoments, mine: Any, one: Any, two: Any, runs: int) -> Float64:
    drawn = [account.gaussian_moments(step, *mine) for _ in range(runs)]
    products, gradients = (np.array(part) for part in zip(*drawn, strict=True))
    ratio = _gaussian_ratio(gradients, one[1], two[1], step.scale)
    for at, scale in (
        (np.triu_indices(step.width, 1), step.off_scale),
        (np.diag_indices(step.width), step.diagonal_scale),
    ):
        ratio += _gaussian_ratio(products[:, at[0], at[1]], one[0][at], two[0][at], scale)
    return ratio


def _gaussian_ratio(outputs: Any, one: Int64, two: Int64, scale: float) -> Float64:
    """(|z − b|² − |z − a|²)/2σ² for each row z."""
    change = (one - two).astype(np.float64)
    return np.asarray((outputs - one + change / 2) @ change / scale**2)


class _Ahead:
    """The same noise, but the Gaussian one of all runs is drawn in one go: calls of OpenDP are slower than draws."""

    def __init__(self, noise: Noise, runs: int) -> None:
        self._noise, self._runs, self.private = noise, runs, noise.private
        self._drawn: dict[tuple[bytes, float], Iterator[Int64]] = {}
        self.pick, self.laplace, self.uniform, self.groups = noise.pick, noise.laplace, noise.uniform, noise.groups
        self.sample, self.apart = noise.sample, noise.apart

    def gaussian(self, values: Int64, scale: float) -> Int64:
        key = (values.tobytes(), scale)
        if key not in self._drawn:
            self._drawn[key] = iter(self._noise.gaussian(np.tile(values, self._runs), scale).reshape(self._runs, -1))
        return next(self._drawn[key])


# ---- test and draw


def draw_tests(pair: Pair, side: int, runs: int, noise: Noise) -> Float64:
    """Two scores for each output of a propose-test-release: of the verdict alone, and of everything."""
    account, step = Free(noise), pair[side].step
    assert isinstance(step, ProposeTestRelease)
    distance, scores, grid, boxes = pair[side].statistic
    one, two = (_TestLaw(step, *call.statistic) for call in pair)
    result = np.empty((runs, 2))
    for i in range(runs):
        point = account.propose_test_release(step, distance, scores, grid, boxes.__getitem__)
        verdicts = [law.fails if point is None else law.passes for law in (one, two)]
        result[i] = _less(*verdicts), _less(*(v + law.at(point) for v, law in zip(verdicts, (one, two), strict=True)))
    return result


class _TestLaw:
    """Logarithms of the law of a propose-test-release: to fail, to pass, and the density of a point that is drawn."""

    def __init__(self, step: ProposeTestRelease, distance: int, scores: Int64, grid: float, boxes: list[Any]) -> None:
        chance = passes(step, distance)
        self.passes, self.fails = (log(chance), log(1 - chance)) if scores.size else (-inf, 0.0)
        # Boxes are nested: a point is in the first so many of them, and its density is the sum over those.
        volumes = np.array([sum(log(high - low) for low, high in box) for box in boxes])
        inside = np.logaddexp.accumulate(log_law(scores, grid) - volumes) if scores.size else np.empty(0)
        self._density = [-inf, *inside.tolist()]
        sides = list(zip(*boxes, strict=True))
        self._lows = [[low for low, _ in side] for side in sides]
        self._highs = [[high for _, high in reversed(side)] for side in sides]

    def at(self, point: list[int] | None) -> float:
        if point is None:
            return 0.0
        held = [
            min(bisect_right(lows, x), len(highs) - bisect_right(highs, x))
            for x, lows, highs in zip(point, self._lows, self._highs, strict=True)
        ]
        return float(self._density[min(held)])


def _less(one: float, two: float) -> float:
    return 0.0 if one == two else one - two


# ---- audits


@dataclass(frozen=True)
class Claim:
    """What an audit's steps, from the first that counts to the last, are said to cost together."""

    mechanism: str
    epsilon: float
    delta: float = 0.0
    first: int = 0


@dataclass(frozen=True)
class Audit:
    """Neighbours, claims, and a way to draw a score for each claim: `draw(side, runs, noise)`, runs × claims."""

    what: str
    claims: Sequence[Claim]
    draw: Callable[[int, int, Noise], Float64]
    one_in: int = 1  # of so many runs that are asked for, for what takes long


def replay(act: Callable[[Any], Any], one: Any, two: Any, added: Added = NONE_ADDED, seed: int = 0) -> list[Pair]:
    """The steps of `act` on one table, and on the other with the same outputs."""
    with Recording(seed).running() as first:
        act(one)
    with Recording(seed, first, added).running() as second:
        act(two)
    return list(zip(first.calls, second.calls, strict=True))


def along(what: str, pairs: list[Pair], claims: Sequence[Claim]) -> Audit:
    """An audit that draws all steps and adds up the scores of those that a claim is about."""

    def draw(side: int, runs: int, noise: Noise) -> Float64:
        total = np.zeros((runs, len(claims)))
        for i, pair in enumerate(pairs):
            about = [c for c, claim in enumerate(claims) if i >= claim.first]
            total[:, about] += draw_scores(pair, side, runs, noise)[:, None]
        return total

    return Audit(what, claims, draw)


def claims_for(
    name: str, steps: Sequence[Event], deltas: Sequence[float], composition: Composition = PLANNED
) -> list[Claim]:
    """What the receipt of these steps says at each δ."""
    receipts = [Receipt(tuple(steps), Budget(1e-9, delta), False, composition=composition) for delta in deltas]
    return [Claim(name, receipt.epsilon, delta) for receipt, delta in zip(receipts, deltas, strict=True)]


def calls_of(act: Callable[[Free, Any], Any], one: Any, two: Any) -> list[Pair]:
    """The steps of a mechanism, which is a function of an account and data."""
    return replay(lambda data: act(Free(SeededNoise(np.random.default_rng(0))), data), one, two)


def fits(model: Any, one: Float64, new: Sequence[float], seed: int = 0) -> list[Pair]:
    """The steps of a fit on a table, the label last, and on one with a new record after all others."""
    two = np.vstack([one, new])
    return replay(lambda table: model.fit(table[:, :-1], table[:, -1]), one, two, Added(len(one), 1), seed)


# ---- what the scores prove


def proved(pilot: list[Float64], scores: list[Float64], delta: float, confidence: float) -> float:
    """A lower bound on ε at this δ, from scores of runs on the first table and on the second.

    If a mechanism is (ε, δ)-DP, P(E) ≤ e^ε·Q(E) + δ for every event E. In either direction one event is looked at, the
    scores beyond a threshold, which is chosen on the pilot runs alone. P(E) is bounded from below and Q(E) from above
    by Clopper and Pearson. Those are four bounds, and each may be wrong with a quarter of what `confidence` leaves.
    """
    error = (1 - confidence) / 4
    best = 0.0
    for sign, one, two in ((1, 0, 1), (-1, 1, 0)):
        first, second = (np.sort(np.round(sign * pilot[i], 9)) for i in (one, two))
        threshold = _best_threshold(first, second, scores[0].size, delta, error)
        hits, others = (int((np.round(sign * scores[i], 9) >= threshold).sum()) for i in (one, two))
        best = max(best, float(epsilon_bound(hits, others, scores[0].size, delta, error)))
    return best


def epsilon_bound(hits: Any, others: Any, runs: int, delta: float, error: float) -> Any:
    """ln((p − δ)/q), at least 0: p is below the chance of hits and q above that of the others, but for `error`."""
    hits, others = np.asarray(hits, np.float64), np.asarray(others, np.float64)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), runs - hits + 1, error), 0.0)
    high = np.where(others < runs, betaincinv(others + 1, np.maximum(runs - others, 1e-9), 1 - error), 1.0)
    return np.log(np.maximum((low - delta) / high, 1.0))


def _best_threshold(first: Float64, second: Float64, runs: int, delta: float, error: float) -> float:
    """From which score on an event is likely to prove most in so many runs, by sorted scores of pilot runs."""
    levels = np.unique(np.concatenate([first, second])[:: max(first.size // 2000, 1)])
    share = [(s.size - np.searchsorted(s, levels) + 0.5) / (s.size + 1) for s in (first, second)]
    bounds = epsilon_bound(share[0] * runs, share[1] * runs, runs, delta, error)
    return float(levels[np.argmax(bounds)])
