"""The `privreg` command: parses. The work is done elsewhere, and imported only when needed."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from privreg.estimators.methods import private_methods

if TYPE_CHECKING:
    from privreg.cli.request import BudgetOptions


class OneLine(TyperGroup):
    """Mistakes on the command line are one line, like all others."""

    def main(self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):  # only what typer raises has one
                raise
            context = getattr(error, "ctx", None)
            where = context.command_path if context is not None else "privreg"
            message = " ".join(error.format_message().split())
            if message:  # none where the help was shown
                print(f"{where}: {message}", file=sys.stderr)
            code = 2
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    name="privreg",
    cls=OneLine,
    help="Differentially private linear regression without data bounds or tuning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@contextmanager
def one_line(command: str) -> Iterator[None]:
    """What is wrong with the input in one line, not as a traceback. Exit status 3 for a refused budget, else 2."""
    from privreg.errors import BudgetRefusedError, PrivregError

    status = 2
    try:
        yield
    except BrokenPipeError:
        raise  # typer knows what to do
    except (ValueError, PrivregError) as error:
        message, status = str(error), 3 if isinstance(error, BudgetRefusedError) else 2
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    else:
        return
    typer.echo(f"privreg {command}: {' '.join(message.split())}", err=True)
    raise typer.Exit(status)


@contextmanager
def loading() -> Iterator[None]:
    """Says so at a terminal while libraries load, which takes a second or more."""
    from privreg.cli.progress import stages

    with stages() as stage:
        stage("loading")
        yield


def _confirm(command: str, spending: "BudgetOptions", ask: bool) -> None:
    """Say what a large budget means. At a terminal, go on only if that is meant."""
    from privreg.privacy.weak import weak_points

    points = weak_points(float(spending.epsilon), float(spending.delta))
    for text in points:
        typer.echo(f"privreg {command}: warning: {text}", err=True)
    if points and ask and sys.stdin.isatty() and sys.stderr.isatty() and not _agreed():
        typer.echo("Nothing was spent.", err=True)
        raise typer.Exit(1)


def _agreed() -> bool:
    try:
        return typer.confirm("Go on?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of input
        typer.echo(err=True)
        return False


def _version(asked: bool) -> None:
    if asked:
        from privreg import __version__

        typer.echo(f"privreg {__version__}")
        raise typer.Exit


def _number(given: str | Decimal) -> Decimal:
    """An exact decimal number."""
    text = str(given)
    try:
        value = Decimal(text if text.isascii() and "_" not in text else "NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise typer.BadParameter(f"{text!r} is not a number.")
    return value


def _whole_or_auto(text: str) -> int | str:
    if text != "auto" and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise typer.BadParameter(f'{text!r} is neither "auto" nor a whole number of at least 1.')
    return text if text == "auto" else int(text)


Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, TSV or Parquet file with one record per row; or many Parquet files: a folder, or 'data/*.parquet'.",
        show_default=False,
    ),
]
Engine = Annotated[
    str, typer.Option(metavar="auto|dask", help="auto works here; dask lets workers of a cluster read Parquet files.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Dask scheduler, e.g. tcp://host:8786. Default: workers on this machine."),
]
Target = Annotated[str, typer.Option(help="Column to predict.", show_default=False)]
Epsilon = Annotated[
    Decimal, typer.Option(parser=_number, metavar="E", help="Privacy budget ε, e.g. 1.", show_default=False)
]
Delta = Annotated[Decimal, typer.Option(parser=_number, metavar="D", help="Privacy budget δ, well below 1/records.")]
Features = Annotated[
    list[str] | None, typer.Option(metavar="COL,COL", help="Columns to use; may be repeated. Default: all others.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COL,COL", help="Columns to leave out; may be repeated.")]
Category = Annotated[
    list[str] | None, typer.Option(metavar="COL=a,b,c", help="Declare the levels of a column; may be repeated.")
]
Categories = Annotated[
    Path | None, typer.Option(metavar="FILE", help='The same for many columns, as JSON: {"town": ["a", "b"]}.')
]
Person = Annotated[
    str | None, typer.Option(metavar="COL", help="Column that names people: protects a person instead of a record.")
]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", metavar="FILE", help="Spend from the budget kept here.")]
Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the data set in the ledger.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before spending a budget that protects hardly anybody.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


paper = typer.Typer(help="Rerun the evaluation of the paper and read it beside the published results.")
app.add_typer(paper, name="paper", no_args_is_help=True)
ledger = typer.Typer(help="A data set's total budget, kept on disk.")
app.add_typer(ledger, name="ledger", no_args_is_help=True)


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Differentially private linear regression without data bounds or tuning."""


