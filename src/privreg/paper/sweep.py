"""The budget sweep: what part of the accuracy without privacy is left at each ε."""

from privreg.estimators.methods import BASELINE
from privreg.paper.results import Quartiles, Results, epsilon_name, quartiles
from privreg.paper.tables import NOT_RUN, spread
from privreg.report.document import Grid, words


def relative(results: Results, k: int, epsilon: float) -> dict[str, Quartiles]:
    """Quartiles over the complete data sets of R² divided by NonDP's, between −1 and 1, by private method."""
    rows = [row for row in results.medians(k, epsilon).values() if row.get(BASELINE, 0.0) > 0]
    parts = {m: [min(max(row[m] / row[BASELINE], -1.0), 1.0) for row in rows if m in row] for m in results.private}
    return {m: quartiles(values) for m, values in parts.items() if values}


def sweep_grid(results: Results, k: int) -> Grid:
    """A row for each private method, a column for each ε."""
    budgets = sorted(results.epsilons)
    columns = [relative(results, k, epsilon) for epsilon in budgets]
    methods = [m for m in results.private if any(m in column for column in columns)]
    rows = [[words(m), *(spread(column[m]) if m in column else NOT_RUN for column in columns)] for m in methods]
    note = (
        "Median R² of a method divided by that of NonDP on the same data set, kept between −1 and 1: the median over "
        "the complete data sets, and below it the quartiles. 1 means that nothing is lost."
    )
    return Grid(["method", *(f"ε = {epsilon_name(e)}" for e in budgets)], rows, f"R² relative to NonDP, k = {k}", note)
