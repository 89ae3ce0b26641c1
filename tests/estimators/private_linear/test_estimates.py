"""Estimates: what the budget determines, and what a file may hold of them."""

import numpy as np
import pytest

from privreg.estimators.private_linear.estimates import Z95, Estimates


def estimates():
    errors = np.array([5.0, 1 / Z95 - 1e-9, 1 / Z95 + 1e-6])
    theta, doubts = np.array([0.1, 0.5, -0.2]), np.full(3, 0.01)
    return Estimates((0, 2, 1), theta, np.diag(errors**2), np.eye(3), doubts, doubts, 0.7, 0.02, 0.3, 0.1)


def test_what_the_budget_determines():
    """Up to ±1 in scaled units; the constant always."""
    assert estimates().determined.tolist() == [True, True, False]


def test_comes_back():
    record = estimates().to_dict()
    assert Estimates.from_dict(record, 2).to_dict() == record
    assert Estimates.from_dict(record, 2).places == (0, 2, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("places", [1, 2, 3]),
        ("places", [0, 1, 1]),
        ("places", [0, 1, 3]),
        ("places", []),
        ("theta", [0.0, 1.0]),
        ("covariance", [[1.0] * 3] * 2),
        ("covariance", [[1.0] * 2] * 3),
        ("covariance", (-np.eye(3)).tolist()),
        ("products", (-np.eye(3)).tolist()),
        ("mean_error", [-1.0] * 3),
        ("square_error", [0.0, 0.0]),
        ("residual", -1.0),
        ("residual_error", None),
        ("r2", float("inf")),
        ("r2_error", -0.1),
        ("more", 1),
    ],
)
def test_nonsense_is_refused(name, value):
    with pytest.raises(ValueError, match=r"must|expected"):
        Estimates.from_dict(estimates().to_dict() | {name: value}, 2)