@app.command()
def demo(
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write the demo's table to this file, as CSV.")
    ] = None,
) -> None:
    """Fit the pay of 31,857 mothers, privately and not; write privreg-demo.html and privreg-demo.json."""
    with one_line("demo"):
        with loading():
            from privreg.cli.demo import run_demo, write_data

        run_demo() if data is None else write_data(data)


@app.command()
def fit(
    data: Data,
    target: Target,
    epsilon: Epsilon,
    delta: Delta = Decimal("1e-6"),
    k: Annotated[str, typer.Option(parser=_whole_or_auto, metavar="N|auto", help="The most features to use.")] = "auto",
    method: Annotated[
        str, typer.Option(help=f"auto, or a method of the paper: {', '.join(private_methods())}.")
    ] = "auto",
    features: Features = None,
    drop: Drop = None,
    category: Category = None,
    categories: Categories = None,
    person: Person = None,
    rows_per_person: Annotated[int, typer.Option(min=1, help="The most records kept of one person.")] = 1,
    max_rows_for_selection: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Choose features by samples of about N records, if more.")
    ] = None,
    engine: Engine = "auto",
    scheduler: Scheduler = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model, as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report, as one HTML page.")] = None,
    force: Force = False,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Fit a linear model that reveals almost nothing about any one record."""
    with one_line("fit"):
        from privreg.cli.check import check_fit
        from privreg.cli.request import BudgetOptions, MethodOptions, OutputOptions, TableOptions

        source = TableOptions(
            data, target, features or [], drop or [], person, category or [], categories, engine, scheduler
        )
        spending = BudgetOptions(epsilon, delta, ledger, dataset)
        wanted = MethodOptions(method, k, rows_per_person, max_rows_for_selection)
        outputs = OutputOptions(out, report, force)
        opened = check_fit(source, spending, wanted, outputs)
        _confirm("fit", spending, ask=not yes and not as_json)
        with loading():
            from privreg.cli.fit import run_fit

        run_fit(opened, source, spending, wanted, outputs, as_json)


@app.command()
def select(
    data: Data,
    target: Target,
    k: Annotated[int, typer.Option(min=1, metavar="N", help="How many features to choose.", show_default=False)],
    epsilon: Epsilon,
    delta: Delta = Decimal(0),
    method: Annotated[str, typer.Option(help="kendall or sublasso.")] = "kendall",
    features: Features = None,
    drop: Drop = None,
    category: Category = None,
    categories: Categories = None,
    engine: Engine = "auto",
    scheduler: Scheduler = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Choose the features that say most about the target, without a model."""
    with one_line("select"):
        from privreg.cli.check import check_select
        from privreg.cli.request import BudgetOptions, TableOptions

        source = TableOptions(
            data, target, features or [], drop or [], None, category or [], categories, engine, scheduler
        )
        spending = BudgetOptions(epsilon, delta, ledger, dataset)
        opened = check_select(source, spending, method)
        _confirm("select", spending, ask=not yes and not as_json)
        with loading():
            from privreg.cli.fit import run_select

        run_select(opened, source, spending, method, k, as_json)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model file that privreg fit --out wrote.", show_default=False)],
    data: Annotated[
        Path, typer.Argument(help="CSV, TSV or Parquet, one file or many, of any size.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV, TSV or Parquet, by its name. Default: CSV to the screen.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COL,COL", help="Columns to copy beside the predictions; may be repeated."),
    ] = None,
    force: Force = False,
) -> None:
    """Predict the target for each row of a file. Costs nothing: the model is public already."""
    with one_line("predict"):
        from privreg.cli.check import check_predict

        check_predict(model, data, out, keep or [], force)
        with loading():
            from privreg.cli.predict import run_predict

        run_predict(model, data, out, keep or [])


