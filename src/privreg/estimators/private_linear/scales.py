"""Where the values of columns lie and how far they spread: the terms of the design, and columns without one."""

from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from privreg.data.features import Feature
from privreg.engines.base import PreparedColumns
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.design import Centre
from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.public import public_median, public_spread, with_public_share
from privreg.estimators.private_linear.state import Early, Setting, State
from privreg.kernels.totals import Column
from privreg.kernels.values import Distances
from privreg.mechanisms.median import noisy_median, plan_median, prepare_medians
from privreg.mechanisms.spread import Spread, noisy_histogram, plan_histogram, pooled, read_spread

# What constants are worth was measured on the paper's tables, each left out in turn: results/flagship/ablations.csv.
FEATURE_LIMIT = 4.0  # a column's limit is at most so many standard deviations
RAREST = 0.01  # part of the records with a level: for products with it, limits are as wide as if all others were away
WIDE_SIZE = 500  # from this S on limits grow: wide ones with √S,
NARROW = 0.25  # narrow ones with this power of it
SIMILAR = 4.0  # limits that differ by no more say the same
LEVEL_DOUBT = 2.5  # standard deviations of noise by which the share of a level must lie between 0 and 1
RELIABLE = 12.0  # log-weight by which a median must be able to stand out from the grid


class Found(NamedTuple):
    """How a column is winsorised and scaled, and the spread that was read for it."""

    scale: Scale
    spread: Spread


def add_columns(setting: Setting, state: State, chosen: list[int]) -> State:
    """Terms for these columns.

    Of levels it is known how many records have them, and that is their scale; levels that hardly any record has, or
    nearly all have, are left out. Public rows tell both, if there are any; columns that do not vary there are left out.
    """
    rows = setting.public
    features = {j: setting.engine.features[j] for j in chosen}
    if rows is None:
        searched = [j for j in chosen if features[j].share is None]
        found = dict(zip(searched, find_scales(setting, searched, state.centres), strict=True))
    else:
        levels = [j for j in chosen if features[j].category is not None]
        features |= {j: with_public_share(rows, j, features[j]) for j in levels}
        scales = {j: _public_scale(setting, rows, j) for j in chosen if j not in levels}
        found = {j: scale for j, scale in scales.items() if scale.spread.sure}
    terms: list[tuple[Term, float]] = []
    lost: list[int] = []
    for j in chosen:
        if j in found:
            scale, spread = found[j]
            terms.append((Term(j, scale, spread.sure), spread.mean_square))
        elif (of_level := level_scale(features[j])) is not None:
            terms.append((Term(j, of_level), 1.0))
        else:
            lost.append(j)
    return state.with_terms(terms, lost)


def widened(setting: Setting) -> float:
    """How much wider limits are than with little data."""
    return max(1.0, (setting.size / WIDE_SIZE) ** (0.5 if setting.wide else NARROW))


def level_scale(feature: Feature) -> Scale | None:
    """Centre and unit of a 0/1 column, by the noisy part of the records that have it; None if that may be 0 or all."""
    share, doubt = feature.share or 0.0, LEVEL_DOUBT * feature.share_noise
    if not doubt < share < 1 - doubt:
        return None
    return Scale(share, max(share, 1 - share), sqrt(share * (1 - share)))


def _public_scale(setting: Setting, rows: MemoryEngine, column: int) -> Found:
    """The scale of a column in the public rows."""
    feature = setting.engine.features[column]
    centre = public_median(rows, column) if feature.centre is None else feature.centre
    low, high = feature.range or (-float("inf"), float("inf"))
    centre = min(max(centre, low), high)
    spread = public_spread(rows, column, centre, limit_of(setting, feature.part))
    return Found(bounded(feature, Scale(centre, spread.limit, spread.unit)), spread)


def limit_of(setting: Setting, part: float = 1.0) -> float:
    """Standard deviations that the limit of a column may have, if only this part of the records can have a value."""
    return FEATURE_LIMIT * widened(setting) / sqrt(max(part, RAREST))


