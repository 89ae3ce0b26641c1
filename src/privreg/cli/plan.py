"""`privreg plan`."""

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from privreg.cli import options
from privreg.cli.grid import grid
from privreg.cli.terminal import console, say

if TYPE_CHECKING:
    from privreg.estimators.private_linear.planner import Plan

SPARE = ("8 of 10 fits", "wider", "R² not private")  # columns that go where it is narrow


def plan(
    rows: Annotated[int, typer.Option(metavar="N", help="Number of records, roughly.", min=0, show_default=False)],
    columns: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of feature columns; a category counts as one for each level but the first.",
            min=1,
            show_default=False,
        ),
    ],
    epsilon: options.Epsilon,
    delta: options.Delta = Decimal("1e-6"),
    as_json: options.AsJson = False,
) -> None:
    """Estimate how accurate a fit would be. Reads no data and spends nothing.

    It looks up what fits on made-up tables of similar size were found to reach.

    Examples:
        privreg plan --rows 30000 --columns 12 --epsilon 1
    """
    from privreg.estimators.budgets import check_budget
    from privreg.privacy.accountant import Budget

    budget = Budget(float(epsilon), float(delta))
    check_budget(budget)  # before anything heavy is loaded
    from privreg.estimators.private_linear.planner import plan as expect

    outlook = expect(rows, columns, budget.epsilon, budget.delta)
    if as_json:
        typer.echo(json.dumps(outlook.to_dict()))
    else:
        show_plan(outlook)


def show_plan(outlook: "Plan") -> None:
    """In the width of the terminal, with the meaning of the columns that there is room for."""
    out = console()
    table = grid(*outlook.cells, left=0, spare=SPARE)
    say(out, outlook.headline)
    out.print()
    out.print(table)
    out.print()
    say(out, outlook.legend(table.columns(out.width)))
    say(out, " ".join(outlook.source))
