"""Boosted AdaSSP: what its users rely on beyond privacy."""

import math

import numpy as np
import pytest

from linear_data import table
from privreg import (
    BoostedAdaSSP,
)


def test_adassp_approaches_least_squares_on_clipped_rows():
    """With a huge budget and many rounds it solves the clipped problem."""
    X, y = table(5000)
    model = BoostedAdaSSP(epsilon=1e6, delta=1e-5, rounds=20).fit(X, y)
    clipped = np.column_stack([X, np.ones(len(y))])
    clipped /= np.linalg.norm(clipped, axis=1)[:, None]
    exact = np.linalg.lstsq(clipped, y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], exact, atol=2e-3)
    np.testing.assert_allclose(model.predict(X), clipped @ [*model.coef_, model.intercept_], rtol=1e-12)


@pytest.mark.parametrize(("clip_x", "clip_y"), [(2.0, 1.0), (1.0, 0.5), (8.0, 5.0)])
def test_adassp_clip_norms_change_units_only_where_nothing_is_clipped(clip_x, clip_y):
    """Rows of norm below clip_x are left as they are, so the fit is then that of least squares."""
    X, y = table(5000)
    model = BoostedAdaSSP(epsilon=1e6, delta=1e-5, rounds=20, clip_x=clip_x, clip_y=clip_y).fit(X, y)
    factor = np.minimum(1, clip_x / np.sqrt(1 + (X**2).sum(axis=1)))[:, None]
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]) * factor, y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], exact, atol=5e-3)


def test_adassp_ridges():
    X, y = table(3000)
    fits = {
        ridge: BoostedAdaSSP(delta=1e-5, ridge=ridge, random_state=3).fit(X, y) for ridge in ("adassp", "reference")
    }
    assert fits["adassp"].receipt_.to_dict() == fits["reference"].receipt_.to_dict(), "equally private"
    assert not np.allclose(fits["adassp"].coef_, fits["reference"].coef_)
    model, sigma = BoostedAdaSSP(), 2.0
    matrix = np.diag([100.0, 50.0])
    ridge = math.sqrt(2 * math.log(8 / 0.05)) * sigma - (8 - math.sqrt(2 * math.log(20)))
    np.testing.assert_allclose(model._invert(matrix, sigma, 8.0, 1.0), np.diag(1 / (np.array([100, 50]) + ridge)))
    np.testing.assert_allclose(model._invert(matrix, sigma, 1e3, 1.0), np.diag([0.01, 0.02]))
    reference = BoostedAdaSSP(ridge="reference")
    np.testing.assert_allclose(reference._invert(matrix, sigma, 8.0, 1.0), np.diag([1 / 108, 1 / 58]))


def test_adassp_survives_a_noisy_matrix_that_is_not_positive_definite():
    values = np.diag([-5.0, 1.0])
    inverse = BoostedAdaSSP()._invert(values, 0.1, 0.0, 0.1)
    assert np.linalg.eigvalsh(inverse).min() > 0


def test_receipt_with_many_rounds_is_short_to_read():
    X, y = table(500)
    receipt = BoostedAdaSSP(delta=1e-5, rounds=100).fit(X, y).receipt_
    assert len(receipt.steps) == 102
    text = str(receipt)
    assert len(text.splitlines()) < 12
    assert "boosting round 1 … 100" in text
    assert len(receipt.to_dict()["steps"]) == 102
