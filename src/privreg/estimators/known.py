"""What is known of a table before a record is looked at: its types, what was declared, and what a formula says."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from privreg._isolation import isolated
from privreg.data.formula import Formula
from privreg.data.schema import Schema
from privreg.engines.base import OpenOptions, Source, Types
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError
from privreg.estimators.inputs import Inputs, usable_types, with_public_rows
from privreg.estimators.settled import Public, as_used, settle
from privreg.privacy.origin import UNKNOWN, Origin
from privreg.privacy.receipt import unit_words


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

    def loaded(self) -> "Known":
        """With public rows in memory, if there are any. What is wrong with their file shows here."""
        if self.inputs.public is None:
            return self
        schema = None if self.schema is None else self.completed(self.schema)
        public = self.inputs.public.loaded(self.inputs.where, schema)
        return replace(self, inputs=replace(self.inputs, public=public))

    @property
    def reads(self) -> bool:
        return self.schema is None

    @property
    def private(self) -> bool:
        """Whether what an earlier release told may be shown: not if its noise came from a seed."""
        return self.schema is None or self.schema.origin is None or self.schema.origin.private

    @property
    def finds(self) -> bool:
        """Whether there are levels to find, which costs a part of δ."""
        return self.reads and bool(self.public.to_find)


def look_at(inputs: Inputs, estimator: Any) -> Known:
    """Looks at names and types, at what was declared, and at no record."""
    formula = inputs.formula
    with isolated():
        types = usable_types(inputs)
        inputs = with_public_rows(inputs, types)
    public, schema = settle_for(types, estimator, formula)
    if schema is not None and schema.origin is not None:
        _check_origin(schema.origin, estimator, inputs.groups is not None)
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
        raise ValueError("the schema has its own levels and ranges; do not pass categories or ranges as well")
    if estimator.missing == "fill" and not schema.fill:
        raise ValueError(
            'missing="fill" needs a schema that was read with missing="fill", which has the values to fill in'
        )
    known = {column.name: column.mark for column in schema}
    mark = known.get(types.target or "", schema.target_mark)
    chosen = schema.choose(list(types.columns))
    return replace(chosen, fill=estimator.missing == "fill", target_mark=mark, origin=_earlier(schema))


def _earlier(schema: Schema) -> Origin | None:
    """The release that a given schema comes from; None if it was declared."""
    if schema.origin is None:
        return UNKNOWN if schema.released else None
    return replace(schema.origin, earlier=True)


def _check_origin(origin: Origin, estimator: Any, people: bool) -> None:
    """Raise if a fit would promise more than holds for the schema that its results show."""
    if estimator.ledger is not None and not origin.private:
        raise ValueError(
            "the schema was read with random_state, so a fit with it is not private and cannot be entered into a "
            "ledger; read it again with random_state=None"
        )
    rows = estimator._rows(people)
    if people and not origin.protects_people(rows):
        raise SchemaError(
            f"the schema protects {origin.unit or 'an unknown unit'}, but this fit would protect "
            f"{unit_words(people, rows)}; read the schema again with groups (--person) and rows_per_person={rows}, or "
            "fit without it"
        )
