"""Record and replay: fits on neighbouring tables, given the same outputs, may differ in nothing but their statistics.

    python -m audit.replay [--pairs 10000] [--only TEXT]

With --only, cases whose names hold the text are run, and nothing is written.

For each pair a fit is recorded on one table and replayed on the other (audit/recording.py). Checked are: the calls and
their parameters; the lines run where it is decided what is released; what each step asks of the noise; how far each
statistic moved, exactly; the receipt, alone and between the two; and all that leaves the fit: every attribute, model
file, summary, warnings, and for the command its output, report and ledger, byte for byte.
"""

import argparse
import io
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from scipy.stats import poisson

from audit import results
from audit.cases import CASES
from audit.changes import changed
from audit.counts import shown_alone, wrong_counts
from audit.fits import Case, numbers_in
from audit.neighbours import Cells, neighbour, the_other_way
from audit.receipts import wrong_receipt
from audit.recording import NOWHERE, Added, Diverged, Recording, ShownAlone
from audit.requested_noise import wrong_noise

CHECKS = {
    "calls": "the same steps with the same parameters, in the same order",
    "path": "the same lines run where it is decided what is released (not in kernels, median and Tukey depth)",
    "noise": "the noise is asked for what the step declares, and its results are what is released",
    "spent first": "a step is written down as spent before its noise is drawn",
    "statistics": "no statistic moves by more than the step declares, and counts of values only where the record is",
    "release": "nothing that leaves the fit differs: attributes, predictions, files, text",
    "messages": "the same warnings, prints, logs and names of stages, and no error",
    "receipt": "the receipt lists every step, its total covers them, and unit and privacy are as they should be",
}


RARELY = 1e-6  # the chance of a false alarm about how often a value is shown alone


@dataclass
class Outcome:
    """A fit that was recorded, and what left it."""

    recording: Recording
    released: dict[str, Any] = field(default_factory=dict)
    receipt: Any = None
    said: str = ""
    added: Added = NOWHERE
    alone: bool = False  # the first fit released a value that this table's candidates do not have


def run(case: Case, cells: Cells, seed: int, replay: Recording | None = None, added: Added = NOWHERE) -> Outcome:
    """Fit, and keep what happened."""
    outcome = Outcome(Recording(seed, replay, added), added=added)
    try:
        # As a caller may have set it, so that a number that is too small or large would show.
        with outcome.recording.running(), _listening() as said, np.errstate(all="raise"):
            outcome.released, outcome.receipt = case.fit(cells)
        outcome.said = said.getvalue()
    except ShownAlone:
        outcome.alone = True
    except Diverged as diverged:
        outcome.recording.wrong("calls", str(diverged))
    except Exception as error:
        outcome.recording.wrong("messages", f"{type(error).__name__}: {error}")
    return outcome


def _is_heard(record: logging.LogRecord) -> bool:
    """All but what libraries say of themselves; of Dask that a cluster comes and goes."""
    library = record.name.partition(".")[0]
    quiet = library in ("distributed", "asyncio", "tornado") and record.levelno < logging.WARNING
    return library not in ("matplotlib", "PIL", "numba") and not quiet


@contextmanager
def _listening() -> Iterator[io.StringIO]:
    """All that is printed or logged."""
    said, log = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(said), log.level
    handler.addFilter(_is_heard)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        with redirect_stdout(said), redirect_stderr(said):
            yield said
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def compare(one: Outcome, two: Outcome, rows: int = 1) -> tuple[set[str], dict[str, float], list[str]]:
    """Checks that failed, the largest move of each step as a part of what is allowed, and what is wrong in words."""
    wrong = [*one.recording.found, *two.recording.found]
    wrong += [("noise", text) for o in (one, two) for call in o.recording.calls if (text := wrong_noise(call))]
    worst: dict[str, float] = {}
    for before, after in zip(one.recording.calls, two.recording.calls, strict=False):
        if before.step != after.step:
            break
        part = changed(before, after, rows)
        kind = _kind(before.step.name)
        worst[kind] = max(worst.get(kind, 0.0), part)
        if part > 1:
            wrong.append(("statistics", f"{before.step.name!r} moved {part:.4g} times as far as it may"))
        wrong += [("statistics", text) for text in wrong_counts(before, after, rows, two.added)]
    stopped = two.alone or any(check in ("calls", "messages") for check, _ in wrong)
    if not stopped:
        wrong += _differences(one, two, rows)
    return {check for check, _ in wrong}, worst, [f"{check}: {text}" for check, text in wrong]


def _differences(one: Outcome, two: Outcome, rows: int) -> Iterable[tuple[str, str]]:
    if len(one.recording.calls) != len(two.recording.calls):
        yield "calls", "one fit has more steps than the other"
    if one.recording.path != two.recording.path:
        at = next(
            (i for i, (a, b) in enumerate(zip(one.recording.path, two.recording.path, strict=False)) if a != b), -1
        )
        yield "path", f"the fits part at {one.recording.path[at][0]}"
    if one.said != two.said:
        yield "messages", "what is printed or logged differs"
    if one.recording.warned != two.recording.warned:
        yield "messages", f"warnings differ: {one.recording.warned} and {two.recording.warned}"
    for name in one.released.keys() | two.released.keys():
        if one.released.get(name) != two.released.get(name):
            yield "release", f"{name} differs"
    if one.receipt.to_dict() != two.receipt.to_dict():
        yield "receipt", "receipts differ"
    text = wrong_receipt(one.receipt, [call.step for call in one.recording.calls], rows)
    if text:
        yield "receipt", text


