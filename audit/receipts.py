"""A second opinion on a receipt: what its steps cost at least, in a case that could happen, without the accountant."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import comb, exp, expm1, log, log1p, pi, sqrt

from scipy.special import log_ndtr

from privreg.privacy.events import (
    EarlyPick,
    Event,
    Gaussian,
    GaussianMoments,
    Laplace,
    LevelCounts,
    Pick,
    ProposeTestRelease,
    SampledPicks,
)
from privreg.privacy.receipt import ADAPTIVE, ONE_PERSON, ONE_RECORD, Receipt

_MARGIN = 1e-6  # of floating point here
_PARTS = 1024  # in which the share of products is told
_LEANINGS = (0.5, 0.7, 0.9)  # how rare the outcome is that tells most


def wrong_receipt(receipt: Receipt, made: Sequence[Event], rows: int = 1) -> str | None:
    """What is wrong with the receipt of a seeded fit beside the steps that were made, if anything."""
    if _entries(made) != receipt.steps:
        return "the receipt does not list the steps that were made"
    if receipt.private:
        return "the receipt calls seeded noise private"
    if receipt.rows != rows or (rows > 1) != receipt.unit.startswith("one person"):
        return "the receipt is for another unit"
    epsilon, delta = receipt.epsilon, receipt.delta
    if epsilon > receipt.budget.epsilon or delta > receipt.budget.delta:
        return "the receipt's total is more than was asked for"
    if epsilon < sum(part.epsilon for part in receipt.parts):
        return "the receipt's total is less than that of its parts"
    found = (_too_small(part) for part in receipt.parts if part.own)
    return next((text for text in found if text), None)


def _entries(made: Sequence[Event]) -> tuple[Event, ...]:
    """Calls as a receipt lists them: a sample and the picks on it, no more than declared, are one step."""
    entries: list[Event] = []
    picks = 0
    for step in made:
        if picks and step == entries[-1]:
            picks -= 1
        else:
            entries.append(step)
            picks = step.picks if isinstance(step, SampledPicks) else 0
    return tuple(entries)


def _too_small(receipt: Receipt) -> str | None:
    """Whether the total of a part is less than its steps must cost, if all records of a unit do the same."""
    made, rows, epsilon, delta = receipt.own, receipt.rows, receipt.epsilon, receipt.delta
    if receipt.composition == ADAPTIVE:  # all in μ²
        mu = rows * sqrt(own_sum(made))
        return _compare(gaussian_delta(epsilon, mu), delta - sum(own_extra(s, rows) for s in made))
    draws = [s for s in made if isinstance(s, ProposeTestRelease)]
    rest = epsilon - rows * float(sum((own_draw(s, receipt.unit) for s in draws), Fraction()))
    left = delta - rows * sum(s.delta for s in draws) - sum(own_extra(s, rows) for s in made)
    pure = [rows * float(p) for s in made if (p := own_pure(s)) is not None]
    mu = rows * sqrt(sum(own_mu_squared(s) for s in made if own_pure(s) is None))
    if left <= 0 and (mu or sum(pure) > rest + _MARGIN * epsilon):
        return "the steps add up to more than the receipt's total"
    picks = Counter(float(rows * s.range / s.scale) for s in made if isinstance(s, Pick))
    counts = Counter(float(rows * s.sensitivity / s.scale) for s in made if isinstance(s, Laplace))
    sampled = [s for s in made if isinstance(s, SampledPicks)]
    least = max(least_delta(rest, picks, counts, mu, lean, sampled) for lean in _LEANINGS)
    return None if left <= 0 else _compare(least, left)


def own_sum(made: Sequence[Event]) -> float:
    """The μ² of steps in their order, and of what some of them say is left after them."""
    spent = most = 0.0
    for step in made:
        spent += own_mu_squared(step)
        most = max(most, spent + (step.left_after if isinstance(step, EarlyPick) else 0.0))
    return most


def _compare(least: float, delta: float) -> str | None:
    return None if least <= delta * (1 + _MARGIN) else f"the steps have delta {least:.3g} at the receipt's epsilon"


def own_pure(step: Event) -> Fraction | None:
    """ε of pure differential privacy."""
    if isinstance(step, Pick):
        return Fraction(step.range) / Fraction(step.scale)
    if isinstance(step, SampledPicks):
        return Fraction(_own_sampled(step))
    if isinstance(step, Laplace):
        return Fraction(step.sensitivity) / Fraction(step.scale)
    return None


def _own_sampled(step: SampledPicks) -> float:
    """What a rare outcome of all picks together, likelier with a record if it is in the sample, tells about it."""
    q, whole = step.kept / 2**32, step.picks * step.range / step.scale
    return log1p(q * expm1(whole)) if whole < 700 else whole + log(q)


def own_mu_squared(step: Event) -> float:
    """μ² of Gaussian differential privacy; for a pick that of the worst exponential mechanism of its range."""
    if isinstance(step, Gaussian):
        return float(step.sensitivity_squared) / step.scale**2
    if isinstance(step, GaussianMoments):
        return max(_own_moments(step, length) for length in (0.0, 0.5, 1.0))
    if isinstance(step, EarlyPick) and (step.range / step.scale) ** 2 <= min(1.0, 2 * step.left_after):
        return _own_early((step.range / step.scale) ** 2, step.left_after)
    if isinstance(step, Pick):
        return pi / 8 * (step.range / step.scale) ** 2
    if isinstance(step, LevelCounts):
        return step.columns * (step.grid / step.scale) ** 2
    if isinstance(step, SampledPicks):
        return pi / 8 * (2 * _own_sampled(step)) ** 2
    return 0.0


def _own_early(square: float, left: float) -> float:
    """μ² of a pick of ε² = `square` before so much noise: by the areas of the proof, v((1 + u)² − 1)(1 + η)."""
    return left * ((1 + square / (8 * left)) ** 2 - 1) * (1 + square / 16)


def _own_moments(step: GaussianMoments, length: float) -> float:
    """μ² for a row of this part of the full length, along an axis or between two, whose residual is at its limit."""
    fourth, whole = (length**2 * step.norm_squared) ** 2, float(step.norm_squared) ** 2
    products = fourth / min(step.diagonal_scale, step.off_scale * sqrt(2)) ** 2
    return products + (whole - step.products / _PARTS * fourth) / step.scale**2


def own_extra(step: Event, rows: int) -> float:
    """The chance that a value shows, in one of the columns, that is a candidate only because of the unit.

    Its records may all have the same value, or each one of its own.
    """
    if not isinstance(step, LevelCounts):
        return 0.0
    chances = []
    for records, values in ((step.least - 1 + rows, step.columns), (step.least, rows * step.columns)):
        needed = step.threshold + 1 - records * step.grid
        chances.append(-expm1(values * log1p(-exp(min(float(log_ndtr(-needed / step.scale)), -1e-9)))))
    return max(chances)


def own_draw(step: ProposeTestRelease, unit: str) -> Fraction:
    """ε of a test with noise of this scale and of a draw: one record moves some depths up and others down."""
    steps = 2 if unit == ONE_RECORD or unit.startswith(ONE_PERSON) else step.steps
    return 1 / Fraction(step.scale) + steps * Fraction(step.rate)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ of μ-GDP at ε: Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2)."""
    if mu == 0:
        return max(1 - exp(epsilon), 0.0) if epsilon < 0 else 0.0
    upper, lower = log_ndtr(-epsilon / mu + mu / 2), log_ndtr(-epsilon / mu - mu / 2)
    return float(exp(upper) - exp(epsilon + lower))


