"""A schema in a notebook: what each column holds, and what is left out and why."""

from privreg._format import about, count_of, number, part_of, shown
from privreg._notebook import Html, card, caution, facts, table
from privreg.data.schema import MISSING, OTHER, Column, Schema

MOST_LEVELS = 8  # of a column that are listed


def schema_card(schema: Schema) -> str:
    """All of it."""
    return card(f"Schema of {count_of(len(schema.columns), 'column')}", *schema_parts(schema))


def schema_parts(schema: Schema) -> list[Html]:
    """Facts, a table of the columns, and what may be wrong."""
    told = [
        ("Records", None if schema.records is None else f"about {about(schema.records)}"),
        ("Formula", None if schema.formula is None else shown(schema.formula.text)),
        ("Only records with", shown(schema.where) or None),
        ("Missing values", "filled in" if schema.fill else "records without a value are left out"),
    ]
    rows = [(column.name, _kind(column), _missing(column, schema), _holds(column, schema)) for column in schema]
    return [
        facts(told),
        table(("column", "kind", "missing", "levels and ranges"), rows, left=4, title="Columns"),
        *map(caution, schema.warnings),
    ]


def _kind(column: Column) -> str:
    if column.left_out:
        return "left out"
    return column.kind + (" (decimal comma)" if column.mark == "," else "")


def _missing(column: Column, schema: Schema) -> str:
    return "" if column.n_missing is None else part_of(column.n_missing, schema.records)


def _holds(column: Column, schema: Schema) -> str:
    """Why it is left out, its levels with their share of the records, or its declared range."""
    if column.left_out:
        return column.left_out
    if column.range is not None:
        return f"declared between {number(column.range[0])} and {number(column.range[1])}"
    if not column.has_levels:
        return ""
    counts = column.counts or [None] * len(column.levels)
    named = [
        (f"{shown(str(level))}{' (reference)' if place == column.reference else ''}", count)
        for place, (level, count) in enumerate(zip(column.levels, counts, strict=True))
    ]
    named += [(OTHER, column.n_other)] if column.other else []
    named += [(MISSING, column.n_missing)] if column.missing and schema.fill else []
    listed = [f"{text} {_share(count, schema)}".strip() for text, count in named[:MOST_LEVELS]]
    more = f" and {len(named) - MOST_LEVELS:,} more" if len(named) > MOST_LEVELS else ""
    return ", ".join(listed) + more


def _share(count: float | None, schema: Schema) -> str:
    return "" if count is None else part_of(count, schema.records)
