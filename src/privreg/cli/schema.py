"""`privreg schema`: the private reading step alone. The work is done in run_fit.py."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.fit import confirm
from privreg.cli.help import OUTPUT
from privreg.cli.terminal import stages


def schema(
    data: options.Data,
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal("1e-6"),
    features: options.Features = None,
    drop: options.Drop = None,
    where: options.Where = None,
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
    sheet: options.Sheet = None,
    encoding: options.Encoding = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the schema, as JSON.", show_default=False, rich_help_panel=OUTPUT),
    ] = None,
    force: options.Force = False,
    verbose: options.Steps = False,
    as_json: options.AsJson = False,
) -> None:
    """Find out privately what the columns hold, once for many fits.

    privreg fit --schema FILE reuses it at no further cost.

    Examples:
        privreg schema people.csv --epsilon 0.2 --out schema.json
        privreg fit people.csv --target pay --epsilon 1 --schema schema.json
    """
    typed = locals()
    from privreg.cli.check import Job, check_schema

    job = Job("schema", target=None, method="", k=0, **typed)
    opened = check_schema(job)
    confirm(job)
    with stages("loading the libraries"):
        from privreg.cli.run_fit import run_schema

    run_schema(job, opened)
