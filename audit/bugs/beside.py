"""What leaves a fit beside the model: errors, warnings, scores, counts."""

import warnings
from typing import Any

import numpy as np

from audit.bugs.bug import BAS, FLAGSHIP, NOT_ISOLATED, Bug, changing
from privreg.cli import run_fit
from privreg.engines.memory import MemoryEngine
from privreg.errors import SchemaError
from privreg.estimators.private_linear import fitting
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.mechanisms import mean


def _refuse_missing(self: Any, table: Any, target: Any, n_jobs: int | None = None) -> None:
    if not (np.isfinite(target).all() and table.complete().all()):
        raise SchemaError("the table has missing values; fill them first")
    _records(self, table, target, n_jobs)


_records = MemoryEngine.__init__


def _warn_of_overflow(values: Any, centre: float, clip: float) -> Any:
    if (np.abs(values) > 1e300).any():
        warnings.warn("a value is too large and was clipped", RuntimeWarning, stacklevel=2)
    return _clipped_sum(values, centre, clip)


_clipped_sum = mean.clipped_sum
_learn = PrivateLinearRegression._learn


def _keep_training_score(self: Any, account: Any, records: Any) -> None:
    _learn(self, account, records)
    error = records.target - self.intercept_
    self.training_error_ = float(np.median(np.abs(error))) if error.size else 0.0


def _training_score_in_the_report(self: Any) -> list[str]:
    return [*_facts(self), f"R² on the training data: {self._score:.4f}"]


_facts = PrivateLinearRegression._facts


def _learn_and_score(self: Any, account: Any, records: Any) -> None:
    _learn(self, account, records)
    with np.errstate(all="ignore"):
        self._score = float(np.nan_to_num(1 - np.mean((records.target - self.intercept_) ** 2)))


_warnings = fitting.warnings


def _count_in_a_warning(setting: Any, state: Any) -> list[str]:
    return [*_warnings(setting, state), f"{setting.engine.n_records} complete records were used."]


_carry_out = run_fit.carry_out


def _tell_rows(estimator: Any, opened: Any, source: Any) -> None:
    print(f"read {len(source.data.read_text().splitlines()) - 1} rows")
    _carry_out(estimator, opened, source)


def _print_count(self: Any, account: Any, records: Any) -> None:
    print(f"fitting {records.n_records} records")
    _learn(self, account, records)


def _count_as_a_stage(self: Any, account: Any, records: Any) -> None:
    if self.progress is not None:
        self.progress(f"{records.n_records} records")
    _learn(self, account, records)


def _predict_below(self: Any, table: Any) -> Any:
    return np.minimum(_predict(self, table), type(self)._middle)


def _note_middle(self: Any, account: Any, records: Any) -> None:
    _learn(self, account, records)
    PrivateLinearRegression._middle = float(np.median(records.target)) if records.n_records else 0.0


_predict = PrivateLinearRegression._predict


BUGS = {
    "error on missing values": Bug(
        "an error for a table with a missing value",
        changing((MemoryEngine, "__init__", _refuse_missing)),
        BAS,
        "messages",
    ),
    "warning of a value": Bug(
        "a warning when a value is very large",
        changing((mean, "clipped_sum", _warn_of_overflow), *NOT_ISOLATED),
        FLAGSHIP,
        "messages",
    ),
    "training error kept": Bug(
        "the training error as an attribute",
        changing((PrivateLinearRegression, "_learn", _keep_training_score)),
        FLAGSHIP,
        "release",
    ),
    "training R² in the report": Bug(
        "R² on the training data in the report",
        changing(
            (PrivateLinearRegression, "_learn", _learn_and_score),
            (PrivateLinearRegression, "_facts", _training_score_in_the_report),
        ),
        "privreg fit",
        "release",
    ),
    "n printed": Bug(
        "the number of records printed by an estimator",
        changing((PrivateLinearRegression, "_learn", _print_count)),
        FLAGSHIP,
        "messages",
    ),
    "n in the progress": Bug(
        "the number of records as the name of a stage",
        changing((PrivateLinearRegression, "_learn", _count_as_a_stage)),
        FLAGSHIP,
        "release",
    ),
    "capped predictions": Bug(
        "predictions capped at the true median, which the class remembers",
        changing(
            (PrivateLinearRegression, "_learn", _note_middle), (PrivateLinearRegression, "_predict", _predict_below)
        ),
        FLAGSHIP,
        "release",
    ),
    "n in a warning": Bug(
        "the true count in a warning of the model",
        changing((fitting, "warnings", _count_in_a_warning)),
        FLAGSHIP,
        "release",
    ),
    "rows on the terminal": Bug(
        "the number of rows printed", changing((run_fit, "carry_out", _tell_rows)), "privreg fit", "release"
    ),
}
