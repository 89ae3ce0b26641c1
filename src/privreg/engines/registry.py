"""From what a user passes to `fit` to records."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from privreg.data.tables import Categories, read_table, read_target
from privreg.engines.base import Engine
from privreg.engines.memory import MemoryEngine
from privreg.errors import SchemaError

if TYPE_CHECKING:
    from privreg.data.parquet import ParquetTable
    from privreg.engines.layout import Layout


def open_engine(
    X: Any,
    y: Any,
    categories: Categories | None,
    n_jobs: int | None,
    *,
    groups: Any = None,
    watch: Callable[[str], None] | None = None,
    only: Sequence[int] | None = None,
) -> Engine:
    """The complete records of a table and its target, perhaps with some of the features only."""
    if is_parquet(X):
        return _streamed(X, parquet_layout(X, y, categories, groups), n_jobs, watch, only)
    if is_dask(X):
        from privreg.engines.dask.opening import open_frame

        return open_frame(X, y, categories, groups, watch, only)
    if is_on_cluster(X):
        from privreg.engines.dask.opening import open_files

        return open_files(X, parquet_layout(X.table, y, categories, groups), watch, only)
    table = read_table(X, categories)
    return MemoryEngine(table, read_target(y), n_jobs)


def is_parquet(X: Any) -> bool:
    """Whether this is a `ParquetTable`. If its module was not loaded, it is not."""
    module = sys.modules.get("privreg.data.parquet")
    return module is not None and isinstance(X, module.ParquetTable)


def is_dask(X: Any) -> bool:
    """Whether this is a Dask data frame or series."""
    return type(X).__module__.startswith("dask.dataframe") and hasattr(X, "npartitions")


def map_partitions(predict: Callable[[Any], Any], X: Any) -> Any:
    """The predictions for a Dask data frame, as a series with its partitions."""
    from privreg.engines.dask.declared import as_declared, unconverted

    X = unconverted(X)
    kinds = X._meta.dtypes.to_dict()

    def part(frame: Any) -> Any:
        return frame.iloc[:, :0].assign(prediction=predict(as_declared(frame, kinds)))["prediction"]

    return X.map_partitions(part, meta=("prediction", "f8"))


def is_on_cluster(X: Any) -> bool:
    """Whether these are files that workers of a cluster are to read."""
    module = sys.modules.get("privreg.engines.dask.opening")
    return module is not None and isinstance(X, module.OnCluster)


def is_elsewhere(X: Any) -> bool:
    """Whether the table is not in memory, so that its columns are called by name."""
    return is_parquet(X) or is_dask(X) or is_on_cluster(X)


def parquet_layout(table: "ParquetTable", target: Any, categories: Categories | None, groups: Any = None) -> "Layout":
    """Every column is a feature that is neither the target nor names people."""
    from privreg.engines.layout import make_layout

    for name, what in ((target, "y"), (groups, "groups")):
        if (name is not None or what == "y") and not (isinstance(name, str) and name in table.columns):
            raise SchemaError(f"{what} must be the name of a column of {table!r}")
    features = [name for name in table.columns if name not in (target, groups)]
    if not features:
        raise SchemaError(f"{table!r} has no feature columns")
    levels = parquet_levels(table, features, categories)
    layout = make_layout(table.no_rows([*features, target], levels), features, target, levels)
    found = table.undeclared([name for name in features if name not in (categories or {})])
    return replace(layout, undeclared=tuple(found))


def parquet_levels(
    table: "ParquetTable", features: Sequence[str], categories: Categories | None
) -> dict[str, list[Any]]:
    """Levels as declared, or by the files themselves."""
    levels = {name: list(given) for name, given in (categories or {}).items()}
    for name in levels:
        if name not in features:
            raise SchemaError(f"categories were declared for {name!r}, but the table has no such feature")
    for name in features:
        if table.columns[name] == "category" and name not in levels:
            try:
                levels[name] = table.levels(name)
            except SchemaError:
                raise SchemaError(
                    f"column {name!r} has no dictionary that all row groups of {table!r} have in common; "
                    f"declare its levels with categories={{{name!r}: [...]}}"
                ) from None
    return levels


def _streamed(
    table: "ParquetTable",
    layout: "Layout",
    n_jobs: int | None,
    watch: Callable[[str], None] | None,
    only: Sequence[int] | None,
) -> Engine:
    from privreg.engines.layout import parquet_identities, parquet_parts
    from privreg.engines.streamed import StreamedEngine

    layout = layout if only is None else layout.only(only)
    parts = parquet_parts(table, layout)
    return StreamedEngine(parts, layout, partial(parquet_identities, table), n_jobs, watch)
