"""One trial: split a data set, fit a method on nine tenths, score it on the rest."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.metrics import r2_score

from privreg.errors import DataError
from privreg.estimators.methods import make_method
from privreg.paper.folder import DataSet
from privreg.paper.results import KEY, as_json

JITTER = 1e-6  # by which the published runs perturbed features to break ties


@dataclass(frozen=True)
class Trial:
    """What is to be run. k and ε are None for a method that does not depend on them."""

    task: int
    file: Path
    method: str
    k: int | None
    epsilon: float | None
    trial: int
    delta: float
    seed: int
    jitter: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """As in the journal."""
        return tuple(getattr(self, name) for name in KEY)

    def row(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """A line of the journal."""
        return dict(zip(KEY, self.key, strict=True)) | outcome


def run_trial(trial: Trial, load: Callable[[Path], DataSet], threads: int) -> dict[str, Any]:
    """The line for the journal: R² on the test records, or why there is none."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):  # a seed, and that nothing was released, are written down
            outcome = _outcome(trial, load(trial.file), threads)
    except Exception as error:
        message = (str(error).splitlines() or [""])[0]
        seconds = round(time.perf_counter() - start, 4)
        outcome = {"error": f"{type(error).__name__}: {message}", "seconds": seconds}
    return trial.row(outcome)


def _outcome(trial: Trial, data: DataSet, threads: int) -> dict[str, Any]:
    # The data are public, and a comparison must be repeatable: the same split and perturbation for every method.
    rng = np.random.default_rng([trial.seed, trial.task, trial.trial])
    train, test = data.split(rng)
    if test.size < 2:
        raise DataError("fewer than 20 records, too few to test on a tenth of them")
    X = data.X + rng.uniform(-JITTER, JITTER, data.X.shape) if trial.jitter else data.X
    model = make_method(
        trial.method,
        k=trial.k or 0,
        epsilon=trial.epsilon or 0.0,
        delta=trial.delta,
        n_jobs=threads,
        random_state=_noise_seed(trial),
    )
    features, target = X[train], data.y[train]
    start = time.perf_counter()
    model.fit(features, target)
    seconds = time.perf_counter() - start
    released = getattr(getattr(model, "regressor_", model), "released_", True)
    predicted = model.predict(X[test])
    usable = released and np.isfinite(predicted).all()
    score = float(r2_score(data.y[test], predicted)) if usable else -inf
    if isnan(score):
        raise DataError("R² is not defined")
    outcome: dict[str, Any] = {"r2": as_json(score), "seconds": round(seconds, 4)}
    if hasattr(model, "selected_features_"):
        outcome["chosen"] = [data.names[j] for j in model.selected_features_]
    return outcome


def _noise_seed(trial: Trial) -> int:
    """Different for every trial, method, k and ε."""
    text = f"{trial.method} {trial.k} {trial.epsilon!r}"
    return int(np.random.SeedSequence([trial.seed, trial.task, trial.trial, crc32(text.encode())]).generate_state(1)[0])
