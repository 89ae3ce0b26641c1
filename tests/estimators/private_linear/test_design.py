"""How well a model fits: two sums, which one record moves by its own part and by one clip each at most."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privreg.engines import base
from privreg.engines.base import Block
from privreg.estimators.private_linear.design import Design, Fit
from privreg.estimators.private_linear.model import Scale, Term
from privreg.mechanisms.mean import GRID
from public_tables import array_engine

DESIGN = Design(Scale(2.0, 6.0, 1.5), (Term(0, Scale(0.0, 3.0, 1.0)), Term(1, Scale(5.0, 1e4, 30.0))))
THETA = np.array([0.1, 1.3, -0.02])
value = st.one_of(st.sampled_from([0.0, 5e-324, 1.7e308, -1.7e308]), st.floats(-1e4, 1e4))
clips = st.floats(1e-6, 100)


@given(value, value, value, clips, clips)
def test_a_record_counts_for_one_clip_at_most(x, z, y, squares, gains):
    """Without a warning: pytest turns warnings into errors. The target is within its limit, whatever y is."""
    block = Block([np.array([x]), np.array([z])], np.array([y]))
    found = Fit(DESIGN, THETA, squares, gains)(block)
    target = DESIGN.target.apply(block.target)
    (residual,) = DESIGN.residuals(DESIGN.rows(block), block.target, THETA)
    assert abs(target) <= 4
    assert abs(residual) <= 8
    assert found.dtype == np.int64
    assert 0 <= found[0] <= GRID
    assert abs(found[1]) <= GRID
    gain = (target[0] - residual) * (target[0] + residual)
    assert found[0] == pytest.approx(min(residual**2 / squares, 1) * GRID, abs=1)
    assert found[1] == pytest.approx(min(max(gain / gains, -1), 1) * GRID, abs=1)


@pytest.mark.parametrize("theta", [np.nan, np.inf])
def test_a_model_that_is_no_number_measures_nothing(theta):
    block = Block([np.ones(5), np.ones(5)], np.arange(5.0))
    with np.errstate(all="ignore"):
        assert np.abs(Fit(DESIGN, np.full(3, theta), 2.0, 2.0)(block)).max() <= 5 * GRID


def test_the_sums_do_not_depend_on_blocks_threads_or_order(rng, monkeypatch):
    X, y = rng.normal(size=(400, 2)) * [1, 100], rng.standard_cauchy(400) * 3
    task, seen = Fit(DESIGN, THETA, 3.0, 5.0), set()
    for size, jobs in ((1, 1), (7, 2), (8192, 1)):
        monkeypatch.setattr(base, "ROWS", size)
        order = rng.permutation(400)
        seen.add(tuple(array_engine(X[order], y[order], jobs).total(task, DESIGN.columns).tolist()))
    alone = [task(Block([X[i : i + 1, 0], X[i : i + 1, 1]], y[i : i + 1])) for i in range(400)]
    assert seen == {tuple(sum(alone).tolist())}
