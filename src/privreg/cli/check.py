"""What is wrong with a request, found before scikit-learn, numba or OpenDP is loaded, which takes seconds.

First what was typed, then the places to write to, then the ledger, then the names of the columns, and last their kinds,
for which arrow is loaded. Rules about budgets are those of the estimators, which check them again.
"""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from privreg.cli.mistakes import nearest
from privreg.cli.terminal import stages
from privreg.data.columns import (
    ChosenColumns,
    choose_columns,
    choose_names,
    read_levels,
    read_names,
    read_ranges,
    unknown_column,
)
from privreg.data.expressions import read_condition
from privreg.data.files import ends_to_write, format_of, format_to_write, header_names, open_file, overlap
from privreg.data.formula import read_formula
from privreg.data.text_stream import checked_encoding
from privreg.data.words import names_in
from privreg.errors import ModelFileError, SchemaError
from privreg.estimators.budgets import check_budget
from privreg.estimators.methods import FLAGSHIP, REGISTRY, SELECTORS, private_methods
from privreg.privacy.accountant import Budget, adaptive_budget, for_each_record
from privreg.privacy.ledger.ledger import Ledger
from privreg.privacy.ledger.request import Request, amount, budget_of, unit_of
from privreg.results.model_file import FORMAT
from privreg.results.outputs import check_outputs

if TYPE_CHECKING:
    from privreg.data.base import DataFile

PREDICTION, ENDS = "prediction", ("lower", "upper")  # names of the columns of predictions, and of their intervals


@dataclass(frozen=True)
class Job:
    """What `privreg fit` or `privreg select` is to do: their options, by their names.

    Lists of columns are as typed: what a comma means depends on the names of the columns.
    """

    command: str
    data: Path
    target: str | None
    epsilon: Decimal
    delta: Decimal
    method: str
    k: int | str
    formula: str | None = None
    where: str | None = None
    sheet: str | None = None
    features: list[str] | None = None
    drop: list[str] | None = None
    category: list[str] | None = None
    categories: Path | None = None
    range: list[str] | None = None
    missing: str = "drop"
    encoding: str | None = None
    schema: Path | None = None
    public: Path | None = None
    person: str | None = None
    rows_per_person: int = 1
    max_rows_for_selection: int | None = None
    limits: str = "narrow"
    engine: str = "auto"
    scheduler: str | None = None
    out: Path | None = None
    report: Path | None = None
    force: bool = False
    ledger: Path | None = None
    dataset: str | None = None
    purpose: str | None = None
    yes: bool = False
    verbose: bool = False
    as_json: bool = False


@dataclass(frozen=True)
class Opened:
    """A file, and the columns of it that are used, with what was declared about them."""

    file: "DataFile"
    columns: ChosenColumns
    ranges: dict[str, tuple[float, float]]
    also: tuple[str, ...] = ()  # columns that only the filter needs
    formula: bool = False  # which chooses columns itself
    public: "DataFile | None" = None  # rows that are no secret

    @property
    def table(self) -> "DataFile":
        """The columns that are used, the target and the people included."""
        if self.formula:
            return self.file
        chosen = self.columns
        others = [name for name in (chosen.target, chosen.person) if name is not None]
        names = [*chosen.features, *others, *self.also]
        return self.file.select(names, chosen.features if chosen.named else (), self.also)


def check_fit(job: Job, ask: bool = True) -> Opened:
    """Everything that can be wrong with `privreg fit` before data is read; the ledger is asked unless told not to."""
    method = check_method(job)
    _check_target(job)
    _check_engine(job)
    budget, rows = _budget(job), 1 if job.person is None else job.rows_per_person
    if method == FLAGSHIP:
        check_budget(budget, rows)
    else:
        REGISTRY[method].check_budget(for_each_record(budget, rows))
    _check_files(job)
    if ask:
        _ask_ledger(job, adaptive_budget(budget) if method == FLAGSHIP else None)
    return open_table(job)


def _check_files(job: Job) -> None:
    inputs = {"DATA": job.data, "--ledger": job.ledger, "--categories": job.categories, "--schema": job.schema}
    inputs["--public"] = job.public
    check_outputs({"--out": job.out, "--report": job.report}, inputs, job.data, job.force)


