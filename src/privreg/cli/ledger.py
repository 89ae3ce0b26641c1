"""`privreg ledger create`, `amend`, `status`, `history` and `backup`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from privreg._format import count_of, epsilon_delta, number, shown
from privreg.cli.help import OUTPUT
from privreg.cli.options import AsJson, Force, NewDelta, NewEpsilon, TotalDelta, TotalEpsilon
from privreg.cli.terminal import console, say

_File = Annotated[Path, typer.Argument(metavar="LEDGER", help="File of the ledger.", show_default=False)]
_Dataset = Annotated[
    str | None, typer.Option(metavar="NAME", help="Show one data set only.", show_default="all data sets")
]


def create(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="LEDGER", help="File of the ledger. It is created if it does not exist.", show_default=False
        ),
    ],
    dataset: Annotated[str, typer.Option(metavar="NAME", help="Name for the data set.", show_default=False)],
    epsilon: TotalEpsilon,
    delta: TotalDelta,
) -> None:
    """Give a data set a total budget.

    Examples:
        privreg ledger create budget.db --dataset people --epsilon 3 --delta 1e-5
    """
    from privreg import Ledger

    Ledger(file).create(dataset, epsilon, delta)
    say(console(), f"Created a budget of {epsilon_delta(float(epsilon), float(delta))} for {shown(dataset)} in {file}.")


def amend(
    file: _File,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="The data set.", show_default=False)],
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why the budget changes; kept in the history.", show_default=False)
    ],
    epsilon: NewEpsilon = None,
    delta: NewDelta = None,
    as_json: AsJson = False,
) -> None:
    """Raise or lower the budget of a data set. What was spent stays spent."""
    from privreg import Ledger
    from privreg.cli.ledger_words import change

    ledger = Ledger(file)
    amendment = ledger.amend(dataset, epsilon, delta, reason)
    after = ledger.status(dataset)[0]
    if as_json:
        print(json.dumps({"amendment": amendment.to_dict(), "status": after.to_dict()}))
        return
    out = console()
    say(out, f"{shown(dataset)}: {change(amendment)} in {file}")
    if not after.within:
        say(out, "More than that is spent already: every further request is refused.")


def status(file: _File, dataset: _Dataset = None, as_json: AsJson = False) -> None:
    """Show what was spent and what is left."""
    from privreg import Ledger
    from privreg.cli.ledger_words import show_status

    statuses, amendments = Ledger(file).status(dataset), Ledger(file).amendments(dataset)
    of = {each.dataset: [a for a in amendments if a.dataset == each.dataset] for each in statuses}
    if as_json:
        told = [each.to_dict() | {"amendments": [a.to_dict() for a in of[each.dataset]]} for each in statuses]
        print(json.dumps({"datasets": told}))
        return
    out = console()
    for each in statuses:
        show_status(out, each, of[each.dataset])
    if not statuses:
        out.print("The ledger has no data sets.")


def history(
    file: _File,
    dataset: _Dataset = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV, for a spreadsheet.", rich_help_panel=OUTPUT)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List every request and every change of the budget, in order."""
    if as_csv and as_json:
        raise ValueError("--csv and --json are two ways to print; choose one")
    from privreg import Ledger
    from privreg.cli.ledger_words import show_history
    from privreg.privacy.ledger.lines import in_order

    entries, amendments = Ledger(file).history(dataset), Ledger(file).amendments(dataset)
    lines = in_order(entries, amendments)
    if as_json:
        told = {"entries": [e.to_dict() for e in entries], "amendments": [a.to_dict() for a in amendments]}
        print(json.dumps(told))
    elif as_csv:
        from privreg.cli.ledger_csv import as_text

        print(as_text(lines), end="")
    else:
        show_history(console(), lines)


def backup(
    file: _File,
    dest: Annotated[Path, typer.Argument(metavar="COPY", help="File to write the copy to.", show_default=False)],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy a ledger safely, even while others spend from it."""
    from privreg import Ledger

    copy = Ledger(file).backup(dest, force)
    statuses, amendments = copy.status(), copy.amendments()
    if as_json:
        told = {"file": str(dest), "datasets": [each.to_dict() for each in statuses], "amendments": len(amendments)}
        print(json.dumps(told))
        return
    changed = f", {count_of(len(amendments), 'amendment')}" if amendments else ""
    out = console()
    say(out, f"{dest} is a copy of {file}: {count_of(len(statuses), 'data set')}{changed}")
    for each in statuses:
        spent = f"ε = {number(each.spent_epsilon, 4)} of {number(float(each.epsilon), 6)} spent"
        say(out, f"{shown(each.dataset)}: {count_of(each.entries, 'entry', 'entries')}, {spent}", first="  ")
    say(out, "Restoring this copy erases what was spent after it was made.")
