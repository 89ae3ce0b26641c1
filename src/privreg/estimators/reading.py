"""Reading a table: from raw cells to a released schema, before an estimator sees a number.

What is public is settled first (settled.py). The rest is found out privately:
the number of records, what kind of cells each column of text holds and how many are missing, which values are common,
and, if missing values are to be filled in, the centre of each column of numbers. Everything released here is an event
of the account; what is made of it is post-processing and never fails.

Proof: docs/proofs/reading.md, docs/proofs/kinds.md, docs/proofs/levels.md. Exact check: tests/audit/test_replay.py.
"""

from dataclasses import dataclass, field, replace
from math import ceil, sqrt
from typing import Any

import numpy as np

from privreg._types import Float64
from privreg.data.cells import COMMA, EITHER_COMMA, EITHER_POINT, MISSING, POINT, TRUTH, WHOLE
from privreg.data.cells import DATE as DATES
from privreg.data.cells import TEXT as TEXTS
from privreg.data.encode import read_numbers
from privreg.data.raw import TEXT, Cells
from privreg.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, Column, Schema
from privreg.data.text_header import BLANKS
from privreg.data.text_header import MISSING as WORDS
from privreg.engines.base import Source
from privreg.estimators.settled import Public
from privreg.kernels.values import Window, count_cells, window_near
from privreg.mechanisms.count import noisy_count, plan_noisy_count
from privreg.mechanisms.kinds import CountClasses, noisy_classes, plan_kinds
from privreg.mechanisms.levels import GRID, Common, count_declared, count_levels, plan_declared
from privreg.mechanisms.median import in_reach, noisy_median, plan_median, reach_of
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.events import LevelCounts, pick_epsilon
from privreg.results.release import NO_NUMBERS

SMALLEST_COUNT = 20.0
MOST_MISSING = 0.3  # of the records: a column that lacks more is left out
CERTAIN = 2.5  # standard deviations of noise by which it must
MOSTLY = 0.7  # of the values that are there: numbers, dates or truths, for the column to be of that kind
KIND_NOISE = 30  # counts of kinds aim at noise of a thirtieth of the records
EITHER = (EITHER_POINT, EITHER_COMMA)  # classes that are numbers with either mark
USELESS = 0.2  # part of the records: with more noise, missing values of columns that have a type are not counted at all
LEVEL_NOISE = 40  # and those of declared levels at a fortieth
COMMON = 20  # a value that one record in twenty has is to be found
SPARE = 0.5  # part of a standard deviation: values of fewer records are not looked at, which saves draws
MOST_CANDIDATES = 2000  # values looked at, at most, of each column
MOST_LEVELS = 50  # of a column
TRUTHS = ("no", "yes")

EMPTY = "almost all values are missing"
HALF_EMPTY = "too many values are missing"
NO_COMMON = "no value is common enough to be found at this budget"
CONSTANT = "only one value could be found at this budget"
TOO_FEW = "too few records at this budget to tell what kind of values there are"


@dataclass(frozen=True)
class Shares:
    """Parts of an account's budget that reading may take: of each step the most, of levels also the least."""

    count: float
    kinds: float
    typed_kinds: float  # if no column is text, so that only missing values are counted
    levels: tuple[float, float]
    centres: float
    smallest: float = 0.0  # S, records times μ, below which nothing is found out: the model will be a constant


ADAPTIVE = Shares(0.003, 0.03, 0.01, (0.01, 0.08), 0.05, smallest=15.0)  # of all of it
FIXED = Shares(0.05, 0.25, 0.25, (0.3, 0.5), 0.2)  # of the part that is set aside for reading


# ---- what is found out


@dataclass(frozen=True)
class _Reading:
    """What has been released so far."""

    account: AdaptiveAccount
    source: Source
    public: Public
    shares: Shares
    mu_squared: float  # the whole budget that shares are parts of
    records: float  # a cautious (low) count
    classes: dict[str | None, Float64] = field(default_factory=dict)  # noisy counts by column; None is the target
    class_noise: float = 0.0

    def share_for(self, noise: float, columns: int, low: float, high: float) -> float:
        """μ² for counts of so many columns with noise of about records/noise, between two parts of the budget."""
        wanted = columns * (noise / self.records) ** 2
        return min(max(wanted, low * self.mu_squared), high * self.mu_squared)


