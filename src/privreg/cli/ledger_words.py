"""A ledger in words: what was spent and what is left of a data set's budget, and the history."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from privreg._format import count_of, epsilon_delta, number, shown
from privreg.cli.grid import grid
from privreg.cli.terminal import say
from privreg.privacy.ledger.lines import Amendment, Entry
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.ledger.status import Status
from privreg.privacy.ledger.why import left_for_one_more, why

_LABEL = 10  # letters of the longest label, and two blanks
_BAR = 40  # cells of the longest bar
_STATES = {"begun": "begun, or died", "finished": "finished", "failed": "failed"}
_HEAD = ("entry", "time (UTC)", "who", "data set", "what", "purpose", "ε", "δ", "state")


def show_status(out: Console, status: Status, amendments: Sequence[Amendment]) -> None:
    """One data set: budget, spent, left, and why both may add up to more than the budget."""
    out.print(Text(shown(status.dataset), style="bold"))
    budget = epsilon_delta(float(status.epsilon), float(status.delta))
    unit = "one record or one person: the first entry decides" if status.unit is None else f"one {shown(status.unit)}"
    _fact(out, "budget", budget)
    _fact(out, "protects", unit)
    _fact(out, "spent", _spent(status))
    _bar(out, status)
    _fact(out, "left", _left(status))
    for amendment in amendments:
        _fact(out, "amended", _amended(amendment))
    if reason := why(status):
        say(out, reason, first="  ")


def _fact(out: Console, label: str, text: str) -> None:
    say(out, text, first=f"  {label:<{_LABEL}}", then=" " * (_LABEL + 2))


def _spent(s: Status) -> str:
    if not s.entries:
        return "nothing yet"
    requests = f"requests add up to {epsilon_delta(float(s.sum_epsilon), float(s.sum_delta))}"
    entries = count_of(s.entries, "entry", "entries")
    return f"ε = {number(s.spent_epsilon, 4)} of {number(float(s.epsilon), 6)} in {entries} ({requests})"


def _left(s: Status) -> str:
    if not s.within:
        return "nothing: more is spent than the budget, which was lowered"
    return room_in_words(left_for_one_more(s), float(s.next_delta), "one more fit" if s.entries else "a fit")


def _bar(out: Console, s: Status) -> None:
    """The part of ε that is spent, for people who look."""
    length = min(_BAR, out.width - _LABEL - 8)
    if not out.is_terminal or not s.entries or length < 10 or not out.encoding.startswith("utf"):
        return
    part = min(s.spent_epsilon / float(s.epsilon), 1.0)
    full = min(max(round(length * part), 1), length)
    bar = Text(" " * (_LABEL + 2))
    bar.append("█" * full, "green" if s.within else "red").append("░" * (length - full), "dim")
    out.print(bar, no_wrap=True)


def show_history(out: Console, lines: Sequence[Entry | Amendment]) -> None:
    """A table, if the terminal is wide enough for all of it; otherwise a paragraph for each entry."""
    if not lines:
        out.print("The ledger has no entries.")
        return
    rows = [_row(line) for line in lines]
    told = [i for i in range(len(_HEAD)) if any(row[i] for row in rows)]
    if out.is_terminal and len({line.dataset for line in lines}) == 1:
        told.remove(_HEAD.index("data set"))
    table = grid([_HEAD[i] for i in told], *([row[i] for i in told] for row in rows), left=len(told))
    if not out.is_terminal or table.width <= out.width:
        out.print(table)
        return
    digits = max(len(row[0]) for row in rows)
    for line, row in zip(lines, rows, strict=True):
        _paragraph(out, line, row, digits)


def _paragraph(out: Console, line: Entry | Amendment, row: Sequence[str], digits: int) -> None:
    """One entry in lines: when and who, what and why, and how much."""
    entry, time, who, dataset, what, purpose, epsilon, delta, state = row
    indent = " " * (digits + 3)
    say(out, f"{time}, {who}, {dataset}", "bold", f" {entry:>{digits}}  ", indent)
    reason = "Purpose" if isinstance(line, Entry) else "Reason"
    say(out, f"{what}. {reason}: {purpose}" if purpose else what, first=indent)
    if isinstance(line, Entry):
        say(out, f"ε = {epsilon}, δ = {delta}, {state}", first=indent)


def _row(line: Entry | Amendment) -> tuple[str, ...]:
    """An amendment stands between entries and has no number."""
    about = line.time[:16].replace("T", " "), shown(line.who), shown(line.dataset)
    if not isinstance(line, Entry):
        return "", *about, f"amend {_changes(line)}", shown(line.reason), "", "", ""
    amounts = number(float(line.epsilon), 6), number(float(line.delta), 6)
    state = _STATES.get(line.state, shown(line.state))
    return str(line.number), *about, shown(line.what), shown(line.purpose), *amounts, state


def change(a: Amendment) -> str:
    """The budget before and after."""
    old, new = (a.old_epsilon, a.old_delta), (a.epsilon, a.delta)
    return " → ".join(epsilon_delta(float(epsilon), float(delta)) for epsilon, delta in (old, new))


def _changes(a: Amendment) -> str:
    """Only what is new, to fit a cell."""
    pairs = {"ε": (a.old_epsilon, a.epsilon), "δ": (a.old_delta, a.delta)}
    return ", ".join(f"{s} {number(float(x), 6)} → {number(float(y), 6)}" for s, (x, y) in pairs.items() if x != y)


def _amended(a: Amendment) -> str:
    return f"{a.time[:16].replace('T', ' ')} by {shown(a.who)}: {change(a)}: {shown(a.reason)}"
