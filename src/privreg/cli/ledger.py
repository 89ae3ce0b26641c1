"""`privreg ledger create`, `status` and `history`."""

import json
from decimal import Decimal
from pathlib import Path

from rich.text import Text

from privreg._format import epsilon_delta, number
from privreg.cli.terminal import console, grid
from privreg.privacy.ledger.ledger import Entry, Ledger, Status, rounded_down


def run_create(file: Path, dataset: str, epsilon: Decimal, delta: Decimal) -> None:
    """Give a data set a budget, and say so."""
    Ledger(file).create(dataset, epsilon, delta)
    print(f"{dataset}: {epsilon_delta(float(epsilon), float(delta))} in {file}")


def run_status(file: Path, dataset: str | None, as_json: bool) -> None:
    """Print budgets and spending."""
    statuses = Ledger(file).status(dataset)
    if as_json:
        print(json.dumps({"datasets": [status.to_dict() for status in statuses]}))
    else:
        show_status(statuses)


def run_history(file: Path, dataset: str | None, as_json: bool) -> None:
    """Print the entries."""
    entries = Ledger(file).history(dataset)
    if as_json:
        print(json.dumps({"entries": [entry.to_dict() for entry in entries]}))
    else:
        show_history(entries)


def show_status(statuses: list[Status]) -> None:
    """The budgets of a ledger."""
    out = console()
    for status in statuses:
        out.print(Text(status.dataset, style="bold"))
        for name, value in _facts(status).items():
            out.print(f"  {name:<10}{value}", soft_wrap=True)
    if not statuses:
        out.print("The ledger has no data sets.")


def _facts(s: Status) -> dict[str, str]:
    sums = f"sum of requests: {epsilon_delta(float(s.sum_epsilon), float(s.sum_delta))}"
    largest, delta = rounded_down(s.room(s.next_delta)), number(float(s.next_delta), 6)
    return {
        "budget": epsilon_delta(float(s.epsilon), float(s.delta)),
        "protects": f"one {s.unit}" if s.unit else "decided by the first entry: one record or one person",
        "entries": f"{s.entries:,}",
        "spent": f"ε = {number(s.spent_epsilon, 4)} ({sums})",
        "room for": f"a fit by the default method with ε up to {largest} at δ = {delta}",
    }


def show_history(entries: list[Entry]) -> None:
    """The entries of a ledger."""
    rows = [
        (
            *(str(e.number), e.time[:16].replace("T", " "), e.dataset, e.what),
            *(number(float(e.epsilon), 6), number(float(e.delta), 6), _STATES.get(e.state, e.state)),
        )
        for e in entries
    ]
    console().print(grid(("entry", "time (UTC)", "data set", "what", "ε", "δ", "state"), *rows))


_STATES = {"begun": "begun, or died", "finished": "finished", "failed": "failed"}
