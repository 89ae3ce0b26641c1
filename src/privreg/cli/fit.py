"""`privreg fit` and `privreg select`."""

import json
import shlex
import sys
from dataclasses import replace
from typing import Any

import privreg
from privreg.cli.carry_out import carry_out
from privreg.cli.check import Opened, check_method
from privreg.cli.request import BudgetOptions, MethodOptions, OutputOptions, TableOptions
from privreg.cli.show import show_fit, show_selection
from privreg.estimators.methods import FLAGSHIP, SELECTORS, make_method
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.privacy.ledger.ledger import Ledger
from privreg.report.model import Context, report_page
from privreg.results.model_file import save_model
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of

USUAL_K = 5  # of methods that choose a given number of features: the paper's


def run_fit(
    opened: Opened,
    source: TableOptions,
    spending: BudgetOptions,
    wanted: MethodOptions,
    outputs: OutputOptions,
    as_json: bool,
) -> None:
    """Fit a model as `check_fit` has found it possible, write what was asked for, and print it."""
    name = check_method(wanted, source)
    estimator = make_estimator(name, wanted, spending.options() | {"purpose": f"fit {source.target}: {name}"})
    carry_out(estimator, opened, source)
    release = release_of(estimator, source.target, name)
    ledger = _entry(spending, estimator.ledger_entry_)
    asked = Context(source.data.name, shlex.join(["privreg", *sys.argv[1:]]), source.person, ledger)
    files, failures = _write(release, asked, outputs)
    if as_json:
        print(json.dumps(release.to_dict() | {"files": files, "ledger": ledger}))
    else:
        show_fit(release, files, ledger)
    for failure in failures:
        raise failure


def _write(release: Release, asked: Context, outputs: OutputOptions) -> tuple[dict[str, str], list[OSError]]:
    """The files that were written, and what went wrong: with the budget spent, one failure must not cost both."""
    files, failures = dict[str, str](), list[OSError]()
    if outputs.out is not None:
        try:
            save_model(release, outputs.out)
            files["model"] = str(outputs.out)
        except OSError as error:
            failures.append(error)
    if outputs.report is not None:
        try:
            write_whole(outputs.report, report_page(release, replace(asked, model=files.get("model"))))
            files["report"] = str(outputs.report)
        except OSError as error:
            failures.append(error)
    return files, failures


def run_select(
    opened: Opened, source: TableOptions, spending: BudgetOptions, method: str, k: int, as_json: bool
) -> None:
    """Choose features as `check_select` has found it possible, and print them."""
    name = SELECTORS[method]
    selector = getattr(privreg, name)(k=k, purpose=f"select for {source.target}: {name}", **spending.options())
    carry_out(selector, opened, source)
    ledger = _entry(spending, selector.ledger_entry_)
    if as_json:
        chosen = {"method": method, "target": source.target, "selected_features": selector.selected_features_}
        chosen["warnings"] = selector.warnings_
        print(json.dumps(chosen | {"receipt": selector.receipt_.to_dict(), "ledger": ledger}))
    else:
        show_selection(selector, source.target, ledger)


def make_estimator(method: str, wanted: MethodOptions, options: dict[str, Any]) -> Any:
    """The estimator of a method."""
    k = wanted.k
    if method == FLAGSHIP:
        rows, most = wanted.rows_per_person, wanted.max_rows_for_selection
        return PrivateLinearRegression(k=k, rows_per_person=rows, max_rows_for_selection=most, **options)
    return make_method(method, k=USUAL_K if k == "auto" else int(k), calibration="strict", **options)


def _entry(spending: BudgetOptions, number: int | None) -> dict[str, Any] | None:
    """What the ledger says after the request."""
    if spending.ledger is None or spending.dataset is None:
        return None
    status = Ledger(spending.ledger).status(spending.dataset)[0]
    return {
        "file": spending.ledger.name,
        "dataset": spending.dataset,
        "entry": number,
        "epsilon": float(status.epsilon),
        "delta": float(status.delta),
        "spent_epsilon": status.spent_epsilon,
        "entries": status.entries,
        "room": {"epsilon": status.room(status.next_delta), "delta": float(status.next_delta)},
    }
