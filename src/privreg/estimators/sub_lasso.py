"""SubLasso: private feature selection by voting of Lasso models on small random groups of records."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import cast

import numpy as np

from privreg._types import Float64, Int64
from privreg.engines.base import Engine
from privreg.estimators.selector import PrivateSelector
from privreg.kernels.groups import sort_by_group
from privreg.kernels.lasso import count_votes
from privreg.mechanisms.count import check_share, lower_count, plan_count
from privreg.mechanisms.peel import peel
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget, even_picks
from privreg.privacy.events import Event, Laplace, Pick, round_down

# One record changes one group's vote, and so each count by −1, 0 or +1. docs/proofs/sublasso.md
VOTE_RANGE = 2


@dataclass(eq=False, repr=False)
class SubLasso(PrivateSelector):
    """Choose k features by the votes of many small Lasso models, under differential privacy.

    A private lower estimate ñ of the number of records sets the number of models, m = ⌊ñ/group size⌋. Each record draws
    its group from the m independently and uniformly, each group votes for the (at most k) columns with the largest
    nonzero Lasso coefficients, and Peel picks k columns by noisy votes. The models have an intercept, which takes no
    part in the vote.

    Proof: docs/proofs/sublasso.md, docs/proofs/count.md, docs/proofs/peel.md.
    Exact check: tests/estimators/test_sub_lasso.py.

    Parameters
    ----------
    k : number of columns to choose. If there are no more than k, all are returned and nothing is spent.
    epsilon, delta : the budget, for adding or removing one record.
    group_size : "k" (the paper's text), "d" (columns with the intercept: the authors' published code) or a number.
    alpha : Lasso penalty, in scikit-learn's scaling.
    count_share : part of epsilon spent on the number of records.
    categories, missing, ranges, schema, rows_per_person, ledger, dataset, purpose, progress, n_jobs, random_state :
        as in `PrivateLinearRegression`.

    Attributes
    ----------
    n_models_ : m, computed from the private count. Missing when nothing was spent.
    """

    k: int = 5
    epsilon: float = 1.0
    delta: float = 0.0
    _: KW_ONLY
    group_size: int | str = "k"
    alpha: float = 1.0
    count_share: float = 0.5

    def _check_parameters(self, budget: Budget) -> None:
        super()._check_parameters(budget)
        size = self.group_size
        if size not in ("k", "d") and not (isinstance(size, Integral) and size >= 1):
            raise ValueError(f'group_size must be "k", "d" or a whole number of at least 1, got {size!r}')
        if not (isinstance(self.alpha, Real) and 0 <= self.alpha < np.inf):
            raise ValueError(f"alpha must be a finite number of at least 0, got {self.alpha!r}")
        check_share(self.count_share)

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        if columns <= self.k:
            return []
        count = plan_count(budget, self.count_share)
        rest = Budget(round_down(Fraction(budget.epsilon) - count.pure), budget.delta)
        names = [f"choose feature {t + 1}" for t in range(self.k)]
        return [count, *even_picks(names, [VOTE_RANGE] * self.k, rest, purpose="choice")]

    def _learn(self, account: PlannedAccount, engine: Engine) -> None:
        if not account.plan:
            self.ranking_ = np.arange(len(engine))
            return
        count, *picks = account.plan
        size = {"k": self.k, "d": len(engine) + 1}.get(cast(str, self.group_size), self.group_size)
        n = lower_count(account, cast(Laplace, count), engine.n_records)
        models = max(n // cast(int, size), 1)
        votes = self._votes(engine, account.groups(engine.n_records, models), models)
        self.ranking_ = np.array(peel(account, cast(list[Pick], picks), votes), np.int64)
        self.n_models_ = models

    def _votes(self, engine: Engine, group: Int64, models: int) -> Int64:
        """How many groups vote for each column. Empty groups do not vote."""
        order, bounds = sort_by_group(group, models)
        return np.sum(engine.over_groups(order, bounds, _Votes(self.k, float(self.alpha))), axis=0)


@dataclass(frozen=True)
class _Votes:
    k: int
    alpha: float

    def __call__(self, rows: Float64, target: Float64, bounds: Int64) -> Int64:
        return count_votes(rows, target, bounds, self.k, self.alpha)
