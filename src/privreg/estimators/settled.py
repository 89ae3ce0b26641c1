"""What is known of a table's columns before a record is looked at: what types say and what the user declares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from privreg.data.formula import DeclaredCategory, Formula
from privreg.data.raw import OTHER_TYPE, TEXT, TIME, ColumnType, level_text
from privreg.data.schema import (
    BOOLEAN,
    CATEGORY,
    DATE,
    NUMBER,
    Column,
    Schema,
    checked_levels,
    checked_range,
    unprotected_levels,
)
from privreg.engines.base import Types
from privreg.errors import SchemaError

Categories = Mapping[Any, Sequence[Any]] | str | None
Ranges = Mapping[str, Any] | None

NO_USE = "columns of this type cannot be used"


@dataclass(frozen=True)
class Public:
    """What is known of the offered columns without looking at a record. None where the kind must be found out."""

    columns: dict[str, Column | None]
    types: Mapping[str, ColumnType]
    text_target: bool
    named: frozenset[str] = frozenset()  # columns that the user asked for: they are used even if half empty
    fill: bool = False
    notes: tuple[str, ...] = ()
    categories: frozenset[str] = frozenset()  # of those to find out: categories by decree, whatever values they have
    bases: Mapping[str, str] = field(default_factory=dict)  # what their levels are to be compared with
    targets: frozenset[str] = frozenset()  # columns that only the target of a formula is made from
    semicolons: bool = False  # whether these are between the cells of the file

    @property
    def to_find(self) -> list[str]:
        """Columns whose kind, and perhaps levels, only the data tell."""
        return [name for name, column in self.columns.items() if column is None]

    @property
    def unread_numbers(self) -> list[str]:
        """Columns of text that are numbers by decree: only the data tell their decimal mark."""
        known = {name: column for name, column in self.columns.items() if column is not None}
        return [n for n, c in known.items() if c.kind == NUMBER and self.types[n].kind == TEXT and not c.left_out]

    @property
    def schema(self) -> Schema:
        """If nothing has to be found out."""
        columns = tuple(column for column in self.columns.values() if column is not None)
        return Schema(columns, fill=False, warnings=self.notes)


def settle(
    types: Types,
    categories: Categories = None,
    ranges: Ranges = None,
    missing: str = "drop",
    formula: Formula | None = None,
) -> Public:
    """What types, declarations and a formula say; SchemaError or ValueError for declarations that do not fit."""
    if isinstance(categories, str) and categories != "dtype":
        raise ValueError(f'categories must be "dtype" or a dict of levels by column, got {categories!r}')
    by_type = categories == "dtype"
    declared = {} if isinstance(categories, str) else {str(name): given for name, given in (categories or {}).items()}
    bounds = {str(name): checked_range(str(name), given) for name, given in (ranges or {}).items()}
    for what, names in (("categories were", declared), ("a range was", bounds)):
        for name in names:
            if name not in types.columns:
                why = "which is the target" if name == types.target else "but the table has no such feature"
                raise SchemaError(f"{what} declared for {name!r}, {why}")
    columns: dict[str, Column | None] = {}
    taken: list[str] = []
    numbers = frozenset() if formula is None else formula.numbers
    coded = {} if formula is None else {each.name: each for each in formula.categories}
    for name, kind in types.columns.items():
        levels = declared.get(name, coded[name].levels if name in coded else None)
        if name in numbers:
            columns[name] = _number(name, kind, levels, bounds.get(name))
            continue
        if levels is None and kind.category and by_type:
            levels = types.levels(name)
            if levels is None:
                raise SchemaError(f"the type of column {name!r} does not list the levels of the whole column")
            taken.append(name)
        column = _settled(name, kind, levels, bounds.get(name))
        if column is not None and name in taken:
            column = replace(column, typed=True)
        columns[name] = _coded(column, coded[name]) if name in coded else column
    notes = types.notes
    if taken:
        notes += (unprotected_levels(taken),)
    own = frozenset() if formula is None else frozenset(formula.target.columns) - frozenset(formula.inputs)
    return Public(
        columns,
        types.columns,
        types.text_target,
        types.named if formula is None else frozenset(types.columns),
        missing == "fill",
        notes,
        frozenset(coded),
        {name: level_text(each.base) for name, each in coded.items() if each.base is not None},
        own,
        types.semicolons,
    )


def public_schema(
    types: Types, categories: Categories = "dtype", full: bool = False, formula: Formula | None = None
) -> Schema:
    """The schema of data that are public: all is declared, or in the types. `full` gives every level a feature."""
    public = settle(types, categories, formula=formula)
    for name in public.to_find:
        raise SchemaError(f"column {name!r} is text; declare its levels with categories={{{name!r}: [...]}}")
    columns = [replace(column, reference=None) if full else column for column in public.schema]
    schema = replace(public.schema, columns=tuple(columns))
    return schema if formula is None else schema.with_formula(formula)


def as_used(schema: Schema, formula: Formula) -> Schema:
    """A schema that was released before, its columns used as a formula says; SchemaError if that cannot be."""
    coded = {each.name: each for each in formula.categories}
    columns = []
    for column in schema:
        if column.name in formula.numbers and column.has_levels:
            column = Column(column.name, NUMBER, mark=column.mark)
        elif column.name in coded:
            if not column.has_levels:
                raise SchemaError(f"the schema has no levels for C({column.name}); fit without a schema to find them")
            column = _coded(column, coded[column.name]) or column
        columns.append(column)
    return replace(schema, columns=tuple(columns))


def _number(name: str, kind: ColumnType, levels: Any, bounds: tuple[float, float] | None) -> Column:
    """A column that a formula computes with."""
    if levels is not None:
        raise SchemaError(f"column {name!r} has declared levels, so the formula cannot compute with it")
    if kind.category or kind.levels is not None:
        raise SchemaError(
            f"column {name!r} is a category, so the formula cannot compute with it; convert it to numbers"
        )
    if kind.kind == OTHER_TYPE:
        raise SchemaError(
            f"column {name!r} is of type {kind.words}, which cannot be used; convert it to numbers or text"
        )
    return Column(name, NUMBER, range=bounds)


def _coded(column: Column | None, declared: DeclaredCategory) -> Column | None:
    """A category by decree. None if its levels must be found out."""
    if column is None or not column.has_levels:
        return column if column is not None and column.left_out else None
    if declared.base is None:
        return column
    spelled = [level_text(level) for level in column.levels]
    if level_text(declared.base) not in spelled:
        raise SchemaError(f"{declared.base!r} is not a level of column {column.name!r}")
    return replace(column, reference=spelled.index(level_text(declared.base)))


def _settled(name: str, kind: ColumnType, levels: Any, bounds: tuple[float, float] | None) -> Column | None:
    if levels is not None:
        given = checked_levels(name, levels)
        if kind.kind == OTHER_TYPE:
            raise SchemaError(
                f"column {name!r} is of type {kind.words}, which cannot be used; convert it to numbers or text"
            )
        if kind.kind in (NUMBER, BOOLEAN, TIME) and any(isinstance(level, str) for level in given):
            raise SchemaError(
                f"column {name!r} holds {kind.words}s, so the text {given[0]!r} cannot be one of its levels"
            )
        if bounds is not None:
            raise SchemaError(f"column {name!r} has declared levels, so it cannot have a range")
        return Column(name, CATEGORY, levels=given, reference=0)
    if kind.levels is not None:
        return Column(name, CATEGORY, levels=checked_levels(name, kind.levels), reference=0)
    if kind.kind == OTHER_TYPE:
        return Column(name, NUMBER, left_out=NO_USE)
    if kind.kind == BOOLEAN:
        return Column(name, BOOLEAN, levels=(False, True), reference=0)
    if bounds is not None or kind.kind == NUMBER:  # who knows a range knows that they are numbers
        return Column(name, NUMBER, range=bounds)
    return Column(name, DATE) if kind.kind == TIME else None
