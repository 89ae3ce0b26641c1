"""DPKendall: private feature selection by Kendall rank correlation (equation (1) of the paper)."""

from typing import Any, cast

import numpy as np

from privreg.kernels.pairs import concordance
from privreg.kernels.ranks import rank_column, rank_columns
from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget, even_picks
from privreg.privacy.steps import Pick, Step
from privreg.selection.base import PrivateSelector
from privreg.tables import Categories, Records

GRID = 2**20  # scores are whole multiples of 1/GRID
# Adding a record changes |τ̂| by an amount in [−3/2, 1], so two columns' changes differ by at most 5/2; a difference of
# two such terms changes by an amount in [−5/2, 5/2]. docs/proofs/kendall.md
FIRST_RANGE = 5 * GRID // 2
LATER_RANGE = 5 * GRID


def ranges(k: int) -> list[int]:
    """Range of the score, in grid steps, in each of k rounds."""
    return [FIRST_RANGE] + [LATER_RANGE] * (k - 1)


def round_scores(label: Any, redundancy: Any, chosen: int, n: Any) -> Any:
    """⌊GRID · score⌋ for every candidate, exactly: |τ̂| with the label minus the mean |τ̂| with the `chosen` features.

    `label` is |C − D| with the label and `redundancy` the sum of |C − D| over the chosen features, in integers large
    enough for GRID·t·n²/2. The score is the fraction (t·label − redundancy)/(t·(n − 1)) with t = max(chosen, 1).
    Rounding down costs no sensitivity, because the bounds on its change are whole multiples of the grid step.
    """
    t = max(chosen, 1)
    return GRID * (t * label - redundancy) // (t * np.maximum(n - 1, 1))


class DPKendall(PrivateSelector):
    """Choose k features that correlate with the label and little with each other, under differential privacy.

    Each of k rounds picks, by the exponential mechanism, the column with the highest |τ̂(column, label)| minus the mean
    |τ̂(column, chosen)| over the columns chosen before, where τ̂ = (C − D)/(n − 1) is Kendall's rank correlation scaled
    by n/2. No data bounds are needed, since only the order of values matters.

    Proof: docs/proofs/kendall.md, docs/proofs/peel.md. Exact check: tests/test_dp_kendall_privacy.py.

    Parameters
    ----------
    k : number of columns to choose. If there are no more than k, all are returned and nothing is spent.
    epsilon, delta : the budget, for adding or removing one record. With delta = 0 each round gets epsilon/k; a positive
        delta buys more accurate rounds when k is large.
    categories : declared levels of text or code columns of a data frame, by column name.
    n_jobs : number of threads as in scikit-learn; −1 uses every core.
    random_state : None for private noise; a seed makes the run repeatable and **not private**.
    """

    def __init__(
        self,
        k: int = 5,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        categories: Categories | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.epsilon = epsilon
        self.delta = delta
        self.categories = categories
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _selection_plan(self, budget: Budget) -> list[Step]:
        return even_picks([f"choose feature {t + 1}" for t in range(self.k)], ranges(self.k), budget, GRID)

    def _select(self, account: Account, plan: list[Step], records: Records) -> list[int]:
        columns = rank_columns(records, self.n_jobs)
        left = np.arange(len(columns))
        # Python integers: they do not overflow.
        label = np.abs(concordance(rank_column(records.target), columns, self.n_jobs)).astype(object)
        redundancy = np.zeros_like(label)
        chosen: list[int] = []
        for step in plan:
            scores = round_scores(label[left], redundancy[left], len(chosen), records.n_records)
            at = account.pick(cast(Pick, step), scores.astype(np.int64))
            chosen.append(int(left[at]))
            left = np.delete(left, at)
            if len(chosen) < len(plan):
                candidates = [columns[j] for j in left]
                redundancy[left] += np.abs(concordance(columns[chosen[-1]], candidates, self.n_jobs))
        return chosen
