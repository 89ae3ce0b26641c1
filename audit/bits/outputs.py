"""What comes out of the noise is whole numbers, and they alone decide what leaves a fit."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from audit.bits.cases import Finding, cases, finding, fit
from audit.fits import frozen
from audit.recording import NOWHERE, Added, Call, Recording
from privreg.estimators.private_linear import fitting, scales
from privreg.kernels.values import LARGEST, MANTISSA, code_of, value_of
from privreg.mechanisms import count, spread
from privreg.mechanisms.median import code_at, mass_at
from privreg.privacy.account import Account
from privreg.privacy.events import Event, Pick


def integers(names: Sequence[str] | None = None, seeds: int = 2) -> Finding:
    """Discrete noise protects integers only: a float that reaches it, or comes out, has been rounded by nobody."""
    wrong, seen = [], 0
    for case, seed in [(case, seed) for case in cases(names) for seed in range(seeds)]:
        for call in fit(case, seed=seed)[0].calls:
            seen += 1
            where = f"{case.name}, {call.step.name}"
            given = [draw.given for draw in call.draws]
            wrong += [f"{where}: {value!r} reached the noise" for value in given if not _is_whole(value, exact=True)]
            if not _is_whole(call.output) or not given:
                wrong.append(f"{where}: {call.output!r} came out")
    what = "What reaches the noise is int64 or a whole number of any length, and what comes out is whole numbers."
    return finding(what, seen, wrong)


def _is_whole(value: Any, exact: bool = False) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_whole(v, exact) for v in value)
    if isinstance(value, np.ndarray):
        if value.dtype == np.int64:
            return True
        return not exact and value.dtype == np.float64 and bool((value == np.rint(value)).all())
    return type(value) is int or isinstance(value, np.int64) or (value is None and not exact)


def outputs_alone(names: Sequence[str] | None = None) -> Finding:
    """A float that leaves a fit may have any low-order bits, as long as the released integers alone decide them."""
    rng = np.random.default_rng(7)
    wrong, seen = [], 0
    for case in cases(names):
        base, model = fit(case)
        expected, place = leaving(model), len(case.y) // 2
        others = [
            (case, NOWHERE, "the same table"),
            (case.with_record(place, rng.normal(size=case.X.shape[1] + 1) * 1e5), Added(place, 1), "one record more"),
        ]
        if not base.groups:
            wild = np.exp(rng.normal(size=(2 * place + 1, case.X.shape[1] + 1)) * 40)
            others.append((replace(case, X=wild[:, :-1], y=-wild[:, -1], people=None), NOWHERE, "another table"))
        for other, added, how in others:
            again = leaving(fit(other, base, added, seed=8)[1])
            seen += 1
            wrong += [f"{case.name}, {how}: {k}" for k in expected if expected[k] != again.get(k)]
    what = (
        "The released integers decide every bit of what leaves a fit: with the same integers, a fit of the same table, "
        "of one with a record more, and of a table that has nothing to do with it leave the same model."
    )
    return finding(what, seen, wrong)


def leaving(model: Any) -> dict[str, Any]:
    """Everything that a fit left in a model, exactly, by its name."""
    return {k: frozen(v) for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}


def grids(names: Sequence[str] | None = None, codes: int = 200_000) -> Finding:
    """Medians are values of a public grid, and neighbours have the same grid: every value can come out of both."""
    rng = np.random.default_rng(9)
    drawn = np.unique(np.append(rng.integers(-LARGEST, LARGEST + 1, codes), [-LARGEST, -1, 0, 1, LARGEST]))
    values = np.array([value_of(int(c)) for c in drawn])
    wrong = [f"grid value {c}" for c, v in zip(drawn.tolist(), values.tolist(), strict=True) if code_of(v) != c]
    coarse = (values.view(np.uint64) & np.uint64(2 ** (52 - MANTISSA) - 1)) == 0
    wrong += [f"grid value {c} has low-order bits" for c in drawn[~coarse].tolist()]
    seen = len(drawn)
    for case in cases(names):
        with _floats_of() as floats:
            base, _ = fit(case)
        again, _ = fit(case.with_record(0, np.full(case.X.shape[1] + 1, 1e300)), base, Added(0, 1), seed=10)
        picks = [(a, b) for a, b in zip(base.calls, again.calls, strict=True) if isinstance(a.step, Pick)]
        seen += sum(isinstance(one.statistic, tuple) for one, _ in picks) + len(floats)
        wrong += [f"{case.name}, {text}" for text in (*_other_candidates(picks), *_off_grid(floats, base))]
    what = (
        "Medians are values of the public grid, with no low-order bits; every value of it can come out of neighbours "
        "alike. Counts and histograms are the released whole numbers over their grid, a power of two."
    )
    return finding(what, seen, wrong)


@contextmanager
def _floats_of() -> Iterator[list[tuple[Event, Any]]]:
    """The floats that counts, histograms and medians give to the fit, with their steps."""
    kept: list[tuple[Event, Any]] = []

    def wrap(function: Any) -> Any:
        def keep(account: Account, step: Event, *given: Any) -> Any:
            kept.append((step, function(account, step, *given)))
            return kept[-1][1]

        return keep

    with ExitStack() as stack:
        for module, name in ((fitting, "noisy_count"), (scales, "noisy_histogram"), (scales, "noisy_median")):
            stack.enter_context(patch.object(module, name, wrap(getattr(module, name))))
        yield kept


def _other_candidates(picks: list[tuple[Call, Call]]) -> Iterator[str]:
    """Picks on neighbours that do not choose among the same; for medians, among the whole grid."""
    for one, two in picks:
        if not isinstance(one.statistic, tuple):
            if len(one.statistic) != len(two.statistic):
                yield f"{one.step.name}: another number of candidates"
        elif not all(_covers_grid(bounds) for _, bounds in (one.statistic, two.statistic)):
            yield f"{one.step.name}: not every grid value can come out"


def _covers_grid(bounds: list[tuple[int, int]]) -> bool:
    ends = [mass_at(-LARGEST), *(high for _, high in bounds)]
    joined = [low for low, _ in bounds] == ends[:-1] and ends[-1] == mass_at(LARGEST + 1)
    return joined and all(high > low for low, high in bounds)


def _off_grid(floats: list[tuple[Event, Any]], base: Recording) -> Iterator[str]:
    assert count.GRID == spread.GRID == 2**28
    outputs = {call.step: call.output for call in base.calls}
    for step, value in floats:
        whole = outputs[step]
        expected = value_of(code_at(whole)) if isinstance(step, Pick) else whole / 2**28
        if not np.array_equal(np.atleast_1d(value), np.atleast_1d(expected)):
            yield f"{step.name}: {value!r} is not a whole number of grid steps"
