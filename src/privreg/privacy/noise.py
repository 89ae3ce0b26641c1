"""Where every release draws its noise: OpenDP's exact samplers on integers, or a seeded stand-in that protects nobody.

Nothing else in the package calls OpenDP or a random generator. Both implementations draw from the same laws, so that a
test or an experiment with a seed says something about the private path. The interface is six draws:

- `pick`: index of the largest score plus Gumbel noise, i.e. the exponential mechanism with weights exp(score/scale);
- `laplace`: P[noise = z] ∝ exp(−|z|/scale) on the integers;
- `gaussian`: P[noise = z] ∝ exp(−z²/2scale²) on the integers, independent for each coordinate;
- `uniform`: an integer of [low, high), however large, each with the same probability;
- `groups`: for each record a group, independent and uniform;
- `sample`: for each record whether it is kept, independent, with probability exactly kept/2³².

`apart` is a source of its own for a part of a fit.
"""

import os
import secrets
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from privreg._types import Bool, Int64
from privreg.errors import NotPrivateWarning

_CHUNK = 2**18  # records of a sample whose coins are tossed at once


class Noise(Protocol):
    """The draws that a mechanism may ask for."""

    private: bool

    def pick(self, scores: Int64, scale: float) -> int: ...
    def laplace(self, value: int, scale: float) -> int: ...
    def gaussian(self, values: Int64, scale: float) -> Int64: ...
    def uniform(self, low: int, high: int) -> int: ...
    def groups(self, records: int, groups: int) -> Int64: ...
    def sample(self, records: int, kept: int) -> Bool: ...
    def apart(self) -> "Noise": ...


def noise_for(random_state: Any) -> Noise:
    """OpenDP's noise for None; a seeded generator, with a warning, for anything scikit-learn takes as random_state."""
    if random_state is None:
        return OpenDPNoise()
    warnings.warn(
        "random_state makes the noise repeatable, so this fit is not private; use random_state=None for sensitive data",
        NotPrivateWarning,
        stacklevel=3,
    )
    if isinstance(random_state, np.random.Generator):
        return SeededNoise(random_state)
    from sklearn.utils import check_random_state

    seed = check_random_state(random_state).randint(0, 2**31, size=4)
    return SeededNoise(np.random.default_rng(seed))


def split_state(random_state: Any) -> tuple[Any, Any]:
    """Random states for two successive parts of one fit: two Nones for None, else two independent streams."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state, random_state
    from sklearn.utils import check_random_state

    first, second = check_random_state(random_state).randint(0, 2**31, size=2).tolist()
    return first, second


class OpenDPNoise:
    """Discrete samplers of OpenDP, exact in rational arithmetic and fed by the operating system's randomness."""

    private = True

    def pick(self, scores: Int64, scale: float) -> int:
        return int(_noisy_max(scale)(_int64(scores)))

    def laplace(self, value: int, scale: float) -> int:
        return int(_laplace(scale)(int(value)))

    def gaussian(self, values: Int64, scale: float) -> Int64:
        return np.asarray(_gaussian(scale)(_int64(values)), np.int64)

    def uniform(self, low: int, high: int) -> int:
        return low + secrets.randbelow(high - low)  # OpenDP has no such draw; this is exact, from the same source

    def groups(self, records: int, groups: int) -> Int64:
        # Privacy does not rest on this draw (docs/proofs/sublasso.md); uniformity up to groups/2^64 is for accuracy.
        words = np.frombuffer(os.urandom(8 * records), np.uint64)
        return (words % np.uint64(groups)).view(np.int64)

    def sample(self, records: int, kept: int) -> Bool:
        return _coins(os.urandom, records, kept)  # privacy does rest on this draw (docs/proofs/sampling.md)

    def apart(self) -> "OpenDPNoise":
        return self  # it has no state


class SeededNoise:
    """The same laws from a numpy generator, for tests and experiments. Not private."""

    private = False

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def pick(self, scores: Int64, scale: float) -> int:
        scores = _int64(scores)
        return int(np.argmax((scores - scores.max()) + scale * self._generator.gumbel(size=len(scores))))

    def laplace(self, value: int, scale: float) -> int:
        return int(value) + int(self._two_sided_geometric(1, scale)[0])

    def gaussian(self, values: Int64, scale: float) -> Int64:
        # Rejection from a two-sided geometric (Canonne, Kamath and Steinke 2020).
        values = _int64(values)
        t = np.floor(scale) + 1
        drawn = np.empty(0, np.int64)
        while drawn.size < values.size:
            proposal = self._two_sided_geometric(2 * (values.size - drawn.size) + 8, t)
            acceptance = np.exp(-((np.abs(proposal) - scale**2 / t) ** 2) / (2 * scale**2))
            drawn = np.append(drawn, proposal[self._generator.random(proposal.size) < acceptance])
        return values + drawn[: values.size].reshape(values.shape)

    def uniform(self, low: int, high: int) -> int:
        bits = (high - low - 1).bit_length()
        while True:
            drawn = int.from_bytes(self._generator.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)
            if drawn < high - low:
                return low + drawn

    def groups(self, records: int, groups: int) -> Int64:
        return self._generator.integers(groups, size=records)

    def sample(self, records: int, kept: int) -> Bool:
        return _coins(self._generator.bytes, records, kept)

    def apart(self) -> "SeededNoise":
        """Another stream, which leaves this one where it is: with or without it, the same draws follow."""
        return SeededNoise(self._generator.spawn(1)[0])

    def _two_sided_geometric(self, size: int, scale: float) -> Int64:
        success = -np.expm1(-1 / scale)
        return self._generator.geometric(success, size) - self._generator.geometric(success, size)


def _coins(draw: Callable[[int], bytes], records: int, kept: int) -> Bool:
    """Whether a word of 32 uniform bits is below `kept`, for each record: kept of 2³² words are."""
    last = np.uint32(kept - 1)  # 2³² itself is no such word
    result = np.empty(records, np.bool_)
    for start in range(0, records, _CHUNK):
        part = result[start : start + _CHUNK]
        np.less_equal(np.frombuffer(draw(4 * part.size), "<u4"), last, out=part)
    return result


def _int64(values: Int64) -> Int64:
    values = np.asarray(values)
    if values.dtype != np.int64:
        raise TypeError(f"noise is added to int64 values on a declared grid, got {values.dtype}")
    return np.ascontiguousarray(values)


# Samplers are kept, because making one takes longer than a draw. They have no state.


@lru_cache(maxsize=256)
def _noisy_max(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    # The zero-concentrated measure is what selects Gumbel noise; the other one is permute-and-flip.
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)


@lru_cache(maxsize=256)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    return dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)


@lru_cache(maxsize=256)
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


@cache
def _opendp() -> Any:
    """The parts of OpenDP that are used. Its prelude would also load polars and scikit-learn."""
    from opendp import domains, measurements, measures, metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    return SimpleNamespace(m=measurements, **(vars(domains) | vars(measures) | vars(metrics)))
