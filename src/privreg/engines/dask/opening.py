"""From a Dask data frame, or files and the address of a cluster, to records."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from logging import CRITICAL
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from dask import delayed
from distributed import Client, Future, default_client

from privreg.data.parquet import ParquetTable
from privreg.data.raw import type_of
from privreg.data.tables import read_identities, read_target
from privreg.engines.base import Kind, OpenOptions, Types, file_types
from privreg.engines.dask.declared import as_declared, identities, unconverted
from privreg.engines.dask.engine import DaskFiles, DaskPartitions
from privreg.engines.parquet import ParquetFiles, file_parts, parquet_identities
from privreg.engines.parts import Layout, standing_in
from privreg.engines.registry import is_dask
from privreg.errors import ClusterError, SchemaError

# A cluster of our own talks to this machine only, and does not warn about memory, which would tell of the table's size.
_QUIET: dict[str, Any] = {
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
    "silence_logs": CRITICAL,
}
_PATIENCE = 10  # seconds for a scheduler to answer


@dataclass(frozen=True)
class OnCluster:
    """A table in files that is to be read by the workers of a cluster."""

    table: ParquetTable
    client: Client


@contextmanager
def cluster(scheduler: str | None, workers: int) -> Iterator[Client]:
    """A client of the scheduler at this address, or of so many worker processes on this machine."""
    options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", **_QUIET}
    if scheduler is not None:
        if not re.fullmatch(r"(\w+://)?[^/\s]+:\d+", scheduler):
            raise ValueError(f"--scheduler: {scheduler!r} is not an address like tcp://host:8786")
        options = {"address": scheduler, "timeout": _PATIENCE}
    try:
        client = Client(set_as_default=False, **options)
    except Exception as error:  # of the network, the address, or settings of TLS
        raise ClusterError(f"no Dask scheduler answers at {scheduler or 'this machine'}") from error
    with client:
        yield client


class DaskFrames(Kind):
    """A Dask data frame, on the cluster that this process is connected to, or on threads of its own."""

    lazy = True

    def names(self, X: Any) -> list[str]:
        _check_names(X)
        return list(X.columns)

    def take(self, X: Any, columns: Sequence[str], groups: Any) -> tuple[Any, Any]:
        if isinstance(groups, str) and groups not in X.columns:
            raise SchemaError(f"groups must be the name of a column of X; it has no column {groups!r}")
        return X[[*columns, *([groups] if isinstance(groups, str) and groups not in columns else [])]], groups

    def types(self, X: Any, y: Any, groups: Any) -> Types:
        frame, target, people = _joined(X, y, groups)
        names = [name for name in frame.columns if name not in (target, people)]
        if not names:
            raise SchemaError("the data frame has no feature columns")
        if people is not None:
            read_identities(frame._meta[people])  # raises for a type that cannot tell people apart
        if target is not None:
            read_target(frame._meta[target])  # raises for one that is not numeric
        types = {name: type_of(nw.from_native(frame._meta[name], series_only=True)) for name in frame.columns}
        return Types(types, partial(_known_levels, frame._meta.dtypes.to_dict()), target).offering(names)

    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> DaskPartitions:
        frame, _, groups = _joined(X, y, options.groups)
        layout = Layout(types.all, standing_in(types))
        try:
            client = default_client()
        except ValueError:
            client = _own_threads(os.getpid())

        def number_rows() -> Future:
            column, kind = frame[[groups]].to_delayed(), frame._meta.dtypes[groups]
            return client.compute(delayed(identities, pure=False)(column, kind))

        return DaskPartitions(client, frame, layout, number_rows, options)

    def load(self, X: Any) -> Any:
        return unconverted(X).compute()

    def map(self, X: Any, predict: Callable[[Any], Any], columns: Sequence[str]) -> Any:
        """The predictions, with the partitions of the frame: a series, or a frame of several columns."""
        X = unconverted(X)
        kinds = X._meta.dtypes.to_dict()

        def part(frame: Any) -> Any:
            values = np.asarray(predict(as_declared(frame, kinds))).reshape(len(frame), len(columns))
            found = frame.iloc[:, :0].assign(**dict(zip(columns, values.T, strict=True)))
            return found if len(columns) > 1 else found[columns[0]]

        meta = dict.fromkeys(columns, "f8")
        return X.map_partitions(part, meta=meta if len(columns) > 1 else (columns[0], "f8"))


class ClusterFiles(Kind):
    """Parquet files that all workers can read at the same place: `OnCluster`."""

    def names(self, X: Any) -> list[str]:
        return list(X.table.columns)

    def take(self, X: Any, columns: Sequence[str], groups: Any) -> tuple[Any, Any]:
        table, groups = ParquetFiles().take(X.table, columns, groups)
        return replace(X, table=table), groups

    def places(self, X: Any) -> list[Path]:
        return X.table.places

    def load(self, X: Any) -> Any:
        return ParquetFiles().load(X.table)

    def types(self, X: Any, y: Any, groups: Any) -> Types:
        return file_types(X.table, y, groups)

    def open(self, X: Any, y: Any, types: Types, options: OpenOptions) -> DaskFiles:
        del y
        layout = Layout(types.all, standing_in(types))
        number_rows = partial(X.client.submit, parquet_identities, X.table, options.groups, pure=False)
        return DaskFiles(X.client, partial(file_parts, X.table), layout, number_rows, options)


def _known_levels(kinds: dict[str, Any], column: str) -> list[Any] | None:
    known = list(getattr(kinds[column], "categories", []))
    return None if not known or "__UNKNOWN_CATEGORIES__" in known else known


@cache
def _own_threads(process: int) -> Client:
    """Threads of this process, kept for the next fit; a forked process has none of its parent's."""
    del process
    return Client(processes=False, n_workers=1, set_as_default=False, **_QUIET)


def _check_names(X: Any) -> None:
    if not all(isinstance(name, str) for name in X.columns) or len(set(X.columns)) < len(X.columns):
        raise SchemaError("the columns of a Dask data frame must have names, all different")


def _joined(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    """One frame with target and people, and what these columns are called."""
    _check_names(X)
    frame, target = (unconverted(X), None) if y is None else _with_column(unconverted(X), y, "y")
    frame, people = (frame, None) if groups is None else _with_column(frame, groups, "groups")
    return frame, target, people


def _with_column(frame: Any, column: Any, what: str) -> tuple[Any, Any]:
    """The frame with the column in it, and its name."""
    if is_dask(column):
        name = f"privreg: {what}"
        try:
            return frame.assign(**{name: unconverted(column)}), name
        except ValueError as error:
            raise SchemaError(
                f"{what} and X have different partitions; make it a column of X and pass its name"
            ) from error
    if not isinstance(column, str) or column not in frame.columns:
        raise SchemaError(f"{what} must be the name of a column of X, or a Dask series with the same partitions")
    return frame, column
