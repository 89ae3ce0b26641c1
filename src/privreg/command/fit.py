"""`privreg fit` and `privreg select`."""

import json
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import privreg
from privreg.command.request import Source, Spending, carry_out
from privreg.command.show import show_fit, show_selection
from privreg.model_file import save_model
from privreg.outputs import check_apart, check_outside, check_place, write_whole
from privreg.paper.methods import FLAGSHIP, METHODS, make_method, selects
from privreg.privacy.ledger import Ledger
from privreg.regression.private_linear import PrivateLinearRegression
from privreg.release import Release, release_of
from privreg.report.model import Asked, report_page

USUAL_K = 5  # of methods that choose a given number of features: the paper's
PRIVATE = [name for name in METHODS if name != "NonDP"]
SELECTORS = {"kendall": "DPKendall", "sublasso": "SubLasso"}


@dataclass(frozen=True)
class Wanted:
    """What kind of model."""

    method: str = "auto"
    k: int | str = "auto"
    rows_per_person: int = 1
    max_rows_for_selection: int | None = None


def run_fit(
    source: Source, spending: Spending, wanted: Wanted, out: Path | None, report: Path | None, as_json: bool
) -> None:
    """Fit a model, write what was asked for, and print it."""
    estimator, name = make_estimator(wanted, source, spending)
    if wanted.rows_per_person != 1 and source.person is None:
        raise ValueError("--rows-per-person needs --person, the column that names people")
    for place in filter(None, (out, report)):
        check_place(place)
    inputs = {"DATA": source.data, "--ledger": spending.ledger, "--categories": source.categories}
    check_apart({"--out": out, "--report": report}, inputs)
    check_outside({"--out": out, "--report": report}, source.data)
    carry_out(estimator, source, f"fit {source.target}: {name}")
    release = release_of(estimator, source.target, name)
    ledger = _entry(spending, estimator._entry)
    asked = Asked(source.data.name, shlex.join(["privreg", *sys.argv[1:]]), source.person, ledger)
    files, failures = _write(estimator, release, asked, out, report)
    if as_json:
        print(json.dumps(release.to_dict() | {"files": files, "ledger": ledger}))
    else:
        show_fit(release, files, ledger)
    for failure in failures:
        raise failure


def _write(
    estimator: Any, release: Release, asked: Asked, out: Path | None, report: Path | None
) -> tuple[dict[str, str], list[OSError]]:
    """The files that were written, and what went wrong: with the budget spent, one failure must not cost both."""
    files, failures = dict[str, str](), list[OSError]()
    if out is not None:
        try:
            save_model(estimator, out, target=release.target, method=release.method)
            files["model"] = str(out)
        except OSError as error:
            failures.append(error)
    if report is not None:
        try:
            write_whole(report, report_page(release, replace(asked, model=files.get("model"))))
            files["report"] = str(report)
        except OSError as error:
            failures.append(error)
    return files, failures


def run_select(source: Source, spending: Spending, method: str, k: int, as_json: bool) -> None:
    """Choose features and print them."""
    if method not in SELECTORS:
        raise ValueError(f"--method must be one of {', '.join(SELECTORS)}; got {method!r}")
    selector = getattr(privreg, SELECTORS[method])(k=k, **spending.options())
    carry_out(selector, source, f"select for {source.target}: {type(selector).__name__}")
    ledger = _entry(spending, selector._entry)
    if as_json:
        chosen = {"method": method, "target": source.target, "selected_features": selector.selected_features_}
        chosen["warnings"] = selector.warnings_
        print(json.dumps(chosen | {"receipt": selector.receipt_.to_dict(), "ledger": ledger}))
    else:
        show_selection(selector, source.target, ledger)


def make_estimator(wanted: Wanted, source: Source, spending: Spending) -> tuple[Any, str]:
    """The estimator of a method, and the name to show."""
    method, k, options = wanted.method, wanted.k, spending.options()
    if method in ("auto", FLAGSHIP):
        rows, most = wanted.rows_per_person, wanted.max_rows_for_selection
        return PrivateLinearRegression(k=k, rows_per_person=rows, max_rows_for_selection=most, **options), FLAGSHIP
    if method not in PRIVATE:
        raise ValueError(f"--method must be one of auto, {', '.join(PRIVATE)}; got {method!r}")
    if wanted.max_rows_for_selection is not None:
        raise ValueError(f"--max-rows-for-selection: {method} uses all records; leave --method out")
    if source.person is not None:
        raise ValueError(f"--person: {method} protects records, not people; leave --method out")
    if not selects(method) and k != "auto":
        raise ValueError(f"--k: {method} uses all columns; leave --k out, or take K-{method}")
    return make_method(method, k=USUAL_K if k == "auto" else int(k), calibration="strict", **options), method


def _entry(spending: Spending, number: int | None) -> dict[str, Any] | None:
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
