"""The budget sweep: what part of the accuracy without privacy is left at each ε."""

import numpy as np

from privreg.estimators.methods import BASELINE, REGISTRY
from privreg.paper.digits import pretty
from privreg.paper.results import Results, epsilon_name
from privreg.report.document import Grid, TableCell, words

Quartiles = tuple[float, float, float]  # lower, median, upper


def relative(results: Results, k: int, epsilon: float) -> dict[str, Quartiles]:
    """Quartiles over the complete data sets of R² divided by NonDP's, between −1 and 1, by private method."""
    parts: dict[str, list[float]] = {}
    for row in results.medians(k, epsilon).values():
        best = row.get(BASELINE, 0.0)
        for method in results.columns:
            if best > 0 and method in row and REGISTRY[method].private:
                parts.setdefault(method, []).append(min(max(row[method] / best, -1.0), 1.0))
    quartiles = {m: np.quantile(values, [0.25, 0.5, 0.75]) for m, values in parts.items()}
    return {m: (float(low), float(middle), float(high)) for m, (low, middle, high) in quartiles.items()}


def sweep_grid(results: Results, k: int) -> Grid:
    """A row for each private method, a column for each ε."""
    budgets = sorted(results.epsilons)
    columns = [relative(results, k, epsilon) for epsilon in budgets]
    methods = [m for m in results.columns if any(m in column for column in columns)]
    rows = [[words(m), *(_entry(column.get(m)) for column in columns)] for m in methods]
    note = (
        "Median R² of a method divided by that of NonDP on the same data set, kept between −1 and 1: the median over "
        "the complete data sets, and below it the quartiles. 1 means that nothing is lost."
    )
    return Grid(["method", *(f"ε = {epsilon_name(e)}" for e in budgets)], rows, f"R² relative to NonDP, k = {k}", note)


def _entry(quartiles: Quartiles | None) -> TableCell:
    if quartiles is None:
        return TableCell("–", title="not run yet")
    low, middle, high = quartiles
    return TableCell(pretty(middle), middle, (f"{pretty(low)} … {pretty(high)}",))
