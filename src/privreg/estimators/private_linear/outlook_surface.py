"""What fits on made-up tables were found to reach, between whose sizes plans are interpolated.

`make plan-surface` simulates and writes the file; a plan reads it, so that it takes no time.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, hypot, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from privreg._types import Float64
from privreg.estimators.private_linear.schedule import SMALLEST_SIZE

FILE = "outlook_surface.json"


class Reached(NamedTuple):
    """R² that privacy costs: in the middle, for the best fit of ten and for the worst; and widths that are noise."""

    loss: float
    least: float
    most: float
    width: float


@dataclass(frozen=True)
class Surface:
    """On grids of S = n·μ, of columns and of signals.

    A model below the smallest S is a constant, for which columns and signal do not matter.
    """

    sizes: Float64
    columns: Float64
    signals: Float64
    reached: Float64  # sizes × columns × signals × `Reached`
    small_sizes: Float64
    constants: Float64  # small sizes × (R² in the middle, low, high)
    sampling: Float64  # columns × signals: half-width of an interval without privacy, times √n
    margins: Float64  # columns × signals: times as wide with no noise, for the sake of margins
    errors: dict[str, float]  # nine of ten fresh simulations are no further off

    def at(self, size: float, columns: int, signal: float) -> Reached:
        """Linear in the logarithms of S and of the columns, and in the signal; widths in their own logarithm, too."""
        grids = (np.log(self.sizes), np.log(self.columns), self.signals)
        values = _between(self.reached, grids, (log(max(size, SMALLEST_SIZE)), log(columns), signal))
        loss, least, most, width = values.tolist()
        return Reached(loss, least, most, exp(width))

    def constant(self, size: float) -> tuple[float, float, float]:
        """R² of a constant: in the middle, low and high."""
        middle, low, high = _between(self.constants, (np.log(self.small_sizes),), (log(max(size, 1e-9)),)).tolist()
        return middle, low, high

    def interval(self, width: float, rows: int, columns: int, signal: float) -> tuple[float, float]:
        """Half of a coefficient's interval, by the part that is noise, and how many times that without privacy."""
        place = (log(columns), signal)
        grids = (np.log(self.columns), self.signals)
        sampling, margin = (float(_between(table, grids, place)) for table in (self.sampling, self.margins))
        without = sampling / sqrt(rows)
        half = hypot(width, margin * without)
        return half, half / without


@cache
def surface() -> Surface:
    """The one that is shipped."""
    return from_dict(json.loads(files(__package__).joinpath(FILE).read_text(encoding="utf-8")))


def from_dict(record: dict[str, Any]) -> Surface:
    errors = record.pop("errors")
    return Surface(**{name: np.array(values, np.float64) for name, values in record.items()}, errors=errors)


def _between(table: Float64, grids: tuple[Float64, ...], place: tuple[float, ...]) -> Float64:
    """Multilinear interpolation along the first axes; beyond a grid, as at its end."""
    for grid, x in zip(grids, place, strict=True):
        at = min(max(int(np.searchsorted(grid, x)) - 1, 0), grid.size - 2)
        part = min(max((x - grid[at]) / (grid[at + 1] - grid[at]), 0.0), 1.0)
        table = (1 - part) * table[at] + part * table[at + 1]
    return table
