"""Where the budget went: steps grouped by purpose, and their shares."""

from privreg._format import number, shown
from privreg.privacy.budget_use import budget_use
from privreg.privacy.events import Event
from privreg.privacy.promise import overspent
from privreg.privacy.receipt import Receipt, cost_text
from privreg.privacy.spent import spent
from privreg.report.document import Bar, Content, Fold, Grid, Share, TableCell, words
from privreg.results.release import Release


def blocks(release: Release, asked: float | None = None) -> list[Content]:
    """The section. `asked` is the δ that a ledger was asked for, if there is one."""
    receipt = release.receipt
    if not receipt.events:
        return ["Nothing was released from the data, so nothing was spent."]
    used = budget_use(receipt)
    shares = [Share(group.purpose, group.meaning, group.tenths, group.events) for group in used.groups]
    return [
        _total(receipt, asked),
        Bar("Shares of the budget", shares),
        Fold(f"Every step, in order ({len(receipt.events)})", [used.explanation, _steps(release)]),
    ]


def _total(receipt: Receipt, asked: float | None) -> str:
    more = " That is MORE than the budget." if overspent(receipt) else ""
    return f"The steps of this fit spent {spent(receipt, asked)}.{more}"


def _steps(release: Release) -> Grid:
    events = release.receipt.events
    costs = [release.receipt.cost(event) for event in events]
    rows = [
        [
            TableCell(_step_name(event, release.columns), order=f"{i:06}"),
            words(event.mechanism),
            TableCell("–" if event.noise is None else number(event.noise, 4), order=event.noise),
            TableCell(cost_text(cost), order=next(iter(cost.values()), None)),
        ]
        for i, (event, cost) in enumerate(zip(events, costs, strict=True))
    ]
    note = (
        "Mechanism: Gaussian and Laplace noise is added to a sum; the exponential mechanism picks by noisy scores; "
        "propose-test-release tests with noise whether a draw is safe before it is made. Noise: its scale (the "
        "standard deviation of Gaussian noise), in records for counts, in units of the most that one record can change "
        "for other sums, and in units of the score for picks."
    )
    return Grid(["step", "mechanism", "noise", "cost"], rows, note=note)


def _step_name(event: Event, columns: list[str]) -> str:
    """A column by its name instead of its number."""
    if event.column is None or event.column >= len(columns):
        return event.name
    return event.name.replace(f"column {event.column}", shown(columns[event.column]))
