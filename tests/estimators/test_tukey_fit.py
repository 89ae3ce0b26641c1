"""TukeyRegression: what its users rely on beyond privacy, and what they are told when its test fails."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from linear_data import small, table
from privreg import (
    NotReleasedWarning,
    TukeyRegression,
)


@pytest.mark.parametrize("calibration", ["strict", "paper"])
def test_tukey_is_near_least_squares_on_many_records(calibration):
    X, y = table(40_000)
    model = TukeyRegression(epsilon=2.0, delta=1e-5, calibration=calibration).fit(X, y)
    exact = LinearRegression().fit(X, y)
    assert model.released_
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.02)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=0.02)


def test_receipt_of_tukey_names_its_unit():
    X, y = table()
    strict = small(TukeyRegression).fit(X, y).receipt_
    paper = small(TukeyRegression, calibration="paper").fit(X, y).receipt_
    assert strict.unit == "one record"
    assert "for adding or removing one record" in str(strict)
    assert "for adding or removing one model in the draw" in str(paper)
    assert "no guarantee for one record" in str(paper)
    assert [s.mechanism for s in strict.steps] == ["laplace", "propose-test-release"]
    assert [s.steps for s in (strict.steps[1], paper.steps[1])] == [2, 1]
    count = strict.steps[0]
    assert float(count.pure) == pytest.approx(0.05 * 3.0)


def test_a_known_number_of_records_saves_the_count():
    X, y = table()
    model = small(TukeyRegression, n_records=5600, group_size=8).fit(X, y)
    assert model.n_models_ == 700
    assert [s.mechanism for s in model.receipt_.steps] == ["propose-test-release"]
    assert model.receipt_.epsilon > 0.99 * 3.0


def test_when_the_test_fails():
    X, y = table(200)
    with pytest.warns(NotReleasedWarning, match="larger epsilon"):
        model = TukeyRegression().fit(X, y)
    assert model.released_ is False
    np.testing.assert_array_equal(model.predict(X), np.zeros(200))
    assert "No model was released" in str(model.summary())
    for help in ("More records", "fewer features", "larger epsilon"):
        assert help in str(model.summary())
    assert clone(model).get_params() == model.get_params()


def test_when_models_differ_too_much_the_test_fails():
    """Enough groups, but their models span hundreds of orders of magnitude: no middle is stable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = rng.choice([-1, 1], 4000) * 10.0 ** rng.uniform(-150, 150, 4000)
    with pytest.warns(NotReleasedWarning):
        model = TukeyRegression(epsilon=1.0, delta=1e-6, group_size=5).fit(X, y)
    assert not model.released_
    assert model.receipt_.epsilon > 0.99, "the test was made, so it was paid for"
