"""Records a fit: every statistic on its way to the noise, what was asked of the noise, and what came out.

A second fit, on a neighbouring table, is handed the outputs of the first. Then everything must happen again in the
same way: the same steps with the same parameters, statistics that moved by no more than the step declares, and nothing
else that differs in what leaves the fit. This is what the composition theorem asks for, checked on the whole program.
"""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

from audit.watched import (
    BELOW,
    COUNTING,
    FITS,
    PACKAGE,
    check_draws,
    check_fits,
    check_noise,
    deciding_files,
    sources_of_noise,
)
from privreg._types import Bool, Int64
from privreg.data.expressions import Expression
from privreg.data.schema import Schema
from privreg.estimators import base, reading, schema_reader
from privreg.estimators.spending import Spending
from privreg.mechanisms import levels, persons
from privreg.privacy.account import Account, Levels
from privreg.privacy.events import Event, GaussianMoments, LevelCounts, Pick, ProposeTestRelease, SampledPicks
from privreg.privacy.noise import SeededNoise

_DECIDING = frozenset(PACKAGE / name for name in deciding_files())


class Diverged(Exception):
    """The second fit asked for something that the first did not."""


class ShownAlone(Exception):
    """The first fit released a value that is no candidate on the second table: the event that δ′ pays for."""


@dataclass
class Draw:
    """One request to the noise."""

    kind: str
    scale: float
    given: Any
    result: Any = None


@dataclass
class Call:
    """One step: what was declared, the true statistic, what the noise was asked for, and the output.

    `returned` is what came of the draws. `output` is what the fit went on with: in a replay that of the first fit.
    """

    step: Event
    statistic: Any
    draws: list[Draw] = field(default_factory=list)
    returned: Any = None
    output: Any = None


@dataclass(frozen=True)
class Added:
    """Where the longer of two tables has the records that the other has not: `most` of them, one after another.

    `row` counts all rows before them, and `before` those that a filter leaves and that are complete by a schema; None:
    all are. `texts` are their cells as text, by column, if that is known.
    """

    row: int = 0
    most: int = 0
    before: Callable[[Schema | None, Expression | None], int] | None = None
    removed: bool = False
    texts: frozenset[tuple[str, str]] | None = None

    def couple(self, drawn: Any, size: int, fresh: Any, first: int | None = None) -> Any:
        """The same draws for the rows or records that both tables have; None if there are more than that.

        `first` is the place of the first new one. Of the new ones, any number may be complete.
        """
        more = drawn.size - size if self.removed else size - drawn.size
        if more == 0:
            return drawn
        if not 0 < more <= self.most:
            return None
        first = self.row if first is None else first
        places = range(first, first + more)
        if self.removed:
            return np.delete(drawn, places)
        result = fresh.copy()
        result[np.delete(np.arange(size), places)] = drawn
        return result


NOWHERE = Added()


