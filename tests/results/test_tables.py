"""One table of coefficients: the terminal, the summary and the report show the same cells."""

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from privreg import PrivateLinearRegression, TukeyRegression
from privreg.cli.grid import grid
from privreg.report import coefficients
from privreg.results.release import release_of
from privreg.results.summary import Summary
from privreg.results.tables import coefficient_cells, texts, with_error

HEAD = ("feature", "coef", "std err", "z", "P>|z|", "95 % interval")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 10, 4000), "town": rng.choice(["a", "b"], 4000)})
    return X, 2 * X["age"] + 5 * (X["town"] == "b") + rng.normal(size=4000)


@pytest.fixture(scope="module")
def release(table):
    model = PrivateLinearRegression(3.0, 1e-6, categories={"town": ["a", "b"]}, random_state=0).fit(*table)
    return release_of(model, "pay")


def test_all_show_the_same_cells(release):
    rows = texts(coefficient_cells(release))
    assert rows[0] == HEAD
    assert [row[0] for row in rows[1:]] == [*(c.feature for c in release.coefficients), "(intercept)"]
    page = coefficients.table(release)
    assert [tuple(page.head), *(tuple(cell.text for cell in row) for row in page.rows)] == rows
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(grid(*rows))
    for text in (capture.get(), str(Summary(release))):
        lines = [" ".join(line.split()) for line in text.splitlines()]
        assert all(" ".join(filter(None, row)) in lines for row in rows)


def test_levels_are_differences_from_a_reference(release):
    """A level has one row, which means something alone: the difference that it makes, and from what is said."""
    rows = texts(coefficient_cells(release))
    assert [row[0] for row in rows[1:]] == ["age", "town=b", "(intercept)"]
    town = release.coefficients[1]
    assert town.level
    assert not release.coefficients[0].level
    assert with_error(town.value, town.error) == f"{rows[2][1]} ± {rows[2][2]}"
    assert abs(town.value - 5) < 4 * town.error
    assert town.error < 2
    assert "Reference level: town = a." in release.notes


def test_what_a_method_does_not_tell_is_left_out(table):
    X, y = table
    rng = np.random.default_rng(1)
    numbers = np.column_stack([X["age"], rng.normal(size=len(X))])
    release = release_of(TukeyRegression(3.0, 1e-6, calibration="strict", random_state=0).fit(numbers, y))
    rows = texts(coefficient_cells(release))
    assert rows[0] == ("feature", "coef")
    assert with_error(release.intercept.value, release.intercept.error) == rows[-1][1]
