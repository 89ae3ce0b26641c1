"""A model with known estimates: exact least squares of a made-up table, so that statsmodels can check every number."""

from functools import cache

import numpy as np
import pandas as pd

from privreg import PrivateLinearRegression
from privreg.data.schema import Column, Schema
from privreg.estimators.private_linear.estimates import Estimates
from privreg.estimators.private_linear.model import Scale, Term, WinsorisedModel
from privreg.privacy.accountant import Budget
from privreg.privacy.receipt import Receipt

N = 400
TOWNS = ("a", "b", "c")
NAMES = ["age", "town=b", "town=c", "spare", "far"]


@cache
def table():
    """No value is clipped: limits are far away."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"age": rng.normal(50, 10, N), "town": rng.choice(TOWNS, N)})
    X["spare"], X["far"] = rng.normal(size=N), rng.normal(7, 2, N)
    y = 3 + 0.2 * X["age"] + 2 * (X["town"] == "c") + 0.5 * X["far"] + rng.normal(0, 2, N)
    return X, y


def design():
    """The columns that have estimates, in the order of places: all but `spare`."""
    X, _ = table()
    return np.column_stack([np.ones(N), X["age"], X["town"] == "b", X["town"] == "c", X["far"]]).astype(float)


SCALES = [Scale(48.0, 100.0, 11.0), Scale(0.3, 0.7, 0.45), Scale(0.35, 0.65, 0.5), Scale(6.0, 50.0, 2.5)]
TARGET = Scale(15.0, 100.0, 4.0)
ROWS = (0, 1, 2, 4)


def exact_estimates(doubt=1.0):
    """Least squares in scaled units; standard errors are multiplied by `doubt`."""
    _, y = table()
    A = design().copy()
    for j, scale in enumerate(SCALES, 1):
        A[:, j] = (A[:, j] - scale.centre) / scale.unit
    b = (y.to_numpy() - TARGET.centre) / TARGET.unit
    theta = np.linalg.solve(A.T @ A, A.T @ b)
    residual = float(((b - A @ theta) ** 2).sum() / (N - A.shape[1]))
    covariance = doubt**2 * residual * np.linalg.inv(A.T @ A)
    products, r2 = A.T @ A / N, 1 - ((b - A @ theta) ** 2).sum() / ((b - b.mean()) ** 2).sum()
    places, errors = (0, 1, 2, 3, 4), np.full(len(products), 0.01)
    return Estimates(places, theta, covariance, products, errors, errors, residual, 0.02, float(r2), 0.03)


def known_model(estimates=None, *, shrunk=1.0, target="pay", names=None):
    """As after a fit. Predictions use the estimates times `shrunk`."""
    estimates = exact_estimates() if estimates is None else estimates
    terms = tuple(Term(row, scale) for row, scale in zip(ROWS, SCALES, strict=True))
    theta = estimates.theta * np.append(1.0, np.full(len(terms), shrunk))
    age, town, spare, far = names or ("age", "town", "spare", "far")
    category = Column(town, "category", levels=TOWNS, counts=(150.0, 120.0, 130.0), reference=0, found=True)
    schema = Schema(
        (Column(age, "number"), category, Column(spare, "number"), Column(far, "number")),
        records=400.0,
        level_noise=1.0,
    )
    return _with(WinsorisedModel(TARGET, terms, theta, estimates), schema, target)


def constant_model():
    schema = Schema((Column("age", "number"),), records=400.0, level_noise=1.0)
    return _with(WinsorisedModel(TARGET, (), np.zeros(1)), schema, "pay")


def _with(winsorised, schema, target):
    model = PrivateLinearRegression(1.0, 1e-6)
    model._set(winsorised, len(schema.rows))
    model.n_records_, model.warnings_, model.target_name_ = 390.0, [], target
    model.n_public_rows_ = 0
    model.receipt_ = Receipt((), Budget(1.0, 1e-6), True)
    model.n_features_in_, model.feature_names_in_ = len(schema.inputs), np.array(schema.inputs, object)
    model._remember(schema)
    return model