@ledger.command("create")
def ledger_create(
    file: Annotated[Path, typer.Argument(help="The ledger; made if it is not there.", show_default=False)],
    dataset: Annotated[str, typer.Option(metavar="NAME", help="Name for the data set.", show_default=False)],
    epsilon: Epsilon,
    delta: Delta,
) -> None:
    """Give a data set a total budget."""
    with one_line("ledger create"):
        from privreg.cli.ledger import run_create

        run_create(file, dataset, epsilon, delta)


@ledger.command("status")
def ledger_status(
    file: Annotated[Path, typer.Argument(help="The ledger.", show_default=False)],
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="One data set. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """What was spent, and what there is room for."""
    with one_line("ledger status"):
        from privreg.cli.ledger import run_status

        run_status(file, dataset, as_json)


@ledger.command("history")
def ledger_history(
    file: Annotated[Path, typer.Argument(help="The ledger.", show_default=False)],
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="One data set. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Every request that was entered."""
    with one_line("ledger history"):
        from privreg.cli.ledger import run_history

        run_history(file, dataset, as_json)


@app.command()
def plan(
    rows: int = typer.Option(..., help="Number of records in the table, roughly.", min=0),
    columns: int = typer.Option(..., help="Number of feature columns, one for each level of a category.", min=1),
    epsilon: float = typer.Option(..., help="The privacy budget ε."),
    delta: float = typer.Option(1e-6, help="The privacy budget δ."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """What accuracy to expect from a budget, before anything is spent. Reads no data."""
    import json

    from privreg.cli.progress import bar
    from privreg.estimators.budgets import check_budget
    from privreg.privacy.accountant import Budget

    with one_line("plan"):
        check_budget(Budget(epsilon, delta))
        with loading():
            from privreg.estimators.private_linear.planner import plan as simulate

        with bar("simulating") as advance:
            outlook = simulate(rows, columns, epsilon, delta, progress=advance)
    typer.echo(json.dumps(outlook.to_dict()) if as_json else str(outlook))


@paper.command("run")
def paper_run(
    data: str = typer.Option(..., help='A folder of <task>_<name>.parquet files, or "openml" to fetch the 25 tasks.'),
    out: Path = typer.Option(..., help="Folder for the results. A run that was stopped goes on from there."),
    k: list[int] = typer.Option([5, 10], help="Number of features to select; may be repeated."),
    trials: int = typer.Option(10, help="Random 90/10 splits."),
    epsilon: str = typer.Option("ln3", help="Privacy budget ε, or several with commas: 0.3,1,3."),
    delta: float = typer.Option(1e-5, help="Privacy budget δ."),
    methods: str = typer.Option("", help='Methods with commas, or "all". Default: the seven, K-Tukey-strict and ours.'),
    tasks: str = typer.Option("", help="Task numbers with commas. Default: all that are there."),
    jobs: int = typer.Option(0, help="Processes. Default: one for each core."),
    seed: int = typer.Option(0, help="For the splits and the noise: the data are public, and a run can be repeated."),
    jitter: bool = typer.Option(False, "--jitter", help="Perturb features by up to 1e-6, as the published runs did."),
    retry: bool = typer.Option(False, "--retry", help="Run trials again that failed before."),
    cache: Path | None = typer.Option(None, help="Where data sets from OpenML are kept."),
    server: str | None = typer.Option(None, help="Address of another OpenML server."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as one JSON object."),
) -> None:
    """Run the paper's methods, and ours, on its data sets. For public data only: test scores are exact."""
    with one_line("paper run"):
        from privreg.cli.paper import Options, run

        options = Options(
            data, out, k, trials, epsilon, delta, methods, tasks, jobs, seed, jitter, retry, cache, server
        )
        run(options, as_json)


@paper.command("report")
def paper_report(
    folder: Path = typer.Argument(..., help="The folder of a run."),
    as_json: bool = typer.Option(False, "--json", help="Print the names of the files as one JSON object."),
) -> None:
    """Tables, charts and an HTML page from the results of a run, also while it is going on."""
    with one_line("paper report"):
        from privreg.cli.paper import report

        report(folder, as_json)
