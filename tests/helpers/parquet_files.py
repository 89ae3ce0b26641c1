"""Parquet files with chosen row groups, and how they are read back."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from privreg import ParquetTable

LEVELS = ["north", "south", "east"]


def write(path: Path, columns, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def write_groups(path: Path, table: pa.Table, sizes) -> Path:
    """With a row group of each size."""
    with pq.ParquetWriter(path, table.schema) as writer:
        start = 0
        for size in sizes:
            writer.write_table(table.slice(start, size), row_group_size=max(size, 1))
            start += size
    return path


def in_parts(table: ParquetTable, columns) -> pa.Table:
    """All parts, one after the other, for a table that has any."""
    parts = [list(table.part_tables(part, columns)) for part in table.parts]
    for part, tables in zip(table.parts, parts, strict=True):
        assert sum(t.num_rows for t in tables) == part.rows
        assert max(t.num_rows for t in tables) <= 131_072
    return pa.concat_tables([t for tables in parts for t in tables])  # refuses types that differ


def everything(table: ParquetTable, columns, identifiers=()) -> pa.Table:
    """As `read` gives it, once it is seen that `batches` and `part_tables` give the same."""
    whole = table.read(columns, identifiers)
    assert whole.column_names == list(columns)
    assert pa.concat_tables(table.batches(columns, identifiers)).equals(whole)
    if not identifiers:
        assert in_parts(table, columns).equals(whole)
    return whole


def two(tmp_path, first, second) -> tuple[Path, Path]:
    return write(tmp_path / "a.parquet", first), write(tmp_path / "b.parquet", second)


def town(codes, levels=LEVELS) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), levels)
