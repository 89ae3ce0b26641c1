"""`privreg plan`."""

import json
import re
from decimal import Decimal
from typing import Annotated

import typer

from privreg.cli import options
from privreg.cli.grid import grid
from privreg.cli.terminal import bar, console, say, stages

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

    It simulates fits on made-up tables of the same size.

    Examples:
        privreg plan --rows 30000 --columns 12 --epsilon 1
    """
    from privreg.estimators.budgets import check_budget
    from privreg.privacy.accountant import Budget

    budget = Budget(float(epsilon), float(delta))
    check_budget(budget)
    with stages("loading the libraries"):
        import privreg

        simulate = privreg.plan
    with bar("simulating") as advance:
        outlook = simulate(rows, columns, budget.epsilon, budget.delta, progress=advance)
    if as_json:
        typer.echo(json.dumps(outlook.to_dict()))
    else:
        show_plan(str(outlook))


def show_plan(text: str) -> None:
    """A plan as it prints in Python, but in the width of the terminal. Its table is the lines around the rule."""
    out, lines = console(), text.splitlines()
    if max(map(len, lines)) <= out.width:
        typer.echo(text)
        return
    rule = next(i for i, line in enumerate(lines) if line.startswith("─"))
    end = lines.index("", rule)
    columns = [match.span() for match in re.finditer("─+", lines[rule])]
    rows = [[line[a:b].strip() for a, b in columns] for line in (lines[rule - 1], *lines[rule + 1 : end])]
    for line in lines[: rule - 1]:
        say(out, line) if line else out.print()
    out.print(grid(*rows, left=0, spare=SPARE))
    out.print()
    say(out, " ".join(line for line in lines[end:] if line))
