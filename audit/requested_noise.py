"""Whether a step asked the noise for what it declares, and went on with what it got."""

from math import sqrt
from typing import Any

import numpy as np
from scipy.special import logsumexp

from audit.recording import Call
from privreg.privacy.account import _BLOCK
from privreg.privacy.events import (
    Gaussian,
    GaussianMoments,
    Laplace,
    LevelCounts,
    Pick,
    ProposeTestRelease,
    SampledPicks,
)


def wrong_noise(call: Call) -> str | None:
    """What is wrong between a step and the noise, if anything: kinds, scales, inputs and results."""
    step = call.step
    if isinstance(step, Pick):
        fine = _fine_pick_within(call, step) if isinstance(call.statistic, tuple) else _fine_plain(call, "pick")
    elif isinstance(step, SampledPicks):
        fine = _fine_sample(call, step) if isinstance(call.statistic, int) else _fine_plain(call, "pick")
    elif isinstance(step, Laplace):
        fine = _fine_plain(call, "laplace")
    elif isinstance(step, Gaussian):
        fine = _fine_plain(call, "gaussian") and call.statistic.size == step.coordinates
    elif isinstance(step, GaussianMoments):
        fine = _fine_moments(call, step)
    elif isinstance(step, LevelCounts):
        fine = _fine_levels(call, step)
    else:
        assert isinstance(step, ProposeTestRelease)
        fine = _fine_test(call, step)
    return None if fine else f"step {step.name!r} declares {step.parameters} but asks the noise for {_asked(call)}"


def _asked(call: Call) -> list[tuple[str, float]]:
    return [(draw.kind, draw.scale) for draw in call.draws]


def _fine_plain(call: Call, kind: str) -> bool:
    """One draw, on the statistic itself; its result is the output."""
    if _asked(call) != [(kind, call.step.parameters["scale"])]:
        return False
    (draw,) = call.draws
    return np.array_equal(draw.given, call.statistic) and np.array_equal(draw.result, call.returned)


def _fine_sample(call: Call, step: SampledPicks) -> bool:
    """One coin for each record, at the declared rate."""
    if _asked(call) != [("sample", step.kept)]:
        return False
    (draw,) = call.draws
    return draw.given == call.statistic == len(draw.result) and np.array_equal(draw.result, call.returned)


def _fine_moments(call: Call, step: GaussianMoments) -> bool:
    """Noise on the products above the diagonal, mirrored, on those on it, and on the gradient."""
    if _asked(call) != [("gaussian", scale) for scale in (step.off_scale, step.diagonal_scale, step.scale)]:
        return False
    products, gradient = call.statistic
    noisy, noisy_gradient = call.returned
    above = np.triu_indices(step.width, 1)
    given = [products[above], np.diagonal(products), gradient]
    got = [noisy[above], np.diagonal(noisy), noisy_gradient]
    fine = [np.array_equal(draw.given, part) for draw, part in zip(call.draws, given, strict=True)]
    fine += [np.array_equal(draw.result, part) for draw, part in zip(call.draws, got, strict=True)]
    return all(fine) and np.array_equal(noisy, noisy.T)


def _fine_levels(call: Call, step: LevelCounts) -> bool:
    """Noise on the candidates and on declared levels, and of the candidates those above the threshold."""
    counts, declared = (part.tolist() for part in call.statistic[:2])
    candidates = [i for i, count in enumerate(counts) if count >= step.least * step.grid]
    if _asked(call) != [("gaussian", step.scale)]:
        return False
    (draw,) = call.draws
    noisy = draw.result.tolist()
    passed = {i: value for i, value in zip(candidates, noisy, strict=False) if value > step.threshold}
    expected = [list(passed), list(passed.values()), noisy[len(candidates) :]]
    given = draw.given.tolist() == [counts[i] for i in candidates] + declared
    return given and [part.tolist() for part in call.returned] == expected


def _fine_test(call: Call, step: ProposeTestRelease) -> bool:
    distance, scores, grid, boxes = call.statistic
    if not call.draws:
        return False
    test, *rest = call.draws
    if (test.kind, test.scale, test.given) != ("laplace", step.scale, distance):
        return False
    if test.result < step.threshold or not boxes:
        return not rest and call.returned is None
    pick, *sides = rest or [test]
    if (pick.kind, pick.scale) != ("pick", grid) or not np.array_equal(pick.given, scores):
        return False
    drawn_from = [draw.given for draw in sides if draw.kind == "uniform"]
    return drawn_from == list(boxes[pick.result]) and call.returned == [draw.result for draw in sides]


def _fine_pick_within(call: Call, step: Pick) -> bool:
    """A pick, in two stages if there are many, then an integer of the stretch that was picked."""
    scores, bounds = call.statistic
    if not call.draws:
        return False
    *picks, last = call.draws
    if last.kind != "uniform" or last.result != call.returned:
        return False
    if [(p.kind, p.scale) for p in picks] != [("pick", step.scale)] * (1 if len(scores) <= _BLOCK else 2):
        return False
    first, end = 0, len(scores)
    if len(picks) == 2:
        size = max(int(sqrt(len(scores))), 1)
        blocks = [scores[a : a + size] for a in range(0, len(scores), size)]
        own = np.array([_log_sum(block, step.scale) for block in blocks])
        if own.shape != picks[0].given.shape or np.abs(own - picks[0].given).max() > 2:
            return False
        first = picks[0].result * size
        end = min(first + size, len(scores))
    return np.array_equal(picks[-1].given, scores[first:end]) and last.given == bounds[first + picks[-1].result]


def _log_sum(scores: Any, scale: float) -> float:
    """scale·ln Σ exp(score/scale), in grid steps."""
    highest = int(scores.max())
    return highest + float(scale * logsumexp((scores - highest) / scale))
