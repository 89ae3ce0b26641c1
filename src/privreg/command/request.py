"""A request to fit or select: checked, entered in the ledger, and carried out on a file."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from joblib import cpu_count

from privreg.base import PrivateEstimator
from privreg.columns import Columns, choose_columns, read_levels
from privreg.files import open_file
from privreg.parquet import ParquetTable
from privreg.privacy.ledger import Ledger
from privreg.progress import stages


@dataclass(frozen=True)
class Source:
    """Which columns of which file."""

    data: Path
    target: str
    features: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    person: str | None = None
    category: list[str] = field(default_factory=list)
    categories: Path | None = None
    engine: str = "auto"
    scheduler: str | None = None


@dataclass(frozen=True)
class Spending:
    """From which budget."""

    epsilon: Decimal
    delta: Decimal
    ledger: Path | None = None
    dataset: str | None = None

    def options(self) -> dict[str, Any]:
        """As an estimator takes it."""
        if (self.ledger is None) != (self.dataset is None):
            raise ValueError("--ledger and --dataset go together: a file, and the name of a data set in it")
        ledger = None if self.ledger is None else Ledger(self.ledger)
        budget = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        return budget | {"ledger": ledger, "dataset": self.dataset}


def carry_out(estimator: Any, source: Source, what: str) -> Columns:
    """Fit an estimator to the file. A ledger is asked before the file is opened, and again before noise is drawn."""
    if source.engine not in ("auto", "dask"):
        raise ValueError(f"--engine must be auto or dask; got {source.engine!r}")
    if source.scheduler is not None and source.engine != "dask":
        raise ValueError("--scheduler needs --engine dask")
    estimator._what = what
    budget = estimator._budget()
    if isinstance(estimator, PrivateEstimator):
        estimator._check_parameters(budget, source.person is not None)
    estimator._ask_ledger(source.person)
    with stages() as stage:
        estimator._watch = stage
        stage("looking at the columns")
        file = open_file(source.data)
        levels = read_levels(source.category, source.categories)
        columns = choose_columns(file, source.target, source.features, source.drop, source.person, levels)
        estimator.set_params(categories={name: columns.categories[name] for name in levels} or None)
        stage("reading the file")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
            if isinstance(file, ParquetTable):
                _fit_elsewhere(estimator, file, columns, source, stage)
            elif source.engine == "dask":
                raise ValueError("--engine dask reads Parquet only: save the table as Parquet files first")
            else:
                _fit(estimator, file, columns, stage)
    estimator.set_params(categories=columns.categories or None)  # those of the file, too: a prediction needs them
    return columns


def _fit_elsewhere(
    estimator: Any, table: ParquetTable, columns: Columns, source: Source, stage: Callable[[str], None]
) -> None:
    """Parquet stays where it is."""
    person = {} if columns.person is None else {"groups": columns.person}
    chosen = table.select([*columns.features, columns.target, *person.values()])
    if source.engine != "dask":
        estimator.fit(chosen, columns.target, **person)
        return
    stage("connecting to the cluster")
    try:
        from privreg.records.dask_opening import OnCluster, cluster
    except ImportError:
        raise ValueError("--engine dask needs Dask: pip install 'privreg[dask]'") from None
    with cluster(source.scheduler, cpu_count()) as client:
        estimator.fit(OnCluster(chosen, client), columns.target, **person)


def _fit(estimator: Any, file: Any, columns: Columns, stage: Callable[[str], None]) -> None:
    person = [] if columns.person is None else [columns.person]
    table = file.read(
        [*columns.features, columns.target, *person],
        columns.categories,
        progress=lambda part: stage(f"reading the file: {part:.0%}"),
        identifiers=person,
    )
    features, target = table.select(columns.features), table[columns.target]
    stage("preparing the columns")
    if person:
        estimator.fit(features, target, groups=table.select(person))  # with its name, for the ledger
    else:
        estimator.fit(features, target)
