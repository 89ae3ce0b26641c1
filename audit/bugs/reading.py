"""Files in which one bad line changes how the others are read, or is quoted."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from audit.bugs.bug import Bug, changing
from privreg.data import cells as file_cells
from privreg.data import text_file
from privreg.errors import SchemaError

_values = file_cells._values


def _quotes_across_lines(self: Any, block: Any, columns: Any) -> Any:
    """Records as arrow finds them; a line with another number of cells is left out."""
    reading = pa_csv.ReadOptions(column_names=list(self.columns))
    parsing = pa_csv.ParseOptions(
        delimiter=self._separator, newlines_in_values=True, invalid_row_handler=lambda _: "skip"
    )
    texts = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(self.columns, pa.string()), include_columns=list(columns), check_utf8=False
    )
    return pa_csv.read_csv(pa.BufferReader(bytes(block)), reading, parsing, texts)


def _quote_the_cell(cells: Any, work: Any, kind: Any, absent: float) -> Any:
    values = _values(cells, work, kind, absent)
    for cell, value in zip(cells.to_pylist(), values, strict=True):
        if kind == np.float64 and np.isnan(value) and cell not in ("", None):
            raise SchemaError(f"not a number: {cell}")
    return values


BUGS = {
    "open quote": Bug(
        "a quote that is not closed takes the lines after it",
        changing((text_file.TextFile, "_cells", _quotes_across_lines)),
        "privreg fit",
        "hostile input",
    ),
    "a cell in a message": Bug(
        "an error that quotes the cell it stumbled on",
        changing((file_cells, "_values", _quote_the_cell)),
        "privreg fit",
        "hostile input",
    ),
}
