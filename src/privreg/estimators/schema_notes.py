"""What to know about the columns of a fit, in sentences, from released values only."""

from collections.abc import Sequence

from privreg._format import listed, number, shown
from privreg.data.coding import MOST_CELLS, cut_terms
from privreg.data.formula import Formula
from privreg.data.schema import CATEGORY, DATE, Schema
from privreg.results.release import NO_RECORDS

FEW = 0.05  # of the records: so many left out are worth a sentence
CERTAIN = 2.5  # standard deviations of noise by which they must be more
RELIABLE = 0.1  # of the records: with more noise than this, their counts tell nothing


def left_out_notes(schema: Schema) -> list[str]:
    """Which columns are not used, and why."""
    return [f"{listed(names)}: {reason}; left out." for reason, names in schema.left_out.items()]


def incomplete(schema: Schema, counted: float, noise: float) -> list[str]:
    """How many records are left out because a value is missing, if these are not few, nor only seem to be.

    `noise` is the standard deviation of the two counts that are compared.
    """
    if schema.records is None or noise > RELIABLE * schema.records:
        return []
    share = 1 - counted / schema.records
    certain = share - CERTAIN * noise / schema.records
    if share > 1 - FEW and certain > 0.5:
        return [NO_RECORDS]
    if certain < FEW:
        return []
    keep = "" if schema.fill else '; missing="fill" (--missing fill) keeps them'
    return [f"About {number(round(100 * share))} % of the records were left out because a value is missing{keep}."]


def reference_notes(schema: Schema, rows: Sequence[int]) -> list[str]:
    """What the levels in the model are compared with."""
    used, compared, unlisted = set(rows), [], False
    for source, column in enumerate(schema):
        own = [f.row for f in schema.rows if f.source == source and f.code is not None and not f.times]
        if column.left_out or column.reference is None or used.isdisjoint(own):
            continue
        compared.append(f"{shown(column.name)} = {shown(str(column.levels[column.reference]))}")
        unlisted |= not used.issuperset(own)
    if not compared:
        return []
    also = " Levels that are not in the model count as the reference." if unlisted else ""
    return [f"Reference level{'s' if compared[1:] else ''}: {', '.join(compared)}.{also}"]


def formula_notes(schema: Schema) -> list[str]:
    """What was fitted, and on which records."""
    told = []
    if schema.formula is not None:
        told.append(f"Formula: {shown(schema.formula.text)}")
        if schema.formula.target.tree[0] != "column":
            told.append(f"Predictions are of {shown(schema.formula.target.text)}, not of {_columns(schema.formula)}.")
    for term in cut_terms(schema):
        told.append(
            f"{shown(term)}: only the {MOST_CELLS} most common combinations of levels are used; others count as none "
            "of them."
        )
    if schema.where:
        told.append(f"Only records where {shown(schema.where)} were used.")
    return told


def _columns(formula: Formula) -> str:
    return listed(list(formula.target.columns))


def date_notes(schema: Schema, rows: Sequence[int]) -> list[str]:
    """What one more means of the dates in the model."""
    dates = [shown(f.name) for f in schema.rows if f.row in set(rows) and schema.columns[f.source].kind == DATE]
    return [f"{listed(dates)}: measured in days since 1970-01-01."] if dates else []


def assumption_notes(schema: Schema) -> list[str]:
    """What was declared about the columns, and so is not covered by the guarantee. Levels of types have a warning."""
    used = [column for column in schema if not column.left_out]
    ranges = [
        f"{shown(c.name)} between {number(c.range[0])} and {number(c.range[1])}" for c in used if c.range is not None
    ]
    levels = [shown(c.name) for c in used if c.kind == CATEGORY and not (c.found or c.typed)]
    told = [*ranges, *([f"levels of {listed(levels)}"] if levels else [])]
    return [f"Declared, not found in the data: {'; '.join(told)}."] if told else []


def origin_notes(schema: Schema | None) -> list[str]:
    """What an earlier release cost, if the schema comes from one."""
    origin = None if schema is None else schema.origin
    return [origin.sentence] if origin is not None and origin.earlier else []
