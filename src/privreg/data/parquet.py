"""Parquet, one file or many, as one table that may be larger than memory. Types and dictionaries are in the files.

A table remembers where its files are and what their footers say; rows are read when they are asked for.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privreg.data.arrow_files import each, enum_levels, fields_of, guarded, made_of_values
from privreg.data.arrow_types import kind_of_type
from privreg.data.base import DataFile
from privreg.data.files import PARQUET, check_start, files_at, first_bytes
from privreg.errors import SchemaError

if TYPE_CHECKING:  # kernels take long to load, and wrong columns are known before
    from privreg.data.raw import ColumnType

_BATCH_ROWS, _BATCH_CELLS = 1 << 17, 1 << 23  # read together, at most: a row group may be the whole file
_BUFFER, _BUFFERS = 1 << 20, 1 << 26  # bytes, of one column and of all
_THREADS = 16  # that read footers


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file. The number of its rows is secret."""

    path: str
    group: int
    rows: int = field(repr=False)


class ParquetTable(DataFile):
    """One or many Parquet files as one table, which may be larger than memory. Only their footers are read at first.

    All files must have the same columns, in any order, and of the same kind. Numbers may be of different types, and are
    then read as float64. A table is small and can be sent to other processes. The files must not change meanwhile.

    Parameters
    ----------
    source : str, path or list of paths
        A file, a pattern such as `data/*.parquet` or `data/**/*.parquet`, a folder, or a list of files. A folder stands
        for all files in it and below it whose names end in .parquet, .parq or .pq. Folders and patterns leave out names
        that begin with _ or . and give the files in the natural order of their names (part.2 before part.10); a list
        keeps its own order.

    Attributes
    ----------
    columns : dict of str to str
        The kinds of the columns, by name: "number", "boolean", "text", "category", or another type in words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from privreg import ParquetTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"age": [34, 51], "town": ["Ayr", "Bath"]}), Path(folder, "people.parquet"))
    ...     ParquetTable(folder).columns
    {'age': 'number', 'town': 'text'}
    """

    typed = True

    def __init__(self, source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        if isinstance(source, str | os.PathLike):
            super().__init__(Path(source), {})
            paths = files_at(Path(source), PARQUET.ends)
        else:
            paths = [Path(path) for path in source]
            if not paths:
                raise SchemaError("the list of Parquet files is empty")
            super().__init__(f"{paths[0]} (and {len(paths) - 1} more)" if paths[1:] else paths[0], {})
        _check_apart(paths)
        with ThreadPoolExecutor(min(len(paths), _THREADS)) as pool:
            found = dict(zip(map(str, paths), pool.map(_look, paths), strict=True))
        # Of each file its stamp and the rows of its row groups. Absolute, since other processes work elsewhere.
        self._files = {os.path.abspath(path): (stamp, rows) for path, (_, stamp, rows) in found.items()}
        schemas = {path: schema for path, (schema, *_) in found.items()}
        self.columns, self._types = _agreed(schemas)
        enums = [{f.name: levels for f in s if (levels := enum_levels(f)) is not None} for s in schemas.values()]
        self._enums = {name: levels for name, levels in enums[0].items() if all(e.get(name) == levels for e in enums)}

    def __repr__(self) -> str:
        count = len(self._files)
        return f"ParquetTable({str(self.path)!r}: {count} file{'s' if count > 1 else ''})"

    @property
    def places(self) -> list[Path]:
        folder = Path(self.path)  # or a pattern, or words for a list of files
        return [*map(Path, self._files), *([folder] if folder.is_dir() else [])]

    @staticmethod
    def writer(sink: BinaryIO, schema: pa.Schema, name: Path) -> Any:
        del name
        return pq.ParquetWriter(sink, schema)

    @property
    def parts(self) -> tuple[RowGroup, ...]:
        """The row groups of all files, in order, without empty ones. Each can be read independently."""
        files = self._files.items()
        return tuple(RowGroup(path, i, rows) for path, (_, groups) in files for i, rows in enumerate(groups) if rows)

    def part_tables(self, part: RowGroup, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Read the rows of one part, as `batches` does. Threads may read several parts at once.

        Parameters
        ----------
        part : RowGroup
            One of `parts`.
        columns : list of str
            The columns to read.

        Returns
        -------
        iterator of pyarrow.Table
        """
        self._check(columns, ())
        _, rows = self._files.get(part.path, ((), ()))
        if rows[part.group : part.group + 1] != (part.rows,):
            raise SchemaError(f"row group {part.group} of {part.path} is not a part of {self.path}")
        options = {"row_groups": [part.group], "use_threads": False}
        return self._batches(part.path, columns, (), **options)

    def no_rows(self, columns: Sequence[str]) -> pa.Table:
        """The columns as they are read, without rows.

        Parameters
        ----------
        columns : list of str
            The columns.

        Returns
        -------
        pyarrow.Table
        """
        self._check(columns, ())
        return self._no_rows(columns, ())

    def levels(self, column: str) -> list[Any] | None:
        """The levels in the dictionary that all row groups have in common.

        A dictionary that was made while reading would show the data, so it does not count.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        list or None
            None if the row groups have no dictionary in common.
        """
        if [kind for kind, _ in self._types.get(column, ())] != [pa.dictionary(pa.int32(), pa.large_string())]:
            return None
        common = None
        for path in self._files:
            with self._open(path, 1) as file:
                for dictionary in _dictionaries(path, file, column):
                    common = dictionary if common is None else common
                    if dictionary is None or dictionary.null_count or not dictionary.equals(common):
                        return None
        return None if common is None else list(_guarded(self.path, common.to_pylist))

    def type_of(self, column: str) -> "ColumnType":
        """What the type of a column says. A polars Enum has its levels before there is data, so they are known.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        ColumnType
        """
        kind = super().type_of(column)
        levels = self._enums.get(column)
        return kind if levels is None else replace(kind, category=False, levels=tuple(levels))

    def _check(self, columns: Sequence[str], identifiers: Sequence[str]) -> None:
        super()._check(columns, identifiers)
        for name in columns:
            (kind, path), *others = self._types[name]
            cast = name not in identifiers and self.columns[name] == "number"
            if others and not cast:
                other, there = others[0]
                raise SchemaError(
                    f"column {name!r} is of type {other} in {there}, but {kind} in {path}; use one type in all files"
                )

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        kinds = {name: self._types[name][0][0] for name in columns}
        values = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
        empty = pa.RecordBatch.from_pydict({name: pa.array([], kind) for name, kind in values.items()})
        return self._convert(empty, columns, identifiers)

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        for path in self._files:
            yield from self._batches(path, columns, identifiers, use_threads=True)

    def _batches(
        self, path: str, columns: Sequence[str], identifiers: Sequence[str], **options: Any
    ) -> Iterator[pa.Table]:
        rows = min(_BATCH_ROWS, _BATCH_CELLS // max(len(columns), 1) + 1)
        with self._open(path, len(columns)) as file:
            for batch in _each(path, file.iter_batches(rows, columns=list(columns), **options)):
                yield _guarded(path, partial(self._convert, batch, columns, identifiers))

    def _convert(self, batch: pa.RecordBatch, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        from privreg.data.cells import convert

        several = {name: len(self._types[name]) > 1 for name in columns}
        return pa.table({name: convert(batch.column(name), name in identifiers, several[name]) for name in columns})

    def _open(self, path: str, columns: int) -> pq.ParquetFile:
        """A handle of its own, for a reader of so many columns."""
        stamp, _ = self._files[path]
        if _stamp(path) != stamp:
            raise SchemaError(f"{path} has changed since it was opened; open it again")
        options = {"buffer_size": min(_BUFFER, _BUFFERS // max(columns, 1) + 1), "pre_buffer": False}
        return _guarded(path, lambda: pq.ParquetFile(path, metadata=_footer(path, stamp), **options))


def _check_apart(paths: Sequence[Path]) -> None:
    """No file may count twice, by links or in a list: a record would, too."""
    places: dict[tuple[int, int], Path] = {}
    for path in paths:
        status = path.stat()
        place = status.st_dev, status.st_ino
        if place in places:
            raise SchemaError(f"{places[place]} and {path} are the same file; its records would count twice")
        places[place] = path


def _look(path: Path) -> tuple[pa.Schema, tuple[int, int], tuple[int, ...]]:
    start = first_bytes(path)
    if not PARQUET.recognises(path, start):
        check_start(path, start)
        raise SchemaError(f"{path} is not a Parquet file")
    stamp = _stamp(path)
    footer = _guarded(path, lambda: _footer(os.path.abspath(path), stamp))
    rows = tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
    return _guarded(path, lambda: footer.schema.to_arrow_schema()), stamp, rows


def _stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file, and the time of its last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=16)  # reading a footer may take longer than reading a row group
def _footer(path: str, stamp: tuple[int, int]) -> pq.FileMetaData:
    del stamp  # another one, another footer
    return pq.read_metadata(path)


def _agreed(schemas: Mapping[str, pa.Schema]) -> tuple[dict[str, str], dict[str, list[tuple[pa.DataType, str]]]]:
    """The kinds of the columns, and the types that each has, with the first file in which it has it."""
    (first, schema), *others = schemas.items()
    fields = fields_of(PARQUET.name, first, schema)
    kinds = {name: kind_of_type(kind) for name, kind in fields.items()}
    types = {name: [(kind, first)] for name, kind in fields.items()}
    for path, other in others:
        if other.equals(schema):
            continue
        fields = fields_of(PARQUET.name, path, other)
        for here, there, names in ((first, path, fields.keys() - kinds), (path, first, kinds.keys() - fields)):
            for name in sorted(names):
                raise SchemaError(f"{here} has no column {name!r}, which {there} has; give every file the same columns")
        for name, kind in fields.items():
            if any(kind == known for known, _ in types[name]):
                continue
            if kind_of_type(kind) != kinds[name]:
                raise SchemaError(
                    f"column {name!r} is of kind {kind_of_type(kind)!r} in {path}, but {kinds[name]!r} in {first}; "
                    "use one kind in all files"
                )
            types[name].append((kind, path))
    return kinds, types


_guarded, _each = partial(guarded, PARQUET.name), partial(each, PARQUET.name)


def _dictionaries(path: str, file: pq.ParquetFile, column: str) -> Iterator[pa.Array | None]:
    """The dictionaries of a column; None for one that was, or would be, made of the values present."""
    if made_of_values(file.schema_arrow.field(column)):
        yield None
    for group in range(file.num_row_groups):
        if not _has_dictionary(file.metadata.row_group(group), column):
            yield None
        for batch in _each(path, file.iter_batches(_BATCH_ROWS, [group], [column], use_threads=False)):
            yield _guarded(path, partial(pc.cast, batch.column(column).dictionary, pa.large_string()))


def _has_dictionary(group: pq.RowGroupMetaData, column: str) -> bool:
    """Whether the row group stores a dictionary; if not, arrow makes one of the values present."""
    chunk = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == column)
    return group.num_rows == 0 or any("DICTIONARY" in encoding for encoding in chunk.encodings)
