"""The contract of a file with a table. Its implementations are in files of their own, and in the list of files.py.

What a file shows of itself is the names of its columns, and their types if it has any. Only these may cause an error.
After that every cell is read by a fixed rule that looks at this cell alone, and what cannot be used becomes a missing
value, without a message.
"""

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from privreg.errors import SchemaError

if TYPE_CHECKING:  # arrow takes long to load, and wrong names of files and columns are known before
    import pyarrow as pa

    from privreg.data.raw import ColumnType


class DataFile:
    """A file with a table: its columns and their kinds, and its records in arrow tables.

    Columns named in `identifiers` are for telling people apart: nothing of them is rounded.

    A subclass takes a path, and has `_no_rows` and `_tables`, and `writer` if predictions can be written in its format.
    """

    typed = False  # whether the file itself says what kind its columns are; if not, all are text
    named: frozenset[str] = frozenset()  # columns that the user asked for by name
    unoffered: frozenset[str] = frozenset()  # columns that no model is to use: a filter needs them
    notes: tuple[str, ...] = ()  # what to know about the names of its columns, in sentences
    semicolons = False  # whether these are between the cells: then commas are rather decimal marks

    def __init__(self, path: Path | str, columns: dict[str, str]) -> None:
        self.path = path  # as messages show it
        self.columns = columns  # "number", "boolean", "text", "category", or another type in words

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def places(self) -> list[Path]:
        """The files, and the folder if there is one, that the rows are in."""
        return [Path(self.path)]

    def select(self, columns: Sequence[str], named: Sequence[str] = (), unoffered: Sequence[str] = ()) -> Self:
        """The same rows with some of the columns.

        Parameters
        ----------
        columns : list of str
            The columns to keep.
        named : list of str, default ()
            Columns that you asked for by name: they are used even if many of their values are missing.
        unoffered : list of str, default ()
            Columns that only a filter uses.

        Returns
        -------
        file
        """
        self._check(columns, ())
        chosen = copy(self)
        chosen.columns, chosen.named = {name: self.columns[name] for name in columns}, frozenset(named)
        chosen.unoffered = frozenset(unoffered)
        return chosen

    def as_numbers(self, columns: Collection[str]) -> Self:  # noqa: ARG002
        """The same rows, with labelled numbers in some columns read as numbers, not as categories.

        Parameters
        ----------
        columns : list of str
            These columns.

        Returns
        -------
        file
        """
        return self

    def type_of(self, column: str) -> "ColumnType":
        """What the type of a column says. Files without types hold text only.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        ColumnType
        """
        from privreg.data.raw import type_called

        return type_called(self.columns[column])

    def levels(self, column: str) -> list[Any] | None:  # noqa: ARG002
        """The levels that the type of a column has.

        Parameters
        ----------
        column : str
            The column.

        Returns
        -------
        list or None
            None if the type has no levels that hold for all rows.
        """
        return None

    def read(self, columns: Sequence[str], identifiers: Sequence[str] = ()) -> "pa.Table":
        """Read all records.

        Parameters
        ----------
        columns : list of str
            The columns to read.
        identifiers : list of str, default ()
            Columns that tell people apart: nothing in them is rounded.

        Returns
        -------
        pyarrow.Table
        """
        import pyarrow as pa

        self._check(columns, identifiers)
        return pa.concat_tables([self._no_rows(columns, identifiers), *self._tables(columns, identifiers)])

    def batches(self, columns: Sequence[str], identifiers: Sequence[str] = ()) -> "Iterator[pa.Table]":
        """Read all records part by part, in bounded memory.

        Parameters
        ----------
        columns : list of str
            The columns to read.
        identifiers : list of str, default ()
            Columns that tell people apart: nothing in them is rounded.

        Returns
        -------
        iterator of pyarrow.Table
        """
        self._check(columns, identifiers)
        return self._tables(columns, identifiers)

    @staticmethod
    def writer(sink: BinaryIO, schema: "pa.Schema", name: Path) -> Any:
        """A writer of files in this format, with the methods `write_table` and `close`.

        Parameters
        ----------
        sink : binary file
            Where to write.
        schema : pyarrow.Schema
            The columns of the tables.
        name : path
            The name of the file, which may decide the details of the format.

        Returns
        -------
        writer
        """
        raise NotImplementedError

    def _check(self, columns: Sequence[str], identifiers: Sequence[str]) -> None:
        del identifiers  # any column can be one
        for name in columns:
            if name not in self.columns:
                raise SchemaError(f"{self.path} has no column {name!r}")

    def _no_rows(self, columns: Sequence[str], identifiers: Sequence[str]) -> "pa.Table":
        """These columns as they come, without rows."""
        raise NotImplementedError

    def _tables(self, columns: Sequence[str], identifiers: Sequence[str]) -> "Iterator[pa.Table]":
        """All rows of these columns, in order, in tables that are not too large."""
        raise NotImplementedError
