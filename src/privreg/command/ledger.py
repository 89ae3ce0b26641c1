"""What ledgers look like in a terminal."""

from rich.text import Text

from privreg.command.terminal import console, grid
from privreg.privacy.ledger import Entry, Status


def show_status(statuses: list[Status]) -> None:
    """The budgets of a ledger."""
    out = console()
    table = grid("data set", "protects", "entries", "budget ε", "δ", "spent ε", "sum of requests", "room for ε", "at δ")
    for s in statuses:
        table.add_row(
            Text(s.dataset), f"one {s.unit}" if s.unit else "", f"{s.entries:,}", f"{s.epsilon:g}",
            f"{float(s.delta):g}", f"{s.spent_epsilon:.4g}", f"{float(s.sum_epsilon):g}", f"{s.room:.3g}",
            f"{float(s.next_delta):g}",
        )  # fmt: skip
    out.print(table)
    out.print("Spent: the smaller of the sum of all requests and the accountant's total. Room: for one more fit.")


def show_history(entries: list[Entry]) -> None:
    """The entries of a ledger."""
    out = console()
    table = grid("entry", "time", "data set", "what", "ε", "δ", "state")
    for e in entries:
        values = f"{float(e.epsilon):g}", f"{float(e.delta):g}", _STATES[e.state]
        table.add_row(str(e.number), e.time, Text(e.dataset), Text(e.what), *values)
    out.print(table)


_STATES = {"begun": "begun, or died", "finished": "finished", "failed": "failed"}
