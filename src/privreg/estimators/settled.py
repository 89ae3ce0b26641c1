"""What is known of a table's columns before a record is looked at: what types say and what the user declares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privreg._format import listed
from privreg.data.raw import OTHER_TYPE, TIME, ColumnType
from privreg.data.schema import BOOLEAN, CATEGORY, DATE, NUMBER, Column, Schema, checked_levels, checked_range
from privreg.engines.base import Types
from privreg.errors import SchemaError

Categories = Mapping[Any, Sequence[Any]] | str | None
Ranges = Mapping[str, Any] | None

NO_USE = "its type cannot be used"


@dataclass(frozen=True)
class Public:
    """What is known of the offered columns without looking at a record. None where the kind must be found out."""

    columns: dict[str, Column | None]
    types: Mapping[str, ColumnType]
    text_target: bool
    named: frozenset[str] = frozenset()  # columns that the user asked for: they are used even if half empty
    fill: bool = False
    notes: tuple[str, ...] = ()

    @property
    def to_find(self) -> list[str]:
        """Columns whose kind, and perhaps levels, only the data tell."""
        return [name for name, column in self.columns.items() if column is None]

    @property
    def schema(self) -> Schema:
        """If nothing has to be found out."""
        columns = tuple(column for column in self.columns.values() if column is not None)
        return Schema(columns, fill=False, warnings=self.notes)


def settle(types: Types, categories: Categories = None, ranges: Ranges = None, missing: str = "drop") -> Public:
    """What types and declarations say; SchemaError or ValueError for declarations that do not fit."""
    if isinstance(categories, str) and categories != "dtype":
        raise ValueError(f'categories must be "dtype" or levels by column, got {categories!r}')
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
    for name, kind in types.columns.items():
        levels = declared.get(name)
        if levels is None and kind.category and by_type:
            levels = types.levels(name)
            if levels is None:
                raise SchemaError(f"column {name!r} has no levels in its type that hold for the whole column")
            taken.append(name)
        columns[name] = _settled(name, kind, levels, bounds.get(name))
    notes = types.notes
    if taken:
        notes += (f"The levels of {listed(taken)} came with the data's type and are taken as public.",)
    return Public(columns, types.columns, types.text_target, types.named, missing == "fill", notes)


def public_schema(types: Types, categories: Categories = "dtype", full: bool = False) -> Schema:
    """The schema of data that are public: all is declared, or in the types. `full` gives every level a feature."""
    public = settle(types, categories)
    for name in public.to_find:
        raise SchemaError(f"column {name!r} is text; declare its levels with categories={{{name!r}: [...]}}")
    columns = [replace(column, reference=None) if full else column for column in public.schema]
    return replace(public.schema, columns=tuple(columns))


def _settled(name: str, kind: ColumnType, levels: Any, bounds: tuple[float, float] | None) -> Column | None:
    if levels is not None:
        given = checked_levels(name, levels)
        if kind.kind == OTHER_TYPE:
            raise SchemaError(f"column {name!r} is of type {kind.words}, which cannot be used")
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
