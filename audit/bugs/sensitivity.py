"""Statistics that one record moves further than their step declares."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

import privreg.estimators.spending
import privreg.mechanisms.persons
from audit.bugs.bug import FLAGSHIP, Bug, changing
from privreg.engines import memory
from privreg.estimators import dp_kendall, sub_lasso
from privreg.estimators.private_linear import design, target, together
from privreg.kernels import lasso, ranks
from privreg.kernels.moments import Sums, moment_sums, round_residuals
from privreg.kernels.values import FULL
from privreg.mechanisms import bands, depth, gradient, lengths, mean, median, screening, sides, spread
from privreg.privacy.events import Gaussian, GaussianMoments


def _half_the_sum(name: str, mu_squared: float, **about: Any) -> Gaussian:
    step = Gaussian.costing(name, mu_squared, mean.GRID, **about)
    return replace(step, sensitivity_squared=step.sensitivity_squared // 4, scale=step.scale / 2)


def _part_of_the_gradient(name: str, width: int, mu_squared: float) -> Gaussian:
    step = gradient.plan_gradient(name, width, mu_squared)
    return replace(step, sensitivity_squared=step.sensitivity_squared // 64, scale=step.scale / 8)


def _cells_as_records(account: Any, step: Any, values: Any, per_record: int) -> float:  # noqa: ARG001
    return median.noisy_median(account, step, values)


def _cells_in_full(account: Any, step: Any, values: Any, centre: float, per_record: int) -> Any:
    found, at_centre = spread.noisy_shared_histogram(account, step, values, centre, 1)
    return found / per_record, at_centre / per_record


def _ones_among_others(self: bands.ZerosAndOnes, values: Any) -> Any:  # noqa: ARG001
    """A record that is 1 is counted twice."""
    zeros, ones = np.count_nonzero(values == 0), np.count_nonzero(values == 1)
    return np.array([zeros, ones, values.size - zeros], np.int64)


def _clip_after_summing(values: Any, centre: float, clip: float) -> Any:
    with np.errstate(all="ignore"):
        total = np.clip(np.nan_to_num((values - centre).sum()), -clip * values.size, clip * values.size)
    return np.array([np.int64(np.rint(total / clip * mean.GRID))])


def _vote_with_weight(rows: Any, target: Any, bounds: Any, k: int, alpha: float) -> Any:
    return lasso.count_votes(rows, target, bounds, k, alpha) * (1 + np.diff(bounds).max(initial=0))


def _tau_b(first: Any, columns: Any, n_jobs: Any = None) -> Any:  # noqa: ARG001
    n = first.rank.size
    taus = [kendalltau(first.rank, c.rank).statistic if n > 1 else 0.0 for c in columns]
    return np.rint(np.nan_to_num(taus) * (n * (n - 1) / 2)).astype(np.int64)


def _by_row_order(values: Any, scratch: Any = None, out: Any = None) -> Any:  # noqa: ARG001
    rank = (rankdata(values, method="ordinal") - 1).astype(np.int32)
    return ranks.Ranks(rank, np.empty(0, np.int32), values.size)


def _cost_of_the_diagonal(self: GaussianMoments) -> Fraction:
    return Fraction(self.norm_squared) ** 2 / Fraction(self.scale) ** 2


def _single_precision(rows: Any, residuals: Any, clips: Any, products: int) -> Sums:
    """Sums that are rounded on the way: by how much depends on their order, and on all other records."""
    short, whole = rows.values.astype(np.float32), round_residuals(residuals, clips, rows.squares, products)
    return Sums((short @ short.T).astype(np.int64), (whole.astype(np.float32) @ short.T).astype(np.int64))


def _whole_limit(rows: Any, residuals: Any, clips: Any, products: int) -> Sums:  # noqa: ARG001
    """|u|·|r| ≤ NORM², as if products were not released with it."""
    return moment_sums(rows, residuals, clips, 0)


def _at_least_so_long(values: Any, unit: float) -> Any:
    """A record is counted in its bin, and in all before it."""
    return np.cumsum(lengths.length_counts(values, unit)[::-1])[::-1].copy()


def _without_a_clip(values: Any, centre: float, clip: float) -> Any:
    return np.array([np.rint((values - centre) / clip * mean.GRID).astype(np.int64).sum()])


def _unclipped_weights(residuals: Any, clip: float, balance: float) -> Any:
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.rint((residuals / clip - balance) * FULL))


def _any_sum(column: Any, weights: Any) -> int:
    return int(np.clip(column.astype(np.float64) @ weights, -(2.0**62), 2.0**62))


def _keep_everybody(engine: Any, most: int, noise: Any) -> Any:
    privreg.mechanisms.persons.keep_rows(engine, most, noise)
    return engine


BUGS = {
    "half the sensitivity": Bug(
        "a clipped sum said to move by half a clip",
        changing((target, "plan_clipped_sum", _half_the_sum)),
        FLAGSHIP,
        "statistics",
    ),
    "bands that overlap": Bug(
        "ones are counted among other values, too",
        changing((bands.ZerosAndOnes, "__call__", _ones_among_others)),
        "PrivateLinearRegression, zeros and ones",
        "statistics",
    ),
    "sides without a clip": Bug(
        "weights of records in a choice by sides, without a clip",
        changing((design, "side_weights", _unclipped_weights), (design, "side_sum", _any_sum)),
        "PrivateLinearRegression, sides",
        "statistics",
    ),
    "half the range of sides": Bug(
        "scores of sides said to move within 1",
        changing((sides, "RANGE", sides.RANGE // 2)),
        "PrivateLinearRegression, sides",
        "statistics",
    ),
    "part of the gradient": Bug(
        "a gradient in all columns said to move by an eighth of what it may",
        changing((together, "plan_gradient", _part_of_the_gradient)),
        "PrivateLinearRegression, together",
        "statistics",
    ),
    "cells as records": Bug(
        "a median of all columns in which each cell counts as a record",
        changing((together, "noisy_median", _cells_as_records)),
        "PrivateLinearRegression, together",
        "statistics",
    ),
    "cells in full": Bug(
        "a histogram of all columns in which each cell counts as a record",
        changing((together, "noisy_shared_histogram", _cells_in_full)),
        "PrivateLinearRegression, together",
        "statistics",
    ),
    "half the range": Bug(
        "Kendall scores said to move within 5/4",
        changing((dp_kendall, "FIRST_RANGE", screening.FIRST_RANGE // 2)),
        "DPKendall",
        "statistics",
    ),
    "diagonal only": Bug(
        "products charged for the diagonal, with half the noise beside it",
        changing(
            (GaussianMoments, "mu_squared", property(_cost_of_the_diagonal)),
            (GaussianMoments, "off_scale", property(lambda self: self.diagonal_scale / 4)),
        ),
        FLAGSHIP,
        "statistics",
    ),
    "products for nothing": Bug(
        "residuals limited as if products were not released with them",
        changing((design, "moment_sums", _whole_limit)),
        FLAGSHIP,
        "statistics",
    ),
    "lengths counted twice": Bug(
        "a record counted in its bin of lengths and in all before it",
        changing((design, "length_counts", _at_least_so_long)),
        FLAGSHIP,
        "statistics",
    ),
    "squares without a clip": Bug(
        "the sums that tell how well a model fits, without a clip",
        changing((design, "clipped_sum", _without_a_clip)),
        FLAGSHIP,
        "statistics",
    ),
    "clip after summing": Bug(
        "values summed, then clipped",
        changing((mean, "clipped_sum", _clip_after_summing)),
        FLAGSHIP,
        "statistics",
    ),
    "votes with weights": Bug(
        "votes multiplied by the size of the largest group",
        changing((sub_lasso, "count_votes", _vote_with_weight)),
        "SubLasso",
        "statistics",
    ),
    "tau-b": Bug(
        "Kendall's τ-b, whose value under ties has no bounded sensitivity",
        changing((memory, "concordance", _tau_b)),
        "DPKendall",
        "statistics",
    ),
    "ties by row order": Bug(
        "ties broken by where a record stands",
        changing((ranks, "rank_column", _by_row_order), (memory, "rank_column", _by_row_order)),
        "DPKendall",
        "order",
    ),
    "float sums": Bug(
        "sums in single precision",
        changing((design, "moment_sums", _single_precision)),
        FLAGSHIP,
        "order",
    ),
    "always safe": Bug(
        "models that always count as stable enough for a draw",
        changing((depth, "distance_to_unsafety", lambda *_: 1000)),
        "TukeyRegression, large delta",
        "statistics",
    ),
    "everybody's rows": Bug(
        "all rows of a person kept",
        changing((privreg.estimators.spending, "keep_rows", _keep_everybody)),
        "PrivateLinearRegression, people",
        "statistics",
    ),
}
