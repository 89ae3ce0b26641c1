"""What engines have in common whose tables come in parts, be they read by threads here or by workers of a cluster."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from privreg._types import Int64
from privreg.engines import parts as on_part
from privreg.engines.base import Block, Engine, Tasks, features_of
from privreg.engines.layout import Layout
from privreg.engines.parts import Complete, Kept
from privreg.errors import SchemaError
from privreg.kernels.ranks import MAX_RECORDS

T = TypeVar("T")
Task = Callable[..., Any]  # called with a part, which of its rows are kept, and what else is given


class PartsEngine(Engine):
    """The complete records of a table in parts, and how many each has.

    A subclass brings tasks to the parts. What comes of a task may be a promise of its result (a Dask future), which
    `_results` waits for.
    """

    def __init__(
        self,
        parts: int,
        layout: Layout,
        number_rows: Callable[[Any], Any],
        progress: Callable[[str], None] | None,
    ) -> None:
        self.features, self.sources = list(layout.features), [str(name) for name in layout.sources]
        self.undeclared, self.progress = list(layout.undeclared), progress
        self._number_rows = number_rows  # by a column, so that rows with equal values have the same number
        self._found: list[Any] = [None] * parts  # which rows of each part are records: `Complete`
        self._remember(self._each("reading the columns", on_part.complete, range(len(self)), len(self)))
        if sum(self._rows) > MAX_RECORDS:
            raise SchemaError(f"tables of more than {MAX_RECORDS} rows are not supported")

    @abstractmethod
    def _each(self, what: str, task: Task, columns: Sequence[int], *given: Any, own: Any = None) -> list[Any]:
        """task(part, kept, *given) for each part, in their order; `own` has one more argument for each."""

    @abstractmethod
    def _sum(self, what: str, task: Task, columns: Sequence[int], *given: Any) -> Any:
        """The sum of the same."""

    @abstractmethod
    def _call(self, function: Callable[..., Any], *given: Any) -> Any:
        """function(*given), where what is given may come of a task."""

    @abstractmethod
    def _results(self, found: list[Any]) -> list[Any]:
        """What came of tasks."""

    def _remember(self, found: list[Any]) -> None:
        sizes = self._results([self._call(_sizes, one) for one in found])
        self._rows, self._counts = [rows for rows, _ in sizes], [records for _, records in sizes]
        self._found = found

    @property
    def n_records(self) -> int:  # type: ignore[override]
        return sum(self._counts)

    def _by_part(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Of a value for each record, those of each part."""
        return np.split(values, np.cumsum(self._counts)[:-1])

    def totals(self, tasks: Tasks) -> list[Any]:
        return list(self._sum("reading columns", on_part.totals, features_of(tasks), list(tasks)))

    def total(self, task: Callable[[Block], T], columns: Sequence[int]) -> T:
        found: T = self._sum("reading rows", on_part.total, columns, task, list(columns))
        return found

    def subset(self, index: Int64) -> Self:
        chosen = np.zeros(self.n_records, bool)
        chosen[index] = True
        mine = zip(self._found, self._by_part(chosen), strict=True)
        subset = copy(self)
        subset._remember([self._call(_subset, found, part) for found, part in mine])
        return subset

    def identities(self, groups: Any) -> Int64:
        kept = [self._call(_kept, found) for found in self._found]
        numbers, *masks = self._results([self._number_rows(groups), *kept])
        return on_part.of_records(numbers, self._rows, masks)


def _sizes(found: Complete) -> tuple[int, int]:
    return found.rows, found.records


def _kept(found: Complete) -> Kept:
    return found.kept


def _subset(found: Complete, chosen: NDArray[np.bool_]) -> Complete:
    return Complete(found.rows, int(chosen.sum()), on_part.kept_of(found.kept, found.rows, chosen), found.print)
