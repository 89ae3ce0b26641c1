"""The tables of a release: the same cells at the terminal, in a summary and in a report."""

from typing import NamedTuple

from privreg._format import shown, span, supported, text_table
from privreg.results.release import WARNING, Coefficient, Release


class Cell(NamedTuple):
    """A text, and what a reader may sort it by."""

    text: str
    order: float | str | None


Cells = dict[str, Cell]  # of one row, by the heads of their columns


def coefficient_cells(release: Release) -> list[Cells]:
    """Each coefficient in the order chosen, the intercept last. What the method does not tell is left out."""
    rows = [*release.coefficients, release.intercept]
    cells = [_cells(c, "feature", "coefficient", release.has_errors) for c in rows]
    if release.has_ranges:
        for row, c in zip(cells, rows, strict=True):
            row["linear between"] = Cell(span(c.linear_from, c.linear_to), c.linear_from)
    return cells


def difference_cells(release: Release) -> list[Cells]:
    """Levels of categories, each beside the first one."""
    return [_cells(c, "level − other level", "difference", errors=True) for c in release.differences]


def texts(cells: list[Cells]) -> list[tuple[str, ...]]:
    """The head, then a row of texts for each row of cells."""
    return [tuple(cells[0]), *(tuple(cell.text for cell in row.values()) for row in cells)]


def summary_of(release: Release) -> str:
    """Notes, a table of coefficients and the receipt, as text."""
    told = release.notes + [WARNING + text for text in release.warnings]
    return "\n".join([*told, "", *text_table(texts(coefficient_cells(release))), "", str(release.receipt)])


def with_error(c: Coefficient) -> str:
    """A coefficient with its standard error: 0.732 ± 0.012."""
    value = supported(c.value, c.error)
    return value if c.error is None else f"{value} ± {supported(c.error, c.error)}"


def _cells(c: Coefficient, name: str, value: str, errors: bool) -> Cells:
    cells = {name: Cell(shown(c.feature), shown(c.feature)), value: Cell(supported(c.value, c.error), c.value)}
    if errors:
        interval = "" if c.low is None else f"{supported(c.low, c.error)} … {supported(c.high, c.error)}"
        cells |= {"std. error": Cell(supported(c.error, c.error), c.error), "95 % interval": Cell(interval, c.low)}
    return cells
