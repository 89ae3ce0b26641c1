"""Where the budget of a receipt went: its events grouped by purpose, and their shares."""

from dataclasses import dataclass
from math import isfinite

from privreg.privacy.purposes import purpose_of
from privreg.privacy.receipt import ADAPTIVE, Receipt


@dataclass(frozen=True)
class Group:
    """Steps with one purpose."""

    purpose: str
    meaning: str
    events: int
    cost: float  # in the currency
    share: float  # of all
    tenths: int  # the share in tenths of a per cent; those of all groups add up to 1000


@dataclass(frozen=True)
class BudgetUse:
    """The groups in the order of their first step, and what their cost is counted in."""

    currency: str
    explanation: str
    groups: list[Group]


def budget_use(receipt: Receipt) -> BudgetUse:
    """The steps by purpose."""
    currency, explanation, costs = _weights(receipt)
    groups: dict[str, list[float]] = {}
    meanings: dict[str, str] = {}
    for event, cost in zip(receipt.events, costs, strict=True):
        purpose = purpose_of(event.purpose)
        groups.setdefault(purpose.title, []).append(cost)
        meanings.setdefault(purpose.title, purpose.meaning)
    total = sum(map(sum, groups.values())) or 1.0
    shares = [sum(group) / total for group in groups.values()]
    return BudgetUse(
        currency,
        explanation,
        [
            Group(purpose, meanings[purpose], len(group), sum(group), share, tenths)
            for (purpose, group), share, tenths in zip(groups.items(), shares, in_tenths(shares), strict=True)
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


def _weights(receipt: Receipt) -> tuple[str, str, list[float]]:
    """What costs are counted in, so that they add up; how; and each step's cost."""
    costs = [receipt.cost(event) for event in receipt.events]
    if receipt.before is not None:
        return "ε", _PARTS, [weight for part in receipt.parts for weight in _in_epsilon(part)]
    if receipt.composition == ADAPTIVE:
        return "μ²", _MU, [cost["mu squared"] for cost in costs]
    rho = sum(cost.get("rho", 0.0) for cost in costs if "epsilon" not in cost)
    if all("epsilon" in cost for cost in costs):
        return "ε", _EPSILON, [cost["epsilon"] for cost in costs]
    rest = receipt.epsilon / receipt.rows - sum(cost.get("epsilon", 0.0) for cost in costs)  # costs are of one record
    if rest > 0 and isfinite(rest):
        return "ε", _MIXED, [cost["epsilon"] if "epsilon" in cost else cost["rho"] / rho * rest for cost in costs]
    return "ρ", _RHO, [cost.get("rho", 0.0) for cost in costs]


def _in_epsilon(part: Receipt) -> list[float]:
    """The ε of a part, divided among its steps."""
    _, _, weights = _weights(part)
    total = sum(weights) or 1.0
    return [weight / total * part.epsilon for weight in weights]


_MU = (
    "The cost of a step is counted in μ² (mu squared, of Gaussian differential privacy), which adds up: the sum over "
    "all steps gives ε and δ. More noise costs less."
)
_EPSILON = "The cost of each step is its own ε. Shares are parts of their sum. More noise costs less."
_MIXED = (
    "Steps with Gaussian noise have no ε of their own, only together: what the other steps leave of the total ε is "
    "divided among them in proportion to their ρ (rho, of zero-concentrated differential privacy), which adds up."
)
_PARTS = (
    "Reading the table and fitting the model each have their own part of the budget, and the parts add up. The ε of a "
    "part is divided among its steps in proportion to their cost."
)
_RHO = "The cost of a step is counted in ρ (rho, of zero-concentrated differential privacy), which adds up."
