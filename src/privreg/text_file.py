"""Delimited text in files: every cell is read by a fixed rule that looks at this cell alone.

- blanks (ASCII) around a cell are no part of it;
- a number is an optional sign, digits with at most one decimal mark among, before or after them, and an optional
  exponent (``-1``, ``+.5``, ``1.``, ``2e-3``); its value is the nearest float64, and beyond its range it is missing;
- a boolean is ``true`` or ``false`` in any case;
- text is missing if it is one of the words for it (`MISSING`) and not a declared level, or if it is not UTF-8.

A line of text is a record, so that no record can reach into another. A line with too few or too many fields, or with a
quote that is not closed, is left out when records are read, and refused when rows are to be predicted, where every row
needs its answer.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from privreg.errors import SchemaError
from privreg.files import MISSING, DataFile, Levels, Progress, levels_type
from privreg.text_header import BLANKS, header_line, number_pattern, open_text, read_header

SCHEMA_ROWS = 100

_BLOCK = 1 << 22  # bytes of text that are parsed at a time, or one line if that is longer

# Numbers that arrow surely reads like Python; about "+" and the ends of the range of float64 its versions differ.
_PLAIN_NUMBER = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?$"
_PLAIN_LENGTH = 64


class TextFile(DataFile):
    """Delimited text. It is parsed by arrow into cells, which are then read one by one by the rules above."""

    path: Path

    def __init__(self, path: Path) -> None:
        header = read_header(path)
        self._names, self._separator = header.names, header.separator
        self.path = path
        rows = self._schema_rows()
        self._mark = "." if self._separator == "," else _decimal_mark(rows)
        number = number_pattern(self._mark)
        super().__init__(path, {name: _kind_of_cells(cells, number) for name, cells in rows.items()})

    def _no_rows(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> pa.Table:
        cells = pa.schema([(name, pa.string()) for name in columns]).empty_table()
        return self._convert(cells, categories, identifiers)

    def _tables(
        self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str], strict: bool, progress: Progress
    ) -> Iterator[pa.Table]:
        for table, odd in self._cells(columns, progress):
            if strict and odd:
                number, fields = odd[0]
                raise SchemaError(
                    f"{self.path}: row {number + 1}, the header being row 1, has {fields} field(s), "
                    f"but the header has {len(self._names)}"
                )
            if table.num_rows:
                yield self._convert(table, categories, identifiers)

    def _convert(self, table: pa.Table, categories: Levels, identifiers: Sequence[str]) -> pa.Table:
        arrays = {}
        for name, cells in zip(table.column_names, table.columns, strict=True):
            levels = categories.get(name, ())
            kind = levels_type(name, levels) if levels else self.columns[name]
            if name in identifiers:
                kind = "text"
            stripped = pc.ascii_trim(cells.combine_chunks(), BLANKS)
            arrays[name] = cells_as(kind, stripped, levels, self._mark)
        return pa.table(arrays)

    def _schema_rows(self) -> dict[str, list[str]]:
        """The stripped cells of the first rows, by column, of those that are as wide as the header."""
        cells: dict[str, list[str]] = {name: [] for name in self._names}
        good = bad = 0
        for table, odd in self._cells(self._names, lambda _: None):
            bad = sum(number <= SCHEMA_ROWS for number, _ in odd)
            first = table.slice(0, SCHEMA_ROWS - bad - good)
            good += first.num_rows
            for name in self._names:
                cells[name] += [cell.strip(BLANKS) for cell in first.column(name).to_pylist()]
            if good + bad >= SCHEMA_ROWS:
                break
        if bad > good:
            raise SchemaError(
                f"{self.path}: most of the first rows do not have {len(self._names)} field(s) like the header; "
                "check its separators, and whether a column has no name"
            )
        return cells

    def _cells(self, columns: Sequence[str], progress: Progress) -> Iterator[tuple[pa.Table, list[tuple[int, int]]]]:
        """The cells as text, part by part, with the rows found so far that are not as wide as the header."""
        try:
            yield from self._parse(columns, progress)
        except pa.ArrowException:  # its message may quote a cell
            raise SchemaError(f"{self.path} could not be read as CSV") from None

    def _parse(self, columns: Sequence[str], progress: Progress) -> Iterator[tuple[pa.Table, list[tuple[int, int]]]]:
        odd: list[tuple[int, int]] = []

        def skip(row: pa_csv.InvalidRow) -> str:
            if len(odd) < SCHEMA_ROWS and row.text.strip(BLANKS):
                odd.append((row.number, row.actual_columns))
            return "skip"

        with open_text(self.path) as text:
            header_line(text, self.path)
            stream = _Utf8(text, self._separator, len(self._names))
            size = max(self.path.stat().st_size, 1)
            with pa_csv.open_csv(pa.PythonFile(stream, mode="r"), *self._options(columns, skip)) as reader:
                for count, batch in enumerate(reader):
                    yield pa.Table.from_batches([batch]), odd
                    progress(min(stream.positions[min(count, len(stream.positions) - 1)] / size, 1.0))
                yield pa.Table.from_batches([], reader.schema), odd  # odd rows after the last good one

    def _options(self, columns: Sequence[str], skip: Callable[[Any], str]) -> tuple[Any, Any, Any]:
        return (
            # Threads would leave the rows without numbers.
            pa_csv.ReadOptions(block_size=_BLOCK, column_names=self._names, use_threads=False),
            pa_csv.ParseOptions(delimiter=self._separator, newlines_in_values=False, invalid_row_handler=skip),
            pa_csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.string() for name in self._names},
                null_values=[],
                include_columns=list(columns),
            ),
        )


class _Utf8:
    """Text read as Latin-1, for arrow in UTF-8: whole lines, valid UTF-8, and one kind of line end only.

    A line is a record. One with a quote that is not closed would go on to the next quote, however many records later;
    it is made a row of the wrong width instead. Without the rest arrow fails at a row that is both odd and not UTF-8,
    and loses a line end between two blocks.
    """

    closed = False

    def __init__(self, text: TextIO, separator: str, columns: int) -> None:
        self._text = text
        self._begun = "\n"  # of a line; at first, because arrow refuses a stream without a byte, and skips blank lines
        self._closed_quotes = _closed_quotes(separator)
        self._odd = separator.join("x" * (columns + 1))
        self.positions: list[int] = []  # in the file after each block; arrow reads many blocks ahead

    def read(self, size: int) -> bytes:
        try:
            return self._lines(max(size // 4, 1)).encode()  # a character takes at most two bytes
        except ValueError:  # closed while arrow was still reading ahead
            return b""

    def _lines(self, size: int) -> str:
        parts, end = [self._begun], -1
        while end < 0 and (part := self._text.read(size)):
            parts.append(part)
            end = part.rfind("\n")
        block = "".join(parts)
        whole = len(block) - len(parts[-1]) + end + 1 if end >= 0 else len(block)
        block, self._begun = block[:whole], block[whole:]
        self.positions.append(self._text.buffer.tell())
        return "\n".join(map(self._checked, block.split("\n"))) if '"' in block else block

    def _checked(self, line: str) -> str:
        return line if '"' not in line or self._closed_quotes.fullmatch(line) else self._odd

    def close(self) -> None:
        self.closed = True


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
    present = [cell for cell in cells if cell.lower() not in MISSING]
    if 2 * sum(bool(number.fullmatch(cell)) for cell in present) >= len(present):
        return "number"
    if 2 * sum(cell.lower() in ("true", "false") for cell in present) >= len(present):
        return "boolean"
    return "text"


def cells_as(kind: str, cells: pa.Array, levels: Sequence[Any], mark: str) -> pa.Array:
    """Stripped cells (UTF-8 read as Latin-1) in one kind; null where a cell is not of it."""
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
    pattern = number_pattern(mark)

    def number(cell: str) -> float | None:
        if not pattern.fullmatch(cell):
            return None
        value = float(cell.replace(mark, "."))
        return value if math.isfinite(value) else None

    if mark == ",":
        has_point = pc.match_substring(cells, ".")
        pointed = pc.if_else(has_point, "", pc.replace_substring(cells, ",", "."))
    else:
        pointed = cells
    plain = pc.and_(
        pc.match_substring_regex(pointed, _PLAIN_NUMBER), pc.less_equal(pc.binary_length(pointed), _PLAIN_LENGTH)
    )
    values = pc.cast(pc.if_else(plain, pointed, None), pa.float64())
    return _each(cells, pc.and_(pc.invert(plain), pc.greater(pc.binary_length(cells), 0)), number, values)


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
