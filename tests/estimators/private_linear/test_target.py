"""What is found out of the target when data are scarce."""

from dataclasses import replace

import numpy as np
import pytest

from privreg import PrivateLinearRegression
from privreg.data.features import Feature
from privreg.data.tables import Table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.schedule import make_schedule, rescaled
from privreg.estimators.private_linear.state import Setting, State
from privreg.estimators.private_linear.target import clip_of_mean, mean_residual, read_target
from privreg.kernels.values import BINS
from privreg.mechanisms.spread import known_spread, read_spread
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.privacy.noise import SeededNoise
from told import Told

BUDGET = Budget(0.1, 1e-6)
MU_SQUARED = float(adaptive_budget(BUDGET))
RECORDS = {30: int(30 / MU_SQUARED**0.5), 60: int(60 / MU_SQUARED**0.5), 150: int(150 / MU_SQUARED**0.5)}  # by S


def setting_of(y, size, noise=None):
    """Picks keep their noise; sums get none, unless told."""
    account = AdaptiveAccount(BUDGET, noise or Told())
    engine = MemoryEngine(Table([Feature("x", 0)], y.size, np.zeros((y.size, 1)), {}), y, 1)
    schedule = make_schedule(float(size), 1, None)
    return Setting(account, engine, MU_SQUARED, float(y.size), float(y.size), float(size), schedule, 2**32, False)


def steps(setting):
    return [event.name for event in setting.account.receipt().events]


def target(kind, n, rng):
    if kind == "zeros and ones":
        return (rng.random(n) < 0.3) * 1.0
    if kind == "mostly zeros and ones":
        return rng.choice([0.0, 1.0, 2.0], n, p=[0.6, 0.2, 0.2])
    if kind == "mostly equal":
        return np.where(rng.random(n) < 0.6, 0.0, rng.uniform(50, 200, n))
    return 100 + rng.exponential(5, n)


@pytest.mark.parametrize("size", [30, 60])
def test_zeros_and_ones_are_counted_and_nothing_else(size, rng):
    y = target("zeros and ones", RECORDS[size], rng)
    setting, state = read_target(setting_of(y, size))
    assert steps(setting) == ["look for zeros and ones", "count zeros and ones"]
    assert state.target.centre == pytest.approx(y.mean(), abs=1e-12)
    assert state.target.unit == pytest.approx(y.std(), abs=1e-12)
    assert state.target.centre - state.target.limit <= 0 <= 1 <= state.target.centre + state.target.limit
    assert state.spread.sure
    assert state.spread.distance(0.5) > 0.8 * state.target.limit  # hardly anything is clipped


@pytest.mark.parametrize("size", [30, 60])
@pytest.mark.parametrize("kind", ["skewed", "mostly equal"])
def test_other_targets_are_looked_at_once(kind, size, rng):
    setting, _ = read_target(setting_of(target(kind, RECORDS[size], rng), size))
    assert steps(setting)[:2] == ["look for zeros and ones", "median of the target"]


def test_who_takes_zeros_and_ones_for_granted_says_so(rng):
    """And says nothing of a centre that was not looked for."""
    n = RECORDS[60]
    X, y = rng.normal(size=(n, 2)), target("zeros and ones", n, rng)
    told = 0
    for seed in range(10):
        model = PrivateLinearRegression(0.1, 1e-6, n_jobs=1, random_state=seed).fit(X, y)
        names, text = [step.name for step in model.receipt_.steps], " ".join(model.warnings_)
        counted = "median of the target" not in names
        assert counted == ("The target was treated as 0 or 1. Up to about " in text)
        assert not (counted and "unreliable" in text)
        told += counted
    assert told >= 5  # chance of a miss in each: 1/20


