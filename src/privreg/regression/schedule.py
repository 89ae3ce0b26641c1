"""Who gets how much of the budget: a public function of the (privately counted) size of the data.

Everything is measured by S = n·μ, the number of records times the total μ of Gaussian differential privacy: what the
data can carry at this budget. The constants were chosen on many data sets together: results/flagship/.
"""

from dataclasses import dataclass

COUNT = 0.01  # of the budget, for the number of records
MOST_COLUMNS = 1000  # of the design, for the sake of time and memory
PHASES = (0.35, 0.30, 0.35)  # of what the regression gets
SQUARES = 0.01  # of the last phase, for the residual variance

SMALLEST_SIZE = 30  # a smaller S gives a constant


@dataclass(frozen=True)
class Schedule:
    """Number of columns to use, and parts of the budget."""

    columns: int
    capacity: int  # how many columns the data could carry
    label_median: float
    label_histogram: float
    selection: float
    medians: float
    histograms: float
    quantile: float  # each of three
    regression: float

    @property
    def total(self) -> float:
        parts = self.label_median + self.label_histogram + self.selection + self.medians + self.histograms
        return COUNT + parts + 3 * self.quantile + self.regression


def make_schedule(size: float, available: int, wanted: int | None) -> Schedule:
    """For data of this size with `available` columns, of which a user wants at most `wanted`."""
    capacity = min(int((0.136 * size) ** (2 / 3)), MOST_COLUMNS)
    columns = min(available, max(3, capacity), wanted or available) if size >= SMALLEST_SIZE else 0
    if columns == 0:
        return Schedule(0, 0, 1 - COUNT, 0, 0, 0, 0, 0, 0)
    median = min(max((25 / size) ** 2, 0.01), 0.30)
    histogram = min(max((80 / size) ** 2, 0.02), 0.25)
    rest = 1 - COUNT - median - histogram
    selection, medians, histograms, quantile = 0.20 if columns < available else 0.0, 0.05, 0.12, 0.02
    regression = 1 - selection - medians - histograms - 3 * quantile
    parts = [rest * share for share in (selection, medians, histograms, quantile, regression)]
    return Schedule(columns, capacity, median, histogram, *parts)
