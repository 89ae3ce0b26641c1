"""The last step: how much of it counts, and what is left of slopes that may be noise."""

from types import SimpleNamespace

import numpy as np
import pytest

from privreg.estimators.private_linear.finish import noise_before, shrunk
from privreg.estimators.private_linear.model import Scale
from privreg.estimators.private_linear.phases import RIDGE, newton
from privreg.estimators.private_linear.state import Released, State, coordinates
from privreg.mechanisms.moments import Moments
from privreg.mechanisms.spread import Spread

N, WIDTH, DRAWS = 1000.0, 40, 200
SETTING = SimpleNamespace(records=N)
SPREAD = Spread(8.0, 1.0, True, np.zeros(1), np.zeros(1), 1.0)


def state_of(frame, theta, *released):
    return State(Scale(0.0, 8.0, 1.0), SPREAD, frame=frame, theta=theta, released=released)


def release(frame, theta, products, gradient, product_noise, gradient_noise):
    return Released(frame, theta, Moments(products, gradient, product_noise, gradient_noise), 3.0, 0.0)


def mean_squared_error(rng, true, before, last, bias=0.0):
    """Of `shrunk`, if the products are n times the identity and gradients have these errors, divided by n."""
    eye, found = np.eye(WIDTH), []
    for _ in range(DRAWS):
        theta = true + bias + before * rng.normal(size=WIDTH)
        gradient = N * (true - theta + last * rng.normal(size=WIDTH))
        releases = [release(eye, theta, N * eye, g, 0.0, N * s) for g, s in ((theta, before), (gradient, last))]
        result, _ = shrunk(SETTING, state_of(eye, theta, *releases))
        found.append(np.mean((result - true) ** 2))
    return np.mean(found)


def test_two_measurements_are_weighted_by_their_errors(rng):
    """8,000 coordinates each: the mean of their squares is off by 1.6 %, so 10 % are six deviations."""
    true = 100 + rng.normal(size=WIDTH)  # so long that nothing of it may be noise
    for before, last in ((0.1, 0.1), (0.14, 0.1), (0.2, 0.1)):
        best = 1 / (1 / before**2 + 1 / last**2)
        assert mean_squared_error(rng, true, before, last) == pytest.approx(best, rel=0.1)
    assert mean_squared_error(rng, true, 0.1, 0.1, bias=3.0) == pytest.approx(0.01, rel=0.1)  # the last one alone


def test_noise_is_shrunk_away(rng):
    assert mean_squared_error(rng, np.zeros(WIDTH), 0.1, 0.1) < 0.1 * 0.005


def test_noise_of_a_step_in_the_next_frame(rng):
    """Exactly the deviation of each coordinate, for products with large and small eigenvalues."""
    mixed = rng.normal(size=(WIDTH, WIDTH)) * np.logspace(0, -3, WIDTH)
    frame, noise = rng.normal(size=(WIDTH, WIDTH)), 3.0
    first = release(frame, np.zeros(WIDTH), N * mixed.T @ mixed, np.zeros(WIDTH), 2.0, noise)
    after = newton(SETTING, state_of(frame, np.zeros(WIDTH), first))
    values, vectors = np.linalg.eigh(first.moments.products)
    values = np.maximum(values, 0) + RIDGE * 2.0 * np.sqrt(WIDTH)
    step = coordinates(after.frame, frame @ (vectors / values) @ vectors.T)  # of a gradient, in the new frame
    exact = noise * np.sqrt((step**2).sum(axis=1))
    last = release(after.frame, after.theta, N * np.eye(WIDTH), np.zeros(WIDTH), 0.0, 1.0)
    state = state_of(after.frame, after.theta, first, last)
    assert noise_before(SETTING, state) == pytest.approx(exact, rel=1e-6)
