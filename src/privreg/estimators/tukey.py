"""The Tukey mechanism: many small models, and a private draw of a point that lies deep among them."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import cast

import numpy as np

from privreg._types import Float64, Int64
from privreg.engines.base import Engine
from privreg.errors import NotReleasedWarning
from privreg.estimators.budgets import check_tukey_budget
from privreg.estimators.regressor import PrivateRegressor
from privreg.kernels.groups import sort_by_group
from privreg.kernels.least_squares import solve_groups
from privreg.kernels.ranks import MAX_RECORDS
from privreg.mechanisms.count import check_share, lower_count, plan_count
from privreg.mechanisms.depth import PAPER, STRICT, can_pass, draw_deep, plan_draw, should_pass
from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Event, Laplace, ProposeTestRelease

CALIBRATIONS = {c.name: c for c in (STRICT, PAPER)}
# Records in a group for each coefficient to fit, most to fewest: the first that leaves enough models is taken.
GROUP_SIZES = (4.0, 3.0, 2.5, 2.0, 1.5, 1.25)
JITTER = 2.0**-20  # of a coefficient's natural unit: a value that many groups share gets a volume


@dataclass(eq=False, repr=False)
class TukeyRegression(PrivateRegressor):
    """Linear regression by the Tukey mechanism: no data bounds, and little influence of outliers.

    A private lower estimate of the number of records sets the number m of groups. Each record draws its group, and each
    group fits least squares with an intercept. If a noisy test finds these m models stable enough for a private draw, a
    point of large approximate Tukey depth among them is drawn. The method needs some hundred models (about 550/epsilon
    for 5 features, more for more), so it suits tables with many records and few features.

    Coefficients are drawn independently of each other. Where two of them nearly cancel, as the intercept and the
    coefficient of a column far from 0 do, predictions suffer. Subtract a public reference value first (year − 2000).

    If the test fails, nothing is released: `released_` is False, a `NotReleasedWarning` says so, and all predictions
    are 0.

    Proof: docs/proofs/tukey.md, docs/proofs/count.md. Exact check: tests/mechanisms/test_depth.py,
    tests/estimators/test_tukey.py.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget ε, for adding or removing one record.
    delta : float, default 1e-6
        The privacy budget δ. Must be positive.
    calibration : {"strict", "paper"}, default "strict"
        "strict" protects one record. "paper" is the published method: equal groups of n // m records, weights
        exp(ε·depth), and the published safety test. Its draw is private for adding or removing one model. As one record
        can change every group, that is no guarantee for a record, and the receipt says so.
    group_size : float or "auto", default "auto"
        Records in a group, on average. "auto" takes the largest of 4, 3, 2.5, 2, 1.5 and 1.25 for each coefficient that
        leaves enough models ("strict"), or one for each coefficient ("paper").
    n_records : int or None, default None
        A lower estimate of the number of records from an earlier private release. It saves the count.
    count_share : float, default 0.05
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
    coef_ : ndarray
        The coefficients, in the units of the data.
    intercept_ : float
        The intercept.
    released_ : bool
        Whether the test passed.
    n_models_ : int
        The number m of small models.
    receipt_ : Receipt
        What was spent, step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from privreg import TukeyRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50_000, 2))
    >>> y = 3 * X[:, 0] + rng.normal(size=50_000)
    >>> model = TukeyRegression(epsilon=1.0, delta=1e-6).fit(X, y)
    >>> model.released_
    True
    >>> model.predict(X).shape
    (50000,)
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    calibration: str = "strict"
    group_size: float | str = "auto"
    n_records: int | None = None
    count_share: float = 0.05

    def _of_a_model(self) -> bool:
        return self.calibration == PAPER.name

    def _unit(self, people: bool) -> str:
        return PAPER.unit if self._of_a_model() else super()._unit(people)

    def _check_parameters(self, budget: Budget) -> None:
        check_tukey_budget(budget)
        if self.calibration not in CALIBRATIONS:
            raise ValueError(f'calibration must be "strict" or "paper", got {self.calibration!r}')
        size, n = self.group_size, self.n_records
        if size != "auto" and (not isinstance(size, Real) or isinstance(size, bool) or not 1 <= size < np.inf):
            raise ValueError(f'group_size must be "auto" or a number of at least 1, got {size!r}')
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n > MAX_RECORDS):
            raise ValueError(f"n_records must be None or a whole number of at most {MAX_RECORDS:,}, got {n!r}")
        check_share(self.count_share)

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        left = Fraction(budget.epsilon)
        plan: list[Event] = []
        if self.n_records is None:
            count = plan_count(budget, self.count_share)
            left -= count.pure
            plan.append(count)
        name = "test stability, draw a model"
        return [*plan, plan_draw(name, left, budget.delta, columns + 1, CALIBRATIONS[self.calibration])]

    def _learn(self, account: PlannedAccount, engine: Engine) -> None:
        calibration, draw = CALIBRATIONS[self.calibration], cast(ProposeTestRelease, account.plan[-1])
        n = self.n_records
        if n is None:
            n = lower_count(account, cast(Laplace, account.plan[0]), engine.n_records)
        self.n_models_ = self._number_of_models(int(n), len(engine) + 1, draw)
        model = None
        if can_pass(self.n_models_, draw, calibration):
            model = draw_deep(account, draw, self._models(account, engine), calibration)
        self.released_ = model is not None
        self.coef_ = np.zeros(len(engine)) if model is None else model[:-1]
        self.intercept_ = 0.0 if model is None else float(model[-1])

    def _warnings_to_give(self) -> list[tuple[str, type[Warning]]]:
        own = [] if self.released_ else [(_NOT_RELEASED, NotReleasedWarning)]
        return [*own, *super()._warnings_to_give()]

    def _number_of_models(self, n: int, width: int, draw: ProposeTestRelease) -> int:
        """How many models to fit if there are (at least) n records: public."""
        if self.group_size != "auto":
            return max(int(n / cast(float, self.group_size)), 1)
        if self.calibration == "paper":
            return max(n // width, 1)
        for size in GROUP_SIZES:
            m = max(int(n / (size * width)), 1)
            if should_pass(m, width, draw, STRICT):
                break
        return m

    def _models(self, account: Account, engine: Engine) -> Float64:
        """One model for each group, as rows, the intercept last."""
        n, m = engine.n_records, self.n_models_
        if self.calibration == "paper":
            order = np.argsort(account.groups(n, 2**62), kind="stable")
            bounds = np.arange(m + 1) * (n // m)
        else:
            order, bounds = sort_by_group(account.groups(n, m), m)
        width = len(engine) + 1
        jitter = account.groups(m * width, 2**20).reshape(m, width)
        models, units = np.concatenate(engine.over_groups(order, bounds, models_and_units), axis=1)
        return np.asarray(models + units * (jitter / 2.0**19 - 1) * JITTER)

    def _facts(self, features: int | None = None) -> list[str]:
        if not self.released_:
            return [_NOT_RELEASED]
        return [f"A linear model of {self._count(features)}, drawn from the middle of {self.n_models_:,} small models."]


def models_and_units(rows: Float64, target: Float64, bounds: Int64) -> Float64:
    """The model of each group, the intercept last, and what its last digits are worth."""
    both = np.empty((2, bounds.size - 1, rows.shape[1] + 1))
    solve_groups(rows, target, bounds, both[0], both[1])
    return both


_NOT_RELEASED = (
    "No model was released: there are too few records for this many features at this epsilon, or the models of small "
    "groups of records differ too much, so drawing one of them would not be private. All predictions are 0. "
    "More records, fewer features or a larger epsilon would help."
)
