"""Cells of files, in columns of arrow's, each read by a fixed rule that looks at this cell alone. Of text:

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
from privreg.errors import SchemaError

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
    text = _each(cells, pc.invert(pc.string_is_ascii(cells)), lambda cell: _utf8(cell.encode("latin-1")))
    words = pc.is_in(pc.ascii_lower(text), pa.array(MISSING))
    declared = pc.is_in(text, pa.array([level for level in levels if isinstance(level, str)], pa.string()))
    return pc.if_else(pc.and_not(words, declared), None, text)


def _numbers(cells: pa.Array, mark: str) -> pa.Array:
    """The numbers among stripped cells. Plain ones are read by arrow, the others one by one; the cell alone decides."""
    pointed = cells
    if mark == ",":
        pointed = pc.if_else(pc.match_substring(cells, "."), "", pc.replace_substring(cells, ",", "."))
    plain = pc.and_(
        pc.match_substring_regex(pointed, _PLAIN_NUMBER), pc.less_equal(pc.binary_length(pointed), _PLAIN_LENGTH)
    )
    values = pc.cast(pc.if_else(plain, pointed, None), pa.float64())
    others = pc.and_(pc.invert(plain), pc.greater(pc.binary_length(cells), 0))
    return _each(cells, others, partial(read_number, mark=mark), values)


def _utf8(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _each(cells: pa.Array, which: pa.Array, function: Callable[[str], Any], others: pa.Array | None = None) -> pa.Array:
    """`others` (if not given, the cells), with the value of a function in place of the chosen ones."""
    others = cells if others is None else others
    if not pc.any(which).as_py():
        return others
    values = pa.array([function(cell) for cell in cells.filter(which).to_pylist()], others.type)
    return pc.replace_with_mask(others, which, values)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def stored_type(kind: pa.DataType) -> pa.DataType:
    """A type without what makes no difference to the values."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), stored_type(kind.value_type))
    return pa.large_string() if _is_text(kind) else kind


def kind_of_type(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_dictionary(kind):
        return "category"
    if _is_text(kind):
        return "text"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "timestamp"
    return "nothing" if types.is_null(kind) else str(kind)


def convert(array: pa.Array, name: str, levels: str | None, identifier: bool, cast: bool) -> pa.Array:
    """A column without dictionary and without text that is not UTF-8: an identifier, a category, or values."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_text(array.type):
        array = _valid_text(array)
    if identifier:
        return _identifier(array)
    if pa.types.is_decimal(array.type) or pa.types.is_float16(array.type) or (cast and levels is None):
        array = pc.cast(array, pa.float64(), safe=False)
    return array if levels is None else _typed_as(levels, array, name)


def _valid_text(array: pa.Array) -> pa.Array:
    raw = pc.cast(array, pa.large_binary())
    try:
        return pc.cast(raw, pa.large_string())  # only if every cell is UTF-8
    except pa.ArrowInvalid:
        return pa.array([None if cell is None else _utf8(cell) for cell in raw.to_pylist()], pa.large_string())


def _identifier(array: pa.Array) -> pa.Array:
    """Decimals are not rounded; points in time are integers, since not all can be made into Python objects."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return pc.cast(array, pa.string())
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return stored_integers(array)
    return array


def stored_integers(array: pa.Array) -> pa.Array:
    """The numbers of days, seconds or parts of seconds that points in time are stored as."""
    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())


def _typed_as(kind: str, array: pa.Array, name: str) -> pa.Array:
    """A column in the kind of its levels."""
    is_text, is_boolean = _is_text(array.type), pa.types.is_boolean(array.type)
    if not (is_text or is_boolean or kind_of_type(array.type) == "number"):
        raise SchemaError(f"column {name!r} is of type {array.type}, which cannot have levels")
    if kind == "text":
        return pc.cast(array, pa.large_string())
    if is_text:
        return cells_as(kind, array, (), ".")
    if kind == "number":
        return pc.cast(array, pa.float64(), safe=False)
    if is_boolean:
        return array
    raise SchemaError(f"column {name!r} is of type {array.type}, but its levels are booleans")
