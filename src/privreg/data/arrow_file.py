"""Arrow's own files: Feather of version 2, and streams. Types and dictionaries are in the file.

The file is mapped into memory, and no buffer of it is trusted: a damaged one could point anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from privreg.data.arrow_files import each, enum_levels, fields_of, guarded, made_of_values
from privreg.data.arrow_types import is_text, kind_of_type
from privreg.data.base import DataFile
from privreg.data.files import ARROW

if TYPE_CHECKING:  # kernels take long to load, and wrong columns are known before
    from privreg.data.raw import ColumnType

_BATCH_ROWS = 1 << 17  # given at a time, at most: a file may be one batch

_guarded, _each = partial(guarded, ARROW.name), partial(each, ARROW.name)


class ArrowFile(DataFile):
    """A table in arrow's file or stream format."""

    typed = True
    path: Path

    def __init__(self, path: Path) -> None:
        super().__init__(path, {})
        with pa.memory_map(str(path)) as source:
            self._schema = _guarded(path, lambda: _reader(source).schema)
        self._types = fields_of(ARROW.name, path, self._schema)
        self.columns = {name: kind_of_type(kind) for name, kind in self._types.items()}

    def type_of(self, column: str) -> "ColumnType":
        """What the type of a column says. The levels of polars' Enum are written down before there is data."""
        kind = super().type_of(column)
        levels = enum_levels(self._schema.field(column))
        return kind if levels is None else replace(kind, category=False, levels=tuple(levels))

    def levels(self, column: str) -> list[Any] | None:
        """The dictionary that all batches have in common."""
        if self._types.get(column) != pa.dictionary(pa.int32(), pa.large_string()):
            return None
        if made_of_values(self._schema.field(column)):
            return None
        found = [batch.column(0).dictionary for batch in self._batches([column])]
        if not found or found[0].null_count or any(not a.equals(b) for a, b in pairwise(found)):
            return None
        return list(_guarded(self.path, found[0].to_pylist))

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        empty = {name: _empty(self._types[name]) for name in columns}
        return self._convert(pa.RecordBatch.from_pydict(empty), columns, identifiers)

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self._batches(columns):
            for first in range(0, batch.num_rows, _BATCH_ROWS):
                part = batch.slice(first, _BATCH_ROWS)
                yield _guarded(self.path, partial(self._convert, part, columns, identifiers))

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All batches with these columns only, in order."""
        wanted = list(dict.fromkeys(columns))
        with pa.memory_map(str(self.path)) as source:
            reader = _guarded(self.path, partial(_reader, source))
            for batch in _each(self.path, _read(reader)):
                chosen = batch.select(wanted)
                for column in chosen.columns:
                    _guarded(self.path, partial(_validate, column))
                yield chosen

    def _convert(self, batch: pa.RecordBatch, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        return pa.table({name: _converted(batch.column(name), name in identifiers) for name in columns})


def _reader(source: pa.MemoryMappedFile) -> Any:
    """A file, or a stream."""
    stream = source.read(6) != b"ARROW1"
    source.seek(0)
    return pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)


def _read(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


def _empty(kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array([], kind)
    return pa.DictionaryArray.from_arrays(pa.array([], kind.index_type), pa.array([], kind.value_type))


def _converted(column: pa.Array, identifier: bool) -> pa.Array:
    """A category of numbers or dates keeps its dictionary, from which its cells are read as text."""
    from privreg.data.cells import convert

    if not pa.types.is_dictionary(column.type) or identifier or is_text(column.type.value_type):
        return convert(column, identifier, False)
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary, safe=False)


def _validate(column: pa.Array) -> None:
    """Raise if a buffer is too short, or a place in one is outside. Nothing that depends on a value is looked at."""
    column.validate()
    if pa.types.is_dictionary(column.type):
        _validate(column.dictionary)
        pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary))).validate(full=True)
    elif str(column.type) == "string_view":
        column.view("binary_view").validate(full=True)
    elif is_text(column.type):  # as bytes: whether they are UTF-8 is a matter of each cell
        column.view(pa.binary() if pa.types.is_string(column.type) else pa.large_binary()).validate(full=True)
