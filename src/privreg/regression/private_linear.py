"""`PrivateLinearRegression`: the estimator with nothing to choose."""

from typing import Any

from privreg.kernels.ranks import Float64
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import Noise
from privreg.regression.base import PrivateRegressor
from privreg.regression.fitting import Fitting
from privreg.regression.model import WinsorisedModel
from privreg.tables import Categories, Records, Table


class PrivateLinearRegression(PrivateRegressor):
    """Differentially private linear regression without data bounds or tuning."""

    model_: WinsorisedModel

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        k: int | str = "auto",
        rows_per_person: int = 1,
        categories: Categories | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.k = k
        self.rows_per_person = rows_per_person
        self.categories = categories
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _open_account(self, budget: Budget, columns: int, noise: Noise) -> AdaptiveAccount:  # noqa: ARG002
        return AdaptiveAccount(budget, noise)

    def _learn(self, account: AdaptiveAccount, records: Records) -> None:
        fitting = Fitting(account, records, None if self.k == "auto" else int(self.k), self.n_jobs)
        self.model_ = fitting.run()
        in_units = self.model_.in_units(len(records)) @ self.model_.theta
        self.coef_ = in_units[:-1]
        self.intercept_ = float(in_units[-1]) + self.model_.label.centre

    def _predict(self, table: Table) -> Float64:
        return self.model_.predict(table)
