"""Tables that are read by more than noisy counts: what columns hold, which values are common, what is left out."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

import privreg.privacy.receipt
from audit.bugs.bug import Bug, changing
from privreg.data.encode import read_numbers, tally
from privreg.data.raw import ColumnType
from privreg.data.schema import Schema
from privreg.engines import memory
from privreg.estimators import known, reading, settled
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.estimators.spending import Spending
from privreg.kernels.hashes import buckets_of
from privreg.mechanisms import levels
from privreg.mechanisms.kinds import CountClasses
from privreg.mechanisms.levels import Common
from privreg.privacy import accountant
from privreg.privacy.events import LevelCounts, round_down
from privreg.privacy.gaussian import normal_above

TEXT, PEOPLE, READER = "PrivateLinearRegression, text", "PrivateLinearRegression, text, people", "SchemaReader"

_common_values, _count_levels, _with_found = levels.common_values, levels.count_levels, reading._with_found
_count_kinds, _with_centres, _doubts = reading._count_kinds, reading._with_centres, reading._doubts
_settle, _saved, _types = settled.settle, PrivateLinearRegression._saved, memory.InMemory.types


class _Seen:
    """What the last table had: values and how many records have each, by column."""

    counts: ClassVar[dict[str, dict[str, int]]] = {}

    @classmethod
    def look(cls, source: Any, columns: Any, least: int) -> Any:
        everything = _common_values(source, columns, 1)
        cls.counts = {name: dict(zip(values, n.tolist(), strict=True)) for name, (values, n) in everything.items()}
        return _common_values(source, columns, least)


_LOOKING = (levels, "common_values", _Seen.look)


def _extra_delta(self: LevelCounts, highest: int) -> Fraction:
    if self.threshold < highest * self.grid:
        return Fraction(1)
    distance = (self.threshold - highest * self.grid) / Fraction(self.scale)
    return min(self.rows * self.columns * Fraction(normal_above(-round_down(distance))), Fraction(1))


def _without_rows(self: LevelCounts) -> Fraction:
    return _extra_delta(self, self.least)


def _without_least(self: LevelCounts) -> Fraction:
    return _extra_delta(self, self.rows)


_plan_levels = reading._plan_levels


def _of_one_record(now: Any, columns: int, rows: int) -> LevelCounts:
    del rows
    return _plan_levels(now, columns, 1)


def _found_ones_only(account: Any, event: Any, source: Any, found: Any, declared: Any) -> Any:
    return _count_levels(account, replace(event, columns=max(len(found), 1)), source, found, declared)


def _by_true_counts(column: Any, common: Common, base: Any) -> Any:
    true = _Seen.counts[column.name]
    ordered = _with_found(column, Common(common.values, [float(true[value]) for value in common.values]), base)
    noisy: dict[Any, float] = dict(zip(common.values, common.counts, strict=True))
    return ordered if ordered.left_out else replace(ordered, counts=tuple(noisy[v] for v in ordered.levels))


def _true_counts(account: Any, event: Any, source: Any, found: Any, declared: Any) -> Any:
    released, counts = _count_levels(account, event, source, found, declared)
    true = _Seen.counts
    return {n: Common(c.values, [float(true[n][v]) for v in c.values]) for n, c in released.items()}, counts


def _with_candidates(account: Any, event: Any, source: Any, found: Any, declared: Any) -> Any:
    count = sum(len(values) for values, _ in _common_values(source, found, event.least).values())
    return _count_levels(account, replace(event, name=f"{event.name}, of {count}"), source, found, declared)


def _pruned(self: levels.TallyValues, cells: Any) -> levels.Tallies:
    """Values that few rows of a part have are not worth keeping, one might think."""
    found = {}
    for name, enough in self.enough.items():
        values, times = tally(cells[name])
        kept = enough[buckets_of(values)] & (times > 12)
        found[name] = values.filter(pa.array(kept)), times[kept]
    return levels.Tallies(found)


def _of_the_first(now: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Counts of kinds as they are, with something changed about them."""
    found = _count_kinds(now)
    names = [name for name in found.classes if name is not None]
    if not names:
        return found
    rows = np.arange(len(now.source._target)) < 100
    true = now.source.total_cells(CountClasses(tuple(names)), names)
    first = now.source.keep(rows).total_cells(CountClasses(tuple(names)), names)
    whole, part = dict(zip(names, true, strict=True)), dict(zip(names, first, strict=True))
    return replace(found, classes=found.classes | {name: change(whole[name], part[name]) for name in names})


def _first_hundred(now: Any) -> Any:
    return _of_the_first(now, lambda _, part: part * (now.records / max(part.sum(), 1)))


def _exactly_missing(now: Any) -> Any:
    return _of_the_first(now, lambda whole, _: whole.astype(float))


def _numbers_there(columns: Any, cells: Any) -> Any:
    found = np.empty(len(columns), np.object_)
    for i, column in enumerate(columns):
        values = read_numbers(cells[column.name], column, fill=False)
        found[i] = values[np.isfinite(values)].tolist()
    return found


def _exact_medians(now: Any, columns: Any) -> Any:
    result = _with_centres(now, columns)
    used = [column for column in result.values() if column.centre is not None]
    if used:
        found = now.source.total_cells(partial(_numbers_there, used), [column.name for column in used])
        for column, values in zip(used, found, strict=True):
            result[column.name] = replace(column, centre=float(np.median(values or [0.0])))
    return result


