"""What every private estimator shares: read the table, fix a plan, carry it out, keep the receipt."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from privreg.errors import SchemaError
from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.noise import Noise, noise_for
from privreg.privacy.receipt import ONE_RECORD, Receipt
from privreg.privacy.steps import Step
from privreg.records.base import Records
from privreg.records.opening import is_dask, is_elsewhere, is_parquet, map_partitions, open_records, parquet_levels
from privreg.spending import Spender
from privreg.tables import Categories, Table, read_table


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a parameter is a whole number, and large enough."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


_OTHER_COLUMNS = "X has other feature columns or declared levels than the table this was fitted on"


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
            raise ValueError(_OTHER_COLUMNS)
        return table

    def _tables(self, X: Any) -> Iterator[Table]:
        """The same of a table of any size, part by part."""
        if is_parquet(X):
            check_is_fitted(self)
            names = list(getattr(self, "feature_names_in_", self._names))
            missing = [name for name in names if name not in X.columns]
            if missing:
                raise SchemaError(f"{X!r} has no column {missing[0]!r}, which the model was fitted on")
            levels = parquet_levels(X, names, self.categories)
            for batch in [X.no_rows(names, levels)] if not X.parts else X.batches(names, levels):
                table = read_table(batch, levels)
                if table.names != self._names:
                    raise ValueError(_OTHER_COLUMNS)
                yield table
        else:
            yield self._table(X)

    def _over(self, X: Any, predict: Callable[[Table], NDArray[np.float64]]) -> Any:
        """What `predict` gives for a table of any size. Of a Dask data frame a series, computed where its rows are."""
        if is_dask(X):
            return map_partitions(self.predict, X)
        return np.concatenate([predict(table) for table in self._tables(X)])

    def _remember(self, X: Any, records: Records, named: bool) -> None:
        """The columns of a table, as scikit-learn does."""
        if not is_elsewhere(X):
            validate_data(self, X, reset=True, skip_check_array=True)
        elif named:
            self.feature_names_in_ = np.array(records.sources, np.object_)
            self.n_features_in_ = len(records.sources)
        else:
            self.n_features_in_ = len(records)

    def _labels(self, columns: list[int]) -> list[Any]:
        """What a user calls these columns: names, or numbers for an array."""
        return [self._names[j] for j in columns] if hasattr(self, "feature_names_in_") else columns

    def _levels(self) -> dict[int, str]:
        """The columns that are levels, and the category of each."""
        given = set(map(str, getattr(self, "feature_names_in_", self._names)))
        return {
            j: max((category for category in given if name.startswith(f"{category}=")), key=len, default=name)
            for j, name in enumerate(self._names)
            if name not in given
        }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_names")  # set last

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


class PrivateEstimator(Spender, TableEstimator):
    """An estimator that sees its data through an `Account` only, and keeps the receipt in `receipt_`."""

    n_jobs: int | None
    random_state: Any

    receipt_: Receipt

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X and y. Spends the budget."""
        return self._fit(X, y)

    def _fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        choose: Callable[[Records, Noise], Records] | None = None,
        only: list[int] | None = None,
    ) -> Self:
        """`choose` may leave out records, before anything is computed on them; `only` are the features to use."""
        budget = self._budget()
        self._check_parameters(budget)
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        self._ask_ledger()
        forget_fit(self)
        options = {"groups": groups, "watch": self._watch, "only": only}
        records = open_records(X, y, self.categories, self.n_jobs, **options)
        self._remember(X, records, only is None)
        noise = noise_for(self.random_state)
        if choose is not None:
            records = choose(records, noise)
        account = self._open_account(budget, len(records), noise)
        account.watch = self._watch
        with self._entered() as entry:
            try:
                self._learn(account, records)
            finally:
                self.receipt_ = account.receipt(self._unit)  # a fit that dies has spent
            entry.receipt = self.receipt_
        self._names = records.names
        return self

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
