"""The work of `privreg fit` and `privreg select`: on the public API, as anybody could do it in Python."""

import json
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joblib import cpu_count

import privreg
from privreg.cli.check import Job, Opened, check_method
from privreg.cli.show import show_fit, show_selection
from privreg.cli.terminal import stages
from privreg.data.columns import ChosenColumns
from privreg.data.files import format_of
from privreg.estimators.methods import FLAGSHIP, SELECTORS, make_method
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.privacy.ledger.ledger import Ledger
from privreg.report.model import Context, report_page
from privreg.results.model_file import save_model
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of

USUAL_K = 5  # of methods that choose a given number of features: the paper's


def run_fit(job: Job, opened: Opened) -> None:
    """Fit a model as `check_fit` has found it possible, write what was asked for, and print it."""
    method = check_method(job)
    estimator = _estimator(job, method)
    carry_out(estimator, opened, job)
    release = release_of(estimator, job.target, method)
    ledger = _ledger_entry(job, estimator.ledger_entry_)
    files, failures = _write(job, release, ledger)
    if job.as_json:
        print(json.dumps(release.to_dict() | {"files": files, "ledger": ledger}))
    else:
        show_fit(release, files, ledger)
    for failure in failures:
        raise failure


def run_select(job: Job, opened: Opened) -> None:
    """Choose features as `check_select` has found it possible, and print them."""
    name = SELECTORS[job.method]
    selector = getattr(privreg, name)(k=job.k, purpose=f"select for {job.target}: {name}", **_budget(job))
    carry_out(selector, opened, job)
    ledger = _ledger_entry(job, selector.ledger_entry_)
    if job.as_json:
        chosen = {"method": job.method, "target": job.target, "selected_features": selector.selected_features_}
        chosen["warnings"] = selector.warnings_
        print(json.dumps(chosen | {"receipt": selector.receipt_.to_dict(), "ledger": ledger}))
    else:
        show_selection(selector, job.target, ledger)


def carry_out(estimator: Any, opened: Opened, job: Job) -> None:
    """Fit an estimator to the file."""
    columns = opened.columns
    declared = {name: columns.categories[name] for name in opened.declared} or None
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
        estimator.set_params(categories=declared, progress=stage)
        estimator.ask_ledger(job.person)  # before records are read
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


def _estimator(job: Job, method: str) -> Any:
    options = _budget(job) | {"purpose": f"fit {job.target}: {method}"}
    if method == FLAGSHIP:
        options |= {"rows_per_person": job.rows_per_person, "max_rows_for_selection": job.max_rows_for_selection}
        return PrivateLinearRegression(k=job.k, **options)
    return make_method(method, k=USUAL_K if job.k == "auto" else int(job.k), calibration="strict", **options)


def _budget(job: Job) -> dict[str, Any]:
    """As an estimator takes it."""
    ledger = None if job.ledger is None else Ledger(job.ledger)
    return {"epsilon": float(job.epsilon), "delta": float(job.delta), "ledger": ledger, "dataset": job.dataset}


def _write(job: Job, release: Release, ledger: dict[str, Any] | None) -> tuple[dict[str, str], list[OSError]]:
    """The files that were written, and what went wrong: with the budget spent, one failure must not cost both."""
    files, failures = dict[str, str](), list[OSError]()

    def write(kind: str, path: Path | None, writer: Callable[[Path], None]) -> None:
        if path is not None:
            try:
                writer(path)
                files[kind] = str(path)
            except OSError as error:
                failures.append(error)

    write("model", job.out, lambda path: save_model(release, path))
    command = shlex.join(["privreg", *sys.argv[1:]])
    context = Context(job.data.name, command, job.person, ledger, model=files.get("model"))
    write("report", job.report, lambda path: write_whole(path, report_page(release, context)))
    return files, failures


def _ledger_entry(job: Job, number: int | None) -> dict[str, Any] | None:
    """What the ledger says after the request."""
    if job.ledger is None or job.dataset is None:
        return None
    status = Ledger(job.ledger).status(job.dataset)[0]
    told = status.to_dict()
    return {
        "file": job.ledger.name,
        "dataset": job.dataset,
        "entry": number,
        "epsilon": float(status.epsilon),
        "delta": float(status.delta),
    } | {key: told[key] for key in ("spent_epsilon", "entries", "room")}
