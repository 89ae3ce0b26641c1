"""From the terms of a formula to features: which levels of categories get a column, as R, patsy and formulaic do it.

A term is a product of columns. A category in it has a column for each level but its reference if the model already has
the term without the category, and for every level if it has not; so no column says what others say already.
"""

from collections.abc import Sequence
from itertools import chain, combinations
from math import prod, sqrt
from typing import TYPE_CHECKING

from privreg.data.features import Feature

if TYPE_CHECKING:
    from privreg.data.schema import Schema

MOST_CELLS = 100  # features of one product: those that the most records have, by the shares of their levels

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


def cut_terms(schema: "Schema") -> list[str]:
    """Terms of which not every combination of levels has a feature."""
    place = {column.name: i for i, column in enumerate(schema.columns)}
    sizes = {name: len(schema.columns[j].features(j, schema)) for name, j in place.items()}
    terms = () if schema.formula is None else schema.formula.terms
    return [":".join(term) for term in terms if prod(sizes[name] for name in term) > MOST_CELLS]


def _parts(categories: Sequence[int], known: set[frozenset[int]]) -> list[Coded]:
    """What a term adds to what is spanned already, in as few parts as possible."""
    subsets = chain.from_iterable(combinations(categories, size) for size in range(len(categories) + 1))
    new = [subset for subset in subsets if frozenset(subset) not in known]
    known.update(map(frozenset, new))
    parts: list[Coded] = [dict.fromkeys(subset, False) for subset in new]
    while _merge(parts, categories):
        pass
    return parts


def _merge(parts: list[Coded], categories: Sequence[int]) -> bool:
    """Put two parts together that differ in one category: without it, and with it less its reference."""
    place = {frozenset(part.items()): j for j, part in enumerate(parts)}
    for i, short in enumerate(parts):
        more = {j: place.get(frozenset([*short.items(), (j, False)]), -1) for j in categories if j not in short}
        later = [(at, j) for j, at in more.items() if at > i]
        if later:
            at, category = min(later)
            parts[i] = parts[at] | {category: True}
            del parts[at]
            return True
    return False


def _cells(schema: "Schema", columns: Sequence[int], coded: Coded) -> list[Feature]:
    """One feature for each combination of levels; the first column's levels change slowest."""
    choices = [schema.columns[j].features(j, schema, full=coded.get(j, False)) for j in columns]
    cells: list[tuple[Feature, ...]] = [(first,) for first in choices[0]]
    for others in choices[1:]:  # cut as it grows: fifty levels of five columns would be 300 million cells
        cells = _common([(*cell, other) for cell in cells for other in others])
    return [_product(cell) for cell in cells]


def _common(cells: list[tuple[Feature, ...]]) -> list[tuple[Feature, ...]]:
    """Those with the largest shares, as if columns were independent; the first ones where these are not known."""
    shares = [prod(part.share for part in cell if part.share is not None) for cell in cells]
    order = sorted(range(len(cells)), key=lambda i: (-shares[i], i))[:MOST_CELLS]
    return [cells[i] for i in sorted(order)]


def _product(parts: Sequence[Feature]) -> Feature:
    first, *others = parts
    if not others:
        return first
    levels = all(part.code is not None for part in parts)
    shares = [part.share for part in parts if part.share is not None]
    part_of_all = prod(shares)  # as if the columns were independent: a guess that serves as a scale
    share = part_of_all if levels and len(shares) == len(parts) else None
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
        part=1.0 if levels else part_of_all,
    )
