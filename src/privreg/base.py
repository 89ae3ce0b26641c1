"""What every private estimator shares: read the table, fix a plan, carry it out, keep the receipt."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.ledger import PERSON, RECORD, Ledger, Open, Request, amount, entered, running_budget
from privreg.privacy.noise import Noise, noise_for
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.privacy.steps import Step
from privreg.tables import Categories, Records, Table, read_table, read_target


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a parameter is a whole number, and large enough."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def forget_fit(estimator: BaseEstimator) -> None:
    """Delete what an earlier fit left, so that one that dies does not look fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name == "_names"]:
        delattr(estimator, name)


class TableEstimator(BaseEstimator):
    """A scikit-learn estimator that remembers the feature columns it was fitted on.

    Columns are counted after categories have been spread into one column per level.
    """

    categories: Categories | None

    _names: list[str]

    def _table(self, X: Any) -> Table:
        """A new table, with the columns of the one this was fitted on."""
        check_is_fitted(self)
        table = read_table(X, self.categories)
        validate_data(self, X, reset=False, skip_check_array=True)
        if table.names != self._names:
            raise ValueError("X has other feature columns or declared levels than the table this was fitted on")
        return table

    def _labels(self, columns: list[int]) -> list[Any]:
        """What a user calls these columns: names, or numbers for an array."""
        return [self._names[j] for j in columns] if hasattr(self, "feature_names_in_") else columns

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_names")  # set last

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


class PrivateEstimator(TableEstimator):
    """An estimator that sees its data through an `Account` only, and keeps the receipt in `receipt_`."""

    epsilon: float
    delta: float
    n_jobs: int | None
    random_state: Any
    ledger: Ledger | None = None
    dataset: str | None = None

    receipt_: Receipt

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X and y. Spends the budget."""
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, choose: Callable[[Records, Noise], Records] | None = None) -> Self:
        """`choose` may leave out records, before anything is computed on them."""
        budget = self._budget()
        self._check_parameters(budget)
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        if self.ledger is not None:
            self.ledger.check(str(self.dataset), self._request(budget))
        forget_fit(self)
        table = read_table(X, self.categories)
        validate_data(self, X, reset=True, skip_check_array=True)
        records = Records(table, read_target(y))
        noise = noise_for(self.random_state)
        if choose is not None:
            records = choose(records, noise)
        account = self._open_account(budget, len(table), noise)
        with self._entered(budget) as entry:
            try:
                self._learn(account, records)
            finally:
                self.receipt_ = account.receipt(self._unit)  # a fit that dies has spent
            entry.receipt = self.receipt_
        self._names = table.names
        return self

    def _budget(self) -> Budget:
        """What the fit may spend: a ledger keeps a part of delta."""
        if self.ledger is None:
            return Budget(self.epsilon, self.delta)
        return running_budget(amount(self.epsilon, "epsilon"), amount(self.delta, "delta"))

    def _request(self, budget: Budget) -> Request:
        """What the ledger is asked for."""
        return Request(
            amount(self.epsilon, "epsilon"),
            amount(self.delta, "delta"),
            f"fit {type(self).__name__}",
            RECORD if self._unit == ONE_RECORD else PERSON,
            self._mu_squared(budget),
        )

    def _mu_squared(self, budget: Budget) -> Fraction | None:  # noqa: ARG002
        """The most that a fit with this budget costs in μ² of Gaussian DP; None if it has no such cost."""
        return None

    @contextmanager
    def _entered(self, budget: Budget) -> Iterator[Open]:
        """What happens inside has been written down as spent."""
        if self.ledger is None:
            yield Open(0)
        else:
            with entered(self.ledger, str(self.dataset), self._request(budget)) as entry:
                yield entry

    @property
    def _unit(self) -> str:
        """What the guarantee protects, in words."""
        return ONE_RECORD

    def _check_parameters(self, budget: Budget) -> None:
        """Raise ValueError, naming the parameter, for those that only this estimator has."""

    def _open_account(self, budget: Budget, columns: int, noise: Noise) -> Account:
        return PlannedAccount(self._plan(budget, columns), budget, noise)

    def _plan(self, budget: Budget, columns: int) -> list[Step]:
        """The releases that `_learn` will make: public, decided before the data is looked at."""
        raise NotImplementedError

    @abstractmethod
    def _learn(self, account: Any, records: Records) -> None:
        """Make the releases and set the fitted attributes."""
