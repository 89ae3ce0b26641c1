"""`privreg select`."""

from decimal import Decimal
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.messages import confirm
from privreg.cli.progress import loading


def select(
    data: options.Data,
    target: options.Target,
    k: Annotated[int, typer.Option(min=1, metavar="N", help="How many features to choose.", show_default=False)],
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal(0),
    method: Annotated[str, typer.Option(help="kendall or sublasso.")] = "kendall",
    features: options.Features = None,
    drop: options.Drop = None,
    category: options.Category = None,
    categories: options.Categories = None,
    engine: options.Engine = "auto",
    scheduler: options.Scheduler = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Choose the features that say most about the target, without a model."""
    typed = locals()
    from privreg.cli.check import check_select
    from privreg.cli.job import Job

    job = Job("select", **typed)
    opened = check_select(job)
    confirm(job)
    with loading():
        from privreg.cli.run_fit import run_select

    run_select(job, opened)
