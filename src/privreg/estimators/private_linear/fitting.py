"""The method of `PrivateLinearRegression`, part by part: count, target, columns, and three phases of least squares.

Each part takes what is known, makes its releases through the account, and returns what is known then.
Proof: docs/proofs/flagship.md. Exact check: tests/audit/test_replay.py.
"""

from dataclasses import dataclass, replace
from math import sqrt

from privreg._format import listed
from privreg.engines.base import Engine
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear.choosing import choose
from privreg.estimators.private_linear.finish import finish
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.phases import grow, moments, newton
from privreg.estimators.private_linear.public import whiten
from privreg.estimators.private_linear.scales import add_columns, find_centres
from privreg.estimators.private_linear.schedule import COUNT, make_schedule
from privreg.estimators.private_linear.state import Setting, State
from privreg.estimators.private_linear.target import centred, finds_centre, read_target, settle_for_a_constant
from privreg.estimators.private_linear.together import find_common, regress_together
from privreg.mechanisms.count import noisy_count, plan_noisy_count
from privreg.mechanisms.sampling import KEPT_ALL, rate_for
from privreg.privacy.account import AdaptiveAccount
from privreg.results.release import MOSTLY_NOISE, NO_CENTRE, TOGETHER

# What constants are worth was measured on the paper's tables, each left out in turn: results/flagship/ablations.csv.
SMALLEST_COUNT = 20.0
LATER = 0.5  # part of the chosen columns that is chosen by what the others leave unexplained
DOUBTFUL = 0.5  # part of the slopes' squared length that may be noise before a warning says so

_TOO_FEW = "The model is a constant: there are too few records for more at this budget."
_NO_COLUMN = "The model is a constant: no column can be used."
_NO_SPREAD = (
    "The model is a constant: there is too little data at this budget to find the target's scale, or the target varies "
    "very little compared with its size."
)
_ZEROS_AND_ONES = (
    "The target was treated as 0 or 1. Up to about {percent:.0f} % of the records may have other values without "
    "standing out from the noise."
)


@dataclass(frozen=True)
class Fitted:
    """The model, the noisy number of records, a cautious (low) one, and what may be wrong, in plain words."""

    model: WinsorisedModel
    counted: float
    records: float
    public_rows: int  # that told about columns
    warnings: list[str]


def fit(
    account: AdaptiveAccount,
    engine: Engine,
    wanted: int | None,
    most_rows: int | None = None,
    *,
    wide: bool = False,
    public: MemoryEngine | None = None,
) -> Fitted:
    """Spend the budget on a model of at most `wanted` columns, chosen by samples of about `most_rows` records.

    With `wide` limits, values are winsorised far out only. What `public` rows tell about the columns is not asked of
    the records.
    """
    setting = count_records(account, engine, wanted, most_rows, wide, public)
    setting, state = read_target(setting)
    if not setting.schedule.columns or not state.spread.sure:
        setting = replace(setting, public=None)  # which tell about columns only
        state = settle_for_a_constant(setting, state)
    elif setting.public is not None and tells_no_scale(setting, state):
        state = settle_for_a_constant(setting, add_columns(setting, state, list(range(len(engine)))))
    else:
        state = regress(setting, centred(setting, state))
    assert state.model is not None
    asked = 0 if setting.public is None else setting.public.n_records
    return Fitted(state.model, setting.counted, setting.records, asked, warnings(setting, state))


