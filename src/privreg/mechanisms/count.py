"""A lower estimate of the number of records.

Proof: docs/proofs/count.md. Exact check: tests/test_count.py.
"""

from fractions import Fraction
from math import ceil, log
from numbers import Real

from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget, scale_for
from privreg.privacy.steps import Laplace

FAILURE = 1e-4  # the paper's η


def check_share(share: float) -> None:
    """Raise ValueError unless the count may spend this part of ε."""
    if not (isinstance(share, Real) and 0 < share < 1):
        raise ValueError(f"count_share must lie between 0 and 1, got {share!r}")


def plan_count(budget: Budget, share: float) -> Laplace:
    """The count that spends this part of the budget's ε."""
    return Laplace("count the records", 1, scale_for(1, Fraction(budget.epsilon) * Fraction(float(share))))


def lower_count(account: Account, step: Laplace, n: int, failure: float = FAILURE) -> int:
    """n plus discrete Laplace noise, less its (1 − failure) quantile: above n with probability at most `failure`."""
    return account.laplace(step, n) - ceil(step.scale * log(1 / (2 * failure)))
