"""Tables as people have them: text, dates, yes and no, gaps, both decimal marks. And neighbours with one odd record.

The cells of all columns are text here, as a file has them; what a data frame has of them is made when it is needed.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import numpy as np

from audit.neighbours import added_at
from audit.recording import Added
from privreg.data.raw import TEXT, Raw, text_of, texts_of
from privreg.data.text_header import BLANKS

TOWNS = ("north", "south", "west")
COLUMNS = ("town", "job", "note", "empty", "gaps", "ok", "day", "size", "price", "code", "mixed")
TARGET, WHO = "y", "who"

# Of one record each. The last three differ from "new everywhere" for people only.
KINDS = (
    "new everywhere", "copy", "a rare value", "missing", "one missing", "wrong number of cells", "huge", "numbers",
    "dates", "spellings", "other mark", "no target", "mixed", "objects", "equal new values", "distinct new values",
)  # fmt: skip

_MISSING = (None, "", "NA", "nan", "?", "null", "-", " ")
_NUMBERS = (
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e308",
    "5e-324",
    "1_0",
    "0x1",
    "1,5",
    "1.5",
    "1.5.5",
    "+.5",
    "9" * 400,
)
_DATES = ("2024-02-30", "2024-02-29", "0001-01-01", "9999-12-31T23:59:60Z", "2020-01-01 12:00", "1/2/2020", "12:00")
_SPELLINGS = (
    " north ", "NORTH", "north\u0000", "(other)", "(missing)", "a=b", "town=north", "ne\u0301", "n\u00e9", "1", "1.0",
    "True", "=cmd()", "<b>", "\u001b[31m", "\u202e", "'", '"', ";", ",", "\ufeff",
)  # fmt: skip
# fmt: off
OBJECTS: tuple[Any, ...] = (
    None, float("nan"), b"north", b"\xff", "\ud800", (1, 2), Decimal("sNaN"), Decimal("1.50"), 10**400, 1j,
    True, False, 1, 1.0, 2**60, date(2020, 1, 1), date(9999, 12, 31), np.datetime64("2020"), np.datetime64("NaT"),
    np.timedelta64(3, "D"), np.longdouble("1e4000"), np.float16("inf"), np.str_("north"), object(), [1], {"a": 1}, len,
)
# fmt: on
_LINES = (
    b"",
    b"1",
    b";",
    b";" * 99,
    b'"',
    b'"north;south',
    b"\xff;\xfe",
    b"\0",
    b"north",
    b'a"b;"c',
    b"x" * 200_000,
    b";".join([b"1"] * 40),
    b"\x1f;\x85",
    b",,,,",
    b"#",
    b'""',
)  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """A table: cells by column, the target and perhaps the people among them; perhaps a line that is no record."""

    cells: dict[str, tuple[Any, ...]]
    odd: tuple[int, bytes] | None = None  # a row, and what a file has in its place

    levels = None  # none is declared

    def __len__(self) -> int:
        return len(self.cells[TARGET])

    @property
    def features(self) -> list[str]:
        return [name for name in self.cells if name not in (TARGET, WHO)]

    @property
    def people(self) -> tuple[Any, ...] | None:
        return self.cells.get(WHO)

    def insert(self, at: int, more: Sequence[dict[str, Any]]) -> "Texts":
        cells = {name: (*old[:at], *(row[name] for row in more), *old[at:]) for name, old in self.cells.items()}
        return replace(self, cells=cells)

    def row(self, at: int) -> dict[str, Any]:
        return {name: column[at] for name, column in self.cells.items()}

    def raws(self) -> tuple[dict[str, Raw], Raw]:
        """As audit/neighbours.py has them."""
        columns = {name: Raw(TEXT, texts_of(_objects(cells))) for name, cells in self.cells.items()}
        return columns, columns[TARGET]

    def write_csv(self) -> bytes:
        """With semicolons, since some columns have a decimal comma."""
        lines = [list(self.cells), *zip(*self.cells.values(), strict=True)]
        written = [_line(line) for line in lines]
        if self.odd is not None:
            written[1 + self.odd[0]] = self.odd[1]
        return b"\n".join(written) + b"\n"

    def target(self) -> Any:
        return np.array([_number(cell) for cell in self.cells[TARGET]])

    def pandas(self) -> Any:
        """Features as objects of many kinds, as text, and as a category, whose levels are those that occur."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self.features:
            cells = self.cells[name]
            if name == "town":
                columns[name] = pd.Categorical([_utf8(cell) for cell in cells])
            elif name == "note":
                columns[name] = pd.Series([_utf8(cell) for cell in cells], dtype="string")
            else:
                columns[name] = pd.Series(_objects([_as_object(name, cell) for cell in cells]), dtype=object)
        return pd.DataFrame(columns)

    def arrow(self) -> Any:
        """Text, and a category with its levels; the target is a number."""
        import pyarrow as pa

        columns = {name: pa.array([_utf8(cell) for cell in self.cells[name]], pa.string()) for name in self.features}
        if "town" in columns:
            columns["town"] = columns["town"].dictionary_encode()
        if self.people is not None:
            columns[WHO] = pa.array(self.people, pa.string())
        return pa.table({**columns, TARGET: self.target()})


