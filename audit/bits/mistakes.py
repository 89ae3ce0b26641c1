"""A check that nothing fails proves nothing: known mistakes must show."""

from math import exp

import numpy as np

from audit.bits.boxes import spent
from audit.bits.cases import Finding, finding
from audit.bits.noise import BASE, UNIFORM, bits_wrong, float_bits_wrong, gaussian_bits
from audit.bits.points import draw_step
from privreg.privacy.noise import SeededNoise


def wrong_ways(draws: int = 20_000) -> Finding:
    """Noise, a float and a point made in ways that are known to leak."""
    rng = np.random.default_rng(16)
    seeded = SeededNoise(np.random.default_rng(17))
    scale, value, zeros = 1e6, 123456.7, np.zeros(draws, np.int64)
    shown = {
        "Gaussian noise in floating point": bits_wrong(value + scale * rng.normal(size=draws), UNIFORM),
        "Laplace noise in floating point": bits_wrong(value + rng.laplace(scale=scale, size=draws), UNIFORM),
        "a value off the grid, with noise on it": bits_wrong(value + np.rint(scale * rng.normal(size=draws)), UNIFORM),
        "noise on a coarser grid than the value": bits_wrong(123457 + BASE * seeded.gaussian(zeros, scale), UNIFORM),
        "noise of half the scale": bits_wrong(seeded.gaussian(zeros, 3.0), gaussian_bits(0, 6.0)),
        "float noise too large for its 53 bits": bits_wrong(
            (2.0**60 * rng.normal(size=draws)).astype(np.int64), UNIFORM
        ),
        "a uniform float from low to high": float_bits_wrong(-1 + 2 * rng.random(draws)),
        "one of the coefficients themselves": _no_noise(),
    }
    wrong = [f"{name} was not noticed" for name, found in shown.items() if found is None]
    return finding("Known mistakes are noticed by the checks of low-order bits.", len(shown), wrong)


def _no_noise() -> str | None:
    """The middle model, released as it is, beside a neighbour's: the comparison of laws must not accept it."""
    step = draw_step()
    excess = spent({1.0: 1.0}, {float(np.nextafter(1.0, 2)): 1.0}, exp(float(step.epsilon)))
    return f"delta {excess}" if excess > step.delta else None
