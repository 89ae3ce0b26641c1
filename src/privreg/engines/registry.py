"""Which engine a table gets. Nobody else looks at the type of a table: ask `kind_of`.

To add a kind of table, write its `Kind` into a file of its own and add a line to `KINDS`. A kind is recognised by the
name of the table's type, so that arrow or Dask is loaded only if the table is theirs.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from privreg.data.tables import Categories
from privreg.engines.base import Engine, Kind, OpenOptions


class Entry(NamedTuple):
    """How tables of a kind are recognised, and where the kind is defined."""

    handles: Callable[[Any], bool]
    home: str  # "module:class"


def _is_a(name: str, X: Any) -> bool:
    return any(f"{kind.__module__}.{kind.__qualname__}" == name for kind in type(X).__mro__)


def is_dask(X: Any) -> bool:
    """Whether this is a Dask data frame or series."""
    return type(X).__module__.startswith("dask.dataframe") and hasattr(X, "npartitions")


KINDS = [  # the first that handles a table
    Entry(partial(_is_a, "privreg.data.parquet.ParquetTable"), "privreg.engines.parquet:ParquetFiles"),
    Entry(is_dask, "privreg.engines.dask.opening:DaskFrames"),
    Entry(partial(_is_a, "privreg.engines.dask.opening.OnCluster"), "privreg.engines.dask.opening:ClusterFiles"),
    Entry(lambda _: True, "privreg.engines.memory:InMemory"),
]


def kind_of(X: Any) -> Kind:
    """The kind of a table."""
    module, name = next(entry.home for entry in KINDS if entry.handles(X)).split(":")
    found: Kind = getattr(import_module(module), name)()
    return found


def open_engine(X: Any, y: Any, categories: Categories | None, n_jobs: int | None, **more: Any) -> Engine:
    """The complete records of a table and its target. `more` are other fields of `OpenOptions`."""
    return kind_of(X).open(X, y, OpenOptions(categories, n_jobs, **more))
