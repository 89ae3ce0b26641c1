"""A small table with a linear model, and regressors that fit it quickly."""

import numpy as np

from privreg import (
    BoostedAdaSSP,
    NonDP,
)
from privreg.estimators.select_then_regress import SelectThenRegress


def table(n=6000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, d))
    return X, X @ np.linspace(0.2, 0.8, d) + 0.1 + 0.05 * rng.normal(size=n)


def small(regressor, **options):
    """A regressor that is quick and releases something on a few thousand records."""
    if regressor is NonDP:
        return NonDP(**{k: v for k, v in options.items() if k == "categories"})
    options = {"epsilon": 3.0, "delta": 1e-5, "n_jobs": 1} | options
    if regressor is BoostedAdaSSP:
        options = {"rounds": 10} | options
    if regressor is SelectThenRegress:
        options = {"k": 2} | options
    return regressor(**options)
