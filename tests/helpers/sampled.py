"""Steps that pick on a sample."""

import numpy as np

from privreg.mechanisms.peel import peel
from privreg.mechanisms.sampling import KEPT_ALL
from privreg.mechanisms.screening import FIRST_RANGE, GRID, round_scores
from privreg.privacy.accountant import Budget
from privreg.privacy.events import SampledPicks

HALF = KEPT_ALL // 2


def picks_of(kept, whole=2.0, picks=2):
    """Picks that cost `whole` together where no record is left out."""
    return SampledPicks("choose features", FIRST_RANGE, picks * FIRST_RANGE / whole, picks, kept, GRID)


def scores_of(table, samples):
    """Scores of all columns but the last with the last, on each sample (rows of 0 and 1): pairs counted one by one."""
    signs = [np.sign(c[:, None] - c[None, :]) for c in table.T]
    pairs = [(samples @ (s * signs[-1]) * samples).sum(axis=1) // 2 for s in signs[:-1]]
    return round_scores(np.abs(np.array(pairs, np.int64).T), 0, 0, samples.sum(axis=1, keepdims=True))


def rising(records, good=2, bad=8):
    """Columns that know nothing and columns that rise with the label; the last record turns all of that round."""
    label = np.arange(records + 1)
    return np.array([label // records] * good + [np.append(label[:-1], -1)] * bad + [label]).T


def run(account, step, table):
    """What a fit does: nothing but the sampled records enters the scores."""
    sample = np.asarray(table)[account.sample(step, len(table))]
    return peel(account, step, scores_of(sample, np.ones((1, len(sample)), np.int64))[0])


SMALL = picks_of(HALF // 2, 0.05)


BUDGET = Budget(1.0, 1e-6)
