"""A ledger in a notebook: each data set's budget, what is spent, and what there is room for."""

from privreg._format import epsilon_delta, number, shown
from privreg._notebook import Html, Part, Tone, card, caution, facts, note, table
from privreg.privacy.ledger.lines import Amendment
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.ledger.status import Status, rounded_down
from privreg.privacy.ledger.why import left_for_one_more, why


def ledger_card(file: str, statuses: list[Status], amendments: list[Amendment]) -> str:
    """All data sets of a file."""
    amended = _largest(statuses, amendments)
    parts = [_datasets(statuses), note(_ROOM)] if statuses else [note("The ledger has no data sets yet.")]
    parts += [note(f"{shown(status.dataset)}: {reason}") for status in statuses if (reason := why(status))]
    parts += [
        note(f"{shown(name)}: the budget was amended. The largest ever in force: {pair}.") for name, pair in amended
    ]
    over = [status.dataset for status in statuses if not status.within]
    parts += [caution(f"{shown(name)}: {_OVER}", "bad") for name in over]
    return card(f"Ledger {file}", *parts, badge=("bad", "Overspent") if over else None)


def _largest(statuses: list[Status], amendments: list[Amendment]) -> list[tuple[str, str]]:
    """Of each data set whose budget was amended, the largest ε and δ that it ever had: what is guaranteed."""
    found = []
    for status in statuses:
        own = [a for a in amendments if a.dataset == status.dataset]
        if own:
            epsilon = max(status.epsilon, *(a.old_epsilon for a in own), *(a.epsilon for a in own))
            delta = max(status.delta, *(a.old_delta for a in own), *(a.delta for a in own))
            found.append((status.dataset, epsilon_delta(float(epsilon), float(delta))))
    return found


def unreadable_card(file: str, reason: str) -> str:
    """A ledger that cannot be read now."""
    return card(f"Ledger {file}", caution(reason), badge=("care", "Not readable"))


def missing_card(file: str) -> str:
    """A ledger without a file."""
    return card(f"Ledger {file}", note("There is no such file yet. `create` makes it."), badge=("soft", "No file"))


def status_card(status: Status) -> str:
    """One data set."""
    parts = [facts(status_facts(status)), *([note(reason)] if (reason := why(status)) else [])]
    badge: tuple[Tone, str] = ("good", "Within budget")
    if not status.within:
        parts, badge = [*parts, caution(f"{_OVER[0].upper()}{_OVER[1:]}", "bad")], ("bad", "Overspent")
    return card(f"Budget of {shown(status.dataset)}", *parts, badge=badge)


def status_facts(status: Status) -> list[tuple[str, str | None]]:
    """Names and what they are."""
    sums = epsilon_delta(float(status.sum_epsilon), float(status.sum_delta))
    return [
        ("Budget", _budget(status)),
        ("Protected", _unit(status)),
        ("Entries", f"{status.entries:,}"),
        ("Spent", f"ε = {number(status.spent_epsilon, 4)} (sum of requests: {sums})"),
        ("Room for", _room(status)),
    ]


def _datasets(statuses: list[Status]) -> Html:
    rows = [
        (
            status.dataset,
            _budget(status),
            Part(f"ε = {number(status.spent_epsilon, 4)}", status.spent_epsilon / float(status.epsilon)),
            f"{status.entries:,}",
            _unit(status),
            _room_in_a_cell(status),
        )
        for status in statuses
    ]
    return table(("data set", "budget", "spent", "entries", "protected", "room for"), rows, left=6, title="Data sets")


def _budget(status: Status) -> str:
    return epsilon_delta(float(status.epsilon), float(status.delta))


def _unit(status: Status) -> str:
    return f"one {shown(status.unit)}" if status.unit else "set by the first entry"


def _room(status: Status) -> str:
    if not status.within:
        return "nothing"
    return room_in_words(left_for_one_more(status), float(status.next_delta))


def _room_in_a_cell(status: Status) -> str:
    """The note under the table names the method."""
    room = left_for_one_more(status)
    if room <= 0 or not status.within:
        return _room(status)
    return f"ε up to {rounded_down(room)} at δ = {number(float(status.next_delta), 6)}"


_ROOM = "Room for: one more fit by the default method, PrivateLinearRegression."
_OVER = "more is spent than the budget, which was lowered. Every further request is refused."