class Recording:
    """What happened in one fit. With `replay`, gives out the outputs of an earlier one."""

    def __init__(self, seed: int, replay: "Recording | None" = None, added: Added = NOWHERE) -> None:
        self.calls: list[Call] = []
        self.groups: list[tuple[int, Int64]] = []  # number of groups, and the draw
        self.samples: list[Bool] = []
        self.path: list[tuple[str, int]] = []  # lines that were run where it is decided what is released
        self.found: list[tuple[str, str]] = []  # (check, what is wrong)
        self.warned: list[str] = []
        self._inner = SeededNoise(np.random.default_rng(seed))
        self._replay, self._added = replay, added
        self._open: Call | None = None
        self._account: Account | None = None
        self._entered = 0  # steps that must be written down when the noise is drawn
        self._where: Expression | None = None  # the filter
        self._schema: Schema | None = None  # known from when rows become records
        self._kept: Int64 | None = None  # of which some are kept, if they belong to people
        self._keys: list[tuple[str, str]] = []  # column and value of each count that is about to be released
        self._vector: list[tuple[str, int]] = []  # the columns that these are of, and how many levels are declared

    def wrong(self, check: str, text: str) -> None:
        self.found.append((check, text))

    @contextmanager
    def running(self) -> Iterator["Recording"]:
        """Fits in here are recorded."""
        self._where = self._schema = self._kept = None
        with warnings.catch_warnings(record=True) as w, ExitStack() as stack:
            warnings.simplefilter("always")
            recorded: dict[str, Any] = {name: self._recorded(name) for name in _STATISTIC}
            stack.enter_context(patch.multiple(Account, **recorded))
            for module in sources_of_noise():
                stack.enter_context(patch.object(module, "noise_for", lambda _: _RecordedNoise(self)))
            for owner, name, wrapped in (
                *((owner, name, self._traced) for owner, name in FITS),
                *((module, "open_table", self._noting_filter) for module in (base, schema_reader)),
                (Spending, "records", self._noting_schema),
                (persons, "kept_rows", self._noting_kept),
                (levels, "common_values", self._noting_values),
                (reading, "count_levels", self._noting_columns),
            ):
                stack.enter_context(patch.object(owner, name, wrapped(getattr(owner, name))))
            yield self
        self.warned = [f"{m.category.__name__}: {m.message}" for m in w]

    def _recorded(self, name: str) -> Callable[..., Any]:
        original, statistic = getattr(Account, name), _STATISTIC[name]

        def method(account: Account, step: Any, *given: Any) -> Any:
            call = self._begin(account, step, statistic(step, *given), 0 if name == _PAID else 1)
            if name == _THRESHOLDED:
                call.statistic = (*call.statistic, tuple(self._keys), tuple(self._vector))
            call.returned = call.output = original(account, step, *given)
            return self._end(call, name != _SECRET)

        return method

    def _begin(self, account: Account, step: Event, statistic: Any, entries: int) -> Call:
        self._account, self._entered = account, len(account._made) + entries
        self._open = Call(step, statistic)
        return self._open

    def _end(self, call: Call, released: bool) -> Any:
        self._open = None
        self.calls.append(call)
        if self._replay is not None:
            at = len(self.calls) - 1
            if at >= len(self._replay.calls) or self._replay.calls[at].step != call.step:
                raise Diverged(f"step {call.step.name!r} or its parameters depend on the data")
            first = self._replay.calls[at]
            if released:
                call.output = self._by_value(first, call) if isinstance(call.output, Levels) else first.output
        return call.output

    def _by_value(self, first: Call, call: Call) -> Levels:
        """What the first fit released, with the values where they are among those of this table."""
        known, place = first.statistic[2], {key: i for i, key in enumerate(call.statistic[2])}
        shown = [known[i] for i in first.output.passed] if known else []
        if len(shown) < len(first.output.passed) or len(place) < len(call.statistic[2]):
            raise Diverged("values are released that were not counted one by one")
        if any(key not in place for key in shown):
            raise ShownAlone
        passed = np.array([place[key] for key in shown], np.int64)
        order = np.argsort(passed)
        return Levels(passed[order], first.output.counts[order], first.output.declared)

    # ---- what is needed to tell which values and which records are the same on both tables

    def _noting_schema(self, records: Callable[..., Any]) -> Callable[..., Any]:
        def noting(spending: Spending, source: Any, schema: Schema, people: bool) -> Any:
            self._schema = schema
            return records(spending, source, schema, people)

        return noting

    def _noting_filter(self, open_table: Callable[..., Any]) -> Callable[..., Any]:
        def noting(known: Any, estimator: Any) -> Any:
            self._where = known.inputs.where
            return open_table(known, estimator)

        return noting

    def _noting_kept(self, kept_rows: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*given: Any) -> Any:
            self._kept = kept_rows(*given)
            return self._kept

        return noting

    def _first_new(self) -> int | None:
        """Where the records that one table has alone begin, among what there is now."""
        if self._added.before is None or (self._schema is None and self._where is None):
            return None
        first = self._added.before(self._schema, self._where)
        return first if self._kept is None else int((self._kept < first).sum())

    def _noting_values(self, common_values: Callable[..., Any]) -> Callable[..., Any]:
        def noting(source: Any, columns: Any, least: int) -> Any:
            found = common_values(source, columns, least)
            self._keys = [(name, value) for name in columns for value in found[name][0]]
            return found

        return noting

    def _noting_columns(self, count_levels: Callable[..., Any]) -> Callable[..., Any]:
        def noting(account: Account, event: Any, source: Any, found: Any, declared: Any) -> Any:
            self._keys = []
            self._vector = [(name, 0) for name in found] + [(c.name, len(c.levels)) for c in declared]
            return count_levels(account, event, source, found, declared)

        return noting

    def drawn(self, draw: Draw) -> Any:
        """Note a request to the noise; it must belong to a step that is written down as spent."""
        if self._open is None or self._account is None:
            self.wrong("spent first", f"{draw.kind} noise was drawn outside of any step")
            return draw.result
        self._open.draws.append(draw)
        made = self._account._made
        if len(made) != self._entered or made[-1] != self._open.step:
            self.wrong("spent first", f"noise of {self._open.step.name!r} was drawn before it was written down")
        return draw.result

    def draw_groups(self, records: int, groups: int) -> Int64:
        drawn = self._inner.groups(records, groups)
        if self._replay is not None:
            at = len(self.groups)
            if at >= len(self._replay.groups) or self._replay.groups[at][0] != groups:
                raise Diverged("the number of groups depends on the data")
            coupled = self._added.couple(self._replay.groups[at][1], records, drawn, self._first_new())
            if coupled is None:
                raise Diverged("groups are drawn for another number of records than there are")
            drawn = coupled
        self.groups.append((groups, drawn))
        return drawn

    def draw_sample(self, records: int, kept: int) -> Bool:
        """The first fit's coins for the records that both tables have. A record of this one alone is in the sample."""
        drawn = self._inner.sample(records, kept)
        if self._replay is not None:
            at = len(self.samples)
            if at >= len(self._replay.samples):
                raise Diverged("whether there is a sample depends on the data")
            fresh = np.ones(records, np.bool_)
            coupled = self._added.couple(self._replay.samples[at], records, fresh, self._first_new())
            if coupled is None and self._added != NOWHERE:
                raise Diverged("a sample is drawn of another number of records than there are")
            drawn = drawn if coupled is None else coupled  # a table that is no neighbour has coins of its own
        self.samples.append(drawn)
        return drawn

    def _traced(self, fit: Callable[..., Any]) -> Callable[..., Any]:
        """The same fit, with the lines noted that are run where it is decided what is released."""

        below = 0  # functions of `records` that are running: what they call runs once for each block of records

        def enter(frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG001
            nonlocal below
            if _is_below(frame.f_code.co_filename):
                below += 1
                frame.f_trace_lines = False
                return leave
            # Modules and classes are run when they are first needed.
            is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
            watched = is_function and not below and _decides(frame.f_code.co_filename)
            return line if watched and not _counts_values(frame.f_code) else None

        def leave(frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG001
            nonlocal below
            below -= event == "return"
            return leave

        def line(frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG001
            if event == "line":
                self.path.append((frame.f_code.co_name, frame.f_lineno))
            return line

        def traced(*given: Any, **named: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(enter)
            try:
                return fit(*given, **named)
            finally:
                sys.settrace(before)

        return traced


@cache
def _is_below(filename: str) -> bool:
    return Path(filename).is_relative_to(PACKAGE / BELOW)


@cache
def _decides(filename: str) -> bool:
    return Path(filename) in _DECIDING


@cache
def _counts_values(code: CodeType) -> bool:
    """Whether how often lines are run here is a statistic."""
    name = Path(code.co_filename).relative_to(PACKAGE).as_posix()
    return code.co_qualname.partition(".")[0] in COUNTING.get(name, ())


class _RecordedNoise:
    private = False

    def __init__(self, recording: Recording) -> None:
        self._recording, self._inner = recording, recording._inner

    def pick(self, scores: Int64, scale: float) -> Any:
        return self._recording.drawn(Draw("pick", scale, scores.copy(), self._inner.pick(scores, scale)))

    def laplace(self, value: int, scale: float) -> Any:
        return self._recording.drawn(Draw("laplace", scale, value, self._inner.laplace(value, scale)))

    def gaussian(self, values: Int64, scale: float) -> Any:
        return self._recording.drawn(Draw("gaussian", scale, values.copy(), self._inner.gaussian(values, scale)))

    def uniform(self, low: int, high: int) -> Any:
        return self._recording.drawn(Draw("uniform", 0.0, (low, high), self._inner.uniform(low, high)))

    def groups(self, records: int, groups: int) -> Int64:
        return self._recording.draw_groups(records, groups)

    def apart(self) -> "_RecordedNoise":
        return self

    def sample(self, records: int, kept: int) -> Any:
        return self._recording.drawn(Draw("sample", kept, records, self._recording.draw_sample(records, kept)))


def _plain(step: Event, value: Any) -> Any:  # noqa: ARG001
    return np.array(value) if isinstance(value, np.ndarray) else value


def _stretches(step: Pick, scores: Int64, bounds: Callable[[int], tuple[int, int]]) -> Any:  # noqa: ARG001
    """A score for each stretch of integers, and where the stretches begin and end."""
    return scores.copy(), [bounds(i) for i in range(len(scores))]


def _records(step: SampledPicks, records: int) -> int:  # noqa: ARG001
    return int(records)


def _boxes(step: ProposeTestRelease, distance: int, scores: Int64, grid: float, box: Any) -> Any:  # noqa: ARG001
    return distance, scores.copy(), grid, [box(i) for i in range(len(scores))]


def _counts(step: LevelCounts, counts: Int64, declared: Int64) -> Any:  # noqa: ARG001
    return counts.copy(), declared.copy()


def _moments(step: GaussianMoments, products: Int64, gradient: Int64) -> Any:  # noqa: ARG001
    return products.copy(), gradient.copy()


_STATISTIC: dict[str, Callable[..., Any]] = {
    "pick": _plain,
    "laplace": _plain,
    "gaussian": _plain,
    "gaussian_moments": _moments,
    "level_counts": _counts,
    "pick_within": _stretches,
    "propose_test_release": _boxes,
    "sample": _records,
    "sampled_pick": _plain,
}
_THRESHOLDED = "level_counts"
_SECRET = "sample"  # what comes of it is not released: in a replay it is coupled, record by record
_PAID = "sampled_pick"  # its step was written down when the sample was drawn

check_draws(set(_STATISTIC))
check_noise(_RecordedNoise)
check_fits()
