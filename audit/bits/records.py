"""The order of records reaches no statistic, and a record more changes its own group's model only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np

from audit.bits.cases import Finding, cases, compare, finding, fit
from audit.fits import frozen
from audit.recording import Added, Recording
from privreg import TukeyRegression
from privreg._types import Float64, Int64
from privreg.estimators import sub_lasso
from privreg.kernels import lasso


def order(names: Sequence[str] | None = None, shuffles: int = 2) -> Finding:
    """A sum of floats depends on the order of its terms, so one record could move it by more than its own part."""
    rng = np.random.default_rng(3)
    wrong, seen = [], 0
    free = [0, 0]  # statistics in groups that were shuffled inside too: all, and those that differ
    for case in cases(names):
        (base, _), n = fit(case), len(case.y)
        for _ in range(shuffles):
            rows = shuffle([g for _, g in base.groups if g.size == n], n, rng)
            wrong += compare(case.at(rows), _regrouped(base, rows), "other order")
            seen += 1
        if "sublasso" in case.name or "tukey" in case.name:
            rows = rng.permutation(n)
            free[0] += len(base.calls)
            free[1] += len(compare(case.at(rows), _regrouped(base, rows), "free order"))
    what = (
        "Rows of the table in another order, with the same outputs and each record in the same group: every statistic "
        "is the same bit for bit."
    )
    promised = (
        "Members of a group (SubLasso, Tukey) keep their order among themselves. Small models are floating-point least "
        "squares: in another order of its members a group's model has other last bits "
        f"({free[1]} of {free[0]} statistics of such fits differed). Privacy does not rest on that order: see `groups`."
    )
    return finding(what, seen, wrong, promised)


def shuffle(groups: list[Int64], n: int, rng: np.random.Generator) -> Int64:
    """A random order of n records in which any two that share a group in one of the draws keep theirs."""
    waiting = np.zeros(n, np.int64)
    after: list[list[int]] = [[] for _ in range(n)]
    for drawn in groups:
        for i, j in pairwise(np.argsort(drawn, kind="stable").tolist()):
            if drawn[i] == drawn[j]:
                after[i].append(j)
                waiting[j] += 1
    ready = [(rng.random(), i) for i in np.flatnonzero(waiting == 0).tolist()]
    heapify(ready)
    rows = []
    while ready:
        i = heappop(ready)[1]
        rows.append(i)
        for j in after[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heappush(ready, (rng.random(), j))
    return np.array(rows)


def _regrouped(recording: Recording, rows: Int64) -> Recording:
    kept = Recording(0)
    kept.calls = recording.calls
    kept.groups = [(m, drawn[rows] if drawn.size == rows.size else drawn) for m, drawn in recording.groups]
    return kept


def groups(records: int = 24, names: Sequence[str] = ("tukey", "sublasso")) -> Finding:
    """Where small models are floats, privacy rests on this alone: a record more changes its own group's model."""
    rng = np.random.default_rng(4)
    wrong, seen = [], 0
    for case in cases(names):
        with _group_results() as kept:
            base, _ = fit(case)
        d, n = case.X.shape[1], len(case.y)
        places = [0, n // 2, n, *rng.integers(n + 1, size=records).tolist()][:records]
        for i, place in enumerate(places):
            values = rng.choice([0.0, 1e308, -1e308, 5e-324, 1e-300, 1.0, -7.5], d + 1)
            record = values if i % 2 else np.append(case.X[i], case.y[i]) * rng.normal(1, 0.5)
            with _group_results() as other:
                again, _ = fit(case.with_record(place, record), base, Added(place, 1), seed=100 + i)
            own = int(again.groups[0][1][place])
            changed = [g for g, (a, b) in enumerate(zip(kept, other, strict=True)) if frozen(a) != frozen(b)]
            seen += len(kept) - 1
            if set(changed) - {own}:
                wrong.append(f"{case.name}: a record in group {own} changed groups {changed}")
    what = "A record put in anywhere: the models or votes of all other groups are the same bit for bit."
    return finding(what, seen, wrong)


@contextmanager
def _group_results() -> Iterator[list[Any]]:
    """The model or vote of each group, in order."""
    kept: list[Any] = []
    models, votes = TukeyRegression._models, lasso.count_votes

    def keep_models(self: Any, *given: Any) -> Float64:
        found = models(self, *given)
        kept.extend(found.copy())
        return found

    def keep_votes(rows: Float64, target: Float64, bounds: Int64, *given: Any) -> Int64:
        kept.extend(votes(rows, target, bounds[g : g + 2], *given) for g in range(bounds.size - 1))
        return votes(rows, target, bounds, *given)

    with patch.object(TukeyRegression, "_models", keep_models), patch.object(sub_lasso, "count_votes", keep_votes):
        yield kept
