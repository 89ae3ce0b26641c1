"""Which engine a table gets. Nobody else looks at the type of a table: ask `kind_of`.

To add a kind of table, write its `Kind` into a file of its own and add a line to `KINDS`. A kind is recognised by the
name of the table's type, so that arrow or Dask is loaded only if the table is theirs.
"""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Any

from privreg.engines.base import Kind, OpenOptions, Source, Types


def _is_a(name: str, X: Any) -> bool:
    return any(f"{kind.__module__}.{kind.__qualname__}" == name for kind in type(X).__mro__)


def is_dask(X: Any) -> bool:
    """Whether this is a Dask data frame or series."""
    return type(X).__module__.startswith("dask.dataframe") and hasattr(X, "npartitions")


KINDS: list[tuple[Callable[[Any], bool], str]] = [  # who handles a table, the first that does, and where it is defined
    (partial(_is_a, "privreg.data.parquet.ParquetTable"), "privreg.engines.parquet:ParquetFiles"),
    (is_dask, "privreg.engines.dask.opening:DaskFrames"),
    (partial(_is_a, "privreg.engines.dask.opening.OnCluster"), "privreg.engines.dask.opening:ClusterFiles"),
    (partial(_is_a, "privreg.data.base.DataFile"), "privreg.engines.memory:FilesInMemory"),
    (lambda _: True, "privreg.engines.memory:InMemory"),
]


def kind_of(X: Any) -> Kind:
    """The kind of a table."""
    found: Kind = resolve_name(next(home for handles, home in KINDS if handles(X)))()
    return found


def open_source(X: Any, y: Any, options: OpenOptions) -> tuple[Types, Source]:
    """A table and its target, before anything is known about the records."""
    kind = kind_of(X)
    types = kind.types(X, y, options.groups)
    return types, kind.open(X, y, types, options)
