"""Parquet: a record of any bits in a column of any type, or a file with damage."""

import io
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from audit.fuzz.columns import TYPED_USES, TYPES, columns_with
from audit.fuzz.draw import Draw, damaged
from audit.fuzz.outcome import Finding, input_file, outcome
from audit.fuzz.record import CANARY, RECORDS, Use, read_file, same_but_one
from privreg.data import files


def parquet_record(kind: pa.DataType, cell: bytes | None, position: int, use: Use, **options: Any) -> None:
    """A Parquet file with and without a record of any bits."""
    found = []
    for column in columns_with(kind, cell, position):
        try:
            content = _written(_table(column), **options)
        except (pa.ArrowException, ValueError):  # no such file can be made
            return
        found.append(outcome(read_file, input_file(content), use))
    same_but_one(found[0], found[1], position)


def _table(column: pa.Array) -> pa.Table:
    zeros = pa.array(np.zeros(len(column)))
    return pa.table({"c": column, "x": zeros, "y": zeros})


def _written(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


@cache
def _parquet_files() -> list[bytes]:
    made = []
    for kinds, options in (
        ((pa.float64(), pa.string()), {"compression": "none", "use_dictionary": False}),
        ((pa.string(), pa.int64()), {"compression": "snappy", "row_group_size": 7}),
        ((pa.dictionary(pa.int8(), pa.string()), pa.bool_()), {"compression": "zstd"}),
        ((pa.decimal128(38, 5), pa.timestamp("ns")), {"compression": "gzip", "data_page_version": "2.0"}),
        ((pa.int32(), pa.list_(pa.date32())), {"store_schema": False, "write_page_index": True}),
    ):
        first, second = (columns_with(kind, None, 0)[0] for kind in kinds)
        made.append(_written(_table(first).append_column("d", second), **options))
    return made


def fuzz_parquet(data: bytes) -> None:
    """A hostile record, or a file with damage."""
    draw = Draw(data)
    if draw.number(2):
        kind, use, position = draw.pick(TYPES), draw.pick(TYPED_USES), draw.number(RECORDS + 1)
        layout = {"row_group_size": draw.pick((5, 1000)), "use_dictionary": bool(draw.number(2))}
        parquet_record(kind, draw.rest() if draw.number(8) else None, position, use, **layout)
        return
    path = input_file(damaged(draw, draw.pick(_parquet_files())))
    use = draw.pick(TYPED_USES)
    found = outcome(files.open_file, path)
    messages = [found.message, outcome(read_file, path, use).message]
    if found.value is not None:
        names = list(found.value.columns)
        messages.append(outcome(lambda: list(found.value.batches(names, names[:1]))).message)
    if any(CANARY in (message or "") for message in messages):
        raise Finding(f"a cell in the message: {messages}")
