"""What every private estimator shares: read the table, fix a plan, carry it out, keep the receipt."""

import warnings
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

from privreg._format import listed
from privreg._isolation import isolated
from privreg.data.features import Feature
from privreg.data.tables import Categories, Table, read_table, rows_as_array, without_column
from privreg.engines.base import Engine
from privreg.engines.registry import kind_of, open_engine
from privreg.errors import PublicLevelsWarning
from privreg.estimators.budgeted import Budgeted
from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Event
from privreg.privacy.noise import Noise, noise_for
from privreg.privacy.receipt import ONE_RECORD, Receipt


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a parameter is a whole number, and large enough."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


_OTHER_COLUMNS = "X has other feature columns or declared levels than the table this was fitted on"


def forget_fit(estimator: BaseEstimator) -> None:
    """Delete what an earlier fit left, so that one that dies does not look fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name in ("_names", "_features")]:
        delattr(estimator, name)


def set_all(estimator: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(estimator, name, value)


def columns_in(X: Any, engine: Engine, named: bool) -> dict[str, Any]:
    """The attributes by which scikit-learn remembers the columns of a table."""
    if kind_of(X).in_memory:
        seen = BaseEstimator()
        validate_data(seen, X, reset=True, skip_check_array=True)
        return vars(seen)
    if named:
        return {"feature_names_in_": np.array(engine.sources, np.object_), "n_features_in_": len(engine.sources)}
    return {"n_features_in_": len(engine)}


def open_table(X: Any, y: Any, estimator: Any, *, groups: Any = None, only: list[int] | None = None) -> Engine:
    """The records of a fit, before anything is spent. Warns of levels that were not declared."""
    with isolated():
        engine = open_engine(
            X, y, estimator.categories, estimator.n_jobs, groups=groups, progress=estimator.progress, chosen=only
        )
    for text in public_levels(engine.undeclared):
        warnings.warn(text, PublicLevelsWarning, stacklevel=4)
    return engine


def public_levels(columns: list[str]) -> list[str]:
    """What to know about levels that came with the type of a column."""
    if not columns:
        return []
    return [
        f"The levels of {listed(columns)} came with the data's type and are taken as public. If they were read off the "
        "data, as astype('category') does, they may reveal who is in it: declare them instead (categories= or "
        "--category)."
    ]


class TableEstimator(BaseEstimator):
    """A scikit-learn estimator that remembers the feature columns it was fitted on.

    Columns are counted after categories have been spread into one column per level.
    """

    categories: Categories | None

    _names: list[str]
    _features: list[Feature]  # what these names stand for

    def _table(self, X: Any) -> Table:
        """A new table, with the columns of the one this was fitted on: by name, or by place if X is an array."""
        check_is_fitted(self)
        named = hasattr(type(X), "columns")
        if not named:
            self._check_numbers()
        with isolated():
            X = rows_as_array(X)
            table = read_table(X, self.categories if named else None)
        validate_data(self, X, reset=False, skip_check_array=True)  # warns, as scikit-learn does, if X has no names
        if table.names != self._names if named else len(table) != len(self._names):
            raise ValueError(_OTHER_COLUMNS)
        return table

    def _check_numbers(self) -> None:
        """Raise ValueError if a column was a category: an array cannot stand for that."""
        for name in self._levels().values():
            raise ValueError(
                f"column {name!r} of the table this was fitted on is a category: pass a data frame, not an array"
            )

    def _tables(self, X: Any) -> Iterator[Table]:
        """The same of a table of any size, part by part."""
        if kind_of(X).in_memory:
            yield self._table(X)
            return
        check_is_fitted(self)
        columns = list(getattr(self, "feature_names_in_", self._names))
        for table in kind_of(X).tables(X, columns, self.categories):
            if table.names != self._names:
                raise ValueError(_OTHER_COLUMNS)
            yield table

    def _over(self, X: Any, predict: Callable[[Table], NDArray[np.float64]]) -> Any:
        """What `predict` gives for a table of any size. Of a Dask data frame a series, computed where its rows are."""
        if kind_of(X).lazy:
            return kind_of(X).map(X, self.predict)
        found = []
        for table in self._tables(X):
            with isolated():
                found.append(predict(table))
        return np.concatenate(found)

    def _labels(self, columns: list[int]) -> list[Any]:
        """What a user calls these columns: names, or numbers for an array."""
        return [self._names[j] for j in columns] if hasattr(self, "feature_names_in_") else columns

    def _levels(self) -> dict[int, str]:
        """The columns that are levels, and the category of each."""
        return {j: feature.category for j, feature in enumerate(self._features) if feature.category is not None}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_names")  # set last

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


class PrivateEstimator(Budgeted, TableEstimator):
    """An estimator that sees its data through an `Account` only, and keeps the receipt in `receipt_`."""

    receipt_: Receipt
    warnings_: list[str]
    ledger_entry_: int | None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X and y. Spends the budget."""
        self._warn_if_weak()
        self._fit(X, y)
        self._tell()
        return self

    def _fit(self, X: Any, y: Any, *, groups: Any = None, only: list[int] | None = None) -> None:
        """`only` are the features to use."""
        people, budget = groups is not None, self._checked_budget(groups)
        noise, X, y = self._noise(), rows_as_array(X), without_column(y)
        engine = open_table(X, y, self, groups=groups, only=only)
        columns = columns_in(X, engine, only is None)
        with isolated():
            if people:
                engine = self._kept(engine, groups, noise)
            self._spend(engine, columns, budget, noise, groups)

    def _noise(self) -> Noise:
        return noise_for(self.random_state)

    def _checked_budget(self, groups: Any = None) -> Budget:
        """What the fit may spend. Everything that is known without the table has been checked."""
        budget = self._budget()
        self._check_parameters(budget, groups is not None)
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        self.ask_ledger(groups)
        return budget

    def _spend(self, engine: Engine, columns: dict[str, Any], budget: Budget, noise: Noise, groups: Any = None) -> None:
        """Charge the ledger and learn. Nothing of an earlier fit goes before this one has been charged."""
        people = groups is not None
        account = self._open_account(budget, len(engine), noise, people)
        account.watch = self.progress
        with self._entered(groups) as entry:
            forget_fit(self)
            set_all(self, columns)
            self.ledger_entry_ = entry.number
            self.warnings_ = public_levels(engine.undeclared)
            try:
                self._learn(account, engine)
            finally:
                self.receipt_ = account.receipt(self._unit(people))  # a fit that dies has spent
            entry.receipt = self.receipt_
        self._features, self._names = engine.features, engine.names

    def _kept(self, engine: Engine, groups: Any, noise: Noise) -> Engine:
        """The records that people have in the fit."""
        raise NotImplementedError

    def _tell(self) -> None:
        """Warn of what was released, when the fit is complete: a caller may have made warnings errors."""

    def _unit(self, people: bool) -> str:  # noqa: ARG002
        """What the guarantee protects, in words."""
        return ONE_RECORD

    def _check_parameters(self, budget: Budget, people: bool = False) -> None:
        """Raise ValueError, naming the parameter, for those that only this estimator has."""

    def _open_account(self, budget: Budget, columns: int, noise: Noise, people: bool) -> Account:  # noqa: ARG002
        return PlannedAccount(self._plan(budget, columns), budget, noise)

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        """The releases that `_learn` will make: public, decided before the data is looked at."""
        raise NotImplementedError

    @abstractmethod
    def _learn(self, account: Any, engine: Engine) -> None:
        """Make the releases and set the fitted attributes."""