def check_schema(job: Job) -> Opened:
    """The same for `privreg schema`."""
    _check_people(job)
    budget = _budget(job)
    check_budget(budget, 1 if job.person is None else job.rows_per_person)
    _check_files(job)
    _ask_ledger(job, adaptive_budget(budget))
    return open_table(job)


def check_select(job: Job) -> Opened:
    """The same for `privreg select`."""
    if job.method not in SELECTORS:
        raise _no_method(job.method, list(SELECTORS))
    _check_target(job)
    _check_engine(job)
    _check_people(job)
    _budget(job)
    _ask_ledger(job, Fraction())  # at least; what choosing costs, the selector knows, and asks again
    return open_table(job)


def check_predict(
    model: Path,
    data: Path,
    encoding: str | None,
    out: Path | None,
    keep: list[str],
    interval: float | None,
    force: bool,
) -> None:
    """The same for `privreg predict`, as far as it is known without the model."""
    if interval is not None and not 0 < interval < 1:
        raise ValueError(f"--interval must be between 0 and 1, for instance 0.95; got {interval:g}")
    if out is not None and format_to_write(out) is None:
        raise ValueError(f"--out {out}: the name must end in {ends_to_write()}")
    check_outputs({"--out": out}, {"DATA": data, "the model": model}, data, force)
    model.stat()  # raises if it is not there
    _check_order(model, data)
    _check_encoding(encoding)
    names = header_names(data, encoding)
    if names is not None:
        read_kept(keep, names, data, interval)


def _check_order(model: Path, data: Path) -> None:
    """Models are files of JSON; a table that is one was meant to come first."""
    if not _looks_like_a_model(model) and _looks_like_a_model(data):
        raise ModelFileError(f"{model} is not a model file. The model comes first: privreg predict MODEL DATA.")


