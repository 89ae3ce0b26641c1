"""Estimators with a table for each, fitted on recording and fitted again with the same outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from audit.fits import frozen
from audit.recording import NOWHERE, Added, Diverged, Recording
from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, SubLasso, TukeyRegression
from privreg._types import Float64, Int64
from privreg.estimators.select_then_regress import SelectThenRegress

Finding = dict[str, Any]


def finding(what: str, cases: int, wrong: list[str], promised: str | None = None) -> Finding:
    return {"what": what, "cases": cases, "wrong": wrong[:20], "promised": promised}


@dataclass(frozen=True)
class Case:
    """An estimator and a table for it."""

    name: str
    make: Callable[..., Any]
    X: Any
    y: Float64
    people: Int64 | None = None

    def at(self, rows: Int64) -> "Case":
        """The same records in another order."""
        people = None if self.people is None else self.people[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], people=people)

    def with_record(self, place: int, record: Float64) -> "Case":
        X, y = np.insert(self.X, place, record[:-1], axis=0), np.insert(self.y, place, record[-1])
        people = None if self.people is None else np.insert(self.people, place, 10**6)
        return replace(self, X=X, y=y, people=people)


def _table(rng: np.random.Generator, n: int, d: int, holes: int = 0) -> tuple[Float64, Float64]:
    """Columns of many sizes, one with ties; a label with long tails; some records that are left out."""
    X = rng.normal(size=(n, d)) * 10.0 ** (np.arange(d) % 4) + 5
    X[:, 1] = rng.integers(3, size=n)
    y = X[:, 0] - 2 * X[:, 1] + rng.standard_t(3, size=n)
    X[rng.permutation(n)[:holes], 0] = np.nan
    return X, y


def _maker(estimator: Callable[..., Any], *given: Any, **options: Any) -> Callable[..., Any]:
    return lambda n_jobs=1: estimator(*given, n_jobs=n_jobs, **options)


def _selected(selection: str, regression: str, epsilon: float) -> Callable[..., Any]:
    return _maker(SelectThenRegress, selection, regression, 2, epsilon, 1e-3)


def tukey_case(name: str, X: Float64, y: Float64) -> Case:
    return Case(name, _maker(TukeyRegression, 8.0, 1e-3), X, y)


def cases(names: Sequence[str] | None = None) -> list[Case]:
    """Every estimator, the first one in each of its regimes."""
    flagship = PrivateLinearRegression
    rng = np.random.default_rng(20240501)
    lost = _table(rng, 300, 3)[0]
    tailed = np.exp(rng.normal(size=(5000, 3)) * 2)
    even = rng.normal(size=(1500, 3)), rng.normal(size=1500)
    even[1][:] += even[0][:, 0] - 2 * even[0][:, 1]
    people = np.arange(400) // 4
    made = [
        Case("all columns", _maker(flagship, 3.0, 1e-3), *_table(rng, 250, 4, holes=9)),
        Case("screening", _maker(flagship, 1.0, 1e-3), *_table(rng, 300, 12, holes=3)),
        Case("long tails", _maker(flagship, 5.0, 1e-2), tailed, tailed[:, 0] + rng.normal(size=5000)),
        Case("constant", _maker(flagship, 0.1, 1e-6), *_table(rng, 30, 3)),
        Case("lost label", _maker(flagship, 1.0, 1e-3), lost, np.where(np.arange(300) < 3, 1.0, 0.0)),
        Case("k", _maker(flagship, 5.0, 1e-3, k=2), *_table(rng, 500, 6)),
        Case("people", _maker(flagship, 5.0, 1e-3, rows_per_person=2), *_table(rng, 400, 3), people),
        Case("kendall", _maker(DPKendall, 3, 1.0), *_table(rng, 400, 7, holes=5)),
        Case("sublasso", _maker(SubLasso, 3, 2.0), *_table(rng, 600, 6)),
        tukey_case("tukey", *even),
        Case("adassp", _maker(BoostedAdaSSP, 2.0, 1e-3, rounds=9), *_table(rng, 700, 6, holes=4)),
        Case("kendall, tukey", _selected("kendall", "tukey", 9.0), *even),
        Case("kendall, adassp", _selected("kendall", "adassp", 2.0), *_table(rng, 400, 6)),
        Case("sublasso, tukey", _selected("sublasso", "tukey", 9.0), *even),
        Case("sublasso, adassp", _selected("sublasso", "adassp", 2.0), *_table(rng, 400, 6)),
    ]
    return [case for case in made if names is None or case.name in names]


def fit(
    case: Case, replay: Recording | None = None, added: Added = NOWHERE, n_jobs: int = 1, seed: int = 1
) -> tuple[Recording, Any]:
    """One fit on recording, and the model that came out of it."""
    model = case.make(n_jobs)
    with Recording(seed, replay, added).running() as recording:
        model.fit(case.X, case.y) if case.people is None else model.fit(case.X, case.y, case.people)
    return recording, model


def compare(case: Case, base: Recording, how: str, n_jobs: int = 1) -> list[str]:
    """Fit again with the outputs of `base`; the steps whose statistic is not the same, bit for bit."""
    try:
        again, _ = fit(case, base, n_jobs=n_jobs, seed=2)
    except Diverged as error:
        return [f"{case.name}, {how}: {error}"]
    if len(base.calls) != len(again.calls):
        return [f"{case.name}, {how}: another number of steps"]
    steps = zip(base.calls, again.calls, strict=True)
    return [f"{case.name}, {how}: {a.step.name}" for a, b in steps if frozen(a.statistic) != frozen(b.statistic)]
