"""`privreg fit`."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.messages import confirm
from privreg.cli.progress import loading
from privreg.estimators.methods import private_methods


def fit(
    data: options.Data,
    target: options.Target,
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal("1e-6"),
    k: Annotated[
        str, typer.Option(parser=options.whole_or_auto, metavar="N|auto", help="The most features to use.")
    ] = "auto",
    method: Annotated[
        str, typer.Option(help=f"auto, or a method of the paper: {', '.join(private_methods())}.")
    ] = "auto",
    features: options.Features = None,
    drop: options.Drop = None,
    category: options.Category = None,
    categories: options.Categories = None,
    person: Annotated[
        str | None, typer.Option(metavar="COL", help="Column that names people: protects a person instead of a record.")
    ] = None,
    rows_per_person: Annotated[int, typer.Option(min=1, help="The most records kept of one person.")] = 1,
    max_rows_for_selection: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Choose features by samples of about N records, if more.")
    ] = None,
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model, as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report, as one HTML page.")] = None,
    force: options.Force = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Fit a linear model that reveals almost nothing about any one record."""
    typed = locals()
    from privreg.cli.check import check_fit
    from privreg.cli.job import Job

    job = Job("fit", **typed)
    opened = check_fit(job)
    confirm(job)
    with loading():
        from privreg.cli.run_fit import run_fit

    run_fit(job, opened)
