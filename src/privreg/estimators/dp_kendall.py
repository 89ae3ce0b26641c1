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

    Each of k rounds picks, by the exponential mechanism, the column with the highest |τ̂(column, target)| minus the mean
    |τ̂(column, chosen)| over the columns chosen before, where τ̂ = (C − D)/(n − 1) is Kendall's rank correlation scaled
    by n/2. No data bounds are needed, since only the order of values matters.

    Proof: docs/proofs/kendall.md, docs/proofs/peel.md. Exact check: tests/estimators/test_dp_kendall.py.

    Parameters
    ----------
    k : number of columns to choose. If there are no more than k, all are returned and nothing is spent.
    epsilon, delta : the budget, for adding or removing one record. With delta = 0 each round gets epsilon/k; a positive
        delta buys more accurate rounds when k is large.
    categories, missing, ranges, schema, rows_per_person, ledger, dataset, purpose, progress, n_jobs, random_state :
        as in `PrivateLinearRegression`.
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
