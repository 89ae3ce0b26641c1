"""Noise of another law, scale or source than declared."""

from typing import Any

import numpy as np

import privreg.estimators.base
import privreg.privacy.account
from audit.bugs.bug import BAS, FLAGSHIP, TUKEY, Bug, changing
from privreg.privacy.account import Account
from privreg.privacy.noise import OpenDPNoise, SeededNoise


def _laplace_inverted(self: Account, step: Any, value: int) -> int:
    self._spend(step)
    return self._noise.laplace(value, 1 / step.scale)


def _gaussian_of_variance(self: Account, step: Any, values: Any) -> Any:
    self._spend(step)
    return self._noise.gaussian(values, step.scale**0.5)


def _pick_without_the_range(self: Account, step: Any, scores: Any) -> int:
    self._spend(step)
    return self._noise.pick(scores, step.scale / 2)


def _half_of_the_truth(self: Account, step: Any, values: Any) -> Any:
    self._spend(step)
    noisy = self._noise.gaussian(values, step.scale)
    return (noisy + values) // 2 if step.name.endswith("residual variance") else noisy


def _highest_of_a_block(scores: Any, starts: Any, scale: float) -> Any:  # noqa: ARG001
    return np.maximum.reduceat(scores, starts)


_opendp_gaussian = OpenDPNoise.gaussian


def _weak_when_large(self: OpenDPNoise, values: Any, scale: float) -> Any:
    return _opendp_gaussian(self, values, scale / 2 if scale > 1000 else scale)


def _bare_eigenvalue(self: Account, step: Any, values: Any) -> Any:
    self._spend(step)
    return values if step.name == "smallest eigenvalue" else self._noise.gaussian(values, step.scale)


def _bare_lengths(self: Account, step: Any, values: Any) -> Any:
    self._spend(step)
    return values if step.name.endswith("lengths of residuals") else self._noise.gaussian(values, step.scale)


def _test_without_noise(
    self: Account, step: Any, distance: int, scores: Any, grid: float, box: Any
) -> list[int] | None:
    self._spend(step)
    if distance < step.threshold or not scores.size:
        return None
    return [self._noise.uniform(low, high) for low, high in box(self._noise.pick(scores, grid))]


def _noise_once(self: SeededNoise, values: Any, scale: float) -> Any:
    """One draw, kept and scaled for all later steps."""
    kept = self.__dict__.setdefault("_kept", self._generator.normal(size=4096))
    return values + np.rint(scale * np.resize(kept, values.shape)).astype(np.int64)


def _half_normal(self: SeededNoise, values: Any, scale: float) -> Any:
    return values + np.abs(np.rint(scale * self._generator.normal(size=values.shape))).astype(np.int64)


def _permute_and_flip(self: SeededNoise, scores: Any, scale: float) -> int:
    return int(np.argmax((scores - scores.max()) + scale * self._generator.exponential(size=len(scores))))


def _float_noise(self: SeededNoise, value: int, scale: float) -> float:
    return float(value + scale * self._generator.laplace())


def _seeded_in_private(random_state: Any) -> Any:
    noise = SeededNoise(np.random.default_rng(0))
    noise.private = random_state is None
    return noise


BUGS = {
    "scale inverted": Bug(
        "Laplace noise of scale ε instead of 1/ε",
        changing((Account, "laplace", _laplace_inverted)),
        "SubLasso",
        "noise",
    ),
    "variance for scale": Bug(
        "Gaussian noise of σ instead of σ²", changing((Account, "gaussian", _gaussian_of_variance)), BAS, "noise"
    ),
    "half the pick's noise": Bug(
        "picks with half the declared Gumbel noise",
        changing((Account, "pick", _pick_without_the_range)),
        "DPKendall",
        "noise",
    ),
    "λ without noise": Bug(
        "the smallest eigenvalue released as it is", changing((Account, "gaussian", _bare_eigenvalue)), BAS, "noise"
    ),
    "lengths without noise": Bug(
        "the histogram of lengths released as it is",
        changing((Account, "gaussian", _bare_lengths)),
        "PrivateLinearRegression, k",
        "noise",
    ),
    "test without noise": Bug(
        "the stability test compares the true distance",
        changing((Account, "propose_test_release", _test_without_noise)),
        TUKEY,
        "noise",
    ),
    "mixed with the truth": Bug(
        "the mean of the noisy and the true value",
        changing((Account, "gaussian", _half_of_the_truth)),
        FLAGSHIP,
        "noise",
    ),
    "highest of a block": Bug(
        "long lists are picked from by the best of each block, not by its whole weight",
        changing((privreg.privacy.account, "block_scores", _highest_of_a_block)),
        "PrivateLinearRegression, long tails",
        "noise",
    ),
    "weak when large": Bug(
        "half of OpenDP's noise at the scales that fits use",
        changing((OpenDPNoise, "gaussian", _weak_when_large)),
        FLAGSHIP,
        "law",
    ),
    "noise used again": Bug(
        "one Gaussian draw kept and scaled for all steps", changing((SeededNoise, "gaussian", _noise_once)), BAS, "law"
    ),
    "one-sided noise": Bug(
        "the absolute value of Gaussian noise", changing((SeededNoise, "gaussian", _half_normal)), BAS, "law"
    ),
    "permute and flip": Bug(
        "exponential for Gumbel noise, with the bounds of Gumbel noise",
        changing((SeededNoise, "pick", _permute_and_flip)),
        "DPKendall",
        "law",
    ),
    "float noise": Bug(
        "continuous noise in floating point on a count",
        changing((SeededNoise, "laplace", _float_noise)),
        "SubLasso",
        "law",
    ),
    "seeded in private": Bug(
        "a fixed seed behind random_state=None",
        changing((privreg.estimators.base, "noise_for", _seeded_in_private)),
        FLAGSHIP,
        "source",
    ),
}
