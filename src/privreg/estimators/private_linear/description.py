"""What the columns look like, by what a fit released anyway: ranges, means, spreads, shares and correlations."""

from collections.abc import Sequence
from math import isfinite, sqrt

import numpy as np

from privreg._types import Float64
from privreg.data.features import Feature
from privreg.data.schema import Column, Schema
from privreg.estimators.private_linear.estimates import Estimates
from privreg.estimators.private_linear.model import Scale, WinsorisedModel
from privreg.results.statistics import Correlations, Described

_Single = dict[tuple[int, int | None], Described]  # by column, and code of a level


def describe(model: WinsorisedModel, schema: Schema, target: str) -> list[Described]:
    """Each column of the table that is used, in order: one entry for a number, one for each level. The target last."""
    known = _in_model(model, schema.rows)
    found = [
        described
        for source, column in enumerate(schema)
        if not column.left_out
        for described in _column(column, source, schema, known)
    ]
    return [*found, _target(model, target)]


def step_sizes(model: WinsorisedModel) -> dict[int, float]:
    """A standard deviation of each column with an estimate, by its row."""
    if model.estimates is None:
        return {}
    spreads = np.sqrt(_variances(model.estimates))
    read = [model.terms[place - 1] for place in model.estimates.places[1:]]
    sizes = zip(read, spreads[1:].tolist(), strict=True)
    return {term.column: term.scale.unit * (spread if isfinite(spread) else 1.0) for term, spread in sizes}


def correlations(model: WinsorisedModel, names: Sequence[str]) -> Correlations:
    """Of the columns with an estimate, in the order of the rows that have these names."""
    estimates = model.estimates
    if estimates is None:
        return Correlations()
    spreads, means = np.sqrt(_variances(estimates)), estimates.products[0]
    with np.errstate(all="ignore"):
        matrix = (estimates.products - np.outer(means, means)) / np.outer(spreads, spreads)
    matrix = np.clip((matrix + matrix.T) / 2, -1, 1)
    rows = [-1, *(model.terms[place - 1].column for place in estimates.places[1:])]
    order = sorted(range(1, len(rows)), key=rows.__getitem__)
    np.fill_diagonal(matrix, np.where(np.isnan(spreads), np.nan, 1.0))
    values = matrix[np.ix_(order, order)].tolist()
    return Correlations([names[rows[i]] for i in order], [[finite(value) for value in row] for row in values])


def _column(column: Column, source: int, schema: Schema, known: _Single) -> list[Described]:
    if not column.has_levels:
        return [known.get((source, None), Described(column.name))]
    found = []
    for feature in column.features(source, schema, full=True):
        estimate = known.get((source, feature.code), Described(feature.name))
        share = estimate.mean if feature.share is None else feature.share
        found.append(Described(feature.name, share=None if share is None else min(max(share, 0.0), 1.0)))
    return found


def _in_model(model: WinsorisedModel, features: Sequence[Feature]) -> _Single:
    """What estimates tell of columns, and of levels, that stand alone."""
    found: _Single = {}
    for term in model.terms:  # of those without an estimate the scale is known, unless it is a guess
        feature = features[term.column]
        if term.sure and not feature.times:
            ends = term.scale.centre - term.scale.limit, term.scale.centre + term.scale.limit
            found[feature.parts[0]] = Described(feature.name, term.scale.centre, *ends)
    if model.estimates is not None:
        means, errors = model.estimates.products[0], model.estimates.mean_error
        variances = _variances(model.estimates)
        for i, place in enumerate(model.estimates.places[1:], 1):
            term = model.terms[place - 1]
            feature = features[term.column]
            if not feature.times:
                found[feature.parts[0]] = _scaled(feature.name, term.scale, (means[i], errors[i]), variances[i])
    return found


def _target(model: WinsorisedModel, name: str) -> Described:
    """Its mean and variance are those of the fit, whose residuals have mean 0 and are not correlated with it."""
    estimates = model.estimates
    if estimates is None:
        return Described(name, model.target.centre)
    with np.errstate(all="ignore"):
        mean = float(estimates.products[0] @ estimates.theta)
        explained = float(estimates.theta @ estimates.products @ estimates.theta) - mean * mean
    return _scaled(name, model.target, (mean, np.nan), max(explained, 0.0) + estimates.residual)


def _scaled(name: str, scale: Scale, mean: tuple[float, float], variance: float) -> Described:
    """From scaled values: a mean with its error, and a variance. Noise must not carry a mean beyond the range."""
    low, high = scale.centre - scale.limit, scale.centre + scale.limit
    with np.errstate(all="ignore"):
        middle, error = scale.centre + scale.unit * float(mean[0]), scale.unit * float(mean[1])
        spread = scale.unit * sqrt(variance) if variance >= 0 else np.nan
    return Described(name, *map(finite, (scale.centre, low, high, min(max(middle, low), high), error, spread)))


def _variances(estimates: Estimates) -> Float64:
    """Of the terms; NaN where noise may be all of it."""
    with np.errstate(all="ignore"):
        variances = np.diag(estimates.products) - estimates.products[0] ** 2
    return np.where(variances > estimates.square_error, variances, np.nan)


def finite(value: float) -> float | None:
    """A number, or None where there is none to tell."""
    return float(value) if isfinite(value) else None
