"""What public rows tell about the columns: where they lie, how far they spread, and how they go together.

Public rows are no secret, so all of it is exact and costs nothing. They set parameters of releases and are never
compared with the private records: docs/proofs/flagship.md.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from privreg._types import Bool, Float64, Int64
from privreg.data.features import Feature
from privreg.engines.base import Block
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.design import Design
from privreg.estimators.private_linear.phases import WIDEST, grow
from privreg.estimators.private_linear.state import Expected, State
from privreg.kernels.boosting import grid_for
from privreg.kernels.moments import moment_sums, rotate
from privreg.kernels.values import Distances, code_of, value_of
from privreg.mechanisms.spread import Spread, read_spread

FEWEST_AWAY = 5  # rows that must lie away from the centre of their column, have a level, or not have it
ONE_ROW = 1 / 8  # stands for the noise of an exact histogram: so small that a single row stands out
# On the paper's tables a FLOOR of 0 to 0.3 made no difference, nor did a DRIFT of 0.03 to 0.3. Both limit the harm of
# rows that are few, or unlike the private ones.
FLOOR = 0.3  # added to the variance of each direction before it is stretched to 1
DRIFT = 0.3  # error that products, such as correlations, may have however many public rows there are


@dataclass(frozen=True)
class _Products:
    """Σ u·uᵀ over rows that are shrunk to a radius, by the kernels of the phases."""

    design: Design
    radius: float

    def __call__(self, block: Block) -> Int64:
        rows = rotate(self.design.rows(block), np.diag(self.design.units), self.radius)
        return moment_sums(rows, np.zeros(block.target.size), np.ones(1), 0).products


def public_median(rows: MemoryEngine, column: int) -> float:
    """The median of a column, on the grid that private ones are on."""
    values = np.sort(rows.values(column))
    return value_of(code_of(float(values[(values.size - 1) // 2])))


def public_spread(rows: MemoryEngine, column: int, centre: float, most: float) -> Spread:
    """The spread about a centre, read as a private one is; not sure if hardly any row lies elsewhere."""
    histogram = rows.column(column).total(Distances(centre))
    spread = read_spread(histogram.astype(np.float64), ONE_ROW, rows.n_records, most)
    return replace(spread, sure=bool(histogram.sum() >= FEWEST_AWAY))


def with_public_share(rows: MemoryEngine, column: int, level: Feature) -> Feature:
    """A level with the part of the public rows that have it; as it is, if that is hardly any, or nearly all."""
    share = _share(rows, column)
    return level if share is None else replace(level, share=share, share_noise=0.0)


def _share(rows: MemoryEngine, column: int) -> float | None:
    count, total = np.count_nonzero(rows.values(column)), rows.n_records
    return count / total if FEWEST_AWAY <= count <= total - FEWEST_AWAY else None


def whiten(rows: MemoryEngine, state: State) -> State:
    """If there are new columns: room for them, and the frame in which products of public rows look like the identity.

    Directions in which public rows hardly vary are stretched the less, the fewer rows there are.
    """
    if len(state.theta) == 1 + len(state.terms):
        return state
    state = grow(state)
    raw, vectors = np.linalg.eigh(_mean_products(rows, state))
    raw = np.maximum(raw, 0.0)
    values = raw + FLOOR + len(raw) / rows.n_records
    expected = Expected(raw / values, sqrt(1 / rows.n_records + DRIFT**2))
    return replace(state, frame=vectors / np.sqrt(values), squares=float(expected.squares.sum()), expected=expected)


def _mean_products(rows: MemoryEngine, state: State) -> Float64:
    """Mean of u·uᵀ over public rows; columns that these do not tell about are taken to go with no other."""
    width = len(state.theta)
    radius = WIDEST * sqrt(width)
    task = _Products(state.design, radius)
    products = rows.total(task, task.design.columns) * ((radius / grid_for(width)) ** 2 / rows.n_records)
    told = _told(rows, state)
    return np.where(np.outer(told, told), products, np.eye(width))


def _told(rows: MemoryEngine, state: State) -> Bool:
    """Whether public rows tell about the constant and each term: not about a level that hardly any of them has."""
    levels = [rows.features[term.column].category is not None for term in state.terms]
    terms = zip(state.terms, levels, strict=True)
    return np.array([True, *(not level or _share(rows, term.column) is not None for term, level in terms)])
