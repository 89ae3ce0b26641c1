"""What a list of events costs, and which noise fits a budget. Every answer is rounded so that it errs on the safe side.

The cost of a list is the smallest of several bounds that all hold (docs/proofs/accounting.md):

- picks, sampled or not, and Laplace events as pure DP, added exactly in rational arithmetic;
- everything in zero-concentrated DP, converted at δ by the Rényi bound of dp-accounting;
- Gaussians alone by the exact Gaussian curve, with the proven distance between discrete and continuous noise paid in δ;
- mixtures: some of the pure events added to a bound on the rest. Black boxes and propose-test-release are always added.

The δ′ of events that have one is taken off δ beforehand (docs/proofs/levels.md).

The events must be known before the first one runs: choosing between the bounds afterwards, for events that were
themselves chosen from earlier outputs, is not covered. Events chosen on the way are accounted in one currency, the μ²
of Gaussian DP (`adaptive_cost`, `adaptive_budget`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1, inf, isfinite, log, nextafter, sqrt
from numbers import Real
from typing import Unpack

from privreg._format import number
from privreg.errors import BudgetError
from privreg.privacy import gaussian
from privreg.privacy.events import About, Event, Pick, add, round_down, round_up

# Relative margin on results that pass through floating-point special functions, far above their rounding errors.
MARGIN = 1e-9
# A smaller δ buys nothing that could be computed reliably: the pure bound is used.
SMALLEST_DELTA = 1e-200
SMALLEST_EPSILON = 1e-100
# Events chosen on the way: the distance of all discrete noise from rounded continuous noise, for each unit of μ².
ADAPTIVE_ROUNDING = Fraction(1, 2**42)
# The part of δ that is reserved for δ′. A twentieth would lower the thresholds of counts by about a tenth, no more, but
# a ledger sums up the δ′ of all fits within a twentieth of its own δ: with a thousandth there is room for hundreds.
EXTRA_DELTA = Fraction(1, 1000)
# Of ε: far above what the search for a curve's ε is off by, so that a total at another δ cannot exceed the request.
_HAIR = Fraction(1, 10**11)


@dataclass(frozen=True)
class Budget:
    """The (ε, δ) that a user is willing to spend."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not _is_number(self.epsilon) or not SMALLEST_EPSILON <= self.epsilon < inf:
            raise ValueError(
                f"epsilon must be a positive number (at least {number(SMALLEST_EPSILON)}), got {self.epsilon!r}"
            )
        if not _is_number(self.delta) or not 0 <= self.delta < 1:
            raise ValueError(f"delta must be a number in [0, 1), got {self.delta!r}")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))


