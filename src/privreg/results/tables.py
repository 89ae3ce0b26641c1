"""Tables of a release: the same cells at the terminal, in a summary and in a report."""

from dataclasses import replace
from typing import NamedTuple

from privreg._format import number, pvalue, shown, span, supported, tenths_percent, z_value
from privreg.results.release import Coefficient, Release
from privreg.results.statistics import Described, Statistics


class Cell(NamedTuple):
    """A text, and what a reader may sort it by."""

    text: str
    order: float | str | None


Cells = dict[str, Cell]  # of one row, by the heads of their columns

NOT_DETERMINED = "not determined"
MOST_CORRELATED = 20  # columns of which a page shows correlations


def coefficient_cells(release: Release) -> list[Cells]:
    """Each coefficient, the intercept last. What the method does not tell is left out."""
    return [_coefficient(c, release.has_errors) for c in coefficient_rows(release)]


def coefficient_rows(release: Release) -> list[Coefficient]:
    """What has a row in the table of coefficients, the intercept last.

    Where none is determined because columns are used together, all of them have one row, and the intercept to read is
    the mean of the target.
    """
    if not release.together:
        return [*release.coefficients, release.intercept]
    columns = Coefficient(f"({len(release.coefficients):,} columns together)", None, determined=False)
    return [columns, replace(release.intercept, feature="(mean of the target)")]


def joint_cells(statistics: Statistics) -> list[Cells]:
    """Each joint test."""
    return [
        {
            "joint test": _name(test.term),
            "χ²": Cell(z_value(test.statistic), test.statistic),
            "df": Cell(str(test.df), test.df),
            "P>χ²": Cell(pvalue(test.pvalue), test.pvalue),
        }
        for test in statistics.joint_tests
    ]


def description_cells(statistics: Statistics) -> list[Cells]:
    """Each column, or level, of which something was released."""
    return [_described(row) for row in statistics.description if row.centre is not None or row.share is not None]


def correlation_cells(statistics: Statistics) -> list[Cells]:
    """The matrix below its diagonal; columns are numbered, as a name may occur twice."""
    names, values = statistics.correlations.names, statistics.correlations.values
    return [
        {"column": _name(f"{i}. {name}")}
        | {str(j): _correlation(row[j - 1] if j < i else None) for j in range(1, len(names))}
        for i, (name, row) in enumerate(zip(names, values, strict=True), 1)
    ]


def texts(cells: list[Cells]) -> list[tuple[str, ...]]:
    """The head, then a row of texts for each row of cells."""
    return [tuple(cells[0]), *(tuple(cell.text for cell in row.values()) for row in cells)]


def with_error(value: float | None, error: float | None) -> str:
    """A number with its standard error: 0.732 ± 0.012."""
    text = supported(value, error)
    return text if error is None else f"{text} ± {supported(error, error)}"


def _coefficient(c: Coefficient, errors: bool) -> Cells:
    value = supported(c.value, c.error) if c.determined else NOT_DETERMINED
    cells = {"feature": _name(c.feature), "coef": Cell(value, c.value)}
    if errors:
        interval = "" if c.low is None else f"{supported(c.low, c.error)} … {supported(c.high, c.error)}"
        cells |= {
            "std err": Cell(supported(c.error, c.error), c.error),
            "z": Cell(z_value(c.z), c.z),
            "P>|z|": Cell(pvalue(c.pvalue), c.pvalue),
            "95 % interval": Cell(interval, c.low),
        }
    return cells


def _described(row: Described) -> Cells:
    return {
        "column": _name(row.name),
        "mean": Cell(supported(row.mean, row.mean_error), row.mean),
        "std. deviation": Cell("" if row.std is None else number(row.std, 3), row.std),
        "share": Cell("" if row.share is None else tenths_percent(round(1000 * row.share)), row.share),
        "clipped to": Cell(span(row.low, row.high), row.low),
    }


def _correlation(value: float | None) -> Cell:
    return Cell("" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−"), value)


def _name(name: str) -> Cell:
    return Cell(shown(name), shown(name))
