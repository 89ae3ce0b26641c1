"""The work of `privreg fit` and `privreg select`: on the public API, as anybody could do it in Python."""

import json
import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from joblib import cpu_count

import privreg
from privreg.cli.check import Job, Opened, check_method
from privreg.cli.show import show_check, show_fit, show_schema, show_selection
from privreg.cli.stage_names import CHOOSING, COLUMNS, FITTING, StageNames
from privreg.cli.terminal import stages
from privreg.data.schema import NUMBER
from privreg.estimators.methods import FLAGSHIP, SELECTORS, make_method
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.privacy.ledger.ledger import Ledger
from privreg.report.model import Context, report_page
from privreg.results.model_file import save_model
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of
from privreg.results.schema_file import load_schema, schema_record

if TYPE_CHECKING:
    from privreg.data.base import DataFile
    from privreg.data.parquet import ParquetTable

_WORK = {"select": CHOOSING, "schema": COLUMNS}
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
        show_fit(release, files, ledger, delta=float(job.delta), verbose=job.verbose)
    for failure in failures:
        raise failure


def run_schema(job: Job, opened: Opened) -> None:
    """Only read the table, write the schema, and print it."""
    reader = privreg.SchemaReader(**_budget(job))
    carry_out(reader, opened, job)
    ledger, failure = _ledger_entry(job, reader.ledger_entry_), None
    if job.out is not None:
        try:
            reader.save(job.out)
        except OSError as error:
            failure = error
    if job.as_json:
        record = schema_record(reader.schema_, reader.receipt_) | {"warnings": reader.warnings_}
        print(json.dumps(record | {"ledger": ledger}))
    else:
        show_schema(reader, None if failure else job.out, ledger, delta=float(job.delta), verbose=job.verbose)
    if failure is not None:
        raise failure


def run_select(job: Job, opened: Opened) -> None:
    """Choose features as `check_select` has found it possible, and print them."""
    name = SELECTORS[job.method]
    selector = getattr(privreg, name)(k=job.k, **_budget(job))
    carry_out(selector, opened, job)
    ledger = _ledger_entry(job, selector.ledger_entry_)
    if job.as_json:
        chosen = {
            "method": job.method,
            "target": selector.target_name_,
            "selected_features": selector.selected_features_,
        }
        chosen["warnings"] = selector.warnings_
        print(json.dumps(chosen | {"receipt": selector.receipt_.to_dict(), "ledger": ledger}))
    else:
        show_selection(selector, selector.target_name_, ledger, delta=float(job.delta), verbose=job.verbose)


def declare(estimator: Any, opened: Opened, job: Job) -> None:
    """What was said about the columns, as parameters of an estimator."""
    estimator.set_params(
        categories="dtype" if str(job.categories) == "dtype" else opened.columns.categories or None,
        ranges=opened.ranges or None,
        missing=job.missing,
        schema=None if job.schema is None else load_schema(job.schema),
        rows_per_person=job.rows_per_person,
    )


def table_of(job: Job, opened: Opened) -> "DataFile":
    """The columns that are used. Labelled ones that a given schema takes for numbers are numbers."""
    known = () if job.schema is None else load_schema(job.schema).columns
    return opened.table.as_numbers({column.name for column in known if column.kind == NUMBER})


def run_check(job: Job, opened: Opened) -> None:
    """Print what a fit would do. Reads no record."""
    method = check_method(job)
    estimator = _estimator(job, method)
    declare(estimator, opened, job)
    table = table_of(job, opened)
    found = replace(estimator.check(table, job.target, job.person, **_rules(job, opened)), method=method)
    files = {kind: str(path) for kind, path in (("model", job.out), ("report", job.report)) if path is not None}
    if job.as_json:
        print(json.dumps(found.to_dict() | {"files": files}))
    else:
        show_check(found, files, verbose=job.verbose)
    if found.ledger is not None and not found.ledger.admitted:
        sys.exit(3)


def carry_out(estimator: Any, opened: Opened, job: Job) -> None:
    """Fit an estimator to the file."""
    columns, table = opened.columns, table_of(job, opened)
    declare(estimator, opened, job)
    with stages() as stage, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
        estimator.set_params(progress=StageNames(stage, _WORK.get(job.command, FITTING)))
        if job.engine != "dask":
            estimator.fit(table, columns.target, columns.person, **_rules(job, opened))
        else:
            from privreg.engines.dask.opening import OnCluster, cluster

            stage("connecting to the cluster")
            with cluster(job.scheduler, cpu_count()) as client:
                here = OnCluster(cast("ParquetTable", table), client)
                estimator.fit(here, columns.target, columns.person, **_rules(job, opened))
    estimator.set_params(progress=None)


def _rules(job: Job, opened: Opened) -> dict[str, Any]:
    """Formula, filter and public rows, as `fit` takes them. A schema is read without a formula."""
    rules: dict[str, Any] = {"where": job.where}
    rules |= {} if job.command == "schema" else {"formula": job.formula}
    return rules | ({} if opened.public is None else {"public": opened.public})


def _estimator(job: Job, method: str) -> Any:
    options = _budget(job)
    if method == FLAGSHIP:
        return PrivateLinearRegression(
            k=job.k, limits=job.limits, max_rows_for_selection=job.max_rows_for_selection, **options
        )
    return make_method(method, k=USUAL_K if job.k == "auto" else int(job.k), calibration="strict", **options)


def _budget(job: Job) -> dict[str, Any]:
    """As an estimator takes it."""
    ledger = None if job.ledger is None else Ledger(job.ledger)
    spent = {"epsilon": float(job.epsilon), "delta": float(job.delta), "purpose": job.purpose}
    return spent | {"ledger": ledger, "dataset": job.dataset}


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
    told: dict[str, Any] = {"delta": float(job.delta), "model": files.get("model"), "purpose": job.purpose}
    context = Context(job.data.name, command, job.person, ledger, **told)
    write("report", job.report, lambda path: write_whole(path, report_page(release, context)))
    return files, failures


def _ledger_entry(job: Job, number: int | None) -> dict[str, Any] | None:
    """What the ledger says after the request."""
    if job.ledger is None or job.dataset is None:
        return None
    return Ledger(job.ledger).after(job.dataset, number)
