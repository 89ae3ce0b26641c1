"""Low-order bits of noise: they follow the law of the mass function, whatever the value below."""

from collections.abc import Sequence
from math import ceil, exp
from typing import Any

import numpy as np

from audit.bits.cases import Finding, cases, finding, fit
from audit.draws import _follows
from audit.recording import Added
from privreg._types import Float64, Int64
from privreg.privacy.events import Gaussian, Laplace
from privreg.privacy.noise import Noise, OpenDPNoise, SeededNoise

BASE = 16  # low-order bits that are looked at: four
UNIFORM = np.full(BASE, 1 / BASE)


def bits_wrong(outputs: Any, law: Float64) -> str | None:
    """What is wrong with the last four bits of outputs, whole numbers of grid steps, that should have this law."""
    values = np.asarray(outputs)
    if values.dtype != np.int64:
        if not (values == np.rint(values)).all():
            return "outputs are not on the grid"
        values = np.array([int(v) for v in values], object)
    return _law_wrong(values % BASE, law)


def float_bits_wrong(outputs: Float64) -> str | None:
    """The same for floats that should be uniform in a wide box: the last four bits of their mantissas."""
    return _law_wrong(np.ascontiguousarray(outputs, np.float64).view(np.uint64) % BASE, UNIFORM)


def _law_wrong(last: Any, law: Float64) -> str | None:
    counts = np.bincount(last.astype(np.int64), minlength=BASE)
    return None if _follows(counts, law) else f"the last bits do not follow their law: {counts.tolist()}"


def gaussian_bits(value: int, scale: float) -> Float64:
    """The law of (value + noise) modulo 16 for discrete Gaussian noise."""
    if scale > 100:  # uniform but for e^(−2π²σ²/16²), less than 10⁻³³⁰ here
        return UNIFORM
    z = np.arange(-ceil(40 * scale), ceil(40 * scale) + 1)
    return _modulo(value + z, np.exp(-((z / scale) ** 2) / 2))


def laplace_bits(value: int, scale: float) -> Float64:
    """The same for discrete Laplace noise: Σ of q^|z| over z = r (mod 16) is (q^r + q^(16 − r))/(1 − q^16)."""
    r = np.arange(BASE)
    weights = np.exp(-r / scale) + np.exp((r - BASE) / scale)
    weights[0] = 1 + exp(-BASE / scale)
    return _modulo(value + r, weights)


def _modulo(values: Int64, weights: Float64) -> Float64:
    return np.bincount(values % BASE, weights, minlength=BASE) / weights.sum()


# Scales at which the last bits are far from uniform: this is where a wrong law would show.
_SMALL = (Gaussian("small", 1, 1.5, 1), Gaussian("small", 1, 6.0, 1), Laplace("small", 1, 2.5))


def low_bits(
    names: Sequence[str] = ("all columns", "adassp", "sublasso"), draws: int = 20_000, private: bool = True
) -> Finding:
    """A statistic's last bits must drown: on neighbours' own values, with the scales of real steps."""
    steps = [(f"{name}, {step.name}", step, values, draws) for name, step, values in neighbours(names)]
    steps += [(f"scale {step.scale}", step, [0, 1], draws // 4) for step in _SMALL]
    noises = sources(11, private)
    wrong, seen = [], 0
    for where, step, values, number in steps:
        law = gaussian_bits if isinstance(step, Gaussian) else laplace_bits
        for noise, value in [(noise, value) for noise in noises for value in values]:
            found = bits_wrong(draw_many(noise, step, value, number), law(value, step.scale))
            seen += 1
            wrong += [f"{where}, {type(noise).__name__}: {found}"] if found else []
    what = (
        f"Outputs of discrete noise on the statistics of neighbours, {draws:,} on each side with each source: every "
        "one is a whole number of grid steps, and the last four bits follow the law of the mass function (chi-square; "
        "a run fails by chance less than once in a million)."
    )
    promised = (
        "Noise of a small scale (a count at a large epsilon) leaves last bits that are not uniform; they tell no more "
        "than the step's epsilon allows, by the law itself. The seeded noise is for tests and not private."
    )
    return finding(what, seen, wrong, promised)


def sources(seed: int, private: bool) -> list[Noise]:
    return [SeededNoise(np.random.default_rng(seed)), *([OpenDPNoise()] if private else [])]


def neighbours(names: Sequence[str]) -> list[tuple[str, Gaussian | Laplace, list[int]]]:
    """Real steps, one of each kind and size, with the statistic on a table and on one with a record more."""
    found = []
    for case in cases(names):
        base, _ = fit(case)
        record = np.append(case.X[1] * 1.25, -77.7)
        again, _ = fit(case.with_record(3, record), base, Added(3, 1), seed=12)
        scales = set()
        for one, two in zip(base.calls, again.calls, strict=True):
            if isinstance(one.step, Gaussian | Laplace) and one.step.scale not in scales:
                scales.add(one.step.scale)
                both = [np.atleast_1d(call.statistic) for call in (one, two)]
                at = np.argmax(both[0] != both[1])
                found.append((case.name, one.step, [int(values[at]) for values in both]))
    return found


def draw_many(noise: Noise, step: Gaussian | Laplace, value: int, draws: int) -> Any:
    if isinstance(step, Gaussian):
        return noise.gaussian(np.full(draws, value), step.scale)
    return np.array([noise.laplace(value, step.scale) for _ in range(draws)])
