"""Hostile input for everything that reads: files of all formats, tables in memory, models, schemas, ledgers.

    python -m audit.fuzz [--seconds N] [--target T --engine E]

Half of the time goes to atheris, which looks for inputs that reach new code, and half to hypothesis, which makes inputs
of pieces known to be nasty. Each *target* turns bytes into an input and raises `Finding` if the product does not keep
its word:

- nothing but an error of `privreg.errors` comes out: no other exception, no warning, nothing printed, no hang;
- no message holds a cell, the number of a line, or the number of records;
- one record, whatever it holds, changes neither success nor message nor how any other record is read. That is checked
  with pairs of tables, with and without the record, whose columns are of a clear kind otherwise;
- damage to a ledger outside the line of totals leaves the same room as before, or the file is refused.
"""

from collections.abc import Callable

from audit.fuzz.formats import fuzz_arrow, fuzz_excel, fuzz_json, fuzz_labelled
from audit.fuzz.ledger import fuzz_ledger
from audit.fuzz.model import fuzz_model, fuzz_schema
from audit.fuzz.objects import fuzz_table
from audit.fuzz.parquet import fuzz_parquet
from audit.fuzz.text import fuzz_text, nasty_lines_found

__all__ = ["TARGETS", "nasty_lines_found"]

TARGETS: dict[str, Callable[[bytes], None]] = {
    "csv": fuzz_text,
    "parquet": fuzz_parquet,
    "json": fuzz_json,
    "excel": fuzz_excel,
    "arrow": fuzz_arrow,
    "labelled": fuzz_labelled,
    "table": fuzz_table,
    "model": fuzz_model,
    "schema": fuzz_schema,
    "ledger": fuzz_ledger,
}
