"""What a fit is given: a table, a target, people, perhaps a formula and a filter; read and checked by names alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privreg.data.expressions import Expression, read_condition
from privreg.data.formula import Formula, read_formula
from privreg.data.raw import OTHER_TYPE
from privreg.data.tables import name_of, rows_as_array, without_column
from privreg.engines.base import Types
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError
from privreg.estimators.public_rows import PublicRows


@dataclass(frozen=True)
class Inputs:
    """The table has the columns that are needed. `y` is None if a formula has the target, or if there is none."""

    X: Any
    y: Any
    groups: Any
    formula: Formula | None = None
    where: Expression | None = None
    target: str | None = None  # the name of its column, or its formula, where it was given so
    offered: tuple[str, ...] | None = None  # the columns that a model may use, where the table has more for its filter
    public: PublicRows | None = None  # rows that are no secret

    @property
    def words(self) -> str:
        """What is fitted, on which records: for a ledger."""
        what = self.formula.text if self.formula is not None else self.target or ""
        return what + ("" if self.where is None else f" where {self.where.text}")

    @property
    def remembered(self) -> dict[str, Any]:
        """Attributes of a fitted estimator that follow from this alone."""
        found: dict[str, Any] = {} if self.target is None else {"target_name_": self.target}
        if self.formula is not None:
            names = self.formula.inputs
            found |= {"feature_names_in_": np.array(names, np.object_), "n_features_in_": len(names)}
        return found


def read_inputs(X: Any, y: Any = None, groups: Any = None, formula: Any = None, where: Any = None) -> Inputs:
    """Target and people may be named if they are columns of the table. A mistake is found before a record is read."""
    X, y = rows_as_array(X), without_column(y)
    kind = kind_of(X)
    names = kind.names(X)
    if names is None and not (formula is None and where is None and not isinstance(y, str)):
        raise SchemaError("X has no column names, which a formula, a filter or a named target needs; pass a data frame")
    condition = None if where is None else read_condition(where, names or ())
    if formula is not None:
        if y is not None:
            raise ValueError("the formula has the target on its left side; do not pass y as well")
        read = read_formula(formula, names or (), groups)
        X, groups = kind.take(kind.as_numbers(X, read.numbers), _with_filter(read.columns, condition), groups)
        return Inputs(X, None, groups, read, condition, read.target_name, tuple(read.columns))
    offered, named = None, None if y is None else name_of(y)
    if isinstance(y, str):
        X = kind.as_numbers(X, [y])
    if kind.in_memory and names is not None:
        for name, what in ((y, "y"), (groups, "groups")):
            if isinstance(name, str) and name not in names:
                raise SchemaError(f"{what} must be a column, or the name of a column of X; it has no column {name!r}")
        rest = [name for name in names if not any(isinstance(role, str) and name == role for role in (y, groups))]
        if len(rest) < len(names):
            if isinstance(y, str):
                y = kind.column(X, y)
            X, groups = kind.take(X, _with_filter(rest, condition), groups)
            offered = tuple(rest)
    return Inputs(X, y, groups, None, condition, None if named is None else str(named), offered)


def with_public_rows(inputs: Inputs, types: Types) -> Inputs:
    """The same with the columns of its public rows that are needed; SchemaError if one is not there."""
    if inputs.public is None:
        return inputs
    features = list(types.columns) if inputs.formula is None else inputs.formula.inputs
    needed = _with_filter(features, inputs.where)
    roles = [inputs.target, None if inputs.groups is None else name_of(inputs.groups)]
    unused = None if inputs.formula is not None else [str(name) for name in roles if name is not None]
    return replace(inputs, public=inputs.public.chosen(types, features, needed, unused))


def _with_filter(columns: Sequence[str], condition: Expression | None) -> list[str]:
    """These columns, and those that only the filter needs."""
    return list(dict.fromkeys([*columns, *(condition.columns if condition else ())]))


def usable_types(inputs: Inputs) -> Types:
    """What the types of the table say; SchemaError if the filter needs a column of a type that is of no use."""
    types = kind_of(inputs.X).types(inputs.X, inputs.y, inputs.groups)
    for name in inputs.where.columns if inputs.where is not None else ():
        if types.all[name].kind == OTHER_TYPE:
            raise SchemaError(
                f"column {name!r} is of type {types.all[name].words}, which cannot be used; convert it to numbers or "
                "text"
            )
    return types if inputs.offered is None else types.offering(inputs.offered)
