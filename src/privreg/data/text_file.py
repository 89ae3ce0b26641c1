"""Delimited text in files. How a cell is read, cells.py tells.

The kinds of the columns are decided by the first 100 rows. A line of text is a record, so that no record can reach into
another. A line with too few or too many fields, or with a quote that is not closed, is a record whose cells are all
missing. A blank line is none.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from privreg.data.base import DataFile, Levels, levels_type
from privreg.data.cells import cells_as
from privreg.data.files import has_end
from privreg.data.text_header import BLANKS, MISSING, header_line, number_pattern, open_text, read_header
from privreg.errors import SchemaError

SCHEMA_ROWS = 100
_TABS = (".tsv", ".tab")  # ends of names of files that are written with tabs

_BLOCK = 1 << 20  # characters that are parsed at a time, or one line if that is longer
_LONGEST = 1 << 28  # characters of a line
_THREADS = 2  # that parse, while the next lines are read


class TextFile(DataFile):
    """Delimited text. It is parsed by arrow into cells, which are then read one by one by the rules above."""

    path: Path

    def __init__(self, path: Path) -> None:
        self._names, self._separator = read_header(path)
        self.path = path
        rows = self._schema_rows()
        self._mark = "." if self._separator == "," else _decimal_mark(rows)
        number = number_pattern(self._mark)
        super().__init__(path, {name: _kind_of_cells(cells, number) for name, cells in rows.items()})
        self.blank = frozenset(name for name, cells in rows.items() if not _present(cells))

    @staticmethod
    def writer(sink: BinaryIO, schema: pa.Schema, name: Path) -> Any:
        separator = "\t" if has_end(name, _TABS) else ","
        head = io.StringIO()
        # Arrow would quote every name.
        csv.writer(head, delimiter=separator, lineterminator="\n").writerow(schema.names)
        sink.write(head.getvalue().encode())
        options = pa_csv.WriteOptions(include_header=False, quoting_style="needed", delimiter=separator)
        return pa_csv.CSVWriter(sink, schema, write_options=options)

    def _no_rows(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> pa.Table:
        cells = pa.schema([(name, pa.string()) for name in columns]).empty_table()
        return self._convert(cells, categories, identifiers)

    def _tables(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> Iterator[pa.Table]:
        def work(block: bytes) -> pa.Table:
            return self._convert(self._cells(block, columns), categories, identifiers)

        with open_text(self.path) as text, ThreadPoolExecutor(_THREADS) as pool:
            yield from filter(len, _in_order(pool.submit(work, block) for block in self._blocks(text)))

    def _convert(self, table: pa.Table, categories: Levels, identifiers: Sequence[str]) -> pa.Table:
        arrays = {}
        for name, cells in zip(table.column_names, table.columns, strict=True):
            levels = categories.get(name, ())
            kind = levels_type(name, levels) if levels else self.columns[name]
            if name in identifiers:
                kind = "text"
            arrays[name] = cells_as(kind, cells.combine_chunks(), levels, self._mark)
        return pa.table(arrays)

    def _schema_rows(self) -> dict[str, list[str]]:
        """The stripped cells of the first rows, by column; empty where a row is odd."""
        cells: dict[str, list[str]] = {name: [] for name in self._names}
        with open_text(self.path) as text:
            for block in self._blocks(text):
                table = self._cells(block, self._names)
                for name in self._names:
                    rows = table.column(name).slice(0, SCHEMA_ROWS - len(cells[name])).to_pylist()
                    cells[name] += [(cell or "").strip(BLANKS) for cell in rows]
                if len(cells[self._names[0]]) == SCHEMA_ROWS:
                    break
        return cells

    def _blocks(self, text: TextIO) -> Iterator[bytes]:
        """Whole lines after the header, some at a time, in UTF-8.

        A line with a quote that is not closed would go on to the next quote, however many records later, and one that
        is too long for arrow would fail: each is made a row of the wrong width.
        """
        header_line(text, self.path)
        closed, odd = _closed_quotes(self._separator), self._separator.join("x" * (len(self._names) + 1))

        def checked(line: str) -> str:
            return line if len(line) < _LONGEST and ('"' not in line or closed.fullmatch(line)) else odd

        for lines in _whole_lines(text):
            if '"' in lines or len(lines) >= _LONGEST:
                lines = "\n".join(map(checked, lines.split("\n")))
            yield lines.encode()

    def _cells(self, block: bytes, columns: Sequence[str]) -> pa.Table:
        """The cells of some lines as text (UTF-8 read as Latin-1), null where a line has another number of them."""
        odd: dict[int, bool] = {}  # places of such lines, and whether they are more than blanks

        def skip(row: pa_csv.InvalidRow) -> str:
            odd[row.number - 1] = bool(row.text.strip(BLANKS))
            return "skip"

        # Threads would leave the rows without numbers.
        reading = pa_csv.ReadOptions(block_size=len(block) + 1, column_names=self._names, use_threads=False)
        parsing = pa_csv.ParseOptions(delimiter=self._separator, newlines_in_values=False, invalid_row_handler=skip)
        types, wanted = {name: pa.string() for name in self._names}, list(columns)
        texts = pa_csv.ConvertOptions(check_utf8=False, column_types=types, null_values=[], include_columns=wanted)
        table = None
        with suppress(pa.ArrowException):  # its message may quote a cell
            table = pa_csv.read_csv(pa.BufferReader(b"\n" + block), reading, parsing, texts)
        if table is None:
            raise SchemaError(f"{self.path} could not be read as CSV")
        return _with_odd_rows(table, odd) if odd else table


def _whole_lines(text: TextIO) -> Iterator[str]:
    """The rest of a text in pieces that end where lines do."""
    begun: list[str] = []  # of a line
    while part := text.read(_BLOCK):
        end = part.rfind("\n") + 1
        if end:
            yield "".join([*begun, part[:end]])
            begun = []
        begun.append(part[end:])
    if rest := "".join(begun):
        yield rest


def _with_odd_rows(table: pa.Table, odd: dict[int, bool]) -> pa.Table:
    """The table with a row of nulls at these places, or none where a line is blank."""
    is_odd, is_blank = np.zeros((2, table.num_rows + len(odd)), bool)
    is_odd[list(odd)] = True
    is_blank[[place for place, more in odd.items() if not more]] = True
    return table.take(pa.array(np.cumsum(~is_odd) - 1, mask=is_odd).filter(pa.array(~is_blank)))


def _in_order(begun: Iterable[Future[pa.Table]]) -> Iterator[pa.Table]:
    """The results one after another, with a few computed ahead."""
    ahead: deque[Future[pa.Table]] = deque()
    for one in begun:
        ahead.append(one)
        if len(ahead) > _THREADS:
            yield ahead.popleft().result()
    yield from (one.result() for one in ahead)


def _closed_quotes(separator: str) -> re.Pattern[str]:
    """A line in which each field that begins with a quote also ends it."""
    other = f"[^{re.escape(separator)}]"
    field = f'(?:"(?:[^"]|"")*+"{other}*+|(?!"){other}*+)'
    return re.compile(f"{field}(?:{re.escape(separator)}{field})*+")


def _decimal_mark(rows: dict[str, list[str]]) -> str:
    """The mark of the file, by the cells of the schema rows that have one: a point unless commas outnumber it."""
    every = [cell for cells in rows.values() for cell in cells]

    def fractions(mark: str) -> int:
        pattern = number_pattern(mark)
        return sum(mark in cell and bool(pattern.fullmatch(cell)) for cell in every)

    return "," if fractions(",") > fractions(".") else "."


def _kind_of_cells(cells: list[str], number: re.Pattern[str]) -> str:
    """At least half decides, so that no single row does, except near the half."""
    present = _present(cells)
    if 2 * sum(bool(number.fullmatch(cell)) for cell in present) >= len(present):
        return "number"
    if 2 * sum(cell.lower() in ("true", "false") for cell in present) >= len(present):
        return "boolean"
    return "text"


def _present(cells: list[str]) -> list[str]:
    return [cell for cell in cells if cell.lower() not in MISSING]
