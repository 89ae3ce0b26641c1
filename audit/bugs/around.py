"""Statistics that go around the noise: into parameters, branches or groups."""

from dataclasses import replace
from typing import Any

import numpy as np

import privreg.estimators.sub_lasso
from audit.bugs.bug import BAS, FLAGSHIP, TUKEY, Bug, changing
from privreg.data import tables
from privreg.engines import memory
from privreg.engines.base import TARGET
from privreg.estimators.dp_kendall import DPKendall
from privreg.estimators.private_linear import fitting, phases, scales, target
from privreg.kernels.totals import total_of
from privreg.mechanisms import count, lengths, median
from privreg.privacy.account import Account


def _true_count(account: Account, step: Any, n: int) -> float:
    count.noisy_count(account, step, n)
    return float(n)


def _true_lower_count(account: Account, step: Any, n: int, failure: float = 1e-4) -> int:  # noqa: ARG001
    account.laplace(step, n)
    return n


def _true_median(account: Account, step: Any, values: Any) -> float:
    median.noisy_median(account, step, values)
    return float(np.median(total_of(values, np.ndarray.tolist))) if values.size else 0.0


_find_shift = target.find_shift


def _clip_at_the_farthest(setting: Any, median: float, spread: Any, clip: float, part: float) -> float:
    values = np.array(total_of(setting.engine.column(TARGET), np.ndarray.tolist))
    farthest = float(np.abs(values - median).max(initial=clip)) if setting.engine.n_records else clip
    return _find_shift(setting, median, spread, max(farthest, clip), part)


def _even_groups(self: Account, records: int, groups: int) -> Any:
    """A shuffle, then n // m records each: the size of a group depends on n."""
    size = max(records // groups, 1)
    order = np.argsort(np.argsort(self._noise.groups(records, 2**62), kind="stable"))
    return np.minimum(order // size, groups - 1)


def _groups_by_count(self: Account, records: int, groups: int) -> Any:
    return self._noise.groups(records, max(records // 5, 1)) % groups


_array_table = tables.array_table


def _filled_with_the_mean(data: Any, schema: Any) -> Any:
    if data.size:
        with np.errstate(all="ignore"):
            usable = np.where(np.isfinite(data), data, np.nan)
            means = np.nan_to_num(np.nansum(usable, axis=0) / np.maximum(np.isfinite(usable).sum(axis=0), 1))
        data = np.where(np.isnan(data), means, data)
    return _array_table(data, schema)


def _standardised(data: Any, schema: Any) -> Any:
    if data.size:
        with np.errstate(all="ignore"):
            usable = np.clip(np.where(np.isfinite(data), data, 0), -1e100, 1e100)
            data = np.where(np.isfinite(data), (usable - usable.mean(axis=0)) / (usable.std(axis=0) + 1e-9), data)
    return _array_table(data, schema)


def _stop_early(account: Account, step: Any, counts: Any, unit: float, records: float) -> lengths.Lengths:
    """The histogram is looked at or not, as the number of records is even or odd."""
    if counts.sum() % 2:
        return lengths.Lengths(np.full(lengths.BINS, records / lengths.BINS), 1.0, unit, records)
    return lengths.noisy_lengths(account, step, counts, unit, records)


def _look_twice(setting: Any, state: Any, phase: int) -> Any:
    """Nothing comes of the branch yet."""
    if setting.engine.n_records % 2:
        phases.unclipped(setting)
    return _moments(setting, state, phase)


def _true_lengths(account: Account, step: Any, counts: Any, unit: float, records: float) -> lengths.Lengths:
    """Noise is drawn, but the exact histogram is read."""
    noisy = lengths.noisy_lengths(account, step, counts, unit, records)
    return replace(noisy, counts=counts.astype(float))


def _true_reach(setting: Any, state: Any, usual: float, share: float) -> float:  # noqa: ARG001
    """The more records there are, the wider is the radius."""
    return min(phases.RADIUS + setting.engine.n_records / 1000, phases.WIDEST)


_moments = phases.moments


_learn = DPKendall._learn


def _free_ranking(self: Any, account: Any, records: Any) -> None:
    """If all columns are chosen nothing is spent, so their order must not come from the data."""
    _learn(self, account, records)
    if not account.plan:
        first = records.rows(np.arange(min(records.n_records, 1)))
        self.ranking_ = np.argsort(first[0]) if len(first) else self.ranking_


class _HalfAccount:
    """Hands out the lower half of each stretch."""

    def __init__(self, account: Any) -> None:
        self._account = account

    def pick_within(self, step: Any, scores: Any, bounds: Any) -> int:
        return int(self._account.pick_within(step, scores, lambda i: (bounds(i)[0], -(-sum(bounds(i)) // 2))))


def _half_the_median(account: Any, step: Any, values: Any) -> float:
    return median.noisy_median(_HalfAccount(account), step, values)  # type: ignore[arg-type]


BUGS = {
    "true n": Bug(
        "the true count sets the schedule", changing((fitting, "noisy_count", _true_count)), FLAGSHIP, "calls"
    ),
    "groups from n": Bug(
        "the number of groups from the true count",
        changing((privreg.estimators.sub_lasso, "lower_count", _true_lower_count)),
        "SubLasso",
        "calls",
    ),
    "group size from n": Bug(
        "a shuffled table cut into n // m records each",
        changing((Account, "groups", _even_groups)),
        TUKEY,
        "statistics",
    ),
    "folds from n": Bug(
        "records dealt to groups by a number that depends on n",
        changing((Account, "groups", _groups_by_count)),
        "SubLasso",
        "calls",
    ),
    "true median": Bug(
        "columns centred at their true median", changing((scales, "noisy_median", _true_median)), FLAGSHIP, "release"
    ),
    "true lengths": Bug(
        "a clip from the exact histogram of lengths",
        changing((phases, "noisy_lengths", _true_lengths)),
        "PrivateLinearRegression, k",
        "release",
    ),
    "clip at the farthest": Bug(
        "the mean of a constant's target, clipped at the distance of the farthest record",
        changing((target, "find_shift", _clip_at_the_farthest)),
        "PrivateLinearRegression, few records",
        "statistics",
    ),
    "radius from n": Bug(
        "rows shrunk to a radius that grows with the true count",
        changing((phases, "reach", _true_reach)),
        "PrivateLinearRegression, k",
        "release",
    ),
    "a branch on the data": Bug(
        "whether the histogram of lengths is released decided by a look at the records",
        changing((phases, "noisy_lengths", _stop_early)),
        "PrivateLinearRegression, k",
        "calls",
    ),
    "a branch without consequences": Bug(
        "one more function called if the number of records is odd",
        changing((fitting, "moments", _look_twice)),
        "PrivateLinearRegression, k",
        "path",
    ),
    "half a stretch": Bug(
        "only the lower half of each stretch between two records can come out as a median",
        changing((scales, "noisy_median", _half_the_median)),
        FLAGSHIP,
        "statistics",
    ),
    "a free ranking": Bug(
        "columns ranked by the data when all are chosen and nothing is spent",
        changing((DPKendall, "_learn", _free_ranking)),
        "DPKendall, all columns",
        "release",
    ),
    "filled with the mean": Bug(
        "missing values filled with the column's mean",
        changing((memory, "array_table", _filled_with_the_mean)),
        FLAGSHIP,
        "statistics",
    ),
    "standardised": Bug(
        "columns standardised before the fit", changing((memory, "array_table", _standardised)), BAS, "statistics"
    ),
}
