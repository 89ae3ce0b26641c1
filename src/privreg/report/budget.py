"""Where the budget went: steps grouped by purpose, and their shares."""

from dataclasses import dataclass
from math import isfinite

from privreg._format import epsilon_delta, number, shown
from privreg.privacy.events import Event
from privreg.privacy.purposes import purpose_of
from privreg.privacy.receipt import SYMBOLS, Receipt
from privreg.report import model_charts
from privreg.report.document import Content, Grid, TableCell, count, words
from privreg.report.guarantee import overspent
from privreg.results.release import Release


@dataclass(frozen=True)
class Group:
    """Steps with one purpose."""

    purpose: str
    meaning: str
    events: int
    cost: float  # in the currency
    share: float  # of all
    tenths: int  # the share in tenths of a per cent; those of all groups add up to 1000

    @property
    def percent(self) -> str:
        return f"{self.tenths / 10:.1f} %"


@dataclass(frozen=True)
class BudgetUse:
    """The groups in the order of their first step, and what their cost is counted in."""

    currency: str
    explanation: str
    groups: list[Group]


def spending(receipt: Receipt) -> BudgetUse:
    """The steps by purpose."""
    costs = [event["cost"] for event in receipt.to_dict()["steps"]]
    currency, explanation, values = _weights(receipt, costs)
    sums: dict[str, list[float]] = {}
    meanings: dict[str, str] = {}
    for event, value in zip(receipt.events, values, strict=True):
        purpose = purpose_of(event.purpose)
        sums.setdefault(purpose.title, []).append(value)
        meanings.setdefault(purpose.title, purpose.meaning)
    total = sum(map(sum, sums.values())) or 1.0
    shares = [sum(values) / total for values in sums.values()]
    return BudgetUse(
        currency,
        explanation,
        [
            Group(purpose, meanings[purpose], len(values), sum(values), share, tenths)
            for (purpose, values), share, tenths in zip(sums.items(), shares, in_tenths(shares), strict=True)
        ],
    )


def in_tenths(shares: list[float]) -> list[int]:
    """Shares that add up to 1 as tenths of a per cent that add up to 1000: the largest remainders are rounded up."""
    exact = [1000 * share for share in shares]
    whole = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: whole[i] - exact[i])
    for i in by_remainder[: 1000 - sum(whole) if sum(shares) else 0]:
        whole[i] += 1
    return whole


def blocks(release: Release) -> list[Content]:
    """The section."""
    receipt = release.receipt
    if not receipt.events:
        return ["Nothing was released from the data, so nothing was spent."]
    spent = spending(receipt)
    return [
        _total(receipt),
        spent.explanation,
        model_charts.shares_picture({group.purpose: group.tenths for group in spent.groups}),
        _groups(spent),
        _steps(release),
    ]


def _weights(receipt: Receipt, costs: list[dict[str, float]]) -> tuple[str, str, list[float]]:
    """What costs are counted in, in which they add up; how; and each step's cost."""
    if receipt.rows is not None:
        whole = (
            "The cost of a step is counted in μ² (mu squared, of Gaussian differential privacy), because that adds up: "
            "the sum of all steps gives ε and δ. More noise costs less."
        )
        return "μ²", whole, [cost["mu squared"] for cost in costs]
    epsilons = [cost.get("epsilon") for cost in costs]
    added = sum(e for e in epsilons if e is not None)
    rhos = [cost.get("rho", 0.0) for e, cost in zip(epsilons, costs, strict=True) if e is None]
    if not rhos:
        own = "The cost of each step is its own ε. Shares are parts of their sum. More noise costs less."
        return "ε", own, [e or 0.0 for e in epsilons]
    rest = receipt.epsilon - added
    if rest > 0 and isfinite(rest):
        mixed = (
            "Steps with Gaussian noise have no ε of their own, only together: what the total ε leaves after all other "
            "steps is divided among them in proportion to their ρ (rho, of zero-concentrated differential privacy), "
            "which adds up."
        )
        return (
            "ε",
            mixed,
            [cost["rho"] / sum(rhos) * rest if e is None else e for e, cost in zip(epsilons, costs, strict=True)],
        )
    concentrated = "The cost of a step is counted in ρ (rho, of zero-concentrated differential privacy), which adds up."
    return "ρ", concentrated, [cost.get("rho", 0.0) for cost in costs]


def _total(receipt: Receipt) -> str:
    asked = receipt.budget
    within = "That is MORE than was asked" if overspent(receipt) else "Context for, and never exceeded"
    return (
        f"Added up again from the steps below: {epsilon_delta(receipt.epsilon, receipt.delta)}. "
        f"{within}: {epsilon_delta(asked.epsilon, asked.delta)}."
    )


def _groups(spent: BudgetUse) -> Grid:
    rows = [
        [
            TableCell(group.purpose, order=group.purpose, detail=(group.meaning,)),
            count(group.events),
            TableCell(number(group.cost, 4), order=group.cost),
            TableCell(group.percent, order=group.share),
        ]
        for group in spent.groups
    ]
    return Grid(["purpose", "steps", f"cost ({spent.currency})", "share"], rows, "By purpose")


def _steps(release: Release) -> Grid:
    receipt = release.receipt
    costs = [event["cost"] for event in receipt.to_dict()["steps"]]
    rows = [
        [
            TableCell(_step_name(event, release.columns), order=f"{i:06}"),
            words(event.mechanism),
            _noise(event),
            TableCell(_cost(cost), order=next(iter(cost.values()), None)),
        ]
        for i, (event, cost) in enumerate(zip(receipt.events, costs, strict=True))
    ]
    note = (
        "Mechanism: Gaussian and Laplace noise is added to a sum; the exponential mechanism picks by noisy scores; "
        "propose-test-release tests with noise whether a draw is safe before it is made. Noise: its scale (for "
        "Gaussian noise the standard deviation), in records for counts, in units of what one record can change at most "
        "for other sums, and in units of the score for picks."
    )
    return Grid(["step", "mechanism", "noise", "cost"], rows, f"Every step, in order ({len(rows)})", note)


def _step_name(event: Event, columns: list[str]) -> str:
    """A column by its name instead of its number."""
    if event.column is None or event.column >= len(columns):
        return event.name
    return event.name.replace(f"column {event.column}", shown(columns[event.column]))


def _noise(event: Event) -> TableCell:
    return TableCell("–") if event.noise is None else TableCell(number(event.noise, 4), order=event.noise)


def _cost(cost: dict[str, float]) -> str:
    return ", ".join(f"{SYMBOLS[key]} = {number(value, 4)}" for key, value in cost.items())
