"""Cells that are text, each read by a fixed rule that looks at this cell alone.

- blanks (ASCII) around a cell are no part of it;
- a number is an optional sign, digits with at most one decimal mark among, before or after them, and an optional
  exponent (``-1``, ``+.5``, ``1.``, ``2e-3``); its value is the nearest float64, and beyond its range it is missing;
- a boolean is ``true`` or ``false`` in any case;
- text is missing if it is one of the words for it (`MISSING`) and not a declared level, or if it is not UTF-8.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from privreg.data.text_header import BLANKS, MISSING, read_number

# Numbers that arrow surely reads like Python; about "+" and the ends of the range of float64 its versions differ.
_PLAIN_NUMBER = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?$"
_PLAIN_LENGTH = 64


def cells_as(kind: str, cells: pa.Array, levels: Sequence[Any], mark: str) -> pa.Array:
    """Cells (UTF-8 read as Latin-1) in one kind; null where a cell is not of it."""
    cells = pc.ascii_trim(cells, BLANKS)
    if kind == "number":
        return _numbers(cells, mark)
    if kind == "boolean":
        lower = pc.ascii_lower(cells)
        true = pc.equal(lower, "true")
        return pc.if_else(pc.or_(true, pc.equal(lower, "false")), true, None)
    text = _each(cells, pc.invert(pc.string_is_ascii(cells)), _original_text)
    words = pc.is_in(pc.ascii_lower(text), pa.array(MISSING))
    declared = pc.is_in(text, pa.array([level for level in levels if isinstance(level, str)], pa.string()))
    return pc.if_else(pc.and_not(words, declared), None, text)


def _numbers(cells: pa.Array, mark: str) -> pa.Array:
    """The numbers among stripped cells. Plain ones are read by arrow, the others one by one; the cell alone decides."""
    if mark == ",":
        has_point = pc.match_substring(cells, ".")
        pointed = pc.if_else(has_point, "", pc.replace_substring(cells, ",", "."))
    else:
        pointed = cells
    plain = pc.and_(
        pc.match_substring_regex(pointed, _PLAIN_NUMBER), pc.less_equal(pc.binary_length(pointed), _PLAIN_LENGTH)
    )
    values = pc.cast(pc.if_else(plain, pointed, None), pa.float64())
    others = pc.and_(pc.invert(plain), pc.greater(pc.binary_length(cells), 0))
    return _each(cells, others, partial(read_number, mark=mark), values)


def _original_text(cell: str) -> str | None:
    try:
        return cell.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return None


def _each(cells: pa.Array, which: pa.Array, function: Callable[[str], Any], others: pa.Array | None = None) -> pa.Array:
    """`others` (if not given, the cells), with the value of a function in place of the chosen ones."""
    others = cells if others is None else others
    if not pc.any(which).as_py():
        return others
    values = pa.array([function(cell) for cell in cells.filter(which).to_pylist()], others.type)
    return pc.replace_with_mask(others, which, values)
