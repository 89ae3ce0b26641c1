"""The tables of a release: the same cells at the terminal, in a summary and in a report."""

from collections.abc import Callable
from dataclasses import dataclass

from privreg._format import shown, span, supported, text_table
from privreg.results.release import WARNING, Coefficient, Release


@dataclass(frozen=True)
class TableColumn:
    """What a column says about a coefficient, and what a reader may sort it by."""

    head: str
    text: Callable[[Coefficient], str]
    order: Callable[[Coefficient], float | str | None]


def coefficient_columns(release: Release) -> list[TableColumn]:
    """Those of the coefficients; what the method does not tell is left out."""
    columns = _columns("feature", "coefficient", release.has_errors)
    if release.has_ranges:
        columns.append(TableColumn("linear between", _linear, lambda c: c.linear_from))
    return columns


def difference_columns() -> list[TableColumn]:
    """Those of the differences between levels."""
    return _columns("level − other level", "difference", True)


def coefficient_table(release: Release) -> list[tuple[str, ...]]:
    """The head, then a row of texts for each coefficient in the order chosen, the intercept last."""
    return _table(coefficient_columns(release), [*release.coefficients, release.intercept])


def difference_table(release: Release) -> list[tuple[str, ...]]:
    """The same for levels of categories, each beside the first one; the head alone if there are none."""
    return _table(difference_columns(), release.differences)


def summary_of(release: Release) -> str:
    """Notes, a table of coefficients and the receipt, as text."""
    told = release.notes + [WARNING + text for text in release.warnings]
    return "\n".join([*told, "", *text_table(coefficient_table(release)), "", str(release.receipt)])


def with_error(c: Coefficient) -> str:
    """A coefficient with its standard error: 0.732 ± 0.012."""
    return _value(c) if c.error is None else f"{_value(c)} ± {_error(c)}"


def _columns(name: str, value: str, errors: bool) -> list[TableColumn]:
    columns = [TableColumn(name, _name, _name), TableColumn(value, _value, lambda c: c.value)]
    if errors:
        columns.append(TableColumn("std. error", _error, lambda c: c.error))
        columns.append(TableColumn("95 % interval", _interval, lambda c: c.low))
    return columns


def _table(columns: list[TableColumn], rows: list[Coefficient]) -> list[tuple[str, ...]]:
    return [tuple(column.head for column in columns), *(tuple(column.text(c) for column in columns) for c in rows)]


def _name(c: Coefficient) -> str:
    return shown(c.feature)


def _value(c: Coefficient) -> str:
    return supported(c.value, c.error)


def _error(c: Coefficient) -> str:
    return supported(c.error, c.error)


def _interval(c: Coefficient) -> str:
    return "" if c.low is None else f"{supported(c.low, c.error)} … {supported(c.high, c.error)}"


def _linear(c: Coefficient) -> str:
    return span(c.linear_from, c.linear_to)
