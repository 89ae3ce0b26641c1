"""`privreg ledger create`, `amend`, `status`, `history` and `backup`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from privreg._format import count_of, epsilon_delta, number, shown
from privreg.cli.options import AsJson, Delta, Epsilon, Force, NewDelta, NewEpsilon
from privreg.cli.terminal import console, grid

if TYPE_CHECKING:
    from privreg.privacy.ledger.lines import Amendment, Entry
    from privreg.privacy.ledger.status import Status

_File = Annotated[Path, typer.Argument(help="The ledger.", show_default=False)]
_Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="One data set. Default: all.")]
_STATES = {"begun": "begun, or died", "finished": "finished", "failed": "failed"}
_HEAD = ("entry", "time (UTC)", "who", "data set", "what", "purpose", "ε", "δ", "state")


def create(
    file: Annotated[Path, typer.Argument(help="The ledger; made if it is not there.", show_default=False)],
    dataset: Annotated[str, typer.Option(metavar="NAME", help="Name for the data set.", show_default=False)],
    epsilon: Epsilon,
    delta: Delta,
) -> None:
    """Give a data set a total budget."""
    from privreg import Ledger

    Ledger(file).create(dataset, epsilon, delta)
    print(f"{dataset}: {epsilon_delta(float(epsilon), float(delta))} in {file}")


def amend(
    file: _File,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="The data set.", show_default=False)],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; kept in the history.", show_default=False)],
    epsilon: NewEpsilon = None,
    delta: NewDelta = None,
    as_json: AsJson = False,
) -> None:
    """Give a data set more or less budget. Nothing that was spent is given back."""
    from privreg import Ledger

    ledger = Ledger(file)
    amendment = ledger.amend(dataset, epsilon, delta, reason)
    after = ledger.status(dataset)[0]
    if as_json:
        print(json.dumps({"amendment": amendment.to_dict(), "status": after.to_dict()}))
        return
    print(f"{shown(dataset)}: {_change(amendment)} in {file}")
    if not after.within:
        print("More than that is spent already: every further request is refused.")


def status(file: _File, dataset: _Dataset = None, as_json: AsJson = False) -> None:
    """What was spent, and what there is room for."""
    from privreg import Ledger

    statuses, amendments = Ledger(file).status(dataset), Ledger(file).amendments(dataset)
    of = {each.dataset: [a for a in amendments if a.dataset == each.dataset] for each in statuses}
    if as_json:
        told = [each.to_dict() | {"amendments": [a.to_dict() for a in of[each.dataset]]} for each in statuses]
        print(json.dumps({"datasets": told}))
        return
    out = console()
    for each in statuses:
        out.print(Text(shown(each.dataset), style="bold"))
        for name, value in [*_facts(each).items(), *(("amended", _words(a)) for a in of[each.dataset])]:
            out.print(f"  {name:<10}{value}", soft_wrap=True)
    if not statuses:
        out.print("The ledger has no data sets.")


def history(
    file: _File,
    dataset: _Dataset = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every request that was entered, and every amendment, in order."""
    if as_csv and as_json:
        raise ValueError("--csv and --json are two ways to print; choose one")
    from privreg import Ledger
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
        console().print(grid(_HEAD, *map(_row, lines)))


def backup(
    file: _File,
    dest: Annotated[Path, typer.Argument(help="Where to write the copy.", show_default=False)],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Copy a ledger, also while others spend from it."""
    from privreg import Ledger

    copy = Ledger(file).backup(dest, force)
    statuses, amendments = copy.status(), copy.amendments()
    if as_json:
        told = {"file": str(dest), "datasets": [each.to_dict() for each in statuses], "amendments": len(amendments)}
        print(json.dumps(told))
        return
    changed = f", {count_of(len(amendments), 'amendment')}" if amendments else ""
    print(f"{dest} is a copy of {file}: {count_of(len(statuses), 'data set')}{changed}")
    for each in statuses:
        spent = f"ε = {number(each.spent_epsilon, 4)} of {number(float(each.epsilon), 6)} spent"
        print(f"  {shown(each.dataset)}: {count_of(each.entries, 'entry', 'entries')}, {spent}")
    print("Restoring this copy erases what was spent after it was made.")


def _row(line: "Entry | Amendment") -> tuple[str, ...]:
    """An amendment stands between entries and has no number."""
    from privreg.privacy.ledger.lines import Entry

    about = line.time[:16].replace("T", " "), shown(line.who), shown(line.dataset)
    if not isinstance(line, Entry):
        return "", *about, f"amend {_changes(line)}", shown(line.reason), "", "", ""
    amounts = number(float(line.epsilon), 6), number(float(line.delta), 6)
    state = _STATES.get(line.state, shown(line.state))
    return str(line.number), *about, shown(line.what), shown(line.purpose), *amounts, state


def _change(a: "Amendment") -> str:
    old, new = (a.old_epsilon, a.old_delta), (a.epsilon, a.delta)
    return " → ".join(epsilon_delta(float(epsilon), float(delta)) for epsilon, delta in (old, new))


def _changes(a: "Amendment") -> str:
    """Only what is new, to fit a cell."""
    pairs = {"ε": (a.old_epsilon, a.epsilon), "δ": (a.old_delta, a.delta)}
    return ", ".join(f"{s} {number(float(x), 6)} → {number(float(y), 6)}" for s, (x, y) in pairs.items() if x != y)


def _words(a: "Amendment") -> str:
    return f"{a.time[:16].replace('T', ' ')} by {shown(a.who)}: {_change(a)}: {shown(a.reason)}"


def _facts(s: "Status") -> dict[str, str]:
    from privreg.privacy.ledger.status import rounded_down

    sums = f"sum of requests: {epsilon_delta(float(s.sum_epsilon), float(s.sum_delta))}"
    largest, delta = rounded_down(s.room(s.next_delta)), number(float(s.next_delta), 6)
    room = f"a fit by the default method with ε up to {largest} at δ = {delta}"
    return {
        "budget": epsilon_delta(float(s.epsilon), float(s.delta)),
        "protects": f"one {shown(s.unit)}" if s.unit else "decided by the first entry: one record or one person",
        "entries": f"{s.entries:,}",
        "spent": f"ε = {number(s.spent_epsilon, 4)} ({sums})",
        "room for": room if s.within else "nothing: more is spent than the budget, which was lowered",
    }
