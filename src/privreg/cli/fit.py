"""`privreg fit`, `privreg check` and `privreg select`. The work is done in run_fit.py."""

import sys
from decimal import Decimal
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privreg.cli import options
from privreg.cli.help import MODEL
from privreg.cli.terminal import stages
from privreg.estimators.methods import private_methods

if TYPE_CHECKING:
    from privreg.cli.check import Job


def fit(
    data: options.Data,
    epsilon: options.Epsilon,
    formula: options.Formula = None,
    target: options.Target = None,
    features: options.Features = None,
    drop: options.Drop = None,
    where: options.Where = None,
    k: Annotated[
        str,
        typer.Option(
            parser=options.whole_or_auto,
            metavar="N|auto",
            help="Use at most N features; auto decides by the budget and the size of the table.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"PrivateLinearRegression (auto), or a method of the paper: {', '.join(private_methods())}.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    limits: Annotated[
        str,
        typer.Option(
            metavar="narrow|wide",
            help="How far out values are clipped. Wide is closer to plain least squares, with wider intervals.",
            rich_help_panel=MODEL,
        ),
    ] = "narrow",
    max_rows_for_selection: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Choose features on samples of about N records where there are more. Faster.",
            show_default="all records",
            rich_help_panel=MODEL,
        ),
    ] = None,
    delta: options.Delta = Decimal("1e-6"),
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = 1,
    yes: options.Yes = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    missing: options.Missing = "drop",
    category: options.Category = None,
    range: options.Range = None,
    categories: options.Categories = None,
    schema: options.SchemaFile = None,
    public: options.Public = None,
    sheet: options.Sheet = None,
    encoding: options.Encoding = None,
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    out: options.Out = None,
    report: options.Report = None,
    force: options.Force = False,
    verbose: options.Verbose = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit a linear model that provably reveals little about any single record.

    Whatever is not known about the columns is found out privately.

    Examples:
        privreg fit people.csv --target pay --epsilon 1
        privreg fit people.csv 'log(pay) ~ age + C(region)' --epsilon 1 --out model.json --report report.html
        privreg fit people.csv --target pay --epsilon 1 --ledger budget.db --dataset people
    """
    typed = locals()
    from privreg.cli.check import Job, check_fit

    job = Job("fit", **typed)
    opened = check_fit(job)
    confirm(job)
    with stages("loading the libraries"):
        from privreg.cli.run_fit import run_fit

    run_fit(job, opened)


def check(**typed: Any) -> None:
    """Show what privreg fit would do. Reads no record and spends nothing.

    It takes the options of privreg fit, and looks at the header of the table, the ledger and the places to write to.
    """
    from privreg.cli.check import Job, check_fit

    job = Job("check", **typed)
    opened = check_fit(job, ask=False)
    with stages("loading the libraries"):
        from privreg.cli.run_fit import run_check

    run_check(job, opened)


check.__signature__ = signature(fit)  # type: ignore[attr-defined]  # the very options of a fit
check.__annotations__ = fit.__annotations__


def select(
    data: options.Data,
    k: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Number of features to choose.", show_default=False, rich_help_panel=MODEL
        ),
    ],
    epsilon: options.Epsilon,
    formula: options.Formula = None,
    target: options.Target = None,
    features: options.Features = None,
    drop: options.Drop = None,
    where: options.Where = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="kendall|sublasso",
            help="By rank correlation, or by the votes of many small lasso models.",
            rich_help_panel=MODEL,
        ),
    ] = "kendall",
    delta: options.Delta = Decimal("1e-6"),
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = 1,
    yes: options.Yes = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    missing: options.Missing = "drop",
    category: options.Category = None,
    range: options.Range = None,
    categories: options.Categories = None,
    schema: options.SchemaFile = None,
    sheet: options.Sheet = None,
    encoding: options.Encoding = None,
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    verbose: options.Steps = False,
    as_json: options.AsJson = False,
) -> None:
    """Choose the features that tell most about the target, without fitting a model.

    Examples:
        privreg select people.csv --target pay --k 5 --epsilon 1
    """
    typed = locals()
    from privreg.cli.check import Job, check_select

    job = Job("select", **typed)
    opened = check_select(job)
    confirm(job)
    with stages("loading the libraries"):
        from privreg.cli.run_fit import run_select

    run_select(job, opened)


def confirm(job: "Job") -> None:
    """Say what a large budget means, unless the verdict will. At a terminal, go on only if that is meant."""
    from privreg.privacy.weak import weak_points

    points = weak_points(float(job.epsilon), float(job.delta))
    ask = not job.yes and not job.as_json and sys.stdin.isatty() and sys.stderr.isatty()
    verdict = job.command == "fit" and not job.as_json
    for text in points if ask or not verdict else ():
        typer.echo(f"privreg {job.command}: warning: {text}", err=True)
    if points and ask and not _agreed():
        typer.echo("Nothing was spent.", err=True)
        raise typer.Exit(1)


def _agreed() -> bool:
    try:
        return typer.confirm("Go on?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of input
        typer.echo(err=True)
        return False
