"""Tables in memory: a hostile record in a frame, an array or a list, or an odd object as a table."""

import warnings
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy.sparse import eye_array

from audit.fuzz.columns import TYPED_USES, TYPES, columns_with, width
from audit.fuzz.draw import Draw
from audit.fuzz.outcome import descriptors, outcome
from audit.fuzz.record import CANARY, RECORDS, Read, Use, read_data, same_but_one
from privreg.data.schema import Schema
from privreg.data.tables import read_identities, read_table, read_target

# ---- frames

FRAMES: dict[str, Callable[[pa.Array], Any]] = {
    "arrow": lambda column: pa.table({"c": column}),
    "record batch": lambda column: pa.RecordBatch.from_arrays([column], ["c"]),
    "chunks": lambda column: pa.table({"c": pa.chunked_array([column.slice(0, 9), column.slice(9)])}),
    "polars": lambda column: pl.DataFrame({"c": pl.from_arrow(_valid(column))}),
    "pandas": lambda column: pd.DataFrame({"c": np.frombuffer(column.buffers()[1], _numpy_type(column.type))}),
    "pandas on arrow": lambda column: pd.DataFrame({"c": pd.Series(pd.arrays.ArrowExtensionArray(column))}),
}


def _numpy_type(kind: pa.DataType) -> Any:
    """The type of the same bits in numpy."""
    if not width(kind):
        raise TypeError
    return kind.to_pandas_dtype()


def _valid(column: pa.Array) -> pa.Array:
    """Polars relies on text being UTF-8, and makes none that is not."""
    column.validate(full=True)
    return column


def frame_record(make: str, kind: pa.DataType, cell: bytes | None, position: int, use: Use) -> None:
    """A data frame with and without a record of any bits, as features, target or owners."""
    found = []
    for column in columns_with(kind, cell, position):
        with warnings.catch_warnings(), descriptors():
            warnings.simplefilter("ignore")
            try:
                frame = FRAMES[make](column)
            except BaseException:  # no such frame can be made; polars panics
                return
        found.append(outcome(_read_frame, frame, use))
    same_but_one(found[0], found[1], position)


def _read_frame(frame: Any, use: Use) -> Read:
    zeros = np.zeros((len(frame) if hasattr(frame, "__len__") else frame.num_rows, 1))
    if use.target == "c":
        return read_data(zeros, frame)
    if use.person == "c":
        return read_data(zeros, zeros[:, 0], frame)
    return read_data(frame, zeros[:, 0], None, dict(use.levels))


# ---- arrays and lists

ROLES = ("features", "target", "groups", "object column", "object array")
NUMPY_TYPES = (*"?bhilBHILefdgFD", "M8[s]", "M8[ns]", "m8[D]", "U2", "S4", "V3")
# fmt: off
PYTHON_OBJECTS: tuple[Any, ...] = (
    None, float("nan"), float("inf"), 1e308, 5e-324, -0.0, 10**400, -(10**30), True, np.True_, 1j, np.float16(3),
    Decimal("sNaN"), Decimal("1e999999"), Fraction(10**400), Fraction(1, 3), np.longdouble("1e4000"), np.int64(1),
    "", CANARY, "1", "\ud800", "\0", b"\xff", date(2020, 1, 1), datetime.max, pd.NA, pd.NaT, pd.Timestamp(1),
    {}, {"a": 1}, set(), frozenset([1]), object(), np.zeros(2), np.array(["a"]), np.array(1.0), pa.scalar(1),
    np.datetime64("NaT"), np.timedelta64(1), range(3), print, type, Draw,
)
# fmt: on
LEVELS_OF_OBJECTS: tuple[Any, ...] = (
    None,
    (1.5, 2),
    ("1", CANARY),
    (date(2020, 1, 1),),
    (None, True),
    (frozenset([1]), (1, 2), Decimal(1)),
)


TAME: tuple[Callable[[int], Any], ...] = (
    lambda i: float(i % 5),
    lambda i: f"town {i % 3}",
    lambda i: (b"north", b"south")[i % 2],
    lambda i: date(2020, 1, 1 + i % 5),
    lambda i: (1, "1", True, 2.5, None)[i % 5],
)


