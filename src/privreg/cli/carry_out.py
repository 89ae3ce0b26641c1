"""A checked request, carried out on the records of its file."""

import warnings
from collections.abc import Callable
from typing import Any

from joblib import cpu_count

from privreg.cli.check import Opened
from privreg.cli.progress import stages
from privreg.cli.request import TableOptions
from privreg.data.columns import ChosenColumns
from privreg.data.files import format_of


def carry_out(estimator: Any, opened: Opened, source: TableOptions, what: str) -> None:
    """Fit an estimator to the file. A ledger, which knows the fit as `what`, is asked before records are read."""
    columns = opened.columns
    estimator._what = what
    estimator._ask_ledger(source.person)
    estimator.set_params(categories={name: columns.categories[name] for name in opened.declared} or None)
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
        estimator._watch = stage
        stage("reading the file")
        if format_of(source.data).in_place:
            _fit_in_place(estimator, opened.file, columns, source, stage)
        else:
            _fit(estimator, opened.file, columns, stage)
    estimator.set_params(categories=columns.categories or None)  # those of the file, too: a prediction needs them


def _fit_in_place(
    estimator: Any, table: Any, columns: ChosenColumns, source: TableOptions, stage: Callable[[str], None]
) -> None:
    """Parquet stays where it is."""
    person = {} if columns.person is None else {"groups": columns.person}
    chosen = table.select([*columns.features, columns.target, *person.values()])
    if source.engine != "dask":
        estimator.fit(chosen, columns.target, **person)
        return
    from privreg.engines.dask.opening import OnCluster, cluster

    stage("connecting to the cluster")
    with cluster(source.scheduler, cpu_count()) as client:
        estimator.fit(OnCluster(chosen, client), columns.target, **person)


def _fit(estimator: Any, file: Any, columns: ChosenColumns, stage: Callable[[str], None]) -> None:
    person = [] if columns.person is None else [columns.person]
    table = file.read([*columns.features, columns.target, *person], columns.categories, person)
    features, target = table.select(columns.features), table[columns.target]
    stage("preparing the columns")
    if person:
        estimator.fit(features, target, groups=table.select(person))  # with its name, for the ledger
    else:
        estimator.fit(features, target)
