"""From the terms of a formula to features: which levels of categories get a column, as R, patsy and formulaic do it.

A term is a product of columns. A category in it has a column for each level but its reference if the model already has
the term without the category, and for every level if it has not; so no column says what others say already.
"""

from collections.abc import Sequence
from itertools import chain, combinations, product
from math import prod, sqrt
from typing import TYPE_CHECKING

from privreg.data.features import Feature

if TYPE_CHECKING:
    from privreg.data.schema import Schema

MOST_CELLS = 100  # features of one term: those that the most records have, by the shares of their levels

Coded = dict[int, bool]  # the categories of a part of a term, and whether all of their levels have a column


def term_features(schema: "Schema") -> list[Feature]:
    """The features of a schema with a formula. Terms with a column that is left out have none."""
    assert schema.formula is not None
    place = {column.name: i for i, column in enumerate(schema.columns)}
    spanned: dict[frozenset[int], set[frozenset[int]]] = {frozenset(): {frozenset()}}  # by numbers in the term
    features: list[Feature] = []
    for term in schema.formula.terms:
        columns = [place[name] for name in term]
        if any(schema.columns[j].left_out for j in columns):
            continue
        numbers = frozenset(j for j in columns if not schema.columns[j].has_levels)
        known = spanned.setdefault(numbers, set())
        for coded in _parts([j for j in columns if j not in numbers], known):
            features += _cells(schema, [j for j in columns if j in numbers or j in coded], coded)
    return features


def _parts(categories: Sequence[int], known: set[frozenset[int]]) -> list[Coded]:
    """What a term adds to what is spanned already, in as few parts as possible."""
    subsets = chain.from_iterable(combinations(categories, size) for size in range(len(categories) + 1))
    new = [subset for subset in subsets if frozenset(subset) not in known]
    known.update(map(frozenset, new))
    parts: list[Coded] = [dict.fromkeys(subset, False) for subset in new]
    while _merge(parts):
        pass
    return parts


def _merge(parts: list[Coded]) -> bool:
    """Put two parts together that differ in one category: without it, and with it less its reference."""
    for i, short in enumerate(parts):
        for j in range(i + 1, len(parts)):
            more = parts[j].keys() - short.keys()
            if len(more) == 1 and parts[j] == short | dict.fromkeys(more, False):
                parts[i] = parts[j] | dict.fromkeys(more, True)
                del parts[j]
                return True
    return False


def _cells(schema: "Schema", columns: Sequence[int], coded: Coded) -> list[Feature]:
    """One feature for each combination of levels; the first column's levels change slowest."""
    choices = [
        schema.columns[j].features(j, schema, full=coded.get(j, False))
        if schema.columns[j].has_levels
        else schema.columns[j].features(j, schema)
        for j in columns
    ]
    cells = [_product(parts) for parts in product(*choices)]
    if len(cells) <= MOST_CELLS:
        return cells
    common = sorted(range(len(cells)), key=lambda i: (-(cells[i].share or 0.0), i))[:MOST_CELLS]
    return [cells[i] for i in sorted(common)]


def _product(parts: Sequence[Feature]) -> Feature:
    first, *others = parts
    if not others:
        return first
    levels = all(part.code is not None for part in parts)
    shares = [part.share for part in parts if part.share is not None]
    known = levels and len(shares) == len(parts)
    share = prod(shares) if known else None  # as if the columns were independent: a guess that serves as a scale
    doubt = sqrt(sum((part.share_noise / max(part.share or 0.0, part.share_noise, 1e-9)) ** 2 for part in parts))
    return Feature(
        ":".join(part.name for part in parts),
        first.source,
        first.code,
        ":".join(str(part.category) for part in parts) if levels else None,
        ":".join(str(part.level) for part in parts) if levels else None,
        share,
        share * doubt if share is not None else 0.0,
        times=tuple((part.source, part.code) for part in others),
    )
