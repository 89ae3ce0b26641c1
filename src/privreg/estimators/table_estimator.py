"""An estimator that remembers the columns of its table, and finds them again in new ones."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from privreg._isolation import isolated
from privreg.data.evaluate import Records, values_of
from privreg.data.features import Feature
from privreg.data.formula import inverse_of
from privreg.data.raw import Raw
from privreg.data.schema import NUMBER, Schema
from privreg.data.tables import Table, read_frame, read_table, rows_as_array
from privreg.engines.registry import kind_of
from privreg.errors import SchemaError


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
                    f"column {column.name!r} of the fitted table is a category; pass a data frame, not an array"
                )

    def _tables(self, X: Any) -> Iterator[Table]:
        """The same of a table of any size, part by part."""
        if kind_of(X).in_memory:
            yield self._table(X)
            return
        check_is_fitted(self)
        yield from kind_of(X).tables(X, self.schema_)

    def _over(
        self,
        X: Any,
        predict: Callable[[Table], NDArray[np.float64]],
        inverse: bool,
        columns: Sequence[str] = ("prediction",),
        **told: Any,
    ) -> Any:
        """What `predict` gives for a table of any size: an array, or one with several `columns`.

        Of a Dask data frame a series, or a frame, that calls the public `predict` with what it was told.
        """
        undo = self._inverse() if inverse else None
        if kind_of(X).lazy:
            return kind_of(X).map(X, partial(self.predict, inverse=inverse, **told), columns)
        found = []
        for table in self._tables(X):
            with isolated():
                values = predict(table)
                found.append(values if undo is None else undo(values.ravel()).reshape(values.shape))
        return np.concatenate(found)

    def _inverse(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """What undoes the function of the target."""
        check_is_fitted(self)
        formula = self.schema_.formula
        tree = None if formula is None else inverse_of(formula.target)
        if tree is None:
            what = "this model's target has none" if formula is None else f"it cannot undo {formula.target.text}"
            raise ValueError(f"inverse undoes a function of the target, such as log(pay); {what}")
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


def _undone(tree: tuple[Any, ...], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values_of(tree, Records(values.size, lambda _: Raw(NUMBER, values), lambda _: values))
