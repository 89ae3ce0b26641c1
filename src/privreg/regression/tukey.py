"""The Tukey mechanism: many small models, and a private draw of one that lies deep among them."""

from fractions import Fraction
from numbers import Integral, Real
from typing import Any, cast

import numpy as np

from privreg.groups import over_groups, sort_by_group
from privreg.kernels.least_squares import solve_groups
from privreg.kernels.ranks import Float64
from privreg.kernels.volumes import Int64
from privreg.mechanisms.count import lower_count
from privreg.mechanisms.depth import PAPER, STRICT, Calibration, draw_deep, least_points, plan_draw
from privreg.privacy.account import Account
from privreg.privacy.accountant import Budget, scale_for
from privreg.privacy.steps import Laplace, ProposeTestRelease, Step
from privreg.regression.base import PrivateRegressor
from privreg.tables import Categories, Records

CALIBRATIONS = {c.name: c for c in (STRICT, PAPER)}
JITTER = 2.0**-20  # of a coefficient's natural unit: coefficients that many groups share get a volume


class TukeyRegression(PrivateRegressor):
    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        calibration: str = "strict",
        group_size: float | None = None,
        n_models: int | None = None,
        count_share: float = 0.05,
        test_share: float = 0.5,
        categories: Categories | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.group_size = group_size
        self.n_models = n_models
        self.count_share = count_share
        self.test_share = test_share
        self.categories = categories
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _plan(self, budget: Budget, columns: int) -> list[Step]:
        left = Fraction(budget.epsilon)
        plan: list[Step] = []
        if self.n_models is None:
            count = Laplace("count the records", 1, scale_for(1, left * Fraction(self.count_share)))
            left -= count.pure
            plan.append(count)
        name = "test stability, draw a model"
        plan.append(plan_draw(name, left, budget.delta, self.test_share, columns + 1, CALIBRATIONS[self.calibration]))
        return plan

    def _learn(self, account: Account, plan: list[Step], records: Records) -> None:
        calibration = CALIBRATIONS[self.calibration]
        draw = cast(ProposeTestRelease, plan[-1])
        d = len(records) + 1
        if self.n_models is None:
            n = lower_count(account, cast(Laplace, plan[0]), records.n_records)
            size = self.group_size * d if self.group_size is not None else d
            m = max(int(n / size), 1)
        else:
            m = self.n_models
        models = self._models(account, records, m)
        model = draw_deep(account, draw, models, calibration)
        self.n_models_ = m
        self.released_ = model is not None
        self.coef_ = np.zeros(d - 1) if model is None else model[:-1]
        self.intercept_ = 0.0 if model is None else float(model[-1])

    def _models(self, account: Account, records: Records, m: int) -> Float64:
        if self.calibration == "paper":
            size = records.n_records // m
            order = np.argsort(account.groups(records.n_records, 2**62), kind="stable")
            bounds = np.arange(m + 1) * size
        else:
            order, bounds = sort_by_group(account.groups(records.n_records, m), m)
        shape = m, len(records) + 1
        models, units = np.empty(shape), np.empty(shape)

        def work(first: int, rows: Float64, target: Float64, bounds: Int64) -> None:
            last = first + bounds.size - 1
            solve_groups(rows, target, bounds, models[first:last], units[first:last])

        over_groups(records, order, bounds, work, self.n_jobs)
        shift = account.groups(m * shape[1], 2**20).reshape(shape) / 2.0**19 - 1
        return models + JITTER * units * shift