def least_delta(
    epsilon: float,
    picks: Counter[float],
    counts: Counter[float],
    mu: float,
    lean: float,
    sampled: Sequence[SampledPicks] = (),
) -> float:
    """δ at ε of a composition that can happen: every pick is between two, every count at its edge, all sums at theirs.

    A pick of range r between two candidates whose scores move apart has privacy loss t = lean·r with some probability
    and t − r otherwise. A count with discrete Laplace noise has loss ±ε.
    """
    losses = {0.0: 1.0}
    for size, times in picks.items():
        high = lean * size
        losses = _added(losses, high, high - size, exp(high) * _rarer(size, high), times)
    for size, times in counts.items():
        losses = _added(losses, size, -size, 1 / (1 + exp(-size)), times)
    for step in sampled:
        losses = _convolved(losses, _sampled_losses(step, lean))
    return sum(chance * gaussian_delta(epsilon - loss, mu) for loss, chance in losses.items())


def _rarer(size: float, high: float) -> float:
    """Chance, on the other table, of the outcome with loss `high` of a pick of this range between two."""
    return (1 - exp(high - size)) / (exp(high) - exp(high - size))


def _sampled_losses(step: SampledPicks, lean: float) -> list[tuple[float, float]]:
    """(loss, chance) of picks between two on a sample: the record counts for all of them, or for none."""
    size, q = step.range / step.scale, step.kept / 2**32
    high = lean * size
    rarer, result = _rarer(size, high), []
    for k in range(step.picks + 1):
        ratio = 1 + q * expm1(k * high + (step.picks - k) * (high - size))
        result.append((log(ratio), ratio * comb(step.picks, k) * rarer**k * (1 - rarer) ** (step.picks - k)))
    return result


def _convolved(losses: dict[float, float], more: list[tuple[float, float]]) -> dict[float, float]:
    result: dict[float, float] = {}
    for loss, before in losses.items():
        for extra, chance in more:
            result[loss + extra] = result.get(loss + extra, 0.0) + before * chance
    return result


def _added(losses: dict[float, float], high: float, low: float, chance: float, times: int) -> dict[float, float]:
    """The law of a sum after so many independent steps with two outcomes each."""
    result: dict[float, float] = {}
    for k in range(times + 1):
        weight = exp(log(comb(times, k)) + k * log(chance) + (times - k) * log(1 - chance))
        for loss, before in losses.items():
            total = loss + k * high + (times - k) * low
            result[total] = result.get(total, 0.0) + weight * before
    return result
