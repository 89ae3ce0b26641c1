"""Counts of the classes of cells: one record moves each column by exactly one in one class. docs/proofs/kinds.md."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privreg.data.cells import CLASSES
from privreg.data.raw import BOOLEAN, NUMBER, TEXT, TIME, Raw
from privreg.engines.base import OpenOptions
from privreg.engines.registry import open_source
from privreg.mechanisms.kinds import GRID, CountClasses, noisy_classes, plan_kinds
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import SeededNoise

CELLS = {
    TEXT: [
        *("", "NA", None, "1", "1.5", "1,5", "2020-01-31", "2020-02-31", "yes", "x", "1,5.5", " ", "1e400", "-"),
        *("1,234", "1.234", "$5"),
    ],
    NUMBER: [0.0, 1.5, np.nan, np.inf, -np.inf, 1e308, -0.0],
    TIME: [0.0, -1.5, np.nan],
    BOOLEAN: [1, 0, -1],
}


def raw(kind, cells):
    if kind == TEXT:
        return Raw(TEXT, pa.array(cells, pa.string()))
    return Raw(kind, np.array(cells, np.int8 if kind == BOOLEAN else float))


@pytest.mark.parametrize("kind", CELLS)
def test_a_record_adds_one_to_one_class(kind):
    """Whatever it holds and whatever the others hold: all tables of up to two other cells."""
    task = CountClasses(("c",))
    for size in range(3):
        for others in product(CELLS[kind], repeat=size):
            before = task({"c": raw(kind, list(others))})
            assert before.shape == (1, CLASSES)
            assert before.sum() == size
            for cell in CELLS[kind]:
                change = task({"c": raw(kind, [*others, cell])}) - before
                assert sorted(change.ravel()) == [0] * (CLASSES - 1) + [1]
                assert (change == task({"c": raw(kind, [cell])})).all()


def test_a_record_moves_all_columns_together_by_the_root_of_their_number(rng):
    """Also where the target is one of the columns, and whatever kinds the columns are of."""
    kinds = [TEXT, NUMBER, BOOLEAN, TIME, TEXT]
    names = ("a", "b", "c", "d", None)
    task = CountClasses(names)
    for _ in range(100):
        rows = [[CELLS[kind][i] for kind, i in zip(kinds, rng.integers(0, 3, 5), strict=True)] for _ in range(4)]

        def counts(rows):
            columns = zip(*rows, strict=True) if rows else [[]] * 5
            return task({n: raw(k, list(c)) for n, k, c in zip(names, kinds, columns, strict=True)})

        change = counts(rows) - counts(rows[:-1])
        assert (change.sum(axis=1) == 1).all()
        assert (change**2).sum() == len(names)  # ℓ2², in records


@pytest.mark.parametrize("columns", [1, 2, 7, 500])
@pytest.mark.parametrize("mu_squared", [1e-6, 0.01, 3.0])
def test_the_event_is_what_the_counts_need(columns, mu_squared):
    event = plan_kinds(mu_squared, columns)
    assert (event.coordinates, event.grid) == (columns * CLASSES, GRID)
    assert event.sensitivity_squared == columns * GRID**2  # a record of this many columns, in grid steps
    assert event.mu_squared == Fraction(columns) * GRID**2 / Fraction(event.scale) ** 2
    assert float(event.mu_squared) == pytest.approx(mu_squared, rel=1e-12)
    assert event.purpose == "reading"


class Fixed(SeededNoise):
    """Adds a known number to each count, and keeps what it was asked for."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.calls = []

    def gaussian(self, values, scale):
        self.calls.append((values.tolist(), scale))
        return values + np.arange(values.size) * GRID // 4


def test_the_release_is_the_counts_and_the_noise():
    noise = Fixed()
    account = AdaptiveAccount(Budget(1.0, 1e-6), noise)
    counts = np.arange(2 * CLASSES).reshape(2, CLASSES)
    event = plan_kinds(0.001, 2)
    released = noisy_classes(account, event, counts)
    assert noise.calls == [((counts.ravel() * GRID).tolist(), event.scale)]
    np.testing.assert_array_equal(released, counts * 1.25)
    assert account.receipt().events == (event,)


FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "arrow": lambda columns: pa.table(columns),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_all_columns_of_a_table(kind):
    frame = FRAMES[kind]({"t": ["1", "x", None], "n": [1.5, None, 2.5], "b": [True, False, True]})
    _, source = open_source(frame, np.zeros(3), OpenOptions())
    found = source.total_cells(CountClasses(("n", "t", "b")), ["n", "t", "b"])
    assert found.tolist() == [[1, 0, 2, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 3, 0]]
