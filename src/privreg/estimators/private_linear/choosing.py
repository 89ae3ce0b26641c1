"""Which columns are used, if not all of them: those that go with what the model so far leaves unexplained.

If the centres of all columns can be found, columns are chosen by the side on which values lie; otherwise by Kendall's
rank correlation, which needs no centre but more than twice the noise. Proof: docs/proofs/sides.md,
docs/proofs/screening.md.
"""

import numpy as np

from privreg.engines.base import Ranking
from privreg.estimators.private_linear.design import Sides, unexplained
from privreg.estimators.private_linear.schedule import MOST_COLUMNS
from privreg.estimators.private_linear.state import Setting, State
from privreg.estimators.private_linear.target import residual_sum
from privreg.mechanisms.mean import plan_clipped_sum
from privreg.mechanisms.peel import peel
from privreg.mechanisms.sampling import plan_sampled_picks
from privreg.mechanisms.screening import FIRST_RANGE, GRID, plan_screening, screen, screening_scores
from privreg.mechanisms.sides import choose_by_sides, plan_choice_by_sides

SIDE_LEVEL = 0.5  # weights are clipped at this quantile of the target's distance from its median


def choose(setting: Setting, state: State, left: list[int], count: int, ranking: Ranking | None) -> list[int]:
    """Of the columns that are left, so many. Without centres a `ranking` is asked, and None ranks a sample."""
    if state.centres is not None:
        return by_sides(setting, state, left, count)
    return by_ranks(setting, state, left, count, ranking)


def by_sides(setting: Setting, state: State, left: list[int], count: int) -> list[int]:
    """By sides of centres. The mean of the weights, without which common values would score, is released first."""
    assert state.centres is not None
    clip = state.spread.distance(SIDE_LEVEL) / state.target.unit
    name = f"balance of the {'residuals' if state.released else 'target'}"
    event = plan_clipped_sum(name, setting.share(setting.schedule.balance / 2), purpose="choice")
    balance = residual_sum(setting, event, state, state.theta, clip) / setting.records
    balance = min(max(balance, -1.0), 1.0)
    events = plan_choice_by_sides(_names(state, count), *setting.next_picks(_part(setting), count))
    sums = []
    for start in range(0, len(left), MOST_COLUMNS):  # so many of them are in memory at a time
        some = left[start : start + MOST_COLUMNS]
        task = Sides(state.design, state.theta, clip, balance, tuple(state.centres[j] for j in some))
        sums.append(setting.engine.total(task, (*state.design.columns, *some)))
    return [left[i] for i in choose_by_sides(setting.account, events, np.concatenate(sums))]


def by_ranks(setting: Setting, state: State, left: list[int], count: int, ranking: Ranking | None) -> list[int]:
    """By Kendall's rank correlation."""
    residuals, first = unexplained(state.design, state.theta), _first(state)
    if ranking is not None:
        events = plan_screening(_names(state, count), *setting.next_picks(_part(setting), count))
        pairs = ranking.concordance(residuals, left)
        places = screen(setting.account, events, pairs, setting.engine.n_records)
    else:  # by the records of a secret sample; each choice has a sample of its own
        which = f"feature {first}" if count == 1 else f"features {first} to {first + count - 1}"
        name, cost = f"choose {which}, on a sample", setting.share(count * _part(setting))
        event = plan_sampled_picks(name, count, setting.kept, FIRST_RANGE, cost, GRID, purpose="choice")
        sample = setting.engine.subset(np.flatnonzero(setting.account.sample(event, setting.engine.n_records)))
        pairs = sample.ranking().concordance(residuals, left)
        places = peel(setting.account, event, screening_scores(pairs, sample.n_records))
    return [left[i] for i in places]


def _first(state: State) -> int:
    """The number of the next column to be chosen: so many were, with those that could not be used."""
    return len(state.terms) + len(state.lost) + 1


def _names(state: State, count: int) -> list[str]:
    first = _first(state)
    return [f"choose feature {first + i}" for i in range(count)]


def _part(setting: Setting) -> float:
    """Of the budget, for the choice of one column."""
    return setting.schedule.selection / setting.schedule.columns
