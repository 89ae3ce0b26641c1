"""DPKendall: private feature selection by Kendall rank correlation (equation (1) of the paper)."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from privreg.engines.base import TARGET, Engine
from privreg.estimators.selector import PrivateSelector
from privreg.mechanisms.screening import FIRST_RANGE, GRID, LATER_RANGE, round_scores
from privreg.privacy.account import PlannedAccount
from privreg.privacy.accountant import Budget, even_picks
from privreg.privacy.events import Event, Pick


def ranges(k: int) -> list[int]:
    """Range of the score, in grid steps, in each of k rounds."""
    return [FIRST_RANGE] + [LATER_RANGE] * (k - 1)


@dataclass(eq=False, repr=False)
class DPKendall(PrivateSelector):
    """Choose k features that correlate with the target and little with each other, under differential privacy.

    Each of k rounds picks, by the exponential mechanism, the column with the highest |τ̂(column, target)| minus the
    mean |τ̂(column, chosen)| over the columns chosen before, where τ̂ = (C − D)/(n − 1) is Kendall's rank correlation
    scaled by n/2. No data bounds are needed, since only the order of values matters.

    Proof: docs/proofs/kendall.md, docs/proofs/peel.md. Exact check: tests/estimators/test_dp_kendall.py.

    Parameters
    ----------
    k : int, default 5
        The number of columns to choose. If there are no more than k, all are chosen and nothing is spent.
    epsilon : float, default 1.0
        The privacy budget ε, for adding or removing one record.
    delta : float, default 0.0
        The privacy budget δ. With 0, each round gets epsilon/k; a positive delta makes rounds more accurate when k is
        large.
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
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import DPKendall
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5_000, 10))
    >>> y = X[:, 3] + 2 * X[:, 7]
    >>> selector = DPKendall(k=2, epsilon=1.0).fit(X, y)
    >>> selector.selected_features_
    [7, 3]
    >>> selector.transform(X).shape
    (5000, 2)
    """

    k: int = 5
    epsilon: float = 1.0
    delta: float = 0.0

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        if columns <= self.k:
            return []
        names = [f"choose feature {t + 1}" for t in range(self.k)]
        return even_picks(names, ranges(self.k), budget, GRID, purpose="choice")

    def _learn(self, account: PlannedAccount, engine: Engine) -> None:
        self.ranking_ = np.array(_choose(account, engine) if account.plan else range(len(engine)), np.int64)


def _choose(account: PlannedAccount, engine: Engine) -> list[int]:
    """The columns in the order chosen, one for each event of the plan."""
    ranking, left = engine.ranking(), np.arange(len(engine))
    pairs = ranking.concordance(TARGET, left.tolist())
    target = np.abs(pairs).astype(object)  # Python integers: they do not overflow
    redundancy = np.zeros_like(target)
    chosen: list[int] = []
    for event in account.plan:
        scores = round_scores(target[left], redundancy[left], len(chosen), engine.n_records)
        at = account.pick(cast(Pick, event), scores.astype(np.int64))
        chosen.append(int(left[at]))
        left = np.delete(left, at)
        if len(chosen) < len(account.plan):
            redundancy[left] += np.abs(ranking.concordance(chosen[-1], left.tolist()))
    return chosen
