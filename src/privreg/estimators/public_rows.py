"""Rows that are no secret, as a fit is given them: their columns are checked, then they are read as the records are.

Errors come from names and types, and from the number of rows. Nothing here looks at a private record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from privreg._format import count_of
from privreg._isolation import isolated
from privreg._types import Bool
from privreg.data.expressions import Expression
from privreg.data.files import overlap
from privreg.data.raw import OTHER_TYPE, TEXT, ColumnType
from privreg.data.schema import BOOLEAN, NUMBER, Schema
from privreg.data.tables import read_frame, read_table, rows_as_array
from privreg.engines.base import Types
from privreg.engines.memory import MemoryEngine, rows_that
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError

FEWEST_ROWS = 20  # that are complete: fewer are not used


@dataclass(frozen=True)
class PublicRows:
    """Public rows, and the names of all columns that the private table has: None for an array."""

    table: Any
    names: tuple[str, ...] | None
    semicolons: bool = False  # whether these are between the cells of their file

    def chosen(
        self, types: Types, features: Sequence[str], needed: Sequence[str], unused: Sequence[str] | None
    ) -> "PublicRows":
        """With the columns that are needed; SchemaError unless they are there and of the types of the private table.

        Those that are no features are for the filter. A column that the private table does not have is an error, too,
        unless it is `unused`: the target, or people. With None, any column may be there.
        """
        kind = kind_of(self.table)
        names = kind.names(self.table)
        if names is None or self.names is None:
            return self._as_array(names, len(types.columns))
        for name in needed:
            if name not in names:
                why = "which the table has" if name in features else "which the filter needs"
                raise SchemaError(f"the public rows have no column {name!r}, {why}")
        for name in names if unused is not None else ():
            if name not in self.names and name not in (unused or ()):
                raise SchemaError(
                    f"the public rows have a column {name!r}, which the table does not have; leave it out"
                )
        numbers = [name for name in needed if types.all[name].kind == NUMBER]
        table = kind.take(kind.as_numbers(self.table, numbers), needed, None)[0]
        own = kind_of(table).types(table, None, None)
        for name in needed:
            _check_type(name, own.all[name], types.all[name])
        return replace(self, table=table, semicolons=own.semicolons)

    def _as_array(self, names: Sequence[str] | None, width: int) -> "PublicRows":
        """Columns are found by their places."""
        if names is not None:
            raise SchemaError("the table has no column names, so the public rows must be an array as well")
        if self.names is not None:
            raise SchemaError("the public rows have no column names, but the table has; pass a data frame")
        found = read_frame(self.table).shape[1]
        if found != width:
            raise SchemaError(f"the public rows have {found} columns, but the table has {width}")
        return self

    def loaded(self, where: Expression | None, schema: Schema | None) -> "PublicRows":
        """In memory; SchemaError if so few can be used that passing them must be a mistake.

        Which rows are complete can be told only if the schema is known.
        """
        with isolated():
            rows = replace(self, table=kind_of(self.table).load(self.table))
            _check_number(len(read_frame(rows.table)), "")
            if where is not None:
                _check_number(int(rows._kept(where).sum()), " that meet the filter")
            if schema is not None:
                _check_number(rows.read(schema, where, None).n_records, " that are complete")
        return rows

    def _kept(self, where: Expression) -> Bool:
        return rows_that(self.table, where, ",." if self.semicolons else ".,")

    def read(self, schema: Schema, where: Expression | None, n_jobs: int | None) -> MemoryEngine:
        """The complete rows that meet the condition, with features as in the fit. They have no target."""
        with isolated():
            table = read_table(self.table, schema)
            target = np.zeros(table.n_rows)
            if where is not None:
                target[~self._kept(where)] = np.nan
            return MemoryEngine(table, target, n_jobs)


def public_rows(public: Any, X: Any) -> PublicRows | None:
    """Public rows as they were given, for this private table."""
    if public is None:
        return None
    if isinstance(public, str | PathLike):
        raise ValueError("public must be a table, not the name of a file: pass privreg.open_file(…)")
    if public is X:
        raise ValueError("public is the private table itself; public rows must come from elsewhere")
    if overlap(kind_of(X).places(X), kind_of(public).places(public)):
        raise ValueError("public has files of the private table; public rows must come from elsewhere")
    rows, names = rows_as_array(public), kind_of(X).names(rows_as_array(X))
    if kind_of(rows).in_memory:
        read_frame(rows, "public")  # what is no table is refused by the name of the argument
    return PublicRows(rows, None if names is None else tuple(names))


def _check_number(found: int, which: str) -> None:
    if found < FEWEST_ROWS:
        raise SchemaError(
            f"public (--public) has {count_of(found, 'row')}{which}, and fewer than {FEWEST_ROWS} are not used; pass "
            "more, or fit without public rows"
        )


def _check_type(name: str, public: ColumnType, private: ColumnType) -> None:
    """Text may hold anything; otherwise types must agree."""
    if public.kind == OTHER_TYPE:
        raise SchemaError(
            f"column {name!r} of the public rows is of type {public.words}, which cannot be used; convert it to "
            "numbers or text"
        )
    kinds = {NUMBER if kind == BOOLEAN else kind for kind in (public.kind, private.kind)}
    if len(kinds - {TEXT, OTHER_TYPE}) > 1:
        raise SchemaError(
            f"column {name!r} is of type {public.words} in the public rows, but of type {private.words} in the table"
        )