def warnings(setting: Setting, state: State) -> list[str]:
    """What may be wrong with the fit; decided from released values only."""
    schedule, texts = setting.schedule, []
    if not schedule.columns:
        texts.append(_NO_COLUMN if not len(setting.engine) else _TOO_FEW)
    elif not state.spread.sure:
        texts.append(_NO_SPREAD)
    elif not state.terms:
        texts.append(_NO_COLUMN)
    if state.hidden_part is not None:
        texts.append(_ZEROS_AND_ONES.format(percent=100 * state.hidden_part))
    elif not finds_centre(setting):
        texts.append(NO_CENTRE)
    features = setting.engine.features
    if untold := [features[j].name for j in state.lost if features[j].category is None]:
        its = "its scale" if len(untold) == 1 else "their scales"
        texts.append(f"{listed(untold)}: the public rows hardly vary there and do not tell {its}; left out.")
    levels = [features[j] for j in state.lost if features[j].category is not None]
    for known, too_few in ((False, "hardly any public row has"), (True, "too few records at this budget have")):
        if rare := [level.name for level in levels if (level.share is not None) == known]:
            value = "this value" if len(rare) == 1 else "these values"
            texts.append(f"{listed(rare)}: {too_few} {value}, or nearly all do; left out.")
    if guessed := list(dict.fromkeys(features[term.column].name for term in state.terms if not term.sure)):
        its, it, varies = (
            ("its", "it", "it hardly varies") if len(guessed) == 1 else ("their", "them", "they hardly vary")
        )
        texts.append(
            f"{listed(guessed)}: too little data at this budget to find {its} scale, or {varies}; left out of the "
            f"coefficients. Predictions use {it} only roughly."
        )
    if state.together:
        texts.append(TOGETHER)
    if state.terms and state.doubt > DOUBTFUL:
        texts.append(MOSTLY_NOISE)
    return texts


def count_records(
    account: AdaptiveAccount,
    engine: Engine,
    wanted: int | None,
    most_rows: int | None,
    wide: bool,
    public: MemoryEngine | None = None,
) -> Setting:
    """A noisy count, and the schedule that follows from it. If it allows only a constant, records are counted again."""
    mu_squared = account.mu_squared * (1 - 1e-9)  # rounding of single events must not add up to more
    event = plan_noisy_count("count the records", COUNT * mu_squared)
    counted = max(noisy_count(account, event, engine.n_records), SMALLEST_COUNT)
    records = max(counted - event.scale / event.grid, SMALLEST_COUNT)
    size = records * sqrt(mu_squared)
    known = sum(feature.share is not None for feature in engine.features)
    centred = sum(feature.share is None and feature.centre is not None for feature in engine.features)
    kept = KEPT_ALL if most_rows is None else rate_for(most_rows, records)
    sampled = kept != KEPT_ALL
    schedule = make_schedule(size, len(engine), wanted, known, public is not None, sampled=sampled, centred=centred)
    if not schedule.columns:
        again = plan_noisy_count("count the records again", schedule.recount * mu_squared)
        counted = records = max(noisy_count(account, again, engine.n_records), SMALLEST_COUNT)
    return Setting(account, engine, mu_squared, counted, records, size, schedule, kept, wide, public)


# ---- least squares


def tells_no_scale(setting: Setting, state: State) -> bool:
    """Whether public rows, which cost nothing to ask, leave no column that a model could use."""
    return not any(add_columns(setting, state, [j]).terms for j in range(len(setting.engine)))


def regress(setting: Setting, state: State) -> State:
    """Choose columns if there are too many, unless they are used together, and carry out the phases."""
    if any(setting.schedule.common) and (common := find_common(setting)).alike:
        return regress_together(setting, state, common)
    columns, left = setting.schedule.columns, list(range(len(setting.engine)))
    screening = columns < len(left)
    if setting.schedule.by_sides:
        state = replace(state, centres=find_centres(setting))
    ranked = screening and state.centres is None and not setting.sampled
    ranking = setting.engine.ranking() if ranked else None
    later = int(columns * LATER) if screening else 0
    chosen = choose(setting, state, left, columns - later, ranking) if screening else left
    state = add_columns(setting, state, chosen)
    *first, last = range(len(setting.schedule.phases))
    for phase in first:
        if phase == 1 and later:
            left = [j for j in left if j not in chosen]
            state = add_columns(setting, state, choose(setting, state, left, later, ranking))
        state = grow(state) if setting.public is None else whiten(setting.public, state)
        state = newton(setting, moments(setting, state, phase))
    if not state.terms:  # no column has a scale
        return settle_for_a_constant(setting, state)
    return finish(setting, moments(setting, state, last))