def check_delta(budget: Budget) -> None:
    """Raise ValueError unless delta is large enough for Gaussian noise."""
    if budget.delta < SMALLEST_DELTA:
        raise ValueError(
            f"delta must be at least {number(SMALLEST_DELTA)}: Gaussian noise gives no guarantee with delta = 0, "
            f"got {budget.delta!r}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def cost(events: Sequence[Event], delta: float) -> float:
    """The smallest ε, rounded up, such that the events together are proved (ε, delta)-DP; inf if there is none."""
    boxes = [event.approximate for event in events if event.approximate is not None]
    picks = [event for event in events if event.pure is not None and event.rho != event.pure**2 / 2]
    plain = [event for event in events if event.pure is not None and event.rho == event.pure**2 / 2]  # ε-DP, no more
    others = [event for event in events if event.pure is None and event.approximate is None]
    left = Fraction(delta) - sum((d for _, d in boxes), Fraction()) - sum(event.extra_delta for event in events)
    rho, mu_squared, rounding = _add_alike(others)
    if left < 0 or rho is None:
        return inf
    # (added as pure DP, in zCDP): all that are ε-DP added, all but the picks, none.
    splits = [([*picks, *plain], []), (plain, picks), ([], [*picks, *plain])]
    best = inf
    for i, (added, concentrated) in enumerate(splits):
        if i and not splits[i - 1][0]:
            break  # nothing was added before, so nothing changes
        pure, of_picks = add(event.pure for event in added), add(event.rho for event in concentrated)
        if pure is None or of_picks is None:
            continue
        bound = _concentrated(rho + of_picks, left)
        if not concentrated and mu_squared is not None:
            bound = min(bound, _gaussian(mu_squared / 2, rounding, left))
        if bound < inf:
            best = min(best, round_up(sum((epsilon for epsilon, _ in boxes), pure) + Fraction(bound)))
    return best


def total(events: Sequence[Event], budget: Budget) -> tuple[float, float]:
    """What the events cost: with δ = 0 if that stays within the budget's ε, else at the budget's δ."""
    pure = cost(events, 0.0)
    return (pure, 0.0) if pure <= budget.epsilon else (cost(events, budget.delta), budget.delta)


def group_total(events: Sequence[Event], budget: Budget, rows: int) -> tuple[float, float]:
    """What the events cost for `rows` records together, by group privacy: docs/proofs/persons.md."""
    each = for_each_record(budget, rows)
    epsilon, delta = total(events, each)
    if epsilon == inf:
        return inf, budget.delta
    together = round_up(rows * Fraction(epsilon)), round_up(Fraction(delta) * Fraction(_group_factor(epsilon, rows)))
    # Within the budget for each record they are within that for all: the factor for the larger ε was taken off it.
    return together if epsilon > each.epsilon else (together[0], min(together[1], budget.delta))


def check(events: Sequence[Event], budget: Budget) -> None:
    """Raise BudgetError unless the events together fit the budget."""
    spent, _ = total(events, budget)
    if spent > budget.epsilon:
        raise BudgetError(
            f"the planned steps cost epsilon={number(spent, 6)} at delta={number(budget.delta)}, "
            f"more than the budget of epsilon={number(budget.epsilon, 6)}"
        )


def calibrate(plan: Callable[[float], Sequence[Event]], budget: Budget) -> list[Event]:
    """The plan with the least noise that fits the budget. `plan(x)` lists the events at noise level x."""
    return list(plan(_least_noise(lambda x: total(plan(x), budget)[0], budget)))


def adaptive_cost(mu_squared: Fraction, delta: float) -> float:
    """ε at δ, rounded up, of events chosen on the way whose μ² add up to at most `mu_squared` whatever happens."""
    return _gaussian(mu_squared / 2, mu_squared * ADAPTIVE_ROUNDING, Fraction(delta))


@lru_cache
def adaptive_budget(budget: Budget) -> Fraction:
    """How much μ² may be spent, on events chosen on the way, within the budget."""
    least = _least_noise(lambda x: adaptive_cost(1 / Fraction(x) ** 2, budget.delta), budget)
    return 1 / Fraction(least) ** 2


def less_delta(budget: Budget, extra_delta: float) -> Budget:
    """What is left of a budget for events chosen on the way if `extra_delta` is reserved for their δ′."""
    if extra_delta == 0:
        return budget
    if not 0 < extra_delta < budget.delta:
        raise ValueError(f"extra_delta must be at least 0 and less than delta={budget.delta!r}, got {extra_delta!r}")
    rest = Fraction(budget.delta) - Fraction(extra_delta)
    return Budget(round_down(Fraction(budget.epsilon) * (1 - _HAIR)), max(0.0, round_down(rest)))


def reserved_delta(budget: Budget) -> float:
    """The δ′ that is set aside unless somebody says otherwise, rounded down."""
    return max(0.0, round_down(Fraction(budget.delta) * EXTRA_DELTA))


def split_budget(budget: Budget, part: Fraction) -> tuple[Budget, Budget]:
    """A part of ε and of δ, and the rest, which add up to no more than the budget (basic composition)."""
    if not 0 < part < 1:
        raise ValueError(f"part must be between 0 and 1, got {part!r}")
    first = Budget(round_down(Fraction(budget.epsilon) * part), max(0.0, round_down(Fraction(budget.delta) * part)))
    return first, rest_of(budget, first)


def rest_of(budget: Budget, first: Budget) -> Budget:
    """What is left when `first` has been spent, rounded down."""
    epsilon = Fraction(budget.epsilon) - Fraction(first.epsilon)
    return Budget(round_down(epsilon), max(0.0, round_down(Fraction(budget.delta) - Fraction(first.delta))))


def for_each_record(budget: Budget, rows: int) -> Budget:
    """The (ε/r, δ·(e^(ε/r) − 1)/(e^ε − 1)), rounded down, that makes r records together keep to the budget."""
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows!r}")
    if rows == 1:
        return budget
    epsilon = round_down(Fraction(budget.epsilon) / rows)
    factor = _group_factor(epsilon, rows)
    return Budget(epsilon, 0.0 if factor == inf else max(0.0, round_down(Fraction(budget.delta) / Fraction(factor))))


def _group_factor(epsilon: float, rows: int) -> float:
    """1 + e^ε + … + e^((r − 1)ε), rounded up by more than the error of both functions; inf if it is no float."""
    if epsilon == 0:
        return float(rows)
    return expm1(rows * epsilon) / expm1(epsilon) * (1 + 1e-12) if rows * epsilon < 700 else inf


