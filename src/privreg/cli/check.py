"""What is wrong with a request, found before scikit-learn, numba or OpenDP is loaded, which takes seconds.

First what was typed, then the places to write to, then the ledger, then the names of the columns, and last their kinds,
for which arrow is loaded. Rules about budgets are those of the estimators, which check them again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from privreg.cli.progress import stages
from privreg.cli.request import BudgetOptions, MethodOptions, OutputOptions, TableOptions
from privreg.data.columns import ChosenColumns, choose_columns, choose_names, read_names, unknown_column
from privreg.data.files import ends_to_write, format_of, format_to_write, header_names, open_file
from privreg.data.levels import read_levels
from privreg.errors import SchemaError
from privreg.estimators.budgets import check_budget, check_tukey_budget
from privreg.estimators.methods import FLAGSHIP, METHODS, selects
from privreg.privacy.accountant import Budget, adaptive_budget, check_delta
from privreg.privacy.ledger.ledger import RECORD, Ledger, Request, amount, budget_of, people_by
from privreg.results.outputs import check_apart, check_new, check_outside, check_place

if TYPE_CHECKING:
    from privreg.data.base import DataFile

SELECTORS = {"kendall": "DPKendall", "sublasso": "SubLasso"}
PREDICTION = "prediction"  # name of the column of predictions

_PRIVATE = [name for name in METHODS if name != "NonDP"]


@dataclass(frozen=True)
class Opened:
    """A file, the columns of it that are used, and the levels that were declared for some of them."""

    file: "DataFile"
    columns: ChosenColumns
    declared: list[str]


def check_fit(source: TableOptions, spending: BudgetOptions, wanted: MethodOptions, outputs: OutputOptions) -> Opened:
    """Everything that can be wrong with `privreg fit` before data is read."""
    method = check_method(wanted, source)
    _check_engine(source)
    budget = _budget(spending)
    if method == FLAGSHIP:
        check_budget(budget, 1 if source.person is None else wanted.rows_per_person)
    elif method.endswith("Tukey"):
        check_tukey_budget(budget)
    else:
        check_delta(budget)
    inputs = {"DATA": source.data, "--ledger": spending.ledger, "--categories": source.categories}
    _check_outputs(outputs.places(), inputs, source.data, outputs.force)
    _ask_ledger(spending, source, adaptive_budget(budget) if method == FLAGSHIP else None)
    return open_source(source)


def check_select(source: TableOptions, spending: BudgetOptions, method: str) -> Opened:
    """The same for `privreg select`."""
    if method not in SELECTORS:
        raise ValueError(f"--method must be one of {', '.join(SELECTORS)}; got {method!r}")
    _check_engine(source)
    _budget(spending)
    _ask_ledger(spending, source, Fraction())  # at least; what choosing costs, the selector knows, and asks again
    return open_source(source)


def check_predict(model: Path, data: Path, out: Path | None, keep: list[str], force: bool) -> None:
    """The same for `privreg predict`, as far as it is known without the model."""
    if out is not None and format_to_write(out) is None:
        raise ValueError(f"--out {out}: the name must end in {ends_to_write()}")
    _check_outputs({"--out": out}, {"DATA": data, "the model": model}, data, force)
    model.stat()  # raises if it is not there
    names = header_names(data)
    if names is not None:
        read_kept(keep, names, data)


def read_kept(keep: list[str], columns: Collection[str], path: Path | str) -> list[str]:
    """The columns to copy; SchemaError unless they can stand beside the predictions."""
    names = read_names("--keep", keep, columns)
    for name in names:
        if name not in columns:
            raise unknown_column("--keep", name, columns, path)
    if PREDICTION in names or len(set(names)) < len(names):
        raise SchemaError(f"--keep: names must differ from each other and from {PREDICTION!r}")
    return names


def check_method(wanted: MethodOptions, source: TableOptions) -> str:
    """The name of the method, if it goes together with the other options."""
    method = wanted.method
    if wanted.rows_per_person != 1 and source.person is None:
        raise ValueError("--rows-per-person needs --person, the column that names people")
    if method in ("auto", FLAGSHIP):
        return FLAGSHIP
    if method not in _PRIVATE:
        raise ValueError(f"--method must be one of auto, {', '.join(_PRIVATE)}; got {method!r}")
    if wanted.max_rows_for_selection is not None:
        raise ValueError(f"--max-rows-for-selection: {method} uses all records; leave --method out")
    if source.person is not None:
        raise ValueError(f"--person: {method} protects records, not people; leave --method out")
    if not selects(method) and wanted.k != "auto":
        raise ValueError(f"--k: {method} uses all columns; leave --k out, or take K-{method}")
    return method


def open_source(source: TableOptions) -> Opened:
    """The file of a request, and its columns. Of text the header alone is looked at first."""
    file, names = None, header_names(source.data)
    with stages() as stage:
        stage("looking at the columns")
        if names is None:
            file = open_file(source.data)
            names = list(file.columns)
        features, drop = read_names("--features", source.features, names), read_names("--drop", source.drop, names)
        levels = read_levels(source.category, source.categories, names)
        asked = source.target, features, drop, source.person, levels
        choose_names(names, source.data, *asked)
        file = file or open_file(source.data)
        return Opened(file, choose_columns(file, *asked), list(levels))


def _check_engine(source: TableOptions) -> None:
    if source.engine not in ("auto", "dask"):
        raise ValueError(f"--engine must be auto or dask; got {source.engine!r}")
    if source.scheduler is not None and source.engine != "dask":
        raise ValueError("--scheduler needs --engine dask")
    if source.engine == "dask":
        if not format_of(source.data).in_place:
            raise ValueError("--engine dask reads Parquet only: save the table as Parquet files first")
        if find_spec("dask") is None or find_spec("distributed") is None:
            raise ValueError("--engine dask needs Dask: pip install 'privreg[dask]'")


def _budget(spending: BudgetOptions) -> Budget:
    if (spending.ledger is None) != (spending.dataset is None):
        raise ValueError("--ledger and --dataset go together: a file, and the name of a data set in it")
    return budget_of(float(spending.epsilon), float(spending.delta), spending.ledger is not None)


def _check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None], data: Path, force: bool
) -> None:
    """Raise unless everything can be written, and nothing is lost by it."""
    places = [place for place in outputs.values() if place is not None]
    for place in places:
        check_place(place)
    check_apart(outputs, inputs)
    check_outside(outputs, data)
    if not force:
        for place in places:
            check_new(place)


def _ask_ledger(spending: BudgetOptions, source: TableOptions, mu_squared: Fraction | None) -> None:
    """Raise BudgetRefusedError if there is no room. The file has not been opened yet."""
    if spending.ledger is None or spending.dataset is None:
        return
    epsilon, delta = amount(float(spending.epsilon), "epsilon"), amount(float(spending.delta), "delta")
    unit = RECORD if source.person is None else people_by(source.person)
    Ledger(spending.ledger).check(spending.dataset, Request(epsilon, delta, "a check", unit, mu_squared))
