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

    Proof: docs/proofs/sublasso.md, docs/proofs/count.md, docs/proofs/peel.md. Exact check:
    tests/estimators/test_sub_lasso.py.

    Parameters
    ----------
    k : int, default 5
        The number of columns to choose. If there are no more than k, all are chosen and nothing is spent.
    epsilon : float, default 1.0
        The privacy budget ε, for adding or removing one record.
    delta : float, default 0.0
        The privacy budget δ.
    group_size : int, "k" or "d", default "k"
        Records in a group, on average. "k" is the paper's text, "d" (the columns and the intercept) the authors'
        published code.
    alpha : float, default 1.0
        The Lasso penalty, in scikit-learn's scaling.
    count_share : float, default 0.5
        The part of epsilon that is spent on the number of records.
    categories : dict of str to list, "dtype" or None, default None
        Public levels of columns, by name; as in `PrivateLinearRegression`.
    missing : {"drop", "fill"}, default "drop"
        Whether records with a missing value are left out or filled in; as in `PrivateLinearRegression`.
    ranges : dict of str to (float, float) or None, default None
        Public ranges of columns, by name; values outside are clipped.
    schema : Schema or None, default None
        What an earlier fit or a `SchemaReader` found out about the columns; it costs nothing again.
    rows_per_person : int, default 1
        The most records of one person that are used, if `fit` is given `groups`.
    ledger : Ledger or None, default None
        The ledger whose budget the fit spends from.
    dataset : str or None, default None
        The name of the data set in the ledger.
    purpose : str or None, default None
        What the fit is for, in your own words; kept in the ledger.
    progress : callable or None, default None
        Called with the name of each stage, for instance `print`.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn; -1 uses every core. Results do not depend on it.
    random_state : int, numpy random generator or None, default None
        None for private noise. A seed makes the run repeatable and **not private**.

    Attributes
    ----------
    ranking_ : ndarray of int
        Numbers of the chosen columns, in the order chosen.
    selected_features_ : list of str or int
        Names of the chosen columns (or their numbers, for an array), in the order chosen.
    n_models_ : int
        The number m of models, from the private count. Missing if nothing was spent.
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import SubLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5_000, 10))
    >>> y = 5 * X[:, 3] + 5 * X[:, 7]
    >>> selector = SubLasso(k=2, epsilon=1.0).fit(X, y)
    >>> sorted(selector.selected_features_)
    [3, 7]
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
