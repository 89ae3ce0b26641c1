"""A checked job, carried out on the records of its file."""

import warnings
from collections.abc import Callable
from typing import Any

from joblib import cpu_count

from privreg.cli.check import Opened
from privreg.cli.job import Job
from privreg.cli.progress import stages
from privreg.data.columns import ChosenColumns
from privreg.data.files import format_of


def carry_out(estimator: Any, opened: Opened, job: Job) -> None:
    """Fit an estimator to the file."""
    columns = opened.columns
    declared = {name: columns.categories[name] for name in opened.declared} or None
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
        estimator.set_params(categories=declared, progress=stage)
        stage("reading the file")
        if format_of(job.data).in_place:
            _fit_in_place(estimator, opened.file, columns, job, stage)
        else:
            _fit(estimator, opened.file, columns, stage)
    # With the levels of the file itself, too: a prediction needs them.
    estimator.set_params(progress=None, categories=columns.categories or None)


def _fit_in_place(estimator: Any, table: Any, columns: ChosenColumns, job: Job, stage: Callable[[str], None]) -> None:
    """Parquet stays where it is."""
    person = {} if columns.person is None else {"groups": columns.person}
    chosen = table.select([*columns.features, columns.target, *person.values()])
    if job.engine != "dask":
        estimator.fit(chosen, columns.target, **person)
        return
    from privreg.engines.dask.opening import OnCluster, cluster

    stage("connecting to the cluster")
    with cluster(job.scheduler, cpu_count()) as client:
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
