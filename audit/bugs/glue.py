"""Bugs that the glue around the mechanisms once had: identifiers, partitions, lists, settings, progress, odd lines."""

from typing import Any

import numpy as np

from audit.bugs.bug import FLAGSHIP, NOT_ISOLATED, Bug, changing
from privreg.cli.stage_names import StageNames
from privreg.data import identities, tables, text_file
from privreg.engines.dask import engine as dask_engine
from privreg.engines.dask import opening as dask_opening
from privreg.engines.memory import FilesInMemory
from privreg.engines.streamed import StreamedEngine
from privreg.errors import SchemaError
from privreg.estimators import budgeted, inputs
from privreg.privacy.ledger.request import unit_of


def _by_python_equality(values: Any) -> Any:
    known: dict[Any, int] = {}

    def number(value: Any) -> int:
        try:
            return -1 if value is None or value != value else known.setdefault(value, len(known))
        except Exception:
            return -1

    return np.asarray(np.frompyfunc(number, 1, 1)(values), np.int64)


def _times_as_objects(series: Any) -> Any:
    return identities.numbered(np.fromiter(series.to_list(), np.object_, len(series)))


def _as_the_partition_has_it(frame: Any, kinds: Any) -> Any:
    del kinds
    return frame


def _as_dask_has_it(frame: Any) -> Any:
    return frame


def _rectangular(data: Any) -> Any:
    if not isinstance(data, list | tuple):
        return data
    try:
        return np.array(data, float)
    except (ValueError, TypeError):
        raise SchemaError("X is not a rectangular table of numbers") from None


def _in_percent(self: Any, X: Any, y: Any, types: Any, options: Any) -> Any:
    """As a part of the bytes that have been read."""
    size = X.path.stat().st_size
    options.progress(f"reading the file: {min(4000 / size, 1):.4%}")
    return _open(self, X, y, types, options)


_open = FilesInMemory.open


def _as_told(self: Any, name: str) -> None:
    """A command that shows whatever it is told, not only the stages that it knows."""
    self._show(name)


def _each_part(self: Any, what: str, task: Any, columns: Any, *given: Any) -> Any:
    def one(part: Any, kept: Any, *more: Any) -> Any:
        self.tell(f"{what}: {sum(self._counts[: self._parts.index(part) + 1])}")
        return task(part, kept, *more)

    return _sum(self, what, one, columns, *given)


_sum = StreamedEngine._sum


class _Remembered:
    """The unit of the first fit that named its people."""

    def __init__(self) -> None:
        self.name: str | None = None

    def __call__(self, people: bool, column: Any) -> str:
        self.name = self.name or column
        return unit_of(people, self.name)


def _refuse_odd_lines(self: Any, block: Any, columns: Any) -> Any:
    table = _cells(self, block, columns)
    if any(table.column(name).null_count == table.num_rows > 0 for name in columns):
        raise SchemaError("most of the rows do not have as many fields as the header")
    return table


_cells = text_file.TextFile._cells


BUGS = {
    "ids by equality": Bug(
        "people told apart by Python's equality, which one float can make of many integers one person",
        changing((identities, "numbered", _by_python_equality)),
        "PrivateLinearRegression, odd people",
        "statistics",
    ),
    "times as objects": Bug(
        "identifiers that are points in time made Python objects, which not all can be",
        changing((identities, "_times", _times_as_objects)),
        "PrivateLinearRegression, people by time",
        "messages",
    ),
    "partitions as they are": Bug(
        "the type that a partition happens to have decides how its cells are read",
        changing((dask_engine, "as_declared", _as_the_partition_has_it)),
        "PrivateLinearRegression, Dask",
        "messages",
    ),
    "objects made text": Bug(
        "objects of a Dask frame made text by Dask, which some cannot be",
        changing((dask_opening, "unconverted", _as_dask_has_it)),
        "PrivateLinearRegression, Dask",
        "messages",
    ),
    "a ragged list": Bug(
        "a list with a row of another length refused",
        changing((tables, "rows_as_array", _rectangular), (inputs, "rows_as_array", _rectangular)),
        "PrivateLinearRegression, lists",
        "messages",
    ),
    "the caller's settings": Bug(
        "a fit under the error state of numpy that its caller has set", changing(*NOT_ISOLATED), FLAGSHIP, "messages"
    ),
    "per cent of the bytes": Bug(
        "how much of a file has been read, by its bytes",
        changing((FilesInMemory, "open", _in_percent), (StageNames, "__call__", _as_told)),
        "privreg fit",
        "release",
    ),
    "parts told": Bug(
        "the records that have been read told after each part",
        changing((StreamedEngine, "_sum", _each_part)),
        "PrivateLinearRegression, Parquet",
        "release",
    ),
    "an old unit": Bug(
        "the name of the people of an earlier fit kept for the next",
        changing((budgeted, "unit_of", _Remembered())),
        "DPKendall, all columns",
        "unit",
    ),
    "odd lines refused": Bug(
        "a file refused because all its lines are odd",
        changing((text_file.TextFile, "_cells", _refuse_odd_lines)),
        "privreg fit, odd lines",
        "messages",
    ),
}
