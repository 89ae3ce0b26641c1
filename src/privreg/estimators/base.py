"""What every private estimator shares: read the table, fix a plan, carry it out, keep the receipt."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
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
from privreg.data.evaluate import Records, values_of
from privreg.data.features import Feature
from privreg.data.formula import Formula, inverse_of
from privreg.data.raw import Raw
from privreg.data.schema import NUMBER, Schema
from privreg.data.tables import Table, read_frame, read_table, rows_as_array
from privreg.engines.base import Engine, OpenOptions, Source, Types
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError
from privreg.estimators.budgeted import Budgeted
from privreg.estimators.budgets import reading_budget
from privreg.estimators.dry_run import Check, kinds_of, outlook
from privreg.estimators.inputs import Inputs, read_inputs, usable_types
from privreg.estimators.schema_notes import left_out_notes
from privreg.estimators.settled import Public, as_used, settle
from privreg.estimators.spending import Spending
from privreg.privacy.accountant import Budget, for_each_record
from privreg.privacy.events import Event
from privreg.privacy.noise import Noise, noise_for
from privreg.privacy.receipt import Receipt


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a parameter is a whole number, and large enough."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def forget_fit(estimator: BaseEstimator) -> None:
    """Delete what an earlier fit left, so that one that dies does not look fitted."""
    for name in [name for name in vars(estimator) if name.endswith("_") or name in ("_names", "_features")]:
        delattr(estimator, name)


def set_all(estimator: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(estimator, name, value)


def columns_in(X: Any, types: Types) -> dict[str, Any]:
    """The attributes by which scikit-learn remembers the columns of a table."""
    if kind_of(X).in_memory:
        if types.others:
            X = kind_of(X).take(X, list(types.columns), None)[0]
        seen = BaseEstimator()
        validate_data(seen, X, reset=True, skip_check_array=True)
        return vars(seen)
    return {"feature_names_in_": np.array(list(types.columns), np.object_), "n_features_in_": len(types.columns)}


@dataclass(frozen=True)
class Known:
    """What is known of a table before a record is looked at. `schema` is all, if nothing has to be found out."""

    inputs: Inputs
    types: Types
    columns: dict[str, Any]  # as scikit-learn remembers them
    public: Public
    schema: Schema | None

    def completed(self, schema: Schema) -> Schema:
        """A schema with what the formula makes of its columns, and the filter's words."""
        where, formula = self.inputs.where, self.inputs.formula
        schema = replace(schema, where="" if where is None else where.text)
        return schema if formula is None else schema.with_formula(formula)

    @property
    def target(self) -> str | None:
        """What the target is called, if it has a name."""
        return self.inputs.target or self.types.target

    @property
    def reads(self) -> bool:
        return self.schema is None

    @property
    def finds(self) -> bool:
        """Whether there are levels to find, which costs a part of δ."""
        return self.reads and bool(self.public.to_find)


def look_at(inputs: Inputs, estimator: Any) -> Known:
    """Looks at names and types, at what was declared, and at no record."""
    formula = inputs.formula
    with isolated():
        types = usable_types(inputs)
    public, schema = settle_for(types, estimator, formula)
    columns = {} if formula is not None else columns_in(inputs.X, types)
    return Known(inputs, types, columns | inputs.remembered, public, schema)


def open_table(known: Known, estimator: Any) -> Source:
    """The records. What is wrong with lengths shows here, before anything is spent."""
    inputs = known.inputs
    options = OpenOptions(estimator.n_jobs, inputs.groups, estimator.progress, inputs.where)
    with isolated():
        return kind_of(inputs.X).open(inputs.X, inputs.y, known.types, options)


def settle_for(types: Types, estimator: Any, formula: Formula | None) -> tuple[Public, Schema | None]:
    """What is known of the columns, and the schema if nothing has to be found out."""
    public = settle(types, estimator.categories, estimator.ranges, estimator.missing, formula)
    if estimator.schema is not None:
        schema = _given(estimator.schema, types, estimator)
        return public, schema if formula is None else as_used(schema, formula)
    return public, None if estimator._has_to_read(public) else public.schema


def _given(schema: Any, types: Types, estimator: Any) -> Schema:
    """The schema of an earlier release, for the columns of this table."""
    if not isinstance(schema, Schema):
        raise ValueError(f"schema must be a privreg.Schema, got {type(schema).__name__}")
    if estimator.categories is not None or estimator.ranges is not None:
        raise ValueError("schema has levels and ranges of its own; leave categories and ranges out")
    if estimator.missing == "fill" and not schema.fill:
        raise ValueError("filling missing values in needs a schema that was read with missing=fill: it has the values")
    known = {column.name: column.mark for column in schema}
    mark = known.get(types.target or "", schema.target_mark)
    return replace(schema.choose(list(types.columns)), fill=estimator.missing == "fill", target_mark=mark)


