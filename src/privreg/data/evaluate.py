"""What an expression (expressions.py) is for each record. Each operation looks at one record; NaN stands for missing.

Truths are 1 and 0, and NaN where a missing value leaves it open: "age >= 18 or region == 'X'" is true for region X,
whatever the age, and open for other regions if the age is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from privreg._types import Float64
from privreg.data.cells import as_days, as_truths
from privreg.data.encode import encoded, level_codes, numbers_in_raw, read_numbers
from privreg.data.expressions import uses
from privreg.data.raw import TEXT, Raw
from privreg.data.schema import BOOLEAN, Column, Schema
from privreg.kernels.functions import applied, power

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True)
class Records:
    """Some records: raw cells of a column, and its numbers where an expression computes with them."""

    n: int
    cells: Callable[[str], Raw]
    numbers: Callable[[str], Float64]


def values_of(tree: tuple[Any, ...], records: Records) -> Float64:
    """The value of an expression for each record."""
    with np.errstate(all="ignore"):
        return _value(tree, records)


def _value(tree: tuple[Any, ...], records: Records) -> Float64:
    kind, *parts = tree
    if kind == "number":
        return np.full(records.n, parts[0])
    if kind == "column":
        return _finite(records.numbers(parts[0]))
    if kind == "call":
        return _function(parts[0], _value(parts[1], records))
    if kind == "among" and not isinstance(parts[1], str):
        numbers = _finite(records.numbers(parts[0]))
        return np.where(np.isnan(numbers), np.nan, np.isin(numbers, parts[1:]))
    if kind in _CELLS:
        return _CELLS[kind](records.cells(parts[0]), tuple(parts[1:]))
    if kind == "date":
        return np.full(records.n, as_days(pa.array([parts[0]]))[0])
    found = [_value(part, records) for part in parts]
    if kind == "not":
        return 1.0 - _truth(found[0])
    if kind in ("and", "or"):
        return reduce(_both if kind == "and" else _either, map(_truth, found))
    left, right = found
    if kind in _COMPARISONS:
        return np.where(np.isnan(left) | np.isnan(right), np.nan, _COMPARISONS[kind](left, right))
    return power(left, right) if kind == "**" else _finite(_SIGNS[kind](left, right))


def _function(name: str, values: Float64) -> Float64:
    if name == "sqrt":  # rounded as the standard says, like the four operations
        return _finite(np.sqrt(values))
    return np.abs(values) if name == "abs" else applied(name, values)


def _finite(values: Float64) -> Float64:
    return np.where(np.isfinite(values), values, np.nan)


def _truth(values: Float64) -> Float64:
    return np.where(np.isnan(values), np.nan, values != 0)


def _both(one: Float64, other: Float64) -> Float64:
    return np.where((one == 0) | (other == 0), 0.0, one * other)


def _either(one: Float64, other: Float64) -> Float64:
    return 1.0 - _both(1.0 - one, 1.0 - other)


def _among(raw: Raw, values: tuple[Any, ...]) -> Float64:
    """Whether a cell is one of these texts, as a level would be spelled."""
    texts = tuple(sorted(values, reverse=True))  # "no" and "yes", in this order, would stand for truths
    codes, missing = level_codes(raw, texts, found=False)
    return np.where(missing, np.nan, codes >= 0)


def _missing(raw: Raw, _: Any) -> Float64:
    if raw.kind == TEXT:
        return level_codes(raw, ("",), found=True)[1].astype(np.float64)
    return np.asarray(raw.values < 0 if raw.kind == BOOLEAN else ~np.isfinite(raw.values), np.float64)


def _truths(raw: Raw, _: Any) -> Float64:
    if raw.kind != TEXT:
        return _truth(numbers_in_raw(raw))
    truths = as_truths(raw.values).astype(np.float64)
    return np.where(truths < 0, np.nan, truths)


def _since(raw: Raw, _: Any) -> Float64:
    """Days since 1970."""
    return as_days(raw.values) if raw.kind == TEXT else numbers_in_raw(raw)


_CELLS: dict[str, Callable[[Raw, Any], Float64]] = {
    "among": _among,
    "missing": _missing,
    "truth": _truths,
    "since": _since,
}


def any_numbers(raw: Raw, marks: str = ".,") -> Float64:
    """The numbers in cells where the decimal mark is not known: the first of these, or else the second."""
    values = numbers_in_raw(raw, marks[0])
    if raw.kind == TEXT:
        values = np.where(np.isnan(values), numbers_in_raw(raw, marks[1]), values)
    return _finite(values)


def passes(condition: tuple[Any, ...], cells: Callable[[str], Raw], n: int, marks: str = ".,") -> Any:
    """Which records a condition is surely true of."""
    return values_of(condition, Records(n, cells, lambda name: any_numbers(cells(name), marks))) == 1


# ---- columns of a schema

Cells = Callable[[str], Raw]  # of a column of the table, by its name


def column_values(column: Column, schema: Schema, cells: Cells) -> Any:
    """Codes of a category, numbers otherwise, of a column of the table or one that a formula computes."""
    if column.computed is None:
        return encoded(cells(column.name), column, schema.fill)
    values = _computed(column.computed.tree, column.inputs, schema, cells, schema.fill)
    if schema.fill:  # outside the domain of a function, as if every input were at its centre
        centres = {c.name: np.array([np.nan if c.centre is None else c.centre]) for c in schema}
        centre = (
            values_of(column.computed.tree, Records(1, cells, centres.__getitem__)) if _centred(column) else [np.nan]
        )
        values = np.where(np.isnan(values), centre[0], values)
    return values


def _centred(column: Column) -> bool:
    """Whether it is made of numbers alone, so that no cell is looked at."""
    assert column.computed is not None
    return all(use == "number" for use, _ in uses(column.computed.tree))


def target_values(schema: Schema, cells: Cells) -> Float64:
    """The target of a formula. A record without one is left out, whatever is filled in elsewhere."""
    assert schema.formula is not None
    target = schema.formula.target
    return _computed(target.tree, target.columns, schema, cells, fill=False)


def _computed(tree: tuple[Any, ...], inputs: tuple[str, ...], schema: Schema, cells: Cells, fill: bool) -> Float64:
    known = {column.name: column for column in schema}

    def numbers(name: str) -> Float64:
        return read_numbers(cells(name), known[name], fill)

    return values_of(tree, Records(len(cells(inputs[0])), cells, numbers))
