"""A lower estimate of the number of records.

Proof: docs/proofs/count.md. Exact check: tests/test_count.py.
"""

from math import ceil, log

from privreg.privacy.account import Account
from privreg.privacy.steps import Laplace

FAILURE = 1e-4  # the paper's η


def lower_count(account: Account, step: Laplace, n: int, failure: float = FAILURE) -> int:
    """n plus discrete Laplace noise, less its (1 − failure) quantile: above n with probability at most `failure`."""
    return account.laplace(step, n) - ceil(step.scale * log(1 / (2 * failure)))
