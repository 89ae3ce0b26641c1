"""Columns of Parquet: what kinds their types are, and how they become columns that a table can be read from."""

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from privreg.data.text_cells import cells_as
from privreg.errors import SchemaError

Conversion = Callable[[pa.Array], pa.Array]
Conversions = Mapping[str, Conversion | None]  # None: as it is


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"


def stored_type(kind: pa.DataType) -> pa.DataType:
    """A type without what makes no difference to the values."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), stored_type(kind.value_type))
    return pa.large_string() if _is_text(kind) else kind


def is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    return types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)


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


def converted(batch: pa.RecordBatch, plan: Conversions) -> pa.Table:
    columns = [(batch.column(name), convert) for name, convert in plan.items()]
    arrays = [column if convert is None else convert(column) for column, convert in columns]
    return pa.Table.from_arrays(arrays, names=list(plan))


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


def _utf8(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


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
