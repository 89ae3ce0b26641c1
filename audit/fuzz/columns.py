"""Columns of all types, with one value of any bits."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from audit.fuzz.record import RECORDS, TOWNS, Use

_UNITS = ("s", "ms", "us", "ns")
_DAYS, _STRUCT, _MAP = pa.list_(pa.date32()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())
# fmt: off
TYPES = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
    pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38, 5), pa.decimal128(9, 2), pa.decimal256(70, 9),
    pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), *map(pa.timestamp, _UNITS), *map(pa.duration, _UNITS),
    pa.timestamp("us", "Europe/Oslo"), pa.binary(8), pa.month_day_nano_interval(),
    pa.string(), pa.large_string(), pa.binary(), pa.bool_(), pa.null(), _DAYS, _STRUCT, _MAP,
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
)
# fmt: on

TYPED_USES = (
    Use("y", ("c", "x")),
    Use("c", ("x",)),
    Use("y", ("x",), "c"),
    Use("y", ("c",), None, (("c", ("1", "2", *TOWNS)),)),
    Use("y", ("c",), None, (("c", (1, 2.5)),)),
    Use("y", ("c",), None, (("c", (True, False)),)),
)


def width(kind: pa.DataType) -> int:
    """Bytes of a value whose bits may be anything; 0 if there are none."""
    nested = pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_null(kind)
    try:
        return 0 if nested else kind.bit_width // 8
    except ValueError:
        return 0


def column_of(kind: pa.DataType, cells: Sequence[bytes | None]) -> pa.Array:
    """Values given by their bytes, whatever these are."""
    valid = np.packbits([cell is not None for cell in cells], bitorder="little").tobytes()
    parts = [cell or bytes(width(kind)) for cell in cells]
    buffers = [pa.py_buffer(valid), pa.py_buffer(b"".join(parts))]
    if not width(kind):
        ends = np.cumsum([0, *map(len, parts)]).astype(np.int64 if pa.types.is_large_string(kind) else np.int32)
        buffers.insert(1, pa.py_buffer(ends.tobytes()))
    return pa.Array.from_buffers(kind, len(cells), buffers)


def columns_with(kind: pa.DataType, cell: bytes | None, position: int) -> tuple[pa.Array, pa.Array]:
    """A column of tame values, and the same with one of these bytes; where bytes make no value, with a null."""
    tame, size = _tame_bytes(kind), width(kind)
    if tame is None:
        old = _tame_column(kind)
        missing = old.take(pa.array([None], pa.int8()))
        return old, pa.concat_arrays([old.slice(0, position), missing, old.slice(position)])
    if size and cell is not None:
        cell = cell[:size].ljust(size, b"\0")
    return column_of(kind, tame), column_of(kind, [*tame[:position], cell, *tame[position:]])


def _tame_bytes(kind: pa.DataType) -> list[bytes] | None:
    """None if the type is not of values that are given by their bytes."""
    if pa.types.is_floating(kind):
        return [np.array(i % 5 + 0.5, kind.to_pandas_dtype()).tobytes() for i in range(RECORDS)]
    if width(kind):
        return [(i % 5 + 1).to_bytes(width(kind), "little") for i in range(RECORDS)]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return [TOWNS[i % 3].encode() for i in range(RECORDS)]
    return None


def _tame_column(kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        levels = pa.array(TOWNS if pa.types.is_string(kind.value_type) else [1, 2, 3], kind.value_type)
        codes = pa.array([i % 3 for i in range(RECORDS)], kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, levels)
    if kind == _DAYS:  # such as Python cannot hold
        days = pa.array([[2**31 - 1]] * RECORDS, pa.list_(pa.int32()))
        return pa.ListArray.from_arrays(days.offsets, days.values.view(pa.date32()))
    value = {pa.bool_(): True, _STRUCT: {"a": 1}, _MAP: [("k", 1)]}.get(kind)
    return pa.array([value] * RECORDS, kind)