def read(account: AdaptiveAccount, source: Source, public: Public, shares: Shares, rows: int = 1) -> Schema:
    """Spend a part of the account's budget on a schema. `rows` is the number of records that a person may have."""
    mu_squared = account.mu_squared * (1 - 1e-9)
    event = plan_noisy_count("count all records", shares.count * mu_squared)
    counted = noisy_count(account, event, source.n_rows)
    records = max(counted - event.scale / event.grid, SMALLEST_COUNT)
    if counted * sqrt(mu_squared) < shares.smallest:
        public = _without_text(public)
    reading = _count_kinds(_Reading(account, source, public, shares, mu_squared, records))
    columns = {name: _with_kind(reading, name) for name in public.columns}
    columns, level_noise = _with_levels(reading, columns, rows)
    if public.fill:
        columns = _with_centres(reading, columns)
    told = (*public.notes, *_doubts(reading))
    return Schema(tuple(columns.values()), records, level_noise, _mark(reading, None), public.fill, told)


def _without_text(public: Public) -> Public:
    """If the model will be a constant anyway: columns that would have to be looked at are left out."""
    columns = public.columns | {name: Column(name, CATEGORY, left_out=TOO_FEW) for name in public.to_find}
    return replace(public, columns=columns, fill=False)


def _count_kinds(reading: _Reading) -> _Reading:
    """Noisy counts of the classes of cells, of all columns that may have missing values or whose kind is not known."""
    public = reading.public
    names: list[str | None] = [
        name
        for name, column in public.columns.items()
        if column is None or not (column.left_out or _spells_missing(column))
    ]
    offered = [name for name in names if name is not None]
    if public.text_target:
        names.append(None)
    if not names:
        return reading
    text = public.text_target or any(public.types[name].kind == TEXT for name in offered)
    most = reading.shares.kinds if text else reading.shares.typed_kinds
    cost = reading.share_for(KIND_NOISE, len(names), 0.0, most)
    if not text and sqrt(len(names) / cost) > USELESS * reading.records:
        return reading
    event = plan_kinds(cost, len(names))
    counts = reading.source.total_cells(CountClasses(tuple(names)), offered, public.text_target)
    noisy = noisy_classes(reading.account, event, counts)
    return replace(reading, classes=dict(zip(names, noisy, strict=True)), class_noise=event.scale / event.grid)


def _spells_missing(column: Column) -> bool:
    """Whether a declared level is a word for a missing value: then those that are missing cannot be told by words."""
    return any(isinstance(level, str) and level.strip(BLANKS).lower() in WORDS for level in column.levels)


def _with_kind(reading: _Reading, name: str) -> Column:
    """The column with its kind, and left out if it has too few values."""
    column, counts = reading.public.columns[name], reading.classes.get(name)
    if counts is None:
        assert column is not None
        return column
    if column is None:
        decreed = name in reading.public.categories
        column = Column(name, CATEGORY, found=True) if decreed else _kind_of(reading, name, counts)
    typed = reading.public.types[name].kind != TEXT
    if typed or column.has_levels:
        lacking, noise = float(counts[MISSING]), reading.class_noise
    else:  # what is not of the kind is missing
        mark = _mark(reading, name)
        column = replace(column, mark=mark)  # also of numbers that were declared
        known = {NUMBER: [WHOLE, *EITHER, COMMA if mark == "," else POINT], DATE: [DATES]}
        lacking, noise = _without(reading, counts, known[column.kind])
    column = replace(column, n_missing=max(lacking, 0.0))
    if name in reading.public.named or lacking <= MOST_MISSING * reading.records + CERTAIN * noise:
        return column
    return replace(column, left_out=EMPTY if lacking > 0.9 * reading.records else HALF_EMPTY)


def _without(reading: _Reading, counts: Float64, own: list[int]) -> tuple[float, float]:
    """How many records have no cell of these classes, and the noise of that.

    Each cell is of one class, so this is known twice: from all records, and from the other classes. The less noise one
    has, the more it counts.
    """
    inside, outside = len(own), len(counts) - len(own)
    total = float(counts[own].sum())
    lacking = outside * (reading.records - total) + inside * (float(counts.sum()) - total)
    return lacking / len(counts), reading.class_noise * sqrt(inside * outside / len(counts))