def object_record(value: Any, position: int, role: str, levels: Any, usual: Callable[[int], Any] = TAME[0]) -> None:
    """Python objects with and without one of any kind, among others that are of one kind, or mixed."""
    tame = [usual(i) for i in range(RECORDS)]
    found = []
    for values in (tame, [*tame[:position], value, *tame[position:]]):
        y, column = np.zeros(len(values)), np.fromiter(values, np.object_)
        frame = pd.DataFrame({"c": pd.Series(column, dtype=object)})
        arguments: dict[str, tuple[Any, ...]] = {
            "features": ([[v, 1.0] for v in values], y),
            "target": (y[:, None], values),
            "groups": (y[:, None], y, values),
            "object column": (frame, y, None, {"c": levels} if levels else None),
            "object array": (column[:, None], y),
        }
        found.append(outcome(read_data, *arguments[role]))
    same_but_one(found[0], found[1], position)


def array_record(kind: str, cell: bytes, position: int, role: str) -> None:
    """A numpy array with and without a record of any bits."""
    dtype = np.dtype(kind)
    wild = np.frombuffer(cell[: dtype.itemsize].ljust(dtype.itemsize, b"\0"), dtype)
    if dtype.kind == "U":
        wild = (wild.view(np.uint32) % 0x110000).view(dtype)  # numpy makes no other
    found = []
    for more in (wild[:0], wild):
        values = np.insert(np.zeros(RECORDS, dtype), position, more)
        y = np.zeros(len(values))
        others: dict[str, tuple[Any, ...]] = {"target": (y[:, None], values), "groups": (y[:, None], y, values)}
        found.append(outcome(read_data, *others.get(role, (np.column_stack([values, values]), y))))
    same_but_one(found[0], found[1], position)


# ---- odd tables


def _deep(depth: int = 2000) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


# fmt: off
ODD_TABLES: tuple[Callable[[], Any], ...] = (
    lambda: None, lambda: CANARY, lambda: 1.5, dict, set, list, lambda: [[]], lambda: [[], []], _deep,
    lambda: iter([1]), lambda: {"a": [1]}, object, lambda: [CANARY], lambda: [[1], 2], lambda: [[1], [2, 3]],
    lambda: np.zeros((2, 2, 2)), lambda: np.array(1.0), lambda: np.zeros(2, "i4,f8"), lambda: eye_array(3),
    lambda: np.ma.array([[1.0], [2.0]], mask=True), lambda: np.ma.array([CANARY], mask=[False]),
    lambda: np.array([CANARY]), lambda: np.array([[object()]]), lambda: np.array([[b"1"]]), bytearray,
    pd.DataFrame, lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), lambda: pd.MultiIndex.from_tuples([(1, 2)]),
    lambda: pd.DataFrame([[1, 2]], columns=[None, 1.5]), lambda: pd.Index([1, 2]), lambda: pd.Categorical(["a"]),
    lambda: pd.DataFrame({("a", 1): [1.0]}), lambda: pd.period_range("2020", periods=2), lambda: pd.NA,
    lambda: pd.DataFrame({"a": [1j]}), lambda: pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}),
    pl.DataFrame, lambda: pl.LazyFrame({"a": [1]}), lambda: pl.Series([[1], None]), lambda: pl.Series([object()]),
    lambda: pl.Series([10**30]), lambda: pl.DataFrame({"": [b"\xff"]}), lambda: pl.Series([], dtype=pl.Null),
    lambda: pa.table({}), lambda: pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), lambda: pa.scalar(1),
    lambda: pa.chunked_array([], pa.int8()), lambda: pa.schema([]), lambda: pa.array([[1], None]),
)
# fmt: on


def odd_table(make: Callable[[], Any]) -> None:
    """An odd object as features, with and without levels, as target and as owners."""
    for categories in (None, "dtype", {"a": [1, "x", None]}, {"a": ["x"]}):
        outcome(lambda given=categories: read_data(make(), [0.0, 1.0], None, given))
    outcome(lambda: read_table(make(), Schema.numbers(["a"])), allowed=KeyError)
    outcome(lambda: read_target(make()))
    outcome(lambda: read_identities(make()))


def fuzz_table(data: bytes) -> None:
    """A hostile record in a table of any kind, or an odd table."""
    draw = Draw(data)
    mode, role, position = draw.number(5), draw.pick(ROLES), draw.number(RECORDS + 1)
    if mode == 0:
        object_record(draw.pick(PYTHON_OBJECTS), position, role, draw.pick(LEVELS_OF_OBJECTS), draw.pick(TAME))
    elif mode == 1:
        array_record(draw.pick(NUMPY_TYPES), draw.rest(), position, role)
    elif mode == 2:
        odd_table(draw.pick(ODD_TABLES))
    else:
        make, kind, use = draw.pick(list(FRAMES)), draw.pick(TYPES), draw.pick(TYPED_USES)
        frame_record(make, kind, draw.rest() if draw.number(8) else None, position, use)