def find_centres(setting: Setting) -> dict[int, Centre]:
    """Of all columns: medians, and shares of levels. Public rows tell both, if there are any."""
    rows, features = setting.public, dict(enumerate(setting.engine.features))
    if rows is not None:
        features |= {j: with_public_share(rows, j, f) for j, f in features.items() if f.category is not None}
    centres = {j: Centre(min(max(f.share, 0.0), 1.0), level=True) for j, f in features.items() if f.share is not None}
    searched = [j for j in features if j not in centres]
    if rows is None:
        found = _centres(setting, searched, PreparedColumns(setting.engine, searched))
    else:
        found = [_public_scale(setting, rows, j).scale.centre for j in searched]
    return centres | {j: Centre(value, level=False) for j, value in zip(searched, found, strict=True)}


def find_scales(setting: Setting, columns: list[int], known: dict[int, Centre] | None) -> list[Found]:
    """Of each column the scale, about centres that are known already or are found here.

    Centres come first, then spreads, so that two or three passes over the records serve all columns. Columns of one
    table often are of the same size, so their histograms are read together; each is read alone, too, and that counts
    where the two differ much and something stands out.
    """
    if not columns:
        return []
    schedule, features = setting.schedule, setting.engine.features
    prepared = PreparedColumns(setting.engine, columns)
    centres = [known[j].value for j in columns] if known is not None else _centres(setting, columns, prepared)
    prepared.prepare([Distances(centre) for centre in centres])
    share = setting.share(schedule.histograms / schedule.unknown)
    histograms = []
    for j, values, centre in zip(columns, prepared, centres, strict=True):
        row = features[j].row
        event = plan_histogram(f"spread of column {row}", share, purpose="columns", column=row)
        histograms.append(noisy_histogram(setting.account, event, values, centre))
    sigma = event.scale / event.grid
    shrunk, noise = pooled(np.array(histograms), sigma)
    found = []
    for j, centre, own, drawn in zip(columns, centres, histograms, shrunk, strict=True):
        most = limit_of(setting, features[j].part)
        spread = read_spread(own, sigma, setting.records, most)
        together = read_spread(drawn, noise, setting.records, most)
        if not spread.sure or 1 / SIMILAR <= together.limit / spread.limit <= SIMILAR:
            spread = replace(together, sure=spread.sure)
        found.append(Found(bounded(features[j], Scale(centre, spread.limit, spread.unit)), spread))
    return found


def _centres(setting: Setting, columns: list[int], prepared: PreparedColumns) -> list[float]:
    """Medians, where the centre is not known already and no range has to stand in for one."""
    each = setting.next_picks(setting.schedule.medians / max(setting.schedule.searched, 1), len(columns))
    reliable = finds_median(setting, each)
    features = [setting.engine.features[j] for j in columns]
    asked = [f.centre is None and (reliable or f.range is None) for f in features]
    if any(asked):
        prepare_medians(prepared.some([i for i, ask in enumerate(asked) if ask]), plan_median("", *each))
    centres = []
    for feature, ask, values in zip(features, asked, prepared, strict=True):
        low, high = feature.range or (-float("inf"), float("inf"))
        if ask:
            centre = find_median(setting, f"median of column {feature.row}", values, each, feature.row)
        else:
            centre = (low + high) / 2 if feature.centre is None else feature.centre
        centres.append(min(max(centre, low), high))
    return centres


def bounded(feature: Feature, scale: Scale) -> Scale:
    """Within the range, if that is known: its centre, and a limit that does not go beyond it."""
    if feature.range is None:
        return scale
    low, high = feature.range
    centre = min(max(scale.centre, low), high)
    most = max(centre - low, high - centre)
    return Scale(centre, min(scale.limit, most), min(scale.unit, most))


def finds_median(setting: Setting, pick: Early) -> bool:
    """Whether a median can stand out from the grid if it is picked so."""
    return pick.epsilon * setting.records / 2 >= RELIABLE


def find_median(setting: Setting, name: str, values: Column, pick: Early, row: int | None = None) -> float:
    """A noisy median."""
    event = plan_median(name, *pick, purpose="target" if row is None else "columns", column=row)
    return noisy_median(setting.account, event, values)


def find_spread(setting: Setting, name: str, values: Column, centre: float, part: float, most: float) -> Spread:
    """A noisy histogram of the target, read with a limit of at most so many standard deviations."""
    event = plan_histogram(name, setting.share(part), purpose="target")
    histogram = noisy_histogram(setting.account, event, values, centre)
    return read_spread(histogram, event.scale / event.grid, setting.records, most)
