"""One solve of everything that was released: least squares where there is no noise, and the errors that noise makes."""

from types import SimpleNamespace

import numpy as np
import pytest

from privreg.estimators.private_linear.model import Scale, Term
from privreg.estimators.private_linear.solve import Quality, solve
from privreg.estimators.private_linear.state import Released, State
from privreg.mechanisms.lengths import BINS, Lengths
from privreg.mechanisms.moments import Moments
from privreg.mechanisms.spread import Spread

N, WIDTH = 5000, 5
QUALITY = Quality(1e-9, 1e-10, 1.0, 0.1)  # hardly any error of sampling
FAR = 1e6  # a radius at which no row is shrunk
SETTING = SimpleNamespace(records=float(N))


def design(rng):
    mixed = rng.normal(size=(N, WIDTH)) @ (np.eye(WIDTH) + 0.4 * rng.normal(size=(WIDTH, WIDTH)))
    A = np.column_stack([np.ones(N), mixed])
    return A, A @ rng.normal(size=WIDTH + 1) + rng.normal(size=N)


def noisy(generator, width, product_noise, gradient_noise):
    above = np.triu(generator.normal(size=(width, width)), 1) / np.sqrt(2)
    matrix = above + above.T + np.diag(generator.normal(size=width))
    return matrix * product_noise, generator.normal(size=width) * gradient_noise


def released(A, y, frame, theta, noise, generator):
    """What a phase would release in this frame."""
    extra, shift = noisy(generator, len(theta), *noise)
    products = frame.T @ A.T @ A @ frame + extra
    gradient = frame.T @ A.T @ (y - A @ theta) + shift
    return Released(frame, theta, Moments(products, gradient, *noise), FAR, 0.0)


def solved(A, y, generator, noise=(1e-9, 1e-9), sure=(True,) * WIDTH, first_noise=None):
    rough = np.linalg.solve(A.T @ A + 0.1 * N * np.eye(A.shape[1]), A.T @ y)
    first = released(A, y, np.eye(A.shape[1]), 0.9 * rough, first_noise or noise, generator)
    values, vectors = np.linalg.eigh(A.T @ A)
    frame = vectors / np.sqrt(np.maximum(values, 1e-3 * N) / N)
    last = released(A, y, frame, rough, noise, generator)
    terms = tuple(Term(j, Scale(0.0, 4.0, 1.0), told) for j, told in enumerate(sure))
    counts = np.zeros(BINS)
    counts[3] = N
    return solve(
        SETTING,
        State(
            Scale(0.0, 8.0, 1.0),
            Spread(8.0, 1.0, True, np.zeros(1), np.zeros(1), 1.0),
            terms,
            released=(first, last),
            lengths=Lengths(counts, 1e-6, 1e-6, N),
        ),
        QUALITY,
    )


def test_without_noise_it_is_least_squares(rng):
    A, y = design(rng)
    found = solved(A, y, rng)
    assert found.theta == pytest.approx(np.linalg.lstsq(A, y)[0], abs=1e-9)
    assert found.products == pytest.approx(A.T @ A / N, abs=1e-9)
    assert found.determined.all()
    assert found.errors.max() < 1e-5


def test_a_term_without_a_sure_scale_is_left_out(rng):
    """What is estimated is least squares without the column."""
    A, y = design(rng)
    found = solved(A, y, rng, sure=(True, False, True, True, False))
    assert found.places == (0, 1, 3, 4)
    kept = A[:, [0, 1, 3, 4]]
    assert found.theta == pytest.approx(np.linalg.lstsq(kept, y)[0], abs=1e-9)


@pytest.mark.parametrize("noise", [(40.0, 1e-6), (1e-6, 40.0), (40.0, 40.0)], ids=["products", "gradient", "both"])
def test_the_errors_are_those_that_noise_makes(rng, noise):
    """Over 1500 draws: the noise of products, that of the gradients, and both."""
    A, y = design(rng)
    exact = np.linalg.lstsq(A, y)[0]
    found = [solved(A, y, np.random.default_rng([7, i]), noise) for i in range(1500)]
    seen = np.sqrt(np.mean([(one.theta - exact) ** 2 for one in found], axis=0))
    told = np.sqrt(np.mean([np.diag(one.covariance) for one in found], axis=0))
    assert told / seen == pytest.approx(1, abs=0.12)
    misses = np.array([(one.theta - exact) / one.errors for one in found])
    assert np.mean(np.abs(misses) <= 1.96) == pytest.approx(0.95, abs=0.02)


def test_two_columns_that_are_nearly_one_are_not_determined(rng):
    A, y = design(rng)
    A[:, 5] = A[:, 4] + 1e-4 * rng.normal(size=N)
    found = solved(A, y, rng, (20.0, 20.0))
    assert found.determined.tolist() == [True, True, True, True, False, False]
    exact = np.linalg.lstsq(A, y)[0]
    assert np.abs(found.theta - exact)[1:4] == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("first", [True, False])
def test_the_phase_with_less_noise_decides(rng, first):
    A, y = design(rng)
    much, little = (200.0, 200.0), (1e-6, 1e-6)
    exact = np.linalg.lstsq(A, y)[0]
    found = solved(A, y, rng, much if first else little, first_noise=little if first else much)
    assert found.theta == pytest.approx(exact, abs=1e-6)
    assert np.abs(solved(A, y, rng, much).theta - exact).max() > 1e-3


def test_r2_and_its_error():
    quality = Quality(0.25, 0.05, 0.75, 0.1)
    assert quality.r2 == 0.75
    assert quality.r2_error == pytest.approx(1.4 * np.hypot(0.25 * 0.1, 0.75 * 0.05))
