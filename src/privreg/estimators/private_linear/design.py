"""What `PrivateLinearRegression` computes on a block of records: its design, residuals, and the sums of a phase.

Everything here is done record by record, from released values and the record alone (docs/proofs/moments.md), so that
it does not matter where a record stands. The tasks can be sent to other processes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from privreg._types import Float64, Int16, Int64
from privreg.engines.base import Block, Derived
from privreg.estimators.private_linear.model import Scale, Term
from privreg.kernels.boosting import grid_for
from privreg.kernels.moments import Sums, gradient_sums, linear_scores, moment_sums, rotate, scale
from privreg.kernels.values import FULL, winsorise
from privreg.mechanisms.lengths import length_counts
from privreg.mechanisms.mean import clipped_sum
from privreg.mechanisms.sides import side_sum, side_weights, sides_of, sides_of_level


@dataclass(frozen=True)
class Design:
    """A constant and winsorised columns, in 16 bits."""

    target: Scale
    terms: tuple[Term, ...]

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The features that blocks must have."""
        return tuple(dict.fromkeys(term.column for term in self.terms))

    @property
    def units(self) -> Float64:
        """What one step of each 16-bit column is worth."""
        return np.array([1.0, *(t.scale.limit / t.scale.unit for t in self.terms)]) / FULL

    def rows(self, block: Block) -> Int16:
        """A column of 16-bit integers for each record."""
        place = {column: i for i, column in enumerate(self.columns)}
        rows = np.empty((1 + len(self.terms), block.target.size), np.int16)
        rows[0] = FULL
        for row, term in zip(rows[1:], self.terms, strict=True):
            winsorise(block.values[place[term.column]], term.scale.centre, term.scale.limit, row)
        return rows

    def misses(self, rows: Int16, target: Float64, theta: Float64) -> Float64:
        """What the linear part leaves."""
        return self.target.apply(target) - linear_scores(rows, theta * self.units)

    def residuals(self, rows: Int16, target: Float64, theta: Float64) -> Float64:
        """What predictions leave, which stay in the target's range."""
        most = self.target.limit / self.target.unit
        return self.target.apply(target) - np.clip(linear_scores(rows, theta * self.units), -most, most)


@dataclass(frozen=True)
class _Unexplained:
    design: Design
    theta: Float64

    def __call__(self, block: Block) -> Float64:
        return self.design.residuals(self.design.rows(block), block.target, self.theta)


def unexplained(design: Design, theta: Float64) -> Derived:
    """The residuals of a model, as a column."""
    return Derived(_Unexplained(design, theta), design.columns)


class Centre(NamedTuple):
    """Where a column lies: a median, or for the 0/1 column of a level the part of the records that has it."""

    value: float
    level: bool


@dataclass(frozen=True)
class Clipped:
    """Σ clip(r, ±clip) over the residuals of a model, in whole steps."""

    design: Design
    theta: Float64
    clip: float

    def __call__(self, block: Block) -> Int64:
        residuals = self.design.residuals(self.design.rows(block), block.target, self.theta)
        return clipped_sum(residuals, 0.0, self.clip)


@dataclass(frozen=True)
class Sides:
    """Of each column that may be chosen, on which side of its centre records are whose residual is positive.

    Blocks have the columns of the design first, then those that have a centre here.
    """

    design: Design
    theta: Float64
    clip: float
    balance: float
    centres: tuple[Centre, ...]

    def __call__(self, block: Block) -> Int64:
        residuals = self.design.residuals(self.design.rows(block), block.target, self.theta)
        weights = side_weights(residuals, self.clip, self.balance)
        columns = block.values[len(self.design.columns) :]
        sums = np.empty(len(columns), np.int64)
        for j, (values, (centre, level)) in enumerate(zip(columns, self.centres, strict=True)):
            sums[j] = side_sum(sides_of_level(values, centre) if level else sides_of(values, centre), weights)
        return sums


@dataclass(frozen=True)
class Gradient:
    """Σ u·r in all columns of the design, rows shrunk to the radius, and their residuals with them."""

    design: Design
    theta: Float64
    radius: float
    clip: float

    def __call__(self, block: Block) -> Int64:
        columns = self.design.rows(block)
        rows = scale(columns.astype(np.float64), self.design.units, self.radius)
        residuals = self.design.residuals(columns, block.target, self.theta) * rows.factors
        return gradient_sums(rows, np.clip(residuals, -self.clip, self.clip), self.clip)


@dataclass(frozen=True)
class Sizes:
    """A histogram of the sizes of a weighted sum of the design's columns."""

    design: Design
    weights: Float64
    unit: float

    def __call__(self, block: Block) -> Int64:
        sums = linear_scores(self.design.rows(block), self.weights * self.design.units)
        return length_counts(np.abs(sums), self.unit)


@dataclass(frozen=True)
class Counted:
    """Sums of a phase, and a histogram of the lengths |u|·|r|."""

    sums: Sums
    lengths: Int64

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.sums + other.sums, self.lengths + other.lengths)


@dataclass(frozen=True)
class Phase:
    """The sums that one phase of least squares may release, for each clip of the residuals that may be chosen.

    Where a row is shrunk to the radius, so is its residual: products and gradient are those of the record with a
    smaller weight. In the last phase the residual stays as it is, which brings estimates closer to equal weights.
    """

    design: Design
    theta: Float64
    frame: Float64
    radius: float
    clips: Float64
    products: int  # parts of the products
    unit: float  # of the histogram of lengths
    bounded: bool  # residuals are clipped to the only clip there is, however short their rows
    last: bool

    def __call__(self, block: Block) -> Counted:
        columns = self.design.rows(block)
        rows = rotate(columns, self.frame * self.design.units[:, None], self.radius)
        with np.errstate(all="ignore"):
            if self.last:
                residuals = self.design.misses(columns, block.target, self.theta)
            else:
                residuals = self.design.residuals(columns, block.target, self.theta) * rows.factors
            if self.bounded:
                np.clip(residuals, -self.clips[0], self.clips[0], out=residuals)
            lengths = np.sqrt(rows.squares) * (np.abs(residuals) * (self.radius / grid_for(len(rows.values))))
        sums = moment_sums(rows, residuals, self.clips, self.products)
        return Counted(sums, length_counts(lengths, self.unit))


@dataclass(frozen=True)
class Fit:
    """How well a model fits: Σ r² and Σ (y² − r²) over records, both clipped, in whole steps."""

    design: Design
    theta: Float64
    squares: float
    gains: float

    def __call__(self, block: Block) -> Int64:
        residuals = self.design.residuals(self.design.rows(block), block.target, self.theta)
        target = self.design.target.apply(block.target)
        gains = (target - residuals) * (target + residuals)
        return np.append(clipped_sum(residuals**2, 0.0, self.squares), clipped_sum(gains, 0.0, self.gains))
