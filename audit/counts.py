"""What holds of counts by column beyond their length as one vector: of kinds of cells, and of values.

A record has one cell in each column, so it moves one count of each column by one, and of values only those it has.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from audit.changes import moved_values
from audit.recording import Added, Call
from privreg.data.cells import CLASSES
from privreg.mechanisms.kinds import GRID, plan_kinds
from privreg.privacy.events import LevelCounts

_KINDS = plan_kinds(1.0, 1).name


def wrong_counts(before: Call, after: Call, rows: int, added: Added) -> Iterator[str]:
    """What is wrong with counts of all columns at once, on neighbours that differ by so many records."""
    step = before.step
    if isinstance(step, LevelCounts):
        yield from _wrong_levels(step, before, after, rows, added)
    elif step.name == _KINDS:
        moved = np.abs(after.statistic - before.statistic).reshape(-1, CLASSES).sum(axis=1)
        if (moved > rows * GRID).any():
            yield f"{step.name!r}: a column moved by {moved.max() / GRID:g} cells"


def _wrong_levels(step: LevelCounts, before: Call, after: Call, rows: int, added: Added) -> Iterator[str]:
    if before.statistic[3] != after.statistic[3]:
        yield f"{step.name!r} counts other columns, or other levels of them"
        return
    vector = before.statistic[3]
    if step.columns != len(vector):
        yield f"{step.name!r} is of {len(vector)} columns, and says {step.columns}"
    if step.rows != rows:
        yield f"{step.name!r} is for {step.rows} records, where a unit may have {rows}"
    if step.threshold < (step.least + rows - 1) * step.grid:
        yield f"{step.name!r} has a threshold that one unit reaches without noise"
    moved = moved_values(before, after)
    by_column = Counter[str]()
    for (name, _), change in moved.items():
        by_column[name] += abs(change)
    changes = np.abs(after.statistic[1] - before.statistic[1])
    ends = np.cumsum([size for _, size in vector])
    for (name, _), part in zip(vector, np.split(changes, ends[:-1]), strict=True):
        by_column[name] += int(part.sum())
    for change in by_column.values():
        if change > rows * step.grid:
            yield f"{step.name!r}: the values of one column moved by {change / step.grid:g} records"
    if added.texts is not None and not moved.keys() <= added.texts:
        yield f"{step.name!r}: the count of a value changed that no new record has"


def shown_alone(before: Call, after: Call) -> bool:
    """Whether the second fit, by its own noise, would show a value that is no candidate on the first table."""
    if not isinstance(before.step, LevelCounts):
        return False
    known = set(before.statistic[2])
    return any(after.statistic[2][i] not in known for i in after.returned.passed)