def _looks_like_a_model(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(100)


def read_kept(keep: list[str], columns: Collection[str], path: Path | str, interval: float | None) -> list[str]:
    """The columns to copy; SchemaError unless they can stand beside the predictions."""
    names = read_names("--keep", keep, columns)
    for name in names:
        if name not in columns:
            raise unknown_column("--keep", name, columns, path)
    added = predicted_columns(interval)
    if not set(added).isdisjoint(names) or len(set(names)) < len(names):
        raise SchemaError(f"--keep: names must differ from each other and from {', '.join(map(repr, added))}")
    return names


def predicted_columns(interval: float | None) -> tuple[str, ...]:
    """What a prediction adds to a table."""
    return (PREDICTION,) if interval is None else (PREDICTION, *ENDS)


def check_method(job: Job) -> str:
    """The name of the method, if it goes together with the other options."""
    method = job.method
    _check_people(job)
    if method in ("auto", FLAGSHIP):
        return FLAGSHIP
    if method not in private_methods():
        raise _no_method(method, ["auto", *private_methods()])
    if job.max_rows_for_selection is not None:
        raise ValueError(f"--max-rows-for-selection: {method} uses all records; leave out one of the two")
    if job.public is not None:
        raise ValueError(f"--public: {method} cannot use public rows; leave out one of the two")
    if job.limits != "narrow":
        raise ValueError(f"--limits: {method} does not clip columns; leave out one of the two")
    if not REGISTRY[method].selects and job.k != "auto":
        other = f", or take K-{method}" if f"K-{method}" in REGISTRY else ""
        raise ValueError(f"--k: {method} uses all columns; leave --k out{other}")
    return method


def _no_method(method: str, known: list[str]) -> ValueError:
    return ValueError(f"--method must be one of {', '.join(known)}; got {method!r}{nearest(method, known)}")


def _check_encoding(encoding: str | None) -> None:
    if encoding is not None:
        try:
            checked_encoding(encoding)
        except ValueError as error:
            raise ValueError(f"--{error}") from None


def _check_people(job: Job) -> None:
    _check_encoding(job.encoding)
    if job.rows_per_person != 1 and job.person is None:
        raise ValueError("--rows-per-person needs --person, the column that names people")
    if job.limits not in ("narrow", "wide"):
        raise ValueError(f"--limits must be narrow or wide; got {job.limits!r}")
    if job.missing not in ("drop", "fill"):
        raise ValueError(f"--missing must be drop or fill; got {job.missing!r}")
    if job.schema is not None and (job.category or job.categories or job.range):
        raise ValueError("--schema has levels and ranges of its own; leave out --category, --categories and --range")


def open_table(job: Job) -> Opened:
    """The file of a job, and its columns. Of text the header alone is looked at first."""
    file, names = None, header_names(job.data, job.encoding)
    with stages("reading the header"):
        if names is None:
            file = open_file(job.data, job.encoding, job.sheet, _columns_named(job))
            names = list(file.columns)
        features = read_names("--features", job.features or [], names)
        drop = read_names("--drop", job.drop or [], names)
        by_type = str(job.categories) == "dtype"
        levels = read_levels(job.category or [], None if by_type else job.categories, names)
        ranges = read_ranges(job.range or [], names, job.data)
        condition = None if job.where is None else read_condition(job.where, names)
        chosen = job.target, features, drop, job.person, levels
        if job.formula is not None:
            formula = read_formula(job.formula, names, job.person)
            chosen = None, formula.columns, [], job.person, levels
        choose_names(names, job.data, *chosen)
        file = file or open_file(job.data, job.encoding, job.sheet)
        file = file.as_numbers({*ranges, str(job.target)})
        columns = choose_columns(file, *chosen)
        used = [*columns.features, columns.target, columns.person]
        also = [] if condition is None else [name for name in condition.columns if name not in used]
        public = _open_public(job, file, columns, () if condition is None else condition.columns)
        return Opened(file, columns, ranges, tuple(also), job.formula is not None, public)


def _open_public(job: Job, data: "DataFile", columns: ChosenColumns, filtered: Collection[str]) -> "DataFile | None":
    """The file of public rows, with the columns that are used."""
    if job.public is None:
        return None
    needed = list(dict.fromkeys([*columns.features, *filtered]))
    file = open_file(job.public, job.encoding, None, needed)
    if overlap(data.places, file.places):
        raise ValueError("--public: this is DATA, or a part of it; public rows must come from elsewhere")
    if job.formula is not None:  # which chooses columns itself
        return file
    for name in needed:
        if name not in file.columns:
            what = "of DATA" if name in columns.features else "of --where"
            raise unknown_column(f"--public must have the columns {what}", name, file.columns, job.public)
    return file.select(needed)


def _check_target(job: Job) -> None:
    if job.formula is None and job.target is None:
        raise ValueError("name the column to predict with --target, or write a formula such as 'pay ~ age + C(region)'")
    if job.formula is not None and (job.target is not None or job.features or job.drop):
        raise ValueError(
            "the formula names the target and the columns already; leave out --target, --features and --drop"
        )


def _columns_named(job: Job) -> list[str]:
    """The columns of a file without a header: those that the command names; none if it leaves the features open."""
    rules = [(text, what) for text, what in ((job.formula, "formula"), (job.where, "where")) if text is not None]
    features = read_names("--features", job.features or [], ())
    others = [name for name in (job.target, job.person) if name is not None]
    found = [*features, *others, *(name for text, what in rules for name in names_in(text, what))]
    return list(dict.fromkeys(found)) if features or job.formula is not None else []


def _check_engine(job: Job) -> None:
    if job.engine not in ("auto", "dask"):
        raise ValueError(f"--engine must be auto or dask; got {job.engine!r}")
    if job.scheduler is not None and job.engine != "dask":
        raise ValueError("--scheduler needs --engine dask")
    if job.engine == "dask":
        if not format_of(job.data).in_place:
            raise ValueError("--engine dask reads Parquet only: save the table as Parquet files first")
        if find_spec("dask") is None or find_spec("distributed") is None:
            raise ValueError("--engine dask needs Dask: pip install 'privreg[dask]'")


def _budget(job: Job) -> Budget:
    if (job.ledger is None) != (job.dataset is None):
        raise ValueError("--ledger and --dataset go together: the file of the ledger, and the name of a data set in it")
    return budget_of(float(job.epsilon), float(job.delta), job.ledger is not None)


def _ask_ledger(job: Job, mu_squared: Fraction | None) -> None:
    """Raise BudgetRefusedError if there is no room. The file has not been opened yet."""
    if job.ledger is None or job.dataset is None:
        return
    epsilon, delta = amount(float(job.epsilon), "epsilon"), amount(float(job.delta), "delta")
    unit = unit_of(job.person is not None, job.person)
    Ledger(job.ledger).check(job.dataset, Request(epsilon, delta, "a check", unit, mu_squared))
