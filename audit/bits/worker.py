"""What is repeated in processes that use other kernels: fits, with all that is public the same, and large sums.

python -m audit.bits.worker <work> <found>      (as audit.bits.processors calls it)
"""

import hashlib
import json
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from audit.bits import eigenvalues
from audit.bits.cases import Case, cases, fit
from audit.bits.outputs import leaving
from audit.fits import frozen
from audit.recording import Call, Recording
from privreg.estimators import boosted_adassp
from privreg.estimators.private_linear import design
from privreg.kernels import boosting, moments

Digests = list[tuple[str, str]]  # of each step its name and a digest of its statistic
EIGENVALUE = "smallest eigenvalue"


class Handed:
    """The public numbers that go from post-processing into the next statistic: noted in one process, used in others.

    LAPACK's eigenvectors of a released matrix have other last bits on another processor. That is no statistic, but what
    is computed with them is; so all processes must compute with the same ones to be compared.
    """

    def __init__(self, given: list[Any] | None = None) -> None:
        self.noted: list[Any] = []
        self.differed = 0.0  # as a part of the largest entry
        self._given = None if given is None else iter(given)

    def _wrap(self, function: Any, *places: int) -> Any:
        def handed(*args: Any) -> Any:
            changed = list(args)
            for place in places:
                self.noted.append(np.array(args[place]))
                if self._given is not None:
                    given = next(self._given)
                    size = max(float(np.abs(given).max(initial=0.0)), 1e-300)
                    self.differed = max(self.differed, float(np.abs(given - args[place]).max(initial=0.0)) / size)
                    changed[place] = given if given.ndim else float(given)
            return function(*changed)

        return handed

    @contextmanager
    def running(self) -> Iterator["Handed"]:
        with (
            patch.object(design, "rotate", self._wrap(moments.rotate, 1, 2)),
            patch.object(design, "linear_scores", self._wrap(moments.linear_scores, 1)),
            patch.object(boosted_adassp, "ResidualSums", self._wrap(boosting.ResidualSums, 0)),
        ):
            yield self


def fit_handed(case: Case, given: list[Any] | None = None, replay: Recording | None = None) -> tuple[Recording, Handed]:
    with Handed(given).running() as handed:
        return fit(case, replay)[0], handed


def outputs_of(recording: Recording) -> Recording:
    """A recording with what a repetition needs, and no more: steps, outputs and groups."""
    kept = Recording(0)
    kept.calls = [Call(call.step, None, output=call.output) for call in recording.calls]
    kept.groups = list(recording.groups)
    return kept


def digests(recording: Recording) -> Digests:
    """Of all steps but the smallest eigenvalue, which is a float's (audit.bits.eigenvalues)."""
    return [(c.step.name, _digest(c.statistic)) for c in recording.calls if c.step.name != EIGENVALUE]


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(frozen(value)).encode()).hexdigest()


def large_sums(records: int) -> Digests:
    """Sums over so many records that BLAS shares them out, rows at the largest norm among them."""
    rng = np.random.default_rng(18)
    rows = rng.integers(-7000, 7001, size=(20, records)).astype(np.int16)
    rows[:, ::7] = 0
    rows[3, ::7] = boosting.NORM
    residuals = rng.integers(-boosting.NORM, boosting.NORM + 1, size=records) / boosting.NORM
    squares = (rows.astype(np.int64) ** 2).sum(axis=0)
    joint = moments.moment_sums(moments.Rows(rows, np.ones(records), squares), residuals, np.array([0.25, 1.0]), 400)
    matrix = rng.integers(-(2**50), 2**50, size=(20, 20)) / 2.0**50
    found = {
        "gram": boosting.gram(rows),
        "residual sums": boosting.ResidualSums(matrix[0] / 2.0**12, 1.0)(rows, residuals),
        "rotated rows": moments.rotate(rows, matrix, 9.0),
        "scores": moments.linear_scores(rows, matrix[1]),
        "joint sums": (joint.products, joint.gradients),
    }
    return [(name, _digest(value)) for name, value in found.items()]


def repeat(work: dict[str, Any]) -> dict[str, Any]:
    """Fit again in this process: digests, models that differ from one fit to the next, and what ran here."""
    from numba.core.registry import cpu_target
    from threadpoolctl import threadpool_info

    known = {case.name: case for case in cases()}
    seen, unlike, differed = {}, [], 0.0
    for name, X, y, people, recording, noted in work["cases"]:
        case = replace(known[name], X=X, y=y, people=people)
        again, handed = fit_handed(case, noted, recording)
        seen[name] = digests(again)
        differed = max(differed, handed.differed)
        if len(recording.calls) < 50:  # nothing new in the long ones
            first, second = (leaving(fit(case, recording, seed=seed)[1]) for seed in (5, 6))
            unlike += [] if first == second else [name]
    seen["large sums"] = large_sums(work["records"])
    compiled = f"compiled for {cpu_target.target_context.codegen().magic_tuple()[1]}"
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "digests": seen,
        "unlike": unlike,
        "differed": differed,
        "eigenvalues": eigenvalues.computed(work["matrices"]),
        "ran": [(f"BLAS for {info['architecture']}, {compiled}", info["num_threads"]) for info in blas],
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(repeat(pickle.loads(Path(sys.argv[1]).read_bytes()))))
