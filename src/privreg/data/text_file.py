"""Delimited text in files: each cell comes as the text that it is. What it stands for, cells.py tells.

Nothing of the records decides how the others are read: the file shows its header line and no kinds of columns. A line
of text is a record, so that no record can reach into another. A line with too few or too many cells, with a quote that
is not closed, or too long is a record whose cells are all missing; so is a cell that is not in the file's encoding. A
blank line is no record. No bytes after the header line raise an error, unless they are compressed and cannot be
unpacked. How lines are cut into cells: kernels/delimited.py.
"""

import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Self

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privreg.data.base import DataFile
from privreg.data.files import has_end
from privreg.data.text_header import header_line, read_header
from privreg.data.text_stream import TextStream
from privreg.kernels import delimited
from privreg.kernels.numbers import Bytes

_TABS = (".tsv", ".tab")  # ends of names of files that are written with tabs

_BLOCK = 1 << 20  # bytes that are parsed at a time, or one line if that is longer: more would not stay in the cache
_LONGEST = 1 << 28  # bytes of a line
_THREADS = min(joblib.cpu_count(), 8)  # that parse, while the next lines are read


class TextFile(DataFile):
    """Delimited text, perhaps compressed, all of whose columns are text. It is UTF-8, unless an encoding is given."""

    path: Path

    def __init__(self, path: Path | str, encoding: str | None = None) -> None:
        self._encoding, header = encoding, read_header(Path(path), encoding)
        self._names, self._separator = header
        super().__init__(Path(path), dict.fromkeys(header.columns, "text"))
        self.notes, self.semicolons = header.notes, header.separator == ";"

    @staticmethod
    def writer(sink: BinaryIO, schema: pa.Schema, name: Path) -> Any:
        separator = "\t" if has_end(name, _TABS) else ","
        head = io.StringIO()
        # Arrow would quote every name.
        csv.writer(head, delimiter=separator, lineterminator="\n").writerow(schema.names)
        sink.write(head.getvalue().encode())
        return _TextWriter(sink, separator)

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        del identifiers  # text all the same
        return pa.schema([(name, pa.string()) for name in columns]).empty_table()

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        del identifiers
        with TextStream(self.path, self._encoding) as stream, ThreadPoolExecutor(_THREADS) as pool:
            header_line(stream, self.path)
            blocks = (pool.submit(self._cells, block, columns) for block in _whole_lines(stream))
            yield from filter(len, _in_order(blocks))

    def _cells(self, block: Bytes, columns: Sequence[str]) -> pa.Table:
        """The cells of whole lines."""
        slot = {name: place for place, name in enumerate(dict.fromkeys(columns))}
        slots = np.array([slot.get(name, -1) for name in self._names], np.int64)
        places = np.empty((delimited.most_lines(block), len(slot), 2), np.int32)
        rows = delimited.find_cells(block, ord(self._separator), slots, _LONGEST, places)
        arrays = [_text(*delimited.gather(block, places[:rows, slot[name]])) for name in columns]
        return pa.table(arrays, list(columns))


class _TextWriter:
    """Writes tables as text. Quotes are where they are needed only: Arrow's writer has them around all text or none."""

    def __init__(self, sink: BinaryIO, separator: str) -> None:
        self._sink, self._separator = sink, separator

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches():
            cells = [self._cells(column) for column in batch.columns]
            lines = _joined(*cells, between=self._separator)
            lines = pa.LargeListArray.from_arrays(pa.array([0, len(lines)], pa.int64()), _joined(lines, "\n"))
            self._sink.write(pc.binary_join(lines, _large(""))[0].as_buffer())

    def close(self) -> None:
        """The file is closed by whoever opened it."""

    def _cells(self, column: pa.Array) -> pa.Array:
        texts = column.cast(pa.large_string())
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return texts
        # Without quotes, an empty text would look like a missing value.
        needed = pc.match_substring_regex(texts, f'^$|["\r\n{self._separator}]')
        return pc.if_else(needed, _joined('"', pc.replace_substring(texts, '"', '""'), '"'), texts)


def _joined(*parts: pa.Array | str, between: str = "") -> pa.Array:
    """Texts side by side, row by row. What is missing is empty."""
    large = [_large(part) if isinstance(part, str) else part for part in (*parts, between)]
    return pc.binary_join_element_wise(*large, null_handling="replace", null_replacement="")


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _text(offsets: Any, data: Bytes, nulls: int, valid: Bytes) -> pa.Array:
    bits = pa.py_buffer(valid) if nulls else None
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(data), bits, nulls)


def _whole_lines(file: TextStream) -> Iterator[Bytes]:
    """The rest of a file in blocks that end where lines do."""
    begun = np.empty(0, np.uint8)  # of a line
    while True:
        # As much again of a long line: reading it takes time that grows with its length only.
        block = np.empty(begun.size + max(_BLOCK, begun.size), np.uint8)
        block[: begun.size] = begun
        got = file.readinto(block[begun.size :].data)
        if not got:
            break
        block = block[: begun.size + got]
        end = delimited.last_end(block, begun.size)
        if end:
            yield block[:end]
        begun = block[end:][:_LONGEST]  # of a line that is too long, enough to tell
    if begun.size:
        yield begun


def _in_order(begun: Iterable[Future[pa.Table]]) -> Iterator[pa.Table]:
    """The results one after another, with a few computed ahead."""
    ahead: deque[Future[pa.Table]] = deque()
    for one in begun:
        ahead.append(one)
        if len(ahead) > 2 * _THREADS:
            yield ahead.popleft().result()
    yield from (one.result() for one in ahead)