def _kind(name: str) -> str:
    """Steps that do the same."""
    return name.split(": ")[-1].rstrip("0123456789").removesuffix(" again").strip()


@dataclass
class Pair:
    """What came of one pair of tables."""

    case: str
    kind: str
    failed: set[str]
    worst: dict[str, float]
    texts: list[str]
    alone: bool = False  # a value was shown that only one of the tables could show
    chance: float = 0.0  # of that, at most, as the steps declare


def check_pair(name: str, number: int) -> Pair:
    """The pair with this number: everything about it follows from name and number."""
    case = CASES[name]
    index = list(CASES).index(name)
    rng = np.random.default_rng([index, number])
    kind = case.kinds[(number + 3 * index) % len(case.kinds)]  # so that cases with few pairs begin with other kinds
    table = case.table(rng)
    released = numbers_in(run(case, table, seed=number).released) if kind == "released" else []
    longer, added = (case.neighbour or neighbour)(rng, table, kind, released)
    if (number + number // len(case.kinds)) % 2:
        table, longer, added = longer, table, the_other_way(added)
    one = run(case, table, seed=number)
    two = run(case, longer, seed=number + 1, replay=one.recording, added=added)
    calls = list(zip(one.recording.calls, two.recording.calls, strict=False))
    alone = two.alone or any(shown_alone(*pair) for pair in calls)
    chance = float(sum(before.step.extra_delta for before, _ in calls))
    return Pair(name, kind, *compare(one, two, case.rows), alone, chance)


def numbered(pairs: int, only: str = "") -> list[tuple[str, int]]:
    """Which pairs to run: each case whose name holds a text, as often as its share says."""
    cases = {name: case for name, case in CASES.items() if only in name}
    total = sum(case.share for case in cases.values())
    return [(name, i) for name, case in cases.items() for i in range(ceil(pairs * case.share / total))]


def _check_pairs(tasks: list[tuple[str, int]]) -> list[Pair]:
    return [check_pair(*task) for task in tasks]


def check_all(pairs: int, tell: Callable[[int, int], None], only: str = "") -> list[Pair]:
    """All pairs, over the cores."""
    tasks, found = numbered(pairs, only), list[Pair]()
    order = np.random.default_rng(0).permutation(len(tasks))  # so that slow cases are spread evenly
    chunks = [[tasks[i] for i in order[a : a + 25]] for a in range(0, len(tasks), 25)]
    with ProcessPoolExecutor() as pool:
        for part in pool.map(_check_pairs, chunks):
            found += part
            tell(len(found), len(tasks))
    return found


def summary(found: list[Pair]) -> dict[str, Any]:
    """What goes into results/audit/replay.json."""
    worst: dict[str, dict[str, float]] = {}
    for pair in found:
        parts = worst.setdefault(pair.case, {})
        for step, part in pair.worst.items():
            parts[step] = max(parts.get(step, 0.0), part)
    return {
        "pairs": len(found),
        "kinds": dict(Counter(pair.kind for pair in found)),
        "checks": {
            check: {"what": what, "failed": sum(check in p.failed for p in found)} for check, what in CHECKS.items()
        },
        "cases": {
            name: {"what": case.what, "pairs": sum(p.case == name for p in found), "largest moves": worst.get(name, {})}
            for name, case in CASES.items()
        },
        "shown alone": {"pairs": sum(p.alone for p in found), "expected at most": sum(p.chance for p in found)},
        "wrong": sorted({f"{p.case}, {p.kind}: {text}" for p in found for text in p.texts})[:50] + too_often(found),
    }


def too_often(found: list[Pair]) -> list[str]:
    """Values that only one of two tables could show may be shown, but no more often than the steps declare."""
    times, chance = sum(p.alone for p in found), sum(p.chance for p in found)
    if not times or poisson.sf(times - 1, chance) > RARELY:
        return []
    return [f"values were shown {times} times that only one table could show, where {chance:.2g} were to be expected"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Record fits and replay them on neighbouring tables.")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names hold this; writes nothing")
    given, start = parser.parse_args(), time.time()
    said = [0.0]

    def tell(done: int, all_of: int) -> None:
        if time.time() - said[0] > 10 or done == all_of:
            said[0] = time.time()
            print(f"replay: {done:,} of {all_of:,} pairs, {time.time() - start:.0f} s", flush=True)

    found = summary(check_all(given.pairs, tell, given.only))
    if not given.only:
        results.write("replay", f"python -m audit.replay --pairs {given.pairs}", time.time() - start, found)
    for text in found["wrong"]:
        print(text)
    sys.exit(bool(found["wrong"]))


if __name__ == "__main__":
    main()
