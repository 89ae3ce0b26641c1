"""Whether the noise has its declared law, and whether private fits get theirs from OpenDP."""

import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_all_start_methods, get_context
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm
from scipy.stats import laplace as continuous_laplace

import privreg.privacy.noise
from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, SchemaReader, SubLasso, TukeyRegression
from privreg.errors import FitWarning, NotReleasedWarning, WeakGuaranteeWarning
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.privacy.events import Event, Gaussian, GaussianMoments, SampledPicks
from privreg.privacy.noise import Noise, OpenDPNoise, SeededNoise

LEVEL = 1e-9  # of one test: a run holds a few dozen of them
SCALE = 3.7
LARGE_SCALES = (2.0**28, 2.0**40)  # as they are in fits: rounding to integers is not to be seen
PARTS = 24
SCORES = np.array([3, -2, 0, 7, 7], np.int64)


def wrong_laws(draws: int, noises: dict[str, Noise] | None = None) -> list[str]:
    """Draws of each kind whose frequencies are not those of the declared law, by Pearson's chi-square."""
    noises = noises or {"OpenDP": OpenDPNoise(), "seeded": SeededNoise(np.random.default_rng(5))}
    return [f"{name}: {text}" for name, noise in noises.items() for text in _wrong(noise, draws)]


def _wrong(noise: Noise, draws: int) -> Iterator[str]:
    weights = np.exp((SCORES - 7) / SCALE)
    picks = [noise.pick(SCORES, SCALE) for _ in range(draws)]
    if not _follows(np.bincount(picks, minlength=5), weights):
        yield "picks do not follow the exponential mechanism"
    z = np.arange(-400, 401)
    laplace = [noise.laplace(5, SCALE) - 5 for _ in range(draws)]
    if any(int(x) != x for x in laplace) or not _follows(_histogram(laplace), np.exp(-np.abs(z) / SCALE)):
        yield "Laplace noise does not follow its law"
    law = np.exp(-(z**2) / (2 * SCALE**2))
    gaussian = noise.gaussian(np.full(draws, 5, np.int64), SCALE) - 5
    if gaussian.dtype != np.int64 or not _follows(_histogram(gaussian), law):
        yield "Gaussian noise does not follow its law"
    # The same again in single calls: sums of two successive draws have the law of independent ones.
    single = np.array([noise.gaussian(np.zeros(1, np.int64), SCALE)[0] for _ in range(draws)])
    sums = single[0 : draws - 1 : 2] + single[1:draws:2]
    if not _follows(_histogram(sums), np.convolve(law, law, mode="same")):
        yield "successive Gaussian draws are not independent"
    for scale in LARGE_SCALES:
        if not _follows(_in_parts(noise.gaussian(np.zeros(draws, np.int64), scale) / scale, norm), np.ones(PARTS)):
            yield f"Gaussian noise of scale {scale:g} does not follow its law"
        laplace = [noise.laplace(0, scale) for _ in range(draws // 4)]
        if not _follows(_in_parts(np.array(laplace) / scale, continuous_laplace), np.ones(PARTS)):
            yield f"Laplace noise of scale {scale:g} does not follow its law"
        picks = [noise.pick(np.rint(SCORES * scale / SCALE).astype(np.int64), scale) for _ in range(draws // 4)]
        if not _follows(np.bincount(picks, minlength=5), weights):
            yield f"picks with noise of scale {scale:g} do not follow the exponential mechanism"
    uniform = [noise.uniform(2**70, 2**70 + 6) - 2**70 for _ in range(draws)]
    if not _follows(np.bincount(uniform, minlength=6), np.ones(6)):
        yield "uniform draws are not uniform"
    for kept in (3 * 2**29, 2**32 - 2**28):  # coins of neighbouring records: both, one, the other, none
        coins, q = noise.sample(2 * draws, kept).astype(int), kept / 2**32
        law = np.array([(1 - q) ** 2, q * (1 - q), q * (1 - q), q**2])
        if coins.size != 2 * draws or not _follows(np.bincount(coins[::2] + 2 * coins[1::2], minlength=4), law):
            yield f"samples at the rate {q:g} are not independent coins"


def _in_parts(noise: Any, law: Any) -> Any:
    """How many draws lie in each of so many parts that the law makes equally likely."""
    return np.bincount(np.clip((law.cdf(noise) * PARTS).astype(int), 0, PARTS - 1), minlength=PARTS)


def _histogram(values: Any) -> Any:
    return np.bincount(np.clip(np.rint(values).astype(int), -400, 400) + 400, minlength=801)


def _follows(counts: Any, weights: Any) -> bool:
    """Pearson's test; outcomes that are expected fewer than twenty times are put together."""
    expected = weights / weights.sum() * counts.sum()
    rare = expected < 20
    counts, expected = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-6 and counts[-1]:
        return False
    kept = expected > 1e-6
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    return bool(chi2.sf(statistic, max(kept.sum() - 1, 1)) > LEVEL)


def wrong_sources() -> list[str]:
    """Steps of fits without random_state whose noise did not come from OpenDP at the declared scale."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    texts = pd.DataFrame({"town": ["north", "south", "west"] * 40, "size": X[:, 0], "ok": ["yes", "no"] * 60})
    wrong = []
    reading = [SchemaReader(4.0, 1e-2), PrivateLinearRegression(8.0, 1e-2, missing="fill"), DPKendall(2, 20.0, 1e-2)]
    for estimator, table in [*((one, X) for one in _private_estimators()), *((one, texts) for one in reading)]:
        with _watched() as drawn, warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            warnings.simplefilter("ignore", NotReleasedWarning)
            warnings.simplefilter("ignore", WeakGuaranteeWarning)
            estimator.fit(table, X[:, 0] + rng.normal(size=120))
        name = type(estimator).__name__
        missing = Counter(scale for step in estimator.receipt_.steps for scale in _scales(step)) - drawn
        if missing:
            wrong.append(f"{name}: {missing.total()} draws are not OpenDP's")
        if not estimator.receipt_.private:
            wrong.append(f"{name}: the receipt calls it not private")
    if "fork" in get_all_start_methods() and drawn_alike_after_fork():
        wrong.append("processes that split off draw the same noise")
    return wrong


def _private_estimators() -> list[Any]:
    return [
        PrivateLinearRegression(3.0, 1e-3),
        DPKendall(2, 1.0),
        SubLasso(2, 1.0),
        TukeyRegression(20.0, 1e-2, group_size=4),
        BoostedAdaSSP(1.0, 1e-3, rounds=3),
        SelectThenRegress("kendall", "adassp", 2, 1.0, 1e-3),
        SelectThenRegress("sublasso", "tukey", 2, 25.0, 1e-2),
    ]


def drawn_alike_after_fork() -> bool:
    """Whether two processes that split off from this one draw the same noise."""
    _draw_some()  # so that a buffer, if there is one, is filled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        with ProcessPoolExecutor(1, get_context("fork")) as one, ProcessPoolExecutor(1, get_context("fork")) as two:
            drawn = [pool.submit(_draw_some).result() for pool in (one, two)]
    return drawn[0] == drawn[1]


def _draw_some() -> list[int]:
    return OpenDPNoise().gaussian(np.zeros(8, np.int64), 2.0**40).tolist()


def _scales(step: Event) -> list[float]:
    if isinstance(step, GaussianMoments):
        beside = [step.off_scale] * (step.width * (step.width - 1) // 2)
        return [step.scale, step.diagonal_scale] * step.width + beside
    if isinstance(step, SampledPicks):
        return [step.scale] * step.picks
    return [step.scale] * step.coordinates if isinstance(step, Gaussian) else [step.parameters["scale"]]


@contextmanager
def _watched() -> Iterator[Counter[float]]:
    """Counts the numbers that OpenDP adds noise to, by scale."""
    drawn: Counter[float] = Counter()
    measurements = privreg.privacy.noise._opendp().m

    def making(make: Any, *space: Any, scale: float) -> Any:
        draw = make(*space, scale=scale)

        def counted(value: Any) -> Any:
            picks = make.__name__ == "make_noisy_max"
            drawn[scale] += 1 if picks else np.size(value)
            return draw(value)

        return counted

    makers: dict[str, Any] = {name: partial(making, getattr(measurements, name)) for name in _MAKERS}
    with patch.multiple(measurements, **makers):
        _forget_samplers()
        try:
            yield drawn
        finally:
            _forget_samplers()


_MAKERS = ("make_noisy_max", "make_laplace", "make_gaussian")


def _forget_samplers() -> None:
    for kept in (privreg.privacy.noise._noisy_max, privreg.privacy.noise._laplace, privreg.privacy.noise._gaussian):
        kept.cache_clear()
