"""Boxes of a few floats: the exact law of what the Tukey mechanism releases where groups nearly agree."""

from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np

from audit.bits.cases import Case, Finding, finding, fit, tukey_case
from audit.bits.points import draw_step
from audit.distinguish import calls_of, log_law
from audit.recording import Call
from privreg._types import Float64
from privreg.mechanisms.depth import LATTICE, STRICT, draw_deep
from privreg.privacy.events import ProposeTestRelease

Law = dict[float | None, float]  # the probability of each float64, and of nothing


def narrow_boxes(sets: int = 600) -> Finding:
    """Where many groups share a coefficient the box may be narrower than the spacing of floats: what comes out then?"""
    rng = np.random.default_rng(15)
    wrong, safe, edge, worst = [], 0, 0.0, 0.0
    for _ in range(sets):
        step = draw_step(float(rng.choice([0.1, 0.2, 0.5])), float(rng.choice([0.01, 0.1])))
        one = _close_models(rng)
        two = one.copy()
        two[rng.integers(len(one)), 0] = rng.choice([0.0, 1e308, -1e308, one[0, 0], np.nextafter(one.max(), 9e9)])
        p, q = float_laws(one, two, step)
        for excess in (spent(p, q, exp(float(step.epsilon))), spent(q, p, exp(float(step.epsilon)))):
            worst = max(worst, excess / step.delta)
            if excess > step.delta:
                wrong.append(f"models {one.ravel().tolist()}: delta {excess:.3g}, {step.delta} is claimed")
        safe += p.get(None, 0.0) < 0.5
        edge = max(edge, sum(p.get(v, 0.0) for v in set(one.ravel().tolist())))
    narrowest = min(map(_narrowest, shared_models()))
    if safe < sets / 20:
        wrong.append(f"only {safe} sets were safe to draw from: this check looks at nothing")
    what = (
        "Sets of models that lie a few floats apart (around 0, 1, a power of two and among the smallest numbers there "
        f"are), one replaced: the exact law of the float64 that comes out, or of nothing, computed for both. {safe} of "
        f"{sets} sets pass the test mostly. The largest delta was {worst:.2g} of what is claimed."
    )
    promised = (
        "In a box of a few floats the output is one of those few, and may well be equal to a coefficient of a group "
        f"(with a probability of up to {edge:.2f} here). What is promised is (epsilon, delta) for the law of the "
        "rounded output, and no more: not that outputs differ from what groups computed. A box without width is never "
        "drawn from; if all are without, nothing is released. The jitter keeps real boxes wide: where all groups of a "
        f"table had the same model, the narrowest held {narrowest:,} floats."
    )
    return finding(what, 2 * sets, wrong, promised)


def _close_models(rng: np.random.Generator) -> Float64:
    """Points of one dimension a few floats apart: steps of the last bit around a base."""
    base = float(rng.choice([0.0, 1.0, -2.0, 3.3, 2.0**-1060, -1e300]))
    spacing = float(np.spacing(abs(base)))
    steps = np.rint(rng.normal(size=int(rng.integers(60, 140))) * rng.choice([0.3, 2.0, 10.0, 50.0]))
    return (base + steps * spacing)[:, None]


def float_laws(one: Float64, two: Float64, step: ProposeTestRelease) -> tuple[Law, Law]:
    """What can come out of two sets of models: exactly, but for rounding of the weights."""
    ((a, b),) = calls_of(lambda account, models: draw_deep(account, step, models, STRICT), one, two)
    return _float_law(a, step), _float_law(b, step)


def _float_law(call: Call, step: ProposeTestRelease) -> Law:
    distance, scores, grid, boxes = call.statistic
    if not scores.size:
        return {None: 1.0}
    short = step.threshold - distance  # the noise must be at least this
    q = exp(-1 / step.scale)
    passes = q**short / (1 + q) if short > 0 else 1 - q ** (1 - short) / (1 + q)
    law: Law = {None: 1 - passes}
    values, firsts = floats_between(*boxes[0][0])  # the others lie inside
    for weight, ((low, high),) in zip(np.exp(log_law(scores, grid)), boxes, strict=True):
        for value, (first, end) in zip(values, pairwise(firsts), strict=True):
            points = min(end, high) - max(first, low)
            if points > 0:
                law[value] = law.get(value, 0.0) + passes * weight * (points / (high - low))
    return law


def floats_between(low: int, high: int) -> tuple[list[float], list[int]]:
    """The float64 that lattice points of [low, high) are rounded to, and the first point of each and of the next one.

    Rounded to the nearest; in the middle between two, to the one with an even mantissa.
    """
    values, firsts = [low / LATTICE], [low]
    while firsts[-1] < high:
        value, after = values[-1], float(np.nextafter(values[-1], np.inf))
        middle = int(Fraction(value) * LATTICE) + int(Fraction(after) * LATTICE)  # twice
        even = int(np.float64(value).view(np.uint64)) % 2 == 0
        firsts.append(middle // 2 + (middle % 2 or even))
        values.append(after)
    return values[:-1], firsts


def spent(p: Law, q: Law, factor: float) -> float:
    """The smallest δ for which P ≤ factor·Q + δ."""
    return sum(max(0.0, probability - factor * q.get(value, 0.0)) for value, probability in p.items())


def shared_models() -> list[Case]:
    """Tables on which every group that can tell computes the same model."""
    X = np.random.default_rng(19).integers(0, 2, size=(3000, 2)).astype(float)
    tables = {"exact": (X, 2 * X[:, 0] + 1), "constant": (X, np.full(3000, 3.0)), "far": (X + 1e6, X[:, 0])}
    return [tukey_case(name, *table) for name, table in tables.items()]


def _narrowest(case: Case) -> int:
    """How many floats the narrowest side of any box held, counted by the spacing at its larger end."""
    boxes = fit(case)[0].calls[-1].statistic[3]
    sides = [(high - low, max(abs(low), abs(high)) / LATTICE) for box in boxes for low, high in box]
    return int(min(Fraction(width, LATTICE) / Fraction(float(np.spacing(end))) for width, end in sides))
