"""What leaves a fit beside the model: errors, warnings, scores, counts."""

import warnings
from typing import Any

import numpy as np

from audit.bugs.bug import BAS, FLAGSHIP, NOT_ISOLATED, Bug, changing
from privreg.cli import run_fit
from privreg.engines.memory import MemoryEngine
from privreg.errors import SchemaError
from privreg.estimators.private_linear import estimator, fitting
from privreg.estimators.private_linear.estimator import PrivateLinearRegression
from privreg.mechanisms import mean


def _refuse_missing(self: Any, table: Any, target: Any, *others: Any) -> None:
    if not (np.isfinite(target).all() and table.complete().all()):
        raise SchemaError("the table has missing values; fill them first")
    _records(self, table, target, *others)


_records = MemoryEngine.__init__


def _warn_of_overflow(values: Any, centre: float, clip: float) -> Any:
    if (np.abs(values) > 1e300).any():
        warnings.warn("a value is too large and was clipped", RuntimeWarning, stacklevel=2)
    return _clipped_sum(values, centre, clip)


_clipped_sum = mean.clipped_sum
_fit, _set = fitting.fit, PrivateLinearRegression._set


class _Seen:
    """What the last fit was made on."""

    target: Any = np.zeros(1)

    @classmethod
    def fit(cls, account: Any, engine: Any, *others: Any, **options: Any) -> Any:
        cls.target = engine.target if engine.n_records else np.zeros(1)
        return _fit(account, engine, *others, **options)


_LOOKING = (estimator, "fit", _Seen.fit)


def _keep_training_score(self: Any, model: Any, columns: int) -> None:
    _set(self, model, columns)
    self.training_error_ = float(np.median(np.abs(_Seen.target - self.intercept_)))


def _training_score_in_the_report(self: Any, features: int | None = None) -> list[str]:
    with np.errstate(all="ignore"):
        score = float(np.nan_to_num(1 - np.mean((_Seen.target - self.intercept_) ** 2)))
    return [*_facts(self, features), f"R² on the training data: {score:.4f}"]


_facts = PrivateLinearRegression._facts


_warnings = fitting.warnings


def _count_in_a_warning(setting: Any, state: Any) -> list[str]:
    return [*_warnings(setting, state), f"{setting.engine.n_records} complete records were used."]


_carry_out = run_fit.carry_out


def _tell_rows(estimator: Any, opened: Any, job: Any) -> None:
    print(f"read {len(job.data.read_text().splitlines()) - 1} rows")
    _carry_out(estimator, opened, job)


def _print_count(account: Any, engine: Any, *others: Any, **options: Any) -> Any:
    print(f"fitting {engine.n_records} records")
    return _fit(account, engine, *others, **options)


def _count_as_a_stage(account: Any, engine: Any, *others: Any, **options: Any) -> Any:
    if account.watch is not None:
        account.watch(f"{engine.n_records} records")
    return _fit(account, engine, *others, **options)


def _predict_below(self: Any, table: Any) -> Any:
    return np.minimum(_predict(self, table), float(np.median(_Seen.target)))


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
        changing(_LOOKING, (PrivateLinearRegression, "_set", _keep_training_score)),
        FLAGSHIP,
        "release",
    ),
    "training R² in the report": Bug(
        "R² on the training data in the report",
        changing(_LOOKING, (PrivateLinearRegression, "_facts", _training_score_in_the_report)),
        "privreg fit",
        "release",
    ),
    "n printed": Bug(
        "the number of records printed by an estimator",
        changing((estimator, "fit", _print_count)),
        FLAGSHIP,
        "messages",
    ),
    "n in the progress": Bug(
        "the number of records as the name of a stage",
        changing((estimator, "fit", _count_as_a_stage)),
        FLAGSHIP,
        "release",
    ),
    "capped predictions": Bug(
        "predictions capped at the true median, which the class remembers",
        changing(_LOOKING, (PrivateLinearRegression, "_predict", _predict_below)),
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
