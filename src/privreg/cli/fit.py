"""`privreg fit`, `privreg check` and `privreg select`. The work is done in run_fit.py."""

import sys
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privreg.cli import options
from privreg.cli.terminal import stages
from privreg.estimators.methods import private_methods

if TYPE_CHECKING:
    from privreg.cli.check import Job


def fit(
    data: options.Data,
    epsilon: options.Epsilon,
    formula: options.Formula = None,
    target: options.Target = None,
    delta: options.Delta = Decimal("1e-6"),
    sheet: options.Sheet = None,
    k: Annotated[
        str, typer.Option(parser=options.whole_or_auto, metavar="N|auto", help="The most features to use.")
    ] = "auto",
    method: Annotated[
        str, typer.Option(help=f"auto, or a method of the paper: {', '.join(private_methods())}.")
    ] = "auto",
    where: options.Where = None,
    features: options.Features = None,
    drop: options.Drop = None,
    category: options.Category = None,
    categories: options.Categories = None,
    range: options.Range = None,
    missing: options.Missing = "drop",
    encoding: options.Encoding = None,
    schema: options.SchemaFile = None,
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = 1,
    max_rows_for_selection: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Choose features by samples of about N records, if more.")
    ] = None,
    limits: Annotated[
        str,
        typer.Option(metavar="narrow|wide", help="Clip values where that is best, or only far out: wider intervals."),
    ] = "narrow",
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model, as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report, as one HTML page.")] = None,
    force: options.Force = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit a linear model that reveals almost nothing about any one record."""
    typed = locals()
    from privreg.cli.check import Job, check_fit

    job = Job("fit", **typed)
    opened = check_fit(job)
    confirm(job)
    with stages("loading"):
        from privreg.cli.run_fit import run_fit

    run_fit(job, opened)


def check(**typed: Any) -> None:
    """Say what privreg fit would do: columns, cost, ledger, files. Reads no record and spends nothing."""
    from privreg.cli.check import Job, check_fit

    job = Job("check", **typed)
    opened = check_fit(job, ask=False)
    with stages("loading"):
        from privreg.cli.run_fit import run_check

    run_check(job, opened)


check.__signature__ = signature(fit)  # type: ignore[attr-defined]  # the very options of a fit
check.__annotations__ = fit.__annotations__


def select(
    data: options.Data,
    k: Annotated[int, typer.Option(min=1, metavar="N", help="How many features to choose.", show_default=False)],
    epsilon: options.Epsilon,
    formula: options.Formula = None,
    target: options.Target = None,
    delta: options.Delta = Decimal("1e-6"),
    sheet: options.Sheet = None,
    method: Annotated[str, typer.Option(help="kendall or sublasso.")] = "kendall",
    where: options.Where = None,
    features: options.Features = None,
    drop: options.Drop = None,
    category: options.Category = None,
    categories: options.Categories = None,
    range: options.Range = None,
    missing: options.Missing = "drop",
    encoding: options.Encoding = None,
    schema: options.SchemaFile = None,
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = 1,
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Choose the features that say most about the target, without a model."""
    typed = locals()
    from privreg.cli.check import Job, check_select

    job = Job("select", **typed)
    opened = check_select(job)
    confirm(job)
    with stages("loading"):
        from privreg.cli.run_fit import run_select

    run_select(job, opened)


def confirm(job: "Job") -> None:
    """Say what a large budget means. At a terminal, go on only if that is meant."""
    from privreg.privacy.weak import weak_points

    points = weak_points(float(job.epsilon), float(job.delta))
    for text in points:
        typer.echo(f"privreg {job.command}: warning: {text}", err=True)
    ask = not job.yes and not job.as_json
    if points and ask and sys.stdin.isatty() and sys.stderr.isatty() and not _agreed():
        typer.echo("Nothing was spent.", err=True)
        raise typer.Exit(1)


def _agreed() -> bool:
    try:
        return typer.confirm("Go on?", err=True)
    except typer.Abort:  # Ctrl-C, or the end of input
        typer.echo(err=True)
        return False