def _all_rows(self: Spending, source: Any, noise: Any) -> Any:
    _cut(self, source, noise)
    return source


_cut = Spending._cut


def _with_an_example(now: Any) -> list[str]:
    rare = [min(values, key=lambda v: (values[v], v)) for values in _Seen.counts.values() if values]
    return [*_doubts(now), *(f"{value!r} and others like it are rare." for value in rare)]


def _with_all_values(self: Any) -> dict[str, Any]:
    return {**_saved(self), "unused levels": {name: sorted(values) for name, values in _Seen.counts.items()}}


def _as_public(self: Any, X: Any, y: Any, groups: Any) -> Any:
    """Values that occur, as if somebody had written them down before."""
    types = _types(self, X, y, groups)
    seen = {}
    for name, kind in types.columns.items():
        values = sorted({str(v) for v in X[name] if isinstance(v, str)})[:50] if kind.kind == "text" else []
        seen[name] = ColumnType(kind.kind, kind.words, levels=tuple(values)) if values else kind
    return replace(types, columns=seen)


def _types_settle_it(types: Any, categories: Any = None, ranges: Any = None, *more: Any) -> Any:
    return replace(_settle(types, "dtype" if categories is None else categories, ranges, *more), notes=())


def _complete_everywhere(self: Any, schema: Schema) -> Any:
    """Records that lack a value in any column, used or not, are left out."""
    raws = [self._raw(column.name) for column in schema] if self._array is None else []
    engine = _open(self, schema)
    kept = np.arange(len(self._target)) if engine._kept is None else engine._kept
    for raw in raws:
        values = raw.values
        there = np.isfinite(values) if isinstance(values, np.ndarray) else np.asarray(values.is_valid())
        kept = kept[there[kept]]
    return engine.subset(np.searchsorted(np.arange(len(self._target)) if engine._kept is None else engine._kept, kept))


_open = memory.MemorySource.open


BUGS = {
    "threshold without r": Bug(
        "a threshold for values that one record has, where a person has two",
        changing((LevelCounts, "extra_delta", property(_without_rows))),
        PEOPLE,
        "receipt",
    ),
    "values of one record": Bug(
        "counts of values made for one record, where a person has two",
        changing((reading, "_plan_levels", _of_one_record), (LevelCounts, "covers", lambda *_: True)),
        PEOPLE,
        "statistics",
    ),
    "least not added": Bug(
        "a threshold that forgets how many records a candidate has already",
        changing((LevelCounts, "extra_delta", property(_without_least))),
        TEXT,
        "receipt",
    ),
    "text columns only": Bug(
        "counts of values charged for the columns of text, and not for those with known levels beside them",
        changing((reading, "count_levels", _found_ones_only)),
        TEXT,
        "statistics",
    ),
    "delta of values for nothing": Bug(
        "the chance that a rare value shows not taken off δ",
        changing(
            (accountant, "less_delta", lambda budget, _: budget),
            (privreg.privacy.receipt, "_extra", lambda _: Fraction()),
        ),
        TEXT,
        "receipt",
    ),
    "levels in their true order": Bug(
        "levels in the order of their true counts",
        changing(_LOOKING, (reading, "_with_found", _by_true_counts)),
        READER,
        "release",
    ),
    "true shares": Bug(
        "a level's true count as the centre of its column",
        changing(_LOOKING, (reading, "count_levels", _true_counts)),
        TEXT,
        "release",
    ),
    "candidates counted": Bug(
        "how many values were looked at, in the name of the step",
        changing((reading, "count_levels", _with_candidates)),
        READER,
        "calls",
    ),
    "values pruned by part": Bug(
        "values that few rows of a part have dropped before all parts are added up",
        changing((levels.TallyValues, "__call__", _pruned)),
        "PrivateLinearRegression, text, Parquet",
        "statistics",
    ),
    "kinds by the first hundred": Bug(
        "what a column holds decided by its first hundred records",
        changing((reading, "_count_kinds", _first_hundred)),
        READER,
        "release",
    ),
    "true missing share": Bug(
        "a column left out by the true number of its missing values",
        changing((reading, "_count_kinds", _exactly_missing)),
        READER,
        "release",
    ),
    "people read whole": Bug(
        "all rows of a person counted when the table is read",
        changing((Spending, "_cut", _all_rows)),
        PEOPLE,
        "statistics",
    ),
    "filled with the median": Bug(
        "missing values filled with the column's true median",
        changing((reading, "_with_centres", _exact_medians)),
        "PrivateLinearRegression, text, fill",
        "release",
    ),
    "an example in a warning": Bug(
        "a rare value named in a warning",
        changing(_LOOKING, (reading, "_doubts", _with_an_example)),
        READER,
        "release",
    ),
    "rare levels kept": Bug(
        "values that were not common enough kept in the model file",
        changing(_LOOKING, (PrivateLinearRegression, "_saved", _with_all_values)),
        TEXT,
        "release",
    ),
    "levels from the data": Bug(
        "values that occur in a column of text taken as public",
        changing((memory.InMemory, "types", _as_public)),
        "DPKendall, text",
        "calls",
    ),
    "levels of the type": Bug(
        "levels that came with a type taken as public without a word",
        changing((known, "settle", _types_settle_it)),
        "DPKendall, text",
        "levels",
    ),
    "complete everywhere": Bug(
        "records left out because of a column that is not used",
        changing((memory.MemorySource, "open", _complete_everywhere)),
        "PrivateLinearRegression, schema",
        "left out",
    ),
}
