"""The contract of a file with a table. Its implementations are in files of their own, and in the list of files.py.

What a file shows of itself is its *schema*: the names of its columns and their kinds. Only the schema may cause an
error. After that every cell is read by a fixed rule that looks at this cell alone, and what cannot be used becomes a
missing value, without a message.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from privreg.errors import SchemaError

if TYPE_CHECKING:  # arrow takes long to load, and wrong names of files and columns are known before
    import pyarrow as pa

Levels = Mapping[str, Sequence[Any]]


class DataFile:
    """A file with a table: its columns and their kinds, and its records in arrow tables.

    A column with declared levels (`categories`) comes in the kind of the levels: text, float64 or boolean. Columns
    named in `identifiers` are for telling people apart: nothing of them is rounded.

    A subclass takes a path, and has `_no_rows` and `_tables`, and `writer` if predictions can be written in its format.
    `levels`, for columns of kind "category", is for files that estimators read in place: they tell users about levels
    that nobody has declared.
    """

    typed = False  # whether the file itself says what kind its columns are
    blank: frozenset[str] = frozenset()  # columns that show nothing of their kind

    def __init__(self, path: Path | str, columns: dict[str, str]) -> None:
        self.path = path  # as messages show it
        self.columns = columns  # "number", "boolean", "text", "category", or another type in words

    def read(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str] = ()) -> "pa.Table":
        """All records, of these columns only."""
        import pyarrow as pa

        self._check(columns, categories, identifiers)
        tables = self._tables(columns, categories, identifiers)
        return pa.concat_tables([self._no_rows(columns, categories, identifiers), *tables])

    def batches(
        self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str] = ()
    ) -> "Iterator[pa.Table]":
        """The same rows part by part, in bounded memory."""
        self._check(columns, categories, identifiers)
        return self._tables(columns, categories, identifiers)

    def levels(self, column: str) -> list[Any]:
        """The levels that the file itself declares for a column of kind "category"."""
        raise SchemaError(
            f"{self.path} declares no levels for column {column!r}; declare its levels with --category {column}=a,b,c"
        )

    @staticmethod
    def writer(sink: BinaryIO, schema: "pa.Schema", name: Path) -> Any:
        """Something with `write_table` and `close` that writes such tables as a file of this name."""
        raise NotImplementedError

    def _check(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> None:
        del identifiers  # any column can be one
        for name in columns:
            if name not in self.columns:
                raise SchemaError(f"{self.path} has no column {name!r}")
            kind = self.columns[name] if self.typed else "text"
            if name in categories and levels_type(name, categories[name]) == "text" and kind in ("number", "boolean"):
                raise SchemaError(
                    f"column {name!r} holds {kind}s, so the text {categories[name][0]!r} cannot be one of its levels; "
                    f"declare {kind}s"
                )

    def _no_rows(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> "pa.Table":
        """These columns as they come, without rows."""
        raise NotImplementedError

    def _tables(self, columns: Sequence[str], categories: Levels, identifiers: Sequence[str]) -> "Iterator[pa.Table]":
        """All rows of these columns, in order, in tables that are not too large."""
        raise NotImplementedError


def levels_type(column: str, levels: Sequence[Any]) -> str:
    """The kind that declared levels have in common."""
    import numpy as np

    if levels and all(isinstance(level, str) for level in levels):
        return "text"
    if levels and all(isinstance(level, bool | np.bool_) for level in levels):
        return "boolean"
    if levels and all(isinstance(level, int | float | np.number) and not isinstance(level, bool) for level in levels):
        return "number"
    raise SchemaError(f"the levels of column {column!r} must be all text or all numbers, at least one")
