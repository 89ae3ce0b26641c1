"""`privreg schema`: the private reading step alone. The work is done in run_fit.py."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.fit import confirm
from privreg.cli.terminal import stages


def schema(
    data: options.Data,
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal("1e-6"),
    where: options.Where = None,
    sheet: options.Sheet = None,
    features: options.Features = None,
    drop: options.Drop = None,
    category: options.Category = None,
    categories: options.Categories = None,
    range: options.Range = None,
    missing: options.Missing = "drop",
    encoding: options.Encoding = None,
    person: options.Person = None,
    rows_per_person: options.RowsPerPerson = 1,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the schema, as JSON.")] = None,
    force: options.Force = False,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    purpose: options.Purpose = None,
    yes: options.Yes = False,
    as_json: options.AsJson = False,
) -> None:
    """Find out what the columns hold. privreg fit --schema uses it again, at no further cost."""
    typed = locals()
    from privreg.cli.check import Job, check_schema

    job = Job("schema", target=None, method="", k=0, **typed)
    opened = check_schema(job)
    confirm(job)
    with stages("loading"):
        from privreg.cli.run_fit import run_schema

    run_schema(job, opened)
