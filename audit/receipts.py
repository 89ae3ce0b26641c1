"""A second opinion on a receipt: what its steps must cost at least, computed without the accountant."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, pi, sqrt

from scipy.special import log_ndtr

from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.privacy.steps import Gaussian, GaussianMatrix, Laplace, Pick, ProposeTestRelease, Step

_MARGIN = 1e-6  # of floating point here


def wrong_receipt(receipt: Receipt, made: Sequence[Step]) -> str | None:
    """What is wrong with a receipt beside the steps that were made, if anything."""
    if tuple(made) != receipt.steps:
        return "the receipt does not list the steps that were made"
    epsilon, delta = receipt.epsilon, receipt.delta
    if epsilon > receipt.budget.epsilon or delta > receipt.budget.delta:
        return "the receipt's total is more than was asked for"
    if not made:
        return None
    steps = [(own_pure(s), own_mu_squared(s)) for s in made]
    if receipt.rows is not None:  # steps chosen on the way: all in μ²
        mu = receipt.rows * sqrt(sum(mu_squared for _, mu_squared in steps))
        return _covered(epsilon, delta, mu)
    draws = [s for s in made if isinstance(s, ProposeTestRelease)]
    if any(s.delta > delta for s in draws):
        return "the receipt's delta is smaller than that of a draw"
    gaussians = sum(mu_squared for pure, mu_squared in steps if pure is None)
    # Added up exactly when nothing else is there; several propose-test-releases never occur in one receipt.
    rest = epsilon - float(sum((own_draw(s, receipt.unit) for s in draws), Fraction()))
    if rest < -_MARGIN:
        return "the draw alone costs more than the receipt's total"
    if delta == 0 or draws:
        pure = sum((p for p, _ in steps if p is not None), Fraction())
        if delta == 0 and float(pure) > rest * (1 + _MARGIN):
            return "the steps add up to more than the receipt's total"
    return _covered(epsilon, delta, sqrt(gaussians)) if gaussians else None


def own_pure(step: Step) -> Fraction | None:
    """ε of pure differential privacy."""
    if isinstance(step, Pick):
        return Fraction(step.range) / Fraction(step.scale)
    if isinstance(step, Laplace):
        return Fraction(step.sensitivity) / Fraction(step.scale)
    return None


def own_mu_squared(step: Step) -> float:
    """μ² of Gaussian differential privacy; for a pick that of the worst exponential mechanism of its range."""
    if isinstance(step, Gaussian):
        return float(step.sensitivity_squared) / step.scale**2
    if isinstance(step, GaussianMatrix):
        return float(step.norm_squared) ** 2 / min(step.scale, step.off_scale * sqrt(2)) ** 2
    if isinstance(step, Pick):
        return pi / 8 * (step.range / step.scale) ** 2
    return 0.0


def own_draw(step: ProposeTestRelease, unit: str) -> Fraction:
    """ε of a test with noise of this scale and of a draw: one record moves some depths up and others down."""
    steps = 2 if unit == ONE_RECORD else step.steps
    return 1 / Fraction(step.scale) + steps * Fraction(step.rate)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ of μ-GDP at ε: Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2)."""
    upper, lower = log_ndtr(-epsilon / mu + mu / 2), log_ndtr(-epsilon / mu - mu / 2)
    return float(exp(upper) - exp(epsilon + lower))


def _covered(epsilon: float, delta: float, mu: float) -> str | None:
    least = gaussian_delta(epsilon, mu)
    return None if least <= delta * (1 + _MARGIN) else f"the steps have delta {least:.3g} at the receipt's epsilon"
