"""Coding of categories in products: which levels get a column, and how many products there are at most."""

from dataclasses import replace
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privreg.data.coding import MOST_CELLS, _parts, cut_terms
from privreg.data.formula import read_formula
from privreg.data.schema import CATEGORY, NUMBER, Column, Schema
from privreg.estimators.schema_notes import formula_notes

SETS = [frozenset(s) for s in chain.from_iterable(combinations(range(4), size) for size in range(5))]


def schema(right, columns):
    names = [column.name for column in columns]
    formula = read_formula(f"y ~ {right}", ["y", *names])
    return Schema((*columns, Column("y", NUMBER)), records=1000.0, level_noise=1.0).with_formula(formula)


def category(name, size, counts=True):
    levels = tuple(f"{name}{i}" for i in range(size))
    shares = tuple(1000.0 / 2 ** (i + 1) for i in range(size)) if counts else None
    return Column(name, CATEGORY, levels=levels, counts=shares, reference=0)


def span(part):
    """The sets of categories whose contrasts a part has."""
    required = frozenset(j for j, full in part.items() if not full)
    return {s for s in SETS if required <= s <= frozenset(part)}


@given(st.sets(st.sampled_from(SETS)), st.sets(st.integers(0, 3)))
@settings(max_examples=300)
def test_parts_say_what_is_new_exactly_once(known, categories):
    new = {s for s in SETS if s <= frozenset(categories)} - known
    before = set(known)
    found = [span(part) for part in _parts(sorted(categories), known)]
    assert sum(map(len, found)) == len(new)
    assert set().union(*found) == new
    assert known == before | new


def test_a_category_alone_leaves_out_its_reference():
    assert [f.name for f in schema("a", [category("a", 3)]).features] == ["a=a1", "a=a2"]


def test_a_slope_for_each_level_has_all_of_them():
    made = schema("x:a", [Column("x", NUMBER), category("a", 3)])
    assert [f.name for f in made.features] == ["x:a=a0", "x:a=a1", "x:a=a2"]
    made = schema("x*a", [Column("x", NUMBER), category("a", 3)])
    assert [f.name for f in made.features] == ["x", "a=a1", "a=a2", "x:a=a1", "x:a=a2"]


def test_a_column_that_is_left_out_takes_its_terms_along():
    made = schema("a*b + x", [category("a", 3), category("b", 2), Column("x", NUMBER)])
    columns = (replace(made.columns[0], left_out="no value is common enough"), *made.columns[1:])
    made = replace(made, columns=columns)
    assert [f.name for f in made.features] == ["b=b1", "x"]
    assert [f.name for f in made.rows] == ["b=b1", "x", "a"]
    assert made.used_inputs == ["b", "x"]


def test_products_are_cut_to_the_most_common_cells():
    made = schema("a:b", [category("a", 50), category("b", 50)])
    plain = [f for f in made.features if not f.times]
    cells = [f for f in made.features if f.times]
    assert len(cells) == MOST_CELLS
    shares = sorted((f.share for f in cells), reverse=True)
    every = sorted((2.0 ** -(i + j + 2) for i, j in product(range(50), range(50))), reverse=True)
    assert shares[0] <= every[0]
    assert min(shares) > every[MOST_CELLS + 50]
    assert len(plain) == 49  # the levels of one column are never cut


@pytest.mark.parametrize("counts", [True, False])
def test_a_product_of_seven_large_categories_comes_to_an_end(counts):
    """Fifty levels each: all of its cells would never end."""
    columns = [category(name, 50, counts) for name in "abcdefg"]
    made = schema(":".join("abcdefg"), columns)
    features = made.features
    assert sum(len(f.parts) == 7 for f in features) <= MOST_CELLS
    assert len(features) < 30 * MOST_CELLS


def test_many_levels_by_a_number_keep_the_common_ones():
    made = schema("a:b:x", [category("a", 40), category("b", 40), Column("x", NUMBER)])
    pairs = [f.parts for f in made.features if len(f.parts) == 3]
    assert len(pairs) == MOST_CELLS
    codes = np.array([[code for _, code in parts if code is not None] for parts in pairs])
    assert codes.sum(axis=1).max() < 20  # 2^-20 of the records; the first hundred cells would have 39


def test_a_term_with_too_many_cells_is_named():
    def schema(levels):
        columns = [Column(name, CATEGORY, levels=tuple(range(levels)), reference=0) for name in "ab"]
        return Schema(tuple(columns), formula=read_formula("y ~ a*b", ["y", "a", "b"]))

    assert cut_terms(schema(11)) == []
    assert len(schema(11).rows) == 10 + 10 + 100
    assert cut_terms(schema(12)) == ["a:b"]
    assert len(schema(12).rows) == 11 + 11 + MOST_CELLS
    assert formula_notes(schema(12))[-1] == (
        "a:b: only the 100 most common combinations of levels are used; others count as none of them."
    )
