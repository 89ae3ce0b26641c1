"""Tables to fit on, and neighbours of them: one record, or one person, more or less."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.recording import Added
from privreg.data.encode import numbers_in_raw
from privreg.data.evaluate import column_values, passes, target_values
from privreg.data.expressions import Expression
from privreg.data.raw import TEXT, Raw, texts_of
from privreg.data.schema import NUMBER, Schema

Float64 = NDArray[np.float64]

LEVELS = ("north", "south", "west")  # declared for the category of tables that have one
HUGE, TINY = 1e308, 5e-324
HOSTILE = (0.0, -0.0, HUGE, -HUGE, TINY, -1e-300, 1.0, -7.5, 2.0**53, np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Cells:
    """A table: numeric columns, the target last; perhaps a category, and people who own the records."""

    numbers: Float64
    levels: tuple[str | None, ...] | None = None
    people: tuple[Any, ...] | None = None
    odd: tuple[int, Any] | None = None  # a record that is none of this, and its place (audit/odd.py)

    def __len__(self) -> int:
        return len(self.numbers)

    def raws(self) -> tuple[dict[str, Raw], Raw]:
        """The columns that may lack values, by the names they have in all kinds of tables, and the target."""
        columns = {f"x{j}": Raw(NUMBER, self.numbers[:, j]) for j in range(self.numbers.shape[1] - 1)}
        columns["x"] = columns["x0"]  # as a Dask frame calls it
        if self.levels is not None:
            columns["region"] = Raw(TEXT, texts_of(np.fromiter(self.levels, np.object_, len(self))))
        return columns, Raw(NUMBER, self.numbers[:, -1])

    def insert(self, at: int, more: "Cells") -> "Cells":
        def joined(a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> Any:
            return None if a is None or b is None else (*a[:at], *b, *a[at:])

        numbers = np.insert(self.numbers, [at] * len(more), more.numbers, axis=0)
        return Cells(numbers, joined(self.levels, more.levels), joined(self.people, more.people))


def complete_before(table: Any, row: int, schema: Schema | None, where: Expression | None) -> int:
    """How many of the first rows the filter leaves and are records by this schema.

    Only tells draws apart: a mistake would be an alarm.
    """
    columns, target = table.raws()
    used = np.ones(len(target), bool) if schema is None else complete(columns, target, schema)
    if where is not None:
        used &= passes(where.tree, columns.__getitem__, used.size)
    return int(used[:row].sum())


def complete(columns: Mapping[str, Raw], target: Raw, schema: Schema) -> NDArray[np.bool_]:
    """Which rows have every value that is needed."""
    with np.errstate(all="ignore"):
        cells = columns.__getitem__
        found = numbers_in_raw(target, schema.target_mark) if schema.formula is None else target_values(schema, cells)
        used = np.isfinite(found)
        for column in (schema.columns[source] for source in schema.sources):
            if set(column.inputs) <= columns.keys():
                values = column_values(column, schema, cells)
                used &= values >= 0 if column.has_levels else np.isfinite(values)
    return used


def make_table(
    rng: np.random.Generator, n: int, d: int, *, levels: bool = False, people: bool = False, gaps: bool = True
) -> Cells:
    """n records of d features, each column of another kind, with a target that goes with some of them."""
    columns = [_column(rng, n) for _ in range(d)]
    signal = sum((c / (1 + np.abs(c).max(initial=0)) for c in columns[:3]), np.zeros(n))
    noise = rng.choice([rng.normal(size=n), rng.standard_cauchy(size=n), np.zeros(n)])
    targets: list[Float64] = [
        signal * 10 + noise,
        np.round(signal * 3 + noise),
        np.exp(np.clip(5 * signal + noise, -300, 300)),
        (np.arange(n) < 3).astype(float),  # a spread that drowns in the noise
    ]
    target = targets[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])]
    numbers = np.column_stack([*columns, target])
    if gaps and n and rng.random() < 0.3:  # some records cannot be used
        numbers[rng.random(n) < 0.1, rng.integers(d + 1)] = np.nan
    return Cells(
        numbers,
        tuple(rng.choice(LEVELS, n).tolist()) if levels else None,
        tuple(f"p{i}" for i in rng.integers(max(n // 3, 1), size=n)) if people else None,
    )


def make_alike_table(rng: np.random.Generator, n: int, d: int) -> Cells:
    """Columns of one size that go together, and a target that a weighted sum of them tells."""
    common = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=(n, d))
    columns = 10.0 ** rng.integers(-3, 4) * (common + rng.choice([0.0, 20.0]))
    target = common @ rng.normal(size=d) + rng.normal(size=n)
    return Cells(np.column_stack([np.round(columns, 2) if rng.random() < 0.3 else columns, target]))


def make_hard_table(rng: np.random.Generator, n: int, d: int) -> Cells:
    """Columns that nearly say the same, residuals with a heavy tail, and rows far from all others."""
    common = rng.normal(size=(n, 1))
    columns = common * 10.0 ** rng.integers(-3, 4, size=d) + rng.choice([0.0, 1e-9, 1e-3]) * rng.normal(size=(n, d))
    columns[rng.random(n) < 0.05] *= 100
    residuals = rng.standard_t(1.5, size=n) * rng.choice([1e-3, 1.0, 30.0])
    return Cells(np.column_stack([columns, common[:, 0] + residuals]))


def make_zeros_and_ones_table(rng: np.random.Generator, n: int, d: int) -> Cells:
    """Targets of 0 and 1, with now and then another one."""
    columns = np.column_stack([_column(rng, n) for _ in range(d)])
    target = (rng.random(n) < rng.choice([0.02, 0.1, 0.5])) * 1.0
    target[rng.random(n) < rng.choice([0.0, 0.0, 0.1])] = rng.choice([0.5, 2.0, -1e300])
    return Cells(np.column_stack([columns, target]))


def _column(rng: np.random.Generator, n: int) -> Float64:
    kinds: list[Float64] = [
        rng.normal(size=n) * 10.0 ** rng.integers(-6, 7) + rng.choice([0, 5, 1e6]),
        rng.standard_cauchy(size=n),
        np.exp(rng.normal(size=n) * 3),
        rng.integers(3, size=n).astype(float),
        (rng.random(n) < 0.1).astype(float),
        np.full(n, float(rng.integers(-3, 4))),
        np.round(rng.gamma(2, 20, size=n)),
        rng.choice([0.0, 1e300, -1e300, 1e-300], size=n),
    ]
    return kinds[rng.choice(len(kinds), p=[0.35, 0.1, 0.15, 0.1, 0.1, 0.05, 0.1, 0.05])]


def _record(rng: np.random.Generator, table: Cells, kind: str, released: Sequence[float]) -> Float64:
    old, width = table.numbers, table.numbers.shape[1]
    finite = np.where(np.isfinite(old), old, 0.0)
    like = finite[rng.integers(len(old))] if len(old) else np.zeros(width)
    signs = rng.choice([-1.0, 1.0], width)
    if kind == "random":
        return np.asarray(like * rng.normal(1, 0.3, width))
    if kind == "huge":
        return HUGE * signs
    if kind == "tiny":
        return TINY * signs
    if kind == "not a number":
        return np.where(np.arange(width) == rng.integers(width), rng.choice([np.nan, np.inf, -np.inf]), like)
    if kind == "new maximum":
        return np.asarray(np.abs(finite).max(axis=0, initial=1.0) * 2 * signs)
    if kind == "one huge cell":
        return np.where(np.arange(width) == rng.integers(width), HUGE * signs, like)
    if kind == "ties":  # in every column equal to some record, but not to the same one
        return np.array([finite[rng.integers(len(old)), j] if len(old) else 0.0 for j in range(width)])
    if kind == "mixed":
        return rng.choice(HOSTILE, width)
    if kind == "released":  # on or beside a number that the first fit put out: a centre, a limit, a coefficient
        cells = rng.choice(np.array(released or [0.0]), width)
        return np.where(rng.random(width) < 0.5, cells, np.nextafter(cells, rng.choice([-np.inf, np.inf], width)))
    assert kind == "copy"
    return like


KINDS = ("random", "copy", "ties", "new maximum", "huge", "tiny", "one huge cell", "not a number", "mixed", "released")


def neighbour(rng: np.random.Generator, table: Cells, kind: str, released: Sequence[float] = ()) -> tuple[Cells, Added]:
    """The table with one record (or one person with up to five) more, anywhere, and where it was put."""
    rows = 1 if table.people is None else int(rng.integers(1, 6))
    levels: list[str] = [*LEVELS, "unheard of", ""] if kind in ("mixed", "not a number") else list(LEVELS)
    level = str(rng.choice(levels)) or None
    more = Cells(
        np.array([_record(rng, table, kind, released) for _ in range(rows)]),
        None if table.levels is None else (level,) * rows,
        None if table.people is None else (None if kind == "mixed" else "somebody new",) * rows,
    )
    at = int(rng.choice([0, len(table), int(rng.integers(len(table) + 1))]))
    return table.insert(at, more), added_at(table, at, rows)


def added_at(table: Any, row: int, most: int = 1, texts: frozenset[tuple[str, str]] | None = None) -> Added:
    """So many records more, before this row of the table."""
    return Added(row, most, partial(complete_before, table, row), texts=texts)


def the_other_way(added: Added) -> Added:
    """Seen from the longer table."""
    return replace(added, removed=True)