def _least_noise(cost_at: Callable[[float], float], budget: Budget) -> float:
    """The smallest x with cost_at(x) within the budget's ε: cost must fall as x grows.

    The answer fits, and either it is within a relative 1e-12 of the smallest that does, or uses all but 1e-10 of ε.
    """

    def used(x: float) -> float:
        """Part of the budget's ε."""
        return cost_at(x) / budget.epsilon

    high = 1.0
    while (at_high := used(high)) > 1:
        high *= 2.0
        if high > 1e150:
            raise BudgetError(f"no noise is large enough for epsilon={budget.epsilon!r}, delta={budget.delta!r}")
    low, at_low = high / 2, used(high / 2)
    while at_low <= 1 and low > 1e-300:
        high, at_high = low, at_low
        low, at_low = low / 2, used(low / 2)
    while high - low > 1e-12 * high and at_high < 1 - 1e-10:
        middle = low + (high - low) / 2
        if at_high > 0 and 1 < at_low < inf:  # where a straight line through the logarithms meets 1, and a little more
            part = log(at_low) / (log(at_low) - log(at_high)) + 1e-12
            middle = low * (high / low) ** min(max(part, 1e-3), 1 - 1e-3)
        at = used(middle)
        low, high, at_low, at_high = (low, middle, at_low, at) if at <= 1 else (middle, high, at, at_high)
    return high


def scale_for(sensitivity: int, epsilon: Fraction) -> float:
    """The smallest float scale at which sensitivity/scale does not exceed `epsilon` (a pick's range, or Laplace)."""
    return round_up(sensitivity / epsilon)


def even_picks(
    names: Sequence[str], ranges: Sequence[int], budget: Budget, grid: int = 1, **about: Unpack[About]
) -> list[Event]:
    """Picks that share the budget evenly: each ε/k, or more each where concentrated composition allows it."""

    def plan(scale: Callable[[int], float]) -> list[Event]:
        return [Pick(name, r, scale(r), grid, **about) for name, r in zip(names, ranges, strict=True)]

    share = Fraction(budget.epsilon) / max(len(names), 1)
    pure = plan(lambda r: scale_for(r, share))
    if budget.delta == 0 or not names:
        return pure
    concentrated = calibrate(lambda noise: plan(lambda r: r * noise), budget)
    return min((pure, concentrated), key=lambda events: events[0].parameters["scale"])


def _add_alike(events: Sequence[Event]) -> tuple[Fraction | None, Fraction | None, Fraction]:
    """ρ, μ² and rounding distance of all events together. Those that differ in their words only are priced once."""
    alike = Counter(replace(event, name="", purpose="", column=None) for event in events)
    rho = add(event.rho and times * event.rho for event, times in alike.items())
    mu_squared = add(event.mu_squared and times * event.mu_squared for event, times in alike.items())
    return rho, mu_squared, sum((times * event.rounding_distance for event, times in alike.items()), Fraction())


def _concentrated(exact: Fraction, delta: Fraction) -> float:
    """ε at δ of a mechanism that is ρ-zCDP, rounded up."""
    rho = round_up(exact)
    if rho == 0:
        return 0.0
    if delta < SMALLEST_DELTA or not isfinite(rho):
        return inf
    from dp_accounting.rdp import compute_epsilon  # takes long to load

    at = round_down(delta * (1 - Fraction(MARGIN)))
    # Any Rényi order gives a valid bound; the best is near 1 + √(ln(1/δ)/ρ), and two grids find it.
    order = 1 + sqrt(max(-log(at), 1e-6) / max(rho, 1e-200))
    for width in (3.0, 0.2):
        orders = [max(1 + (order - 1) * exp(width * i / 24), 1.011) for i in range(-24, 25)]
        epsilon, order = compute_epsilon(orders, [rho * a for a in orders], at)
    return float(epsilon) * (1 + MARGIN) if isfinite(epsilon) else inf


def _gaussian(rho: Fraction, rounding: Fraction, delta: Fraction) -> float:
    """ε at δ of Gaussian events alone by the exact curve, rounded up."""
    if rho == 0:
        return 0.0
    if delta == 0:
        return inf
    mu = sqrt(2 * round_up(rho)) * (1 + MARGIN)
    # A plain bound for concentrated DP nearly always does to begin with; dp-accounting's better one takes long to load.
    plain = gaussian.plain_epsilon(mu, round_down(delta)) * (1 + MARGIN)
    proved = _by_curve(mu, rounding, delta, plain)
    return proved if proved < plain else _by_curve(mu, rounding, delta, _concentrated(rho, delta))


def _by_curve(mu: float, rounding: Fraction, delta: Fraction, proved: float) -> float:
    """A smaller ε than one that is already proved, by the curve of continuous Gaussians; or that one.

    The rounding costs (1 + e^ε)·rounding in δ. Each pass sets that aside for the proved ε and so finds a smaller one.
    """
    improving = True
    while improving and proved < 700:
        left = delta - rounding * Fraction(nextafter(1 + exp(proved), inf))
        if left <= 0:
            break
        smaller = gaussian.epsilon_at(mu, left, proved)
        improving, proved = smaller < proved * (1 - MARGIN), smaller
    return proved
