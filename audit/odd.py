"""Records that are odd in kind rather than in value: lines, rows, cells and identifiers that no table should have."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from audit.fuzz.text import NASTY_LINES
from audit.neighbours import Cells, added_at, make_table, neighbour
from audit.recording import Added

Neighbour = Callable[[np.random.Generator, Any, str, Sequence[float]], tuple[Any, Added]]

# One record each: what ends a line would make several of it. Files of the audit have at most five columns.
LINES = tuple(line for line in NASTY_LINES if not set(line) & set(b"\r\n") and len(line) < 10_000)
ROWS: tuple[Any, ...] = ([], [1.0], [1.0] * 9, None, 5, "x", [[1.0], 2.0], {"a": 1}, ([], []), np.zeros((2, 2)))
# fmt: off
CELLS: tuple[Any, ...] = (
    None, np.nan, "odd", b"\xff", "\ud800", [1, 2], Decimal("sNaN"), 10**400, -np.inf, 1j, "1e3x", object(),
    np.datetime64("2020"), np.timedelta64("NaT"), np.longdouble("1e4000"), np.float16("inf"),
)
# fmt: on

# Integers that are different, and all equal to one float by their hash; and what Python takes for the same as another.
_MERGING = tuple(2**126 + j * (2**61 - 1) for j in range(1, 60))
PEOPLE: tuple[Any, ...] = (*_MERGING, "1", "1.0", b"1", 1.5, Decimal(7), ("a", 1), ("a", "1"), 10**30, -(2**64))
_FLOATS = (np.float64(2.0**126),) * 6  # often: it has to come first to make the others one
NEW_PEOPLE: tuple[Any, ...] = (*_FLOATS, True, 1e300, Decimal("sNaN"), ("a", 1.5), "n1", 1j, [1])
FAR = 2**62  # seconds: no date of Python's


def odd_neighbour(records: Sequence[Any]) -> Neighbour:
    """The table with one of these among its records."""

    def chosen(rng: np.random.Generator, table: Cells, kind: str, released: Sequence[float]) -> tuple[Cells, Added]:
        del kind, released
        at, record = int(rng.integers(len(table) + 1)), records[int(rng.integers(len(records)))]
        return replace(table, odd=(at, record)), added_at(table, at)

    return chosen


def odd_cell(columns: Sequence[str]) -> Neighbour:
    """The table with one more record, of which one cell is odd."""

    def chosen(rng: np.random.Generator, table: Cells, kind: str, released: Sequence[float]) -> tuple[Cells, Added]:
        del kind, released
        at, column = int(rng.integers(len(table) + 1)), columns[int(rng.integers(len(columns)))]
        longer = replace(table, odd=(at, (column, CELLS[rng.integers(len(CELLS))])))
        return longer, added_at(table, at)

    return chosen


def people_table(pool: Sequence[Any], new: Sequence[Any]) -> tuple[Callable[[np.random.Generator], Cells], Neighbour]:
    """Tables whose records belong to these people, and neighbours with one of the new ones."""

    def table(rng: np.random.Generator) -> Cells:
        cells = make_table(rng, int(rng.integers(100, 250)), 2)
        return replace(cells, people=tuple(pool[int(i)] for i in rng.integers(len(pool), size=len(cells))))

    def chosen(rng: np.random.Generator, cells: Cells, kind: str, released: Sequence[float]) -> tuple[Cells, Added]:
        longer, added = neighbour(rng, cells, kind, released)
        person = new[int(rng.integers(len(new)))]
        people = tuple(person if p == "somebody new" else p for p in longer.people or ())
        return replace(longer, people=people), added

    return table, chosen