def _kind_of(reading: _Reading, name: str, counts: Float64) -> Column:
    """The kind that most of the values that are there have; text if no other kind clearly has nearly all of them."""
    classes = {NUMBER: _of_numbers(counts), DATE: [DATES], BOOLEAN: [TRUTH], CATEGORY: [TEXTS]}
    kind = max(classes, key=lambda each: counts[classes[each]].sum())
    of_kind, present = np.isin(np.arange(len(counts)), classes[kind]), np.arange(len(counts)) != MISSING
    weights = of_kind - MOSTLY * present  # negative counts stay: without them the values that are there seem too many
    if counts @ weights < -CERTAIN * reading.class_noise * np.linalg.norm(weights):
        kind = CATEGORY
    if kind == BOOLEAN:
        return Column(name, BOOLEAN, levels=TRUTHS, reference=0)
    return Column(name, kind, mark=_mark(reading, name), found=kind == CATEGORY)


def _of_numbers(counts: Float64) -> list[int]:
    """Classes of cells that are numbers, with the decimal mark that more of them have."""
    return [WHOLE, *EITHER, COMMA if counts[COMMA] > counts[POINT] else POINT]


def _mark(reading: _Reading, name: str | None) -> str:
    """The decimal mark: a point, unless commas clearly outnumber it.

    What may be thousands, such as 1,234, does not count: it is read by the mark that other cells have. If these do not
    tell, it is thousands; but not between semicolons, which programs write where commas are decimal, unless there are
    also numbers without any mark, as there are below a thousand. Where much may be thousands, and the wrong mark makes
    a thousandth of it, there must be less doubt.
    """
    counts, doubt = reading.classes.get(name), CERTAIN * sqrt(2) * reading.class_noise
    if counts is None:
        return "."
    if counts[EITHER_COMMA] > doubt:
        doubt *= sqrt(2)
    commas = counts[COMMA] - counts[POINT]
    if abs(commas) <= doubt and reading.public.semicolons and counts[WHOLE] <= doubt:
        commas = counts[EITHER_COMMA] - counts[EITHER_POINT]
    return "," if commas > doubt else "."


def _with_levels(reading: _Reading, columns: dict[str, Column], rows: int) -> tuple[dict[str, Column], float]:
    """Common values of columns of text, and counts of the levels of all other categories, in one event; its noise."""
    used = [column for column in columns.values() if column.has_levels and not column.left_out]
    found = [column.name for column in used if column.found]
    declared = [column for column in used if not column.found]
    if not used:
        return columns, 0.0
    released: dict[str, Common] = {}
    if found:
        plan = _plan_levels(reading, len(used), rows)
        released, counts = count_levels(reading.account, plan, reading.source, found, declared)
        noise, threshold = plan.scale / plan.grid, plan.threshold / plan.grid
    else:
        event = plan_declared(reading.share_for(LEVEL_NOISE, len(used), 0.0, reading.shares.levels[1]), declared)
        counts = count_declared(reading.account, event, reading.source, declared)
        noise, threshold = event.scale / event.grid, 0.0
    result = dict(columns)
    for column in declared:
        result[column.name] = replace(column, counts=tuple(counts[column.name]))
    for name in found:
        result[name] = _with_found(columns[name], released[name], reading.public.bases.get(name))
    for column in used:
        if not result[column.name].left_out:
            result[column.name] = _coded(reading, result[column.name], noise, threshold)
    return result, noise


def _plan_levels(reading: _Reading, columns: int, rows: int) -> LevelCounts:
    """Noise such that a value that one record in twenty has passes, as far as the shares allow."""
    delta = reading.account.extra_delta

    def plan(mu_squared: float) -> LevelCounts:
        noise = sqrt(columns / mu_squared)
        least = max(1, ceil(SPARE * noise), int(reading.records / MOST_CANDIDATES))
        name = "common values"
        return LevelCounts.costing(name, mu_squared, columns, rows, least, delta, GRID, purpose="reading")

    low, high = reading.shares.levels
    first = plan(low * reading.mu_squared)
    enough = first.threshold / first.grid / (reading.records / COMMON)  # how many times too high
    return plan(min(max(low * enough**2, low), high) * reading.mu_squared)


