"""`privreg plan`."""

import json
from decimal import Decimal
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.terminal import bar, stages


def plan(
    rows: Annotated[int, typer.Option(help="Number of records in the table, roughly.", min=0, show_default=False)],
    columns: Annotated[
        int,
        typer.Option(help="Number of feature columns, one for each level of a category.", min=1, show_default=False),
    ],
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal("1e-6"),
    as_json: options.AsJson = False,
) -> None:
    """What accuracy, and how wide intervals, to expect from a budget, before anything is spent. Reads no data."""
    from privreg.estimators.budgets import check_budget
    from privreg.privacy.accountant import Budget

    budget = Budget(float(epsilon), float(delta))
    check_budget(budget)
    with stages("loading"):
        import privreg

        simulate = privreg.plan
    with bar("simulating") as advance:
        outlook = simulate(rows, columns, budget.epsilon, budget.delta, progress=advance)
    typer.echo(json.dumps(outlook.to_dict()) if as_json else str(outlook))
