"""NonDP: least squares that says what it is."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression

from linear_data import table
from privreg import (
    NonDP,
)


class TestNonDP:
    def test_is_least_squares(self):
        X, y = table(500)
        model, exact = NonDP().fit(X, y), LinearRegression().fit(X, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-10)
        assert model.intercept_ == pytest.approx(exact.intercept_, rel=1e-10)

    def test_badly_scaled_columns(self):
        """Columns from 1e-9 to 1e9 with large offsets: the fit must be that of the same columns well scaled."""
        rng = np.random.default_rng(2)
        Z = rng.normal(size=(3000, 4))
        y = Z @ [1.0, -2.0, 0.5, 3.0] + rng.normal(size=3000)
        X = Z * [1e-9, 1e9, 1.0, 1e5] + [1e-7, 3e9, 100.0, -2e6]
        np.testing.assert_allclose(NonDP().fit(X, y).predict(X), LinearRegression().fit(Z, y).predict(Z), atol=1e-6)

    def test_house_16H(self, real_data):
        """Where scikit-learn's cut-off loses columns (R² 0.14), it must be as good as full-precision least squares."""
        frame = pd.read_parquet(real_data / "361079_house_16H.parquet")
        y = frame.pop("target").to_numpy()
        X = frame.to_numpy(float)
        scores, full, plain = [], [], []
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            test, train = order[: len(y) // 10], order[len(y) // 10 :]
            scale = X[train].std(axis=0)
            a = np.column_stack([(X - X[train].mean(axis=0)) / scale, np.ones(len(y))])
            theta = np.linalg.lstsq(a[train], y[train], rcond=None)[0]
            total = ((y[test] - y[test].mean()) ** 2).sum()
            full.append(1 - ((y[test] - a[test] @ theta) ** 2).sum() / total)
            scores.append(NonDP().fit(X[train], y[train]).score(X[test], y[test]))
            plain.append(LinearRegression().fit(X[train], y[train]).score(X[test], y[test]))
        np.testing.assert_allclose(scores, full, atol=1e-6)
        if sklearn.__version__ >= "1.9":  # which has the cut-off
            assert np.median(scores) > np.median(plain) + 0.05

    @pytest.mark.parametrize("constant", [0.1, 1 / 3, 7.0, 1e300])
    @pytest.mark.parametrize("n", [1000, 3000])
    def test_a_constant_column_gets_no_coefficient(self, constant, n):
        """Even if its mean is not exactly the constant in floating point, and the target is far from 0."""
        rng = np.random.default_rng(4)
        X = np.column_stack([rng.normal(size=n), np.full(n, constant)])
        y = 2 * X[:, 0] + 1000 + rng.normal(size=n)
        model = NonDP().fit(X, y)
        assert model.coef_[1] == 0
        assert model.predict([[0.0, constant + 1]])[0] == pytest.approx(1000, abs=1)

    def test_dependent_columns_and_chunks(self, monkeypatch):
        rng = np.random.default_rng(3)
        level = rng.integers(0, 4, 2000)
        X = np.column_stack([rng.normal(size=2000), *(level == i for i in range(4))]).astype(float)
        X = np.column_stack([X, X[:, 0] * 2, np.zeros(2000), np.full(2000, 7.0)])
        y = X[:, 0] + level + rng.normal(size=2000)
        expected = LinearRegression().fit(X, y).predict(X)
        for chunk in (10, 1000, 10**9):
            monkeypatch.setattr("privreg.estimators.non_dp._CHUNK", chunk)
            model = NonDP().fit(X, y)
            np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8)
            assert np.abs(model.coef_).max() < 100