def _with_found(column: Column, common: Common, base: str | None) -> Column:
    """The most common values first; ties by name. A public bound on their number. The first is the reference, if no
    other one was asked for and found.
    """
    pairs = sorted(zip(common.values, common.counts, strict=True), key=lambda pair: (-pair[1], pair[0]))[:MOST_LEVELS]
    if not pairs:
        return replace(column, left_out=NO_COMMON)
    levels, counts = zip(*pairs, strict=True)
    return replace(column, levels=levels, counts=counts, reference=levels.index(base) if base in levels else 0)


def _coded(reading: _Reading, column: Column, noise: float, threshold: float) -> Column:
    """Whether other and missing values have a feature of their own: if they are common enough to tell."""
    assert column.counts is not None
    lacking, records = column.n_missing or 0.0, reading.records
    rest = max(records - sum(column.counts) - lacking, 0.0)
    doubt = sqrt(len(column.counts) * noise**2 + reading.class_noise**2)
    other = column.kind == CATEGORY and rest > max(threshold, 3 * doubt, records / COMMON)
    missing = reading.public.fill and lacking > max(threshold, 3 * reading.class_noise, records / COMMON)
    column = replace(column, other=other, missing=missing, n_other=rest)
    if column.found and len(column.levels) == 1 and not other and not missing:
        return replace(column, left_out=CONSTANT)
    return column


# ---- centres of columns, for missing values


@dataclass(frozen=True)
class _EachColumn:
    """One task for each column of numbers, on the values that are there."""

    columns: tuple[Column, ...]
    tasks: tuple[Any, ...]

    def __call__(self, cells: Cells) -> Any:
        found = np.empty(len(self.columns), np.object_)
        for i, (column, task) in enumerate(zip(self.columns, self.tasks, strict=True)):
            values = read_numbers(cells[column.name], column, fill=False)
            found[i] = task(np.ascontiguousarray(values[np.isfinite(values)]))
        return found


@dataclass(frozen=True)
class _Counted:
    """A column whose totals are known."""

    size: int
    known: dict[Any, Any]

    def total(self, task: Any) -> Any:
        return self.known[task]


def _with_centres(reading: _Reading, columns: dict[str, Column]) -> dict[str, Column]:
    """A noisy median of each column of numbers: what a missing one counts as."""
    mine = reading.public.targets
    used = tuple(c for c in columns.values() if not c.has_levels and not c.left_out and c.name not in mine)
    if not used:
        return columns
    names = [column.name for column in used]
    epsilon = pick_epsilon(reading.shares.centres * reading.mu_squared / len(used))
    cells = reading.source.total_cells(_EachColumn(used, (count_cells,) * len(used)), names)
    sizes = [int(counts.sum()) for counts in cells]
    reach = reach_of(plan_median("", epsilon))
    windows: list[Window] = [
        window_near(counts, *in_reach(size, reach))[1] for counts, size in zip(cells, sizes, strict=True)
    ]
    found = reading.source.total_cells(_EachColumn(used, tuple(windows)), names)
    result = dict(columns)
    rows = {
        feature.name: feature.row for feature in Schema(tuple(columns.values()), fill=True).rows if feature.code is None
    }
    for column, size, counts, window, inside in zip(used, sizes, cells, windows, found, strict=True):
        row = rows[column.name]  # as in all other events, whose names are safe to print
        event = plan_median(f"centre of column {row}", epsilon, purpose="reading", column=row)
        values = _Counted(size, {count_cells: counts, window: inside})
        centre = noisy_median(reading.account, event, values)
        if column.range is not None:
            centre = min(max(centre, column.range[0]), column.range[1])
        result[column.name] = replace(column, centre=centre)
    return result


def _doubts(reading: _Reading) -> list[str]:
    """What may be wrong with the table as a whole, from released values only."""
    doubts, types = [], reading.public.types
    targets = [None, *(name for name in sorted(reading.public.targets) if types[name].kind == TEXT)]
    for counts in (reading.classes[name] for name in targets if name in reading.classes):
        if counts[_of_numbers(counts)].sum() < reading.records / 2 - CERTAIN * reading.class_noise:
            doubts.append(NO_NUMBERS)
    return doubts
