"""`privreg ledger create`, `status` and `history`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from privreg._format import epsilon_delta, number, shown
from privreg.cli.options import AsJson, Delta, Epsilon
from privreg.cli.terminal import console, grid

if TYPE_CHECKING:
    from privreg.privacy.ledger.status import Status

_File = Annotated[Path, typer.Argument(help="The ledger.", show_default=False)]
_Dataset = Annotated[str | None, typer.Option(metavar="NAME", help="One data set. Default: all.")]
_STATES = {"begun": "begun, or died", "finished": "finished", "failed": "failed"}


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


def status(file: _File, dataset: _Dataset = None, as_json: AsJson = False) -> None:
    """What was spent, and what there is room for."""
    from privreg import Ledger

    statuses = Ledger(file).status(dataset)
    if as_json:
        print(json.dumps({"datasets": [each.to_dict() for each in statuses]}))
        return
    out = console()
    for each in statuses:
        out.print(Text(each.dataset, style="bold"))
        for name, value in _facts(each).items():
            out.print(f"  {name:<10}{value}", soft_wrap=True)
    if not statuses:
        out.print("The ledger has no data sets.")


def history(file: _File, dataset: _Dataset = None, as_json: AsJson = False) -> None:
    """Every request that was entered."""
    from privreg import Ledger

    entries = Ledger(file).history(dataset)
    if as_json:
        print(json.dumps({"entries": [entry.to_dict() for entry in entries]}))
        return
    rows = [
        (
            *(str(e.number), e.time[:16].replace("T", " "), shown(e.who), e.dataset, shown(e.what), shown(e.purpose)),
            *(number(float(e.epsilon), 6), number(float(e.delta), 6), _STATES.get(e.state, e.state)),
        )
        for e in entries
    ]
    console().print(grid(("entry", "time (UTC)", "who", "data set", "what", "purpose", "ε", "δ", "state"), *rows))


def _facts(s: "Status") -> dict[str, str]:
    from privreg.privacy.ledger.status import rounded_down

    sums = f"sum of requests: {epsilon_delta(float(s.sum_epsilon), float(s.sum_delta))}"
    largest, delta = rounded_down(s.room(s.next_delta)), number(float(s.next_delta), 6)
    return {
        "budget": epsilon_delta(float(s.epsilon), float(s.delta)),
        "protects": f"one {s.unit}" if s.unit else "decided by the first entry: one record or one person",
        "entries": f"{s.entries:,}",
        "spent": f"ε = {number(s.spent_epsilon, 4)} ({sums})",
        "room for": f"a fit by the default method with ε up to {largest} at δ = {delta}",
    }
