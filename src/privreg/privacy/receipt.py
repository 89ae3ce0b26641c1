"""What a fit spent: the events, and the total recomputed from them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import inf, nextafter, sqrt
from typing import Any, Literal, get_args

from privreg._format import epsilon_delta, number, shown, text_table
from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.events import (
    Currency,
    Event,
    adaptive_sum,
    add,
    event_from_dict,
    gaussian_dp_event,
    round_down,
    round_up,
)

ONE_RECORD, ONE_PERSON = "one record", "one person"
Composition = Literal["planned", "gaussian, adaptive"]
PLANNED: Composition = "planned"
ADAPTIVE: Composition = "gaussian, adaptive"
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu squared": "μ²"}  # of the keys of a cost


@dataclass(frozen=True)
class Receipt:
    """The events that were made, in order. `epsilon` and `delta` are recomputed from them on every access.

    `rows` is the number of records that the unit of privacy may own. The total of events planned beforehand is that of
    one record, and of more records by group privacy; that of events chosen on the way is the total of their μ².
    `before` is a part that was paid for first, out of the same budget: both totals add up. `own` are the events of the
    receipt itself, `events` all of them.
    """

    own: tuple[Event, ...]
    budget: Budget
    private: bool
    unit: str = ONE_RECORD
    rows: int = 1
    composition: Composition = PLANNED
    before: "Receipt | None" = None

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"rows must be at least 1, got {self.rows!r}")
        if self.composition not in get_args(Composition):
            raise ValueError(f"unknown composition {self.composition!r}")
        if self.composition != ADAPTIVE and any(event.unspent for event in self.own):
            raise ValueError("in a plan no step can be made early")
        if self.before is not None:
            same = all(getattr(self.before, key) == getattr(self, key) for key in ("private", "unit", "rows"))
            if not same or self.before.before is not None:
                raise ValueError("the earlier part must protect the same unit and have no earlier part of its own")
            accountant.rest_of(self.budget, self.before.budget)  # raises if nothing is left

    def after(self, before: "Receipt", budget: Budget) -> "Receipt":
        """This receipt as the second part of a budget of which `before` is the first: see `split_budget`."""
        rest = accountant.rest_of(budget, before.budget)
        if self.budget.epsilon > rest.epsilon or self.budget.delta > rest.delta:
            raise ValueError("the two parts together exceed the budget")
        private = self.private and before.private
        return replace(self, budget=budget, private=private, before=replace(before, private=private))

    @property
    def parts(self) -> "tuple[Receipt, ...]":
        """What was paid for before, if anything, and the rest: each with a budget of its own."""
        if self.before is None:
            return (self,)
        return self.before, replace(self, budget=accountant.rest_of(self.budget, self.before.budget), before=None)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, those that were paid for before first."""
        return self.own if self.before is None else (*self.before.own, *self.own)

    @property
    def steps(self) -> tuple[Event, ...]:
        """The events, by the name that model files and ledgers have for them."""
        return self.events

    @property
    def chose(self) -> bool:
        """Whether features were chosen from the data. A receipt may have events and still none that chose."""
        return any(event.purpose == "choice" for event in self.events)

    @property
    def protects_people(self) -> bool:
        return self.unit.startswith(ONE_PERSON)

    @property
    def epsilon(self) -> float:
        return self._total()[0]

    @property
    def delta(self) -> float:
        return self._total()[1]

    @property
    def extra_delta(self) -> float:
        """The δ′ of all events together, rounded up: a part of `delta`."""
        return round_up(_extra(self.events))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON.

        Steps are in one list. If some were paid for before, `before` says how many, from which budget, and how.
        """
        record: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "requested": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "unit": self.unit,
            "private": self.private,
            "composition": self.composition,
            "rows": self.rows,
            "steps": [
                {
                    "name": event.name,
                    "purpose": event.purpose,
                    "column": event.column,
                    "mechanism": event.mechanism,
                    "parameters": event.parameters,
                    "cost": part.cost(event),
                }
                for part in self.parts
                for event in part.own
            ],
        }
        if self.before is not None:
            record["before"] = {
                "requested": {"epsilon": self.before.budget.epsilon, "delta": self.before.budget.delta},
                "composition": self.before.composition,
                "steps": len(self.before.own),
            }
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Receipt":
        """A receipt from what `to_dict` gave. In older records a plan has no rows: it was for one record."""
        events = tuple(event_from_dict(s) for s in record["steps"])
        about = record["private"], record["unit"], 1 if record["rows"] is None else record["rows"]
        first, before = record.get("before"), None
        if first is not None:
            before = cls(events[: first["steps"]], Budget(**first["requested"]), *about, first["composition"])
            events = events[first["steps"] :]
        return cls(events, Budget(**record["requested"]), *about, record["composition"], before)

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated DP of all events together, rounded up; None if one of them has none.

        Of events chosen on the way only the μ² are bounded beforehand, and their ρ is at most half of that.
        """
        rho = add(part._rho() for part in self.parts)
        return None if rho is None else round_up(rho)

    @property
    def mu(self) -> float | None:
        """μ of Gaussian DP of all events together, beside rounding distances and δ′, rounded up; None as for `rho`."""
        mu_squared = self._mu_squared()
        return None if mu_squared is None else nextafter(sqrt(round_up(mu_squared)), inf) if mu_squared else 0.0

    def to_dp_event(self) -> Any:
        """The events as a tree of dp-accounting's, for its accountants: in the currency in which the total was found.

        The total of events chosen on the way is that of Gaussians of the same μ, which both of its accountants know. If
        no δ was needed, each is the worst of all ε-DP mechanisms, for the PLD accountant. Otherwise they are Gaussians
        and zero-concentrated events, for the RDP accountant. An event known by its (ε, δ) only is unsupported.

        If less was spent after an early pick than its cost assumes, a Gaussian stands for the difference.

        Each event stands for `rows` records. Their accountants may find less than a total by group privacy, and less
        than the sum of two parts. The tree does not know of δ′: ask them at `delta` − `extra_delta`.
        """
        from dp_accounting import dp_event

        events = []
        for part in self.parts:
            events += [event.to_dp_event(part._currency(), self.rows) for event in part.own]
            if part.composition == ADAPTIVE and (unspent := part._unspent()):
                events.append(gaussian_dp_event(self.rows**2 * unspent))
        return dp_event.ComposedDpEvent(events)

    def __str__(self) -> str:
        lines = text_table(step_rows(self), left=4) if self.events else ["nothing was released from the data"]
        lines += [
            f"total:  {epsilon_delta(self.epsilon, self.delta)} for adding or removing {shown(self.unit)}",
            f"budget: {epsilon_delta(self.budget.epsilon, self.budget.delta)}",
        ]
        if not self.private:
            lines.append("NOT PRIVATE: the noise came from a seed (random_state)")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """In IPython, where text is shown."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from privreg.privacy.receipt_card import receipt_card

        return receipt_card(self)

    def _total(self) -> tuple[float, float]:
        if self.before is None:
            return self._own_total()
        epsilons, deltas = zip(*(part._own_total() for part in self.parts), strict=True)
        if inf in epsilons:
            return inf, self.budget.delta
        return round_up(sum(map(Fraction, epsilons), Fraction())), round_up(sum(map(Fraction, deltas), Fraction()))

    def _own_total(self) -> tuple[float, float]:
        """Of a receipt with nothing before it."""
        if self.composition == PLANNED and self.rows == 1:
            return accountant.total(self.own, self.budget)
        if self.composition == PLANNED:
            return accountant.group_total(self.own, self.budget, self.rows)
        mu_squared, left = self._mu_squared(), Fraction(self.budget.delta) - _extra(self.own)
        if mu_squared is None or left < 0 or not all(event.covers(self.rows) for event in self.own):
            return inf, self.budget.delta
        if not mu_squared:
            return 0.0, 0.0
        return accountant.adaptive_cost(mu_squared, max(0.0, round_down(left))), self.budget.delta

    def _mu_squared(self) -> Fraction | None:
        mu_squared = add(adaptive_sum(part.own) for part in self.parts)
        return None if mu_squared is None else self.rows**2 * mu_squared

    def _unspent(self) -> Fraction:
        """μ² that picks need to be left after them and that was not spent, of a receipt with nothing before it."""
        spent, least = add(event.mu_squared for event in self.own), adaptive_sum(self.own)
        return Fraction() if spent is None or least is None else least - spent

    def _rho(self) -> Fraction | None:
        """Of a receipt with nothing before it."""
        if self.composition == ADAPTIVE:
            return None if (mu_squared := self._mu_squared()) is None else mu_squared / 2
        rho = add(event.rho for event in self.own)
        return None if rho is None else self.rows**2 * rho

    def _currency(self) -> Currency:
        if self.composition == ADAPTIVE:
            return "gaussian"
        return "concentrated" if self.delta else "pure"

    def cost(self, event: Event) -> dict[str, float]:
        """By the names of what it is counted in: of a plan for one record, of events chosen on the way for the unit."""
        if self.before is not None and event in self.before.own:
            return self.before.cost(event)
        if self.composition == PLANNED or event.mu_squared is None:
            return event.cost()
        cost = {"mu squared": round_up(self.rows**2 * event.mu_squared)}
        return cost | {"delta": round_up(event.extra_delta)} if event.extra_delta else cost


def unit_words(people: bool, rows: int) -> str:
    """What a guarantee protects: a record, or a person of whom at most so many rows are used."""
    return f"{ONE_PERSON}, at most {'1 row' if rows == 1 else f'{rows} rows'}" if people else ONE_RECORD


def step_rows(receipt: Receipt) -> list[tuple[str, str, str, str]]:
    """The steps as rows of a table, the head first; long runs of alike ones are one row."""
    rows = [("step", "mechanism", "noise", "cost")]
    for alike in _runs(receipt.events):
        event, name = alike[0], alike[0].name
        noise = "" if event.noise is None else f"scale {number(event.noise)}"
        cost = cost_text(receipt.cost(event))
        if len(alike) > 1:
            name = f"{name} … {alike[-1].name.rsplit(' ', 1)[-1]}"
            cost += " each"
        rows.append((name, event.mechanism, noise, cost))
    return rows


def cost_text(cost: dict[str, float]) -> str:
    """A cost with its symbols: μ² = 0.0011."""
    return ", ".join(f"{_SYMBOLS[key]} = {number(value, 4)}" for key, value in cost.items())


def _extra(events: Iterable[Event]) -> Fraction:
    return sum((event.extra_delta for event in events), Fraction())


def _runs(events: Sequence[Event]) -> list[list[Event]]:
    """Events in order; long runs of the same purpose, kind and parameters are put together."""
    runs = [list(run) for _, run in groupby(events, lambda e: (e.purpose, e.mechanism, e.parameters))]
    return [part for run in runs for part in ([run] if len(run) > 12 else [[event] for event in run])]