def _line(cells: Sequence[Any]) -> bytes:
    sink = io.StringIO()
    csv.writer(sink, delimiter=";", lineterminator="").writerow(["" if cell is None else _utf8(cell) for cell in cells])
    return sink.getvalue().replace("\r", " ").replace("\n", " ").encode()


def _objects(cells: Sequence[Any]) -> Any:
    return np.fromiter(cells, np.object_, len(cells))


def _utf8(cell: Any) -> str | None:
    return None if cell is None else str(cell).encode(errors="replace").decode()


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _as_object(name: str, cell: Any) -> Any:
    """What a data frame would have in place of this text: a number, a date, a truth."""
    if not isinstance(cell, str):
        return cell
    try:
        if name == "size":
            return float(cell)
        if name == "code":
            return int(cell)
        if name == "day":
            return date.fromisoformat(cell)
    except ValueError:
        return cell
    return {"yes": True, "no": False}.get(cell, cell) if name == "ok" else cell


def make_texts(rng: np.random.Generator, n: int, *, people: bool = False, columns: Sequence[str] = ()) -> Texts:
    """n records with some of the columns; mostly with a town, whose values are about equally common."""
    if not columns:
        some = rng.choice(len(COLUMNS), int(rng.integers(2, 6)), replace=False)
        columns = [name for i, name in enumerate(COLUMNS) if i in some or (i == 0 and rng.random() < 0.9)]
    shift = rng.permutation(n) % 3  # so that the counts of values hardly differ
    size = rng.normal(size=n)
    signal = 3.0 * shift + size
    target = signal + (rng.normal(size=n) if rng.random() < 0.8 else rng.standard_cauchy(size=n))
    cells: dict[str, tuple[Any, ...]] = {name: _column(rng, name, n, shift, size) for name in columns}
    cells[TARGET] = tuple(repr(round(float(value), 3)) for value in target)
    if people:
        cells[WHO] = tuple(f"p{i}" for i in rng.integers(max(n // 2, 1), size=n))
    return Texts(cells)


def _column(rng: np.random.Generator, name: str, n: int, shift: Any, size: Any) -> tuple[Any, ...]:
    rare = rng.random(n) < 0.05
    found: dict[str, Any] = {
        "town": [TOWNS[i] for i in shift],
        "job": [f"only {i}" if rare[i] else ("nurse", "cook", "smith", "clerk")[(i + shift[i]) % 4] for i in range(n)],
        "note": [f"said {i} things, {rng.integers(10**6)}" for i in range(n)],
        "empty": ["x" if rare[i] else None for i in range(n)],
        "gaps": [None if rng.random() < rng.choice([0.1, 0.3, 0.35]) else repr(float(i % 7)) for i in range(n)],
        "ok": [("no", "yes")[int(value > 0)] for value in size],
        "day": [(date(2020, 1, 1) + timedelta(int(i))).isoformat() for i in rng.integers(900, size=n)],
        "size": [repr(round(float(value), 2)) for value in size],
        "price": [repr(round(float(value), 2)).replace(".", ",") for value in np.exp(size)],
        "code": [str(i) for i in rng.integers(4, size=n)],
        "mixed": [str(i) if rng.random() < 0.5 else "word" for i in range(n)],
    }
    cells = found[name]
    if rng.random() < 0.2:
        cells = [None if rng.random() < 0.05 else cell for cell in cells]
    return tuple(cells)


def _record(rng: np.random.Generator, table: Texts, kind: str, number: int) -> dict[str, Any]:
    like = table.row(int(rng.integers(len(table)))) if len(table) else dict.fromkeys(table.cells, "1")
    features = table.features

    def each(pool: Sequence[Any]) -> dict[str, Any]:
        return like | {name: pool[int(rng.integers(len(pool)))] for name in features}

    if kind in ("new everywhere", "equal new values", "distinct new values"):
        new = f"new {number}" if kind == "distinct new values" else "new"
        return like | dict.fromkeys(features, new)
    if kind == "a rare value":
        rarest = {name: Counter(table.cells[name]).most_common()[-1][0] for name in features if len(table)}
        return like | rarest
    if kind == "one missing":
        return like | {features[int(rng.integers(len(features)))]: _MISSING[int(rng.integers(len(_MISSING)))]}
    if kind == "wrong number of cells":
        return dict.fromkeys(table.cells)
    if kind == "huge":
        return like | dict.fromkeys(features, "x" * 100_000)
    if kind == "other mark":
        marks = str.maketrans(".,", ",.")
        return like | {n: str(like[n]).translate(marks) for n in (*features, TARGET)}
    if kind == "no target":
        return like | {TARGET: (*_MISSING, "text", "1e999", "inf")[int(rng.integers(len(_MISSING) + 3))]}
    pools: dict[str, Sequence[Any]] = {
        "missing": _MISSING,
        "numbers": _NUMBERS,
        "dates": _DATES,
        "spellings": _SPELLINGS,
        "mixed": (*_MISSING, *_NUMBERS, *_DATES, *_SPELLINGS, "new"),
        "objects": OBJECTS,
    }
    return each(pools[kind]) if kind in pools else like


def text_neighbour(rng: np.random.Generator, table: Texts, kind: str, released: Sequence[float]) -> tuple[Texts, Added]:
    """The table with one record (or one person with up to five) more, anywhere, and where it was put."""
    del released
    rows = 1 if table.people is None else int(rng.integers(1, 6))
    at = int(rng.choice([0, len(table), int(rng.integers(len(table) + 1))]))
    more = [_record(rng, table, kind, number) for number in range(rows)]
    if table.people is not None:
        more = [row | {WHO: None if kind == "mixed" else "somebody new"} for row in more]
    longer = table.insert(at, more)
    if kind == "wrong number of cells":
        longer = replace(longer, odd=(at, _LINES[int(rng.integers(len(_LINES)))]))
    return longer, added_at(table, at, rows, frozenset(_spelled(more, table.features)))


def _spelled(rows: Sequence[dict[str, Any]], features: Sequence[str]) -> set[tuple[str, str]]:
    """The cells as text, as a file would have them and as a data frame would."""
    found = set()
    for row in rows:
        for name in features:
            for cell in (row[name], _as_object(name, row[name]), _utf8(row[name])):
                try:
                    text = text_of(cell)
                except Exception:
                    continue
                if text is not None:
                    found |= {(name, normalize("NFC", text.strip(BLANKS))), (name, text.replace("\n", " "))}
    return found
