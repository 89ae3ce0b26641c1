"""Files in which one bad line changes how the others are read, or is quoted."""

import re
from typing import Any

from audit.bugs.bug import Bug, changing
from privreg.data import cells as file_cells
from privreg.data import text_file
from privreg.errors import SchemaError

_numbers = file_cells._numbers


def _quote_the_cell(cells: Any, mark: str) -> Any:
    numbers = _numbers(cells, mark)
    for cell, number in zip(cells.to_pylist(), numbers.to_pylist(), strict=True):
        if number is None and cell not in ("", None):
            raise SchemaError(f"not a number: {cell}")
    return numbers


def _any_cell_decides(cells: list[str], number: Any) -> str:
    return "number" if all(number.fullmatch(cell) for cell in cells if cell) else "text"


BUGS = {
    "open quote": Bug(
        "a quote that is not closed takes the lines after it",
        changing((text_file, "_closed_quotes", lambda _: re.compile("(?s).*"))),
        "privreg fit",
        "hostile input",
    ),
    "a cell in a message": Bug(
        "an error that quotes the cell it stumbled on",
        changing((file_cells, "_numbers", _quote_the_cell)),
        "privreg fit",
        "hostile input",
    ),
    "any cell decides": Bug(
        "a column is text as soon as one of its cells is",
        changing((text_file, "_kind_of_cells", _any_cell_decides)),
        "privreg fit",
        "hostile input",
    ),
}