def _undone(tree: tuple[Any, ...], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values_of(tree, Records(values.size, lambda _: Raw(NUMBER, values), lambda _: values))


class TableEstimator(BaseEstimator):
    """A scikit-learn estimator that remembers the feature columns it was fitted on.

    Columns are counted after categories have been spread into one column per level.
    """

    schema_: Schema
    _names: list[str]
    _features: list[Feature]  # what these names stand for: one for each level, and for each column that is left out

    def _remember(self, schema: Schema) -> None:
        """What a fit was made on; set last."""
        self.schema_, self._features = schema, schema.rows
        self._names = [feature.name for feature in self._features]

    @property
    def _used(self) -> list[int]:
        """The places of the features that there are values for."""
        return [feature.row for feature in self.schema_.features]

    def _table(self, X: Any) -> Table:
        """A new table, with the columns of the one this was fitted on: by name, or by place if X is an array."""
        check_is_fitted(self)
        if not hasattr(type(X), "columns"):
            self._check_numbers()
        with isolated():
            X = self._own_columns(rows_as_array(X))
            read_frame(X)  # what is no table is refused by its shape
        validate_data(self, X, reset=False, skip_check_array=True)  # warns, as scikit-learn does, if X has no names
        with isolated():
            return read_table(X, self.schema_)

    def _own_columns(self, X: Any) -> Any:
        """The table without what the model does not need, if it was fitted by names: its target may be there."""
        target, names = getattr(self, "target_name_", None), kind_of(X).names(X)
        if self.schema_.formula is None and (names is None or target not in names):
            return X
        for name in self.schema_.inputs:
            if name not in (names or ()):
                raise SchemaError(f"X has no column {name!r}, which the model was fitted on")
        return kind_of(X).take(X, self.schema_.inputs, None)[0]

    def _check_numbers(self) -> None:
        """Raise ValueError if a column was a category: an array cannot stand for that."""
        for column in self.schema_:
            if column.has_levels and not column.left_out:
                raise ValueError(
                    f"column {column.name!r} of the table this was fitted on is a category: pass a data frame, not an "
                    "array"
                )

    def _tables(self, X: Any) -> Iterator[Table]:
        """The same of a table of any size, part by part."""
        if kind_of(X).in_memory:
            yield self._table(X)
            return
        check_is_fitted(self)
        yield from kind_of(X).tables(X, self.schema_)

    def _over(self, X: Any, predict: Callable[[Table], NDArray[np.float64]], inverse: bool) -> Any:
        """What `predict` gives for a table of any size. Of a Dask data frame a series, computed where its rows are."""
        undo = self._inverse() if inverse else None
        if kind_of(X).lazy:
            return kind_of(X).map(X, partial(self.predict, inverse=inverse))
        found = []
        for table in self._tables(X):
            with isolated():
                values = predict(table)
                found.append(values if undo is None else undo(values))
        return np.concatenate(found)

    def _inverse(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """What undoes the function of the target."""
        check_is_fitted(self)
        formula = self.schema_.formula
        tree = None if formula is None else inverse_of(formula.target)
        if tree is None:
            what = "this model's has none" if formula is None else f"it cannot undo {formula.target.text}"
            raise ValueError(f"inverse undoes the function of a target, such as log(pay); {what}")
        return partial(_undone, tree)

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


class PrivateEstimator(Budgeted, TableEstimator):
    """An estimator that sees its data through an `Account` only, and keeps the receipt in `receipt_`."""

    receipt_: Receipt
    warnings_: list[str]
    ledger_entry_: int | None

    def fit(
        self, X: Any, y: Any = None, groups: Any = None, *, formula: str | None = None, where: str | None = None
    ) -> Self:
        """Learn from X and y. Spends the budget.

        `y` is the target, or the name of its column in X. Instead, a `formula` has the target and the terms of the
        model, as in R and statsmodels: "log(pay) ~ age + I(age**2) + C(region) + sex:educ".

        `groups` names the person whom each record belongs to: the guarantee is then for adding or removing a whole
        person, of whose records `rows_per_person` are kept, chosen at random. A record without a person is left out.

        `where` is a condition that records must meet to be used: "age >= 18 and region != 'X'".
        """
        self._warn_if_weak()
        self._fit(read_inputs(X, y, groups, formula, where))
        self._tell()
        return self

    def _fit(self, inputs: Inputs) -> None:
        people, budget = inputs.groups is not None, self._checked_budget(inputs.groups is not None)
        noise, known = self._noise(), self._look_at(inputs)
        self._check_plan(budget, known.public, known.schema, self._rows(people))
        self._ask(known)
        source = open_table(known, self)
        spending = Spending(budget, noise, self._rows(people), self.progress)
        with isolated(), self._entered(known) as entry:
            forget_fit(self)
            set_all(self, known.columns)
            self.ledger_entry_ = entry.number
            try:
                self._carry_out(spending, source, known, people)
            finally:
                self.receipt_ = spending.receipt(self._unit(people))  # a fit that dies has spent
            entry.receipt = self.receipt_

    def _look_at(self, inputs: Inputs) -> Known:
        """Only a schema can be read without a target."""
        if inputs.y is None and inputs.formula is None:
            raise SchemaError("This estimator requires y to be passed, but the target y is None")
        return look_at(inputs, self)

    def check(
        self, X: Any, y: Any = None, groups: Any = None, *, formula: str | None = None, where: str | None = None
    ) -> Check:
        """What `fit` would do: its columns, as far as types and declarations tell, what it would cost and leave.

        Looks at no record, spends nothing and sets nothing. Raises what `fit` would raise before it spends.
        """
        inputs = read_inputs(X, y, groups, formula, where)
        people, budget = inputs.groups is not None, self._checked_budget(inputs.groups is not None)
        known = self._look_at(inputs)
        self._check_plan(budget, known.public, known.schema, self._rows(people))
        ledger = None
        if self.ledger is not None:
            ledger = outlook(self.ledger, str(self.dataset), self._request(known))
        return Check(
            type(self).__name__,
            known.target or "y",
            kinds_of(known.public, known.schema),
            float(self.epsilon),
            float(self.delta),
            self._unit(people),
            known.reads,
            self._reading_epsilon(budget) if known.reads else None,
            ledger,
            None if inputs.formula is None else inputs.formula.text,
            None if inputs.where is None else inputs.where.text,
            known.public.notes,
        )

    def _reading_epsilon(self, budget: Budget) -> float | None:
        """The fixed part of ε that goes to reading; None if it is not fixed."""
        return reading_budget(budget)[0].epsilon

    def _carry_out(self, spending: Spending, source: Source, known: Known, people: bool) -> None:
        """Read the table, make a plan for the columns that there are, and learn by it."""
        schema = known.completed(known.schema or spending.read(source, known.public, people))
        engine = spending.records(source, schema, people)
        self.warnings_ = [*schema.warnings, *left_out_notes(schema)]
        account = spending.plan(lambda inner: self._plan(inner, len(engine)))
        self._learn(account, engine)
        self._place([feature.row for feature in engine.features], len(schema.rows))
        self._remember(schema)

    def _noise(self) -> Noise:
        return noise_for(self.random_state)

    def _checked_budget(self, people: bool) -> Budget:
        """What the fit may spend. Everything that is known without the table has been checked."""
        budget = self._budget()
        if people and self._of_a_model():
            raise ValueError(
                'calibration="paper" protects one model, so it cannot protect people; leave groups out, or use '
                'calibration="strict"'
            )
        self._check_parameters(self._inner(budget, self._rows(people)))
        effective_n_jobs(self.n_jobs)  # raises for 0, before anything is spent
        return budget

    def _inner(self, budget: Budget, rows: int) -> Budget:
        """The budget for each record, if the unit may have several."""
        return for_each_record(budget, rows)

    def _has_to_read(self, public: Public) -> bool:
        """Whether a part of the budget is needed to find out about the columns. Public."""
        return bool(public.to_find or public.unread_numbers) or public.fill

    def _check_plan(self, budget: Budget, public: Public, schema: Schema | None, rows: int) -> None:
        """Raise, before anything is spent, if no plan would fit. How many columns are left is not known yet."""
        if schema is None and budget.delta == 0:
            names = listed(public.to_find) if public.to_find else "the columns"
            raise ValueError(
                f"delta must be positive to find out what is in {names}; or declare levels, or pass a schema"
            )
        _, rest = reading_budget(budget) if schema is None else (None, budget)
        self._plan(for_each_record(rest, rows), len(public.columns))

    def _tell(self) -> None:
        """Warn of what was released, when the fit is complete: a caller may have made warnings errors."""

    def _check_parameters(self, budget: Budget) -> None:
        """Raise ValueError, naming the parameter, for those that only this estimator has. For each record."""

    def _plan(self, budget: Budget, columns: int) -> list[Event]:
        """The releases that `_learn` will make: public, decided before the records are looked at."""
        raise NotImplementedError

    @abstractmethod
    def _learn(self, account: Any, engine: Engine) -> None:
        """Make the releases and set the fitted attributes, one for each feature of the engine."""

    @abstractmethod
    def _place(self, rows: list[int], count: int) -> None:
        """Make the attributes have one entry for each of `count` rows: the features have these places among them."""