@pytest.mark.parametrize("size", [10, 60])
def test_rare_values_far_out_are_seldom_taken_for_ones(size, rng):
    """One record in twenty-five is 10,000 and the others are 0: noise must make ones out of nothing."""
    n = max(RECORDS[60] * size // 60, 1)
    y = np.where(rng.random(n) < 0.04, 1e4, 0.0)
    found = []
    for seed in range(60):
        setting = setting_of(y, size, SeededNoise(np.random.default_rng(seed)))
        found.append(read_target(setting)[1].hidden_part is not None)
    assert sum(found) < 30  # of 60; the chance of one is a fifth at S = 60, and below a quarter at 10


def test_a_window_without_records_still_gives_a_clip():
    """Noise alone may leave a window with nothing in it. The clip of a sum must never be 0."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        spread = read_spread(-np.abs(rng.normal(size=BINS)), 1.0, 20.0, 6.0)
        assert spread.mean_distance == 0
        assert clip_of_mean(setting_of(np.zeros(100), 30), spread, 0.3) > 0


def test_a_second_count_finds_others_that_the_first_may_have_missed(rng):
    """At S = 60 a look has noise of 0.16 of the records, the count one of 0.03: a fifth is seen by that."""
    y = target("mostly zeros and ones", RECORDS[60], rng)
    told = [np.count_nonzero(y == 0), np.count_nonzero(y == 1), 0]  # by the first count
    setting, _ = read_target(setting_of(y, 60, Told({0: told})))
    expected = ["look for zeros and ones", "count zeros and ones", "median of the target", "spread of the target"]
    assert steps(setting) == expected


def test_a_constant_has_a_median_distance(rng):
    y = target("skewed", RECORDS[30], rng)
    setting, state = read_target(setting_of(y, 30))
    assert steps(setting)[-2:] == ["median distance", "records about so far away"]
    assert state.target.unit == pytest.approx(1.48 * np.median(np.abs(y - np.median(y))), rel=0.4)
    assert state.spread.sure


def test_where_most_values_are_equal_a_histogram_tells_the_spread(rng):
    setting, state = read_target(setting_of(target("mostly equal", RECORDS[30], rng), 30))
    assert steps(setting)[-2:] == ["median distance", "spread of the target"]
    assert state.target.centre == 0
    assert state.target.limit >= 150


def test_with_too_little_data_nothing_is_looked_for(rng):
    setting, _ = read_target(setting_of(target("zeros and ones", RECORDS[30], rng), 7))
    assert steps(setting)[0] == "median of the target"


@pytest.mark.parametrize("kind", ["zeros and ones", "skewed"])
def test_with_more_data_nothing_is_looked_for(kind, rng):
    setting, _ = read_target(setting_of(target(kind, RECORDS[150], rng), 150))
    assert steps(setting) == ["median of the target", "spread of the target"]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("size", [10, 39.9, 40, 99])
@pytest.mark.parametrize("available", [0, 1, 30])
def test_what_remains_is_what_is_left(size, available, known):
    schedule = make_schedule(size, available, None)
    rest = rescaled(schedule, 0.6, scale_known=known)
    assert rest.target + rest.left == pytest.approx(0.6, abs=1e-12)
    assert (rest.target == rest.target_mean) == known
    assert rest.look == rest.zeros_and_ones == 0
    if rest.columns:
        assert rest.phases[0] / rest.phases[2] == pytest.approx(schedule.phases[0] / schedule.phases[2])
        assert rest.mean_at_end / rest.quality == pytest.approx(schedule.mean_at_end / schedule.quality)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_mean_of_the_residuals_moves_the_constant(slope, rng):
    """Without noise, it is the mean of target − prediction, clipped far out: of a skewed target, a little is lost."""
    n = RECORDS[60]
    x, y = rng.normal(size=(n, 1)), rng.exponential(5.0, n)
    setting = setting_of(y, 60)
    table = Table([Feature("x", 0)], n, x, {})
    schedule = replace(setting.schedule, mean_at_end=0.9)  # so that little of it may be noise
    setting = replace(setting, engine=MemoryEngine(table, y, 1), schedule=schedule)
    state = State(Scale(3.5, 30.0, 5.0), known_spread(3.7, 30.0, 5.0), (Term(0, Scale(0.0, 6.0, 1.0)),))
    theta = np.array([0.1, slope])
    expected = ((y - 3.5) / 5 - 0.1 - slope * x[:, 0]).mean()
    moved = mean_residual(setting, state, theta)
    assert 0.15 < expected < 0.25
    assert moved == pytest.approx(expected, abs=0.06)
    assert steps(setting) == ["mean of the residuals"]


def test_the_mean_comes_last(rng):
    n = RECORDS[60]
    X, y = rng.normal(size=(n, 2)), 100 + rng.exponential(5, n)
    some = 0
    for seed in range(25):
        model = PrivateLinearRegression(0.1, 1e-6, n_jobs=1, random_state=seed).fit(X, y)
        names = [step.name for step in model.receipt_.steps]
        assert names.count("mean of the residuals") == ("phase 3: products and gradient" in names)
        assert model.receipt_.epsilon <= 0.1
        some += "mean of the residuals" in names
    assert some
