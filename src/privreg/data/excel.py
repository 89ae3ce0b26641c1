"""Excel workbooks, and OpenDocument spreadsheets: one sheet, whose first row has the names of the columns.

Only the first row is public. A column is a cell of it that is not empty, so that nothing beside or below the header
adds one: what stands in no such column is not read. Cells have no types that hold for a column, so each becomes the
text that it would be in a text file. An error such as #N/A, or a formula that was never computed, is missing. A row
whose cells are all empty is no record; one that the library cannot read is a record whose cells are all missing.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import python_calamine as calamine

from privreg._format import listed
from privreg.data.base import DataFile
from privreg.data.odd_cells import mended
from privreg.data.raw import text_of
from privreg.data.text_header import named_twice
from privreg.data.written_numbers import is_number
from privreg.errors import SchemaError

_ROWS = 1 << 13  # given at a time


class ExcelFile(DataFile):
    """A sheet of a workbook, the first one unless another is named. All its columns are text."""

    path: Path

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        found = _guarded(path, lambda: _sheet(path, sheet))
        self._name, self._kept = found.name, [found]  # to be used once: the library can only read a sheet as a whole
        self._places = _places(_guarded(path, lambda: next(_rows(found), [])), path, self._name)
        unnamed = [str(i + 1) for i in range(max(self._places.values())) if i not in self._places.values()]
        if unnamed:
            which, has, is_ = ("Columns", "have", "are") if unnamed[1:] else ("Column", "has", "is")
            self.notes = (
                f"{which} {listed(unnamed)} of sheet {self._name!r} {has} no name in the first row and {is_} left out.",
            )
        super().__init__(path, dict.fromkeys(self._places, "text"))

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> pa.Table:
        del identifiers  # text all the same
        return pa.schema([(name, pa.large_string()) for name in columns]).empty_table()

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> Iterator[pa.Table]:
        del identifiers
        sheet = self._kept.pop() if self._kept else _guarded(self.path, lambda: _sheet(self.path, self._name))
        places = list(self._places.values())
        rows = (row for row in islice(_rows(sheet), 1, None) if _is_record(row, places))
        while part := _guarded(self.path, lambda: list(islice(rows, _ROWS))):
            yield pa.table({name: _texts([row[self._places[name]] for row in part]) for name in columns})


def _sheet(path: Path, name: str | None) -> Any:
    """The sheet of this name, or the first one."""
    with calamine.CalamineWorkbook.from_object(mended(path) or path) as book:
        names = [each.name for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
        if not names:
            raise SchemaError(f"{path} has no worksheet")
        if name is not None and name not in names:
            raise SchemaError(f"--sheet: no sheet {name!r} in {path}; it has {', '.join(map(repr, names))}")
        return book.get_sheet_by_name(names[0] if name is None else name)


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """The rows from the first one of the sheet on, each from the first column on, wherever its cells are."""
    if sheet.start is None:  # has no cells, and some versions of the library no rows
        return iter(())
    before = [""] * sheet.start[1]
    rows = _readable(sheet)
    return (before + row for row in rows) if before else rows


def _readable(sheet: Any) -> Iterator[list[Any]]:
    """The rows. Of one with a value that no date or time has, such as 10⁹ days, the library gives nothing."""
    rows, odd = iter(sheet.iter_rows()), [None] * (sheet.end[1] + 1)
    for _ in range(sheet.end[0] + 1):
        try:
            yield next(rows)
        except StopIteration:
            return
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException:  # a panic is no Exception
            yield odd


def _places(header: Sequence[Any], path: Path, sheet: str) -> dict[str, int]:
    """The columns by their names; SchemaError if the first row cannot be a header."""
    cells = [(_text(cell) or "").strip() for cell in header]
    names = [name for name in cells if name]
    if not names:
        raise SchemaError(f"the first row of sheet {sheet!r} of {path} is empty; put the column names there")
    if len(names) > 1 and all(map(is_number, names)):
        raise SchemaError(
            f"the first row of sheet {sheet!r} of {path} holds numbers; add a row with column names above it"
        )
    if twice := named_twice(names):
        raise SchemaError(f"{path} has two columns {twice} in sheet {sheet!r}; rename one of them")
    return {name: place for place, name in enumerate(cells) if name}


def _is_record(row: list[Any], places: Sequence[int]) -> bool:
    """Whether a cell in one of the columns is not empty."""
    for place in places:  # noqa: SIM110  # nearly always the first one; `any` takes four times as long
        if row[place] != "":
            return True
    return False


def _texts(cells: list[Any]) -> pa.Array:
    kinds = set(map(type, cells))
    if kinds <= {str}:
        return pa.array(cells, pa.large_string())
    if kinds <= {float, str}:  # nearly always: numbers, and empty cells
        return pa.array([cell if type(cell) is str else _number(cell) for cell in cells], pa.large_string())
    return pa.array(map(_text, cells), pa.large_string())


def _text(cell: Any) -> str | None:
    """A cell as text, as `text_of` has it, but fast; None for durations and times of day."""
    return _WAYS.get(type(cell), text_of)(cell)


def _number(value: float) -> str | None:
    if value.is_integer():
        return str(int(value))
    return repr(value) if value - value == 0 else None  # finite


_WAYS: dict[type, Callable[[Any], str | None]] = {
    str: lambda cell: cell,
    float: _number,
    datetime: datetime.isoformat,
    date: date.isoformat,
}


def _guarded(path: Path, function: Callable[[], Any]) -> Any:
    """What the library says of a damaged file may quote it, and it may panic."""
    try:
        return function()
    except calamine.PasswordError:
        raise SchemaError(f"{path} is protected by a password; save it without one") from None
    except (SchemaError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, OSError) and error.errno is not None:  # of the operating system
            raise
    raise SchemaError(f"{path} could not be read as an Excel workbook or an OpenDocument spreadsheet")
