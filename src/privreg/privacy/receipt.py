"""What a fit spent: the events, and the total recomputed from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import inf, nextafter, sqrt
from typing import Any

from privreg._format import epsilon_delta, number, text_table
from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Currency, Event, add, event_from_dict, round_up

ONE_RECORD, ONE_PERSON = "one record", "one person"
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu squared": "μ²"}  # of the keys of a cost


@dataclass(frozen=True)
class Receipt:
    """The events that were made, in order. `epsilon` and `delta` are recomputed from them on every access.

    `rows` is None for events planned beforehand. For events chosen on the way it is the number of records that the unit
    of privacy may own, and the total is that of their μ².
    """

    events: tuple[Event, ...]
    budget: Budget
    private: bool
    unit: str = ONE_RECORD
    rows: int | None = None

    @property
    def steps(self) -> tuple[Event, ...]:
        """The events, by the name that model files and ledgers have for them."""
        return self.events

    @property
    def protects_people(self) -> bool:
        return self.unit.startswith(ONE_PERSON)

    @property
    def epsilon(self) -> float:
        return self._total()[0]

    @property
    def delta(self) -> float:
        return self._total()[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "requested": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "unit": self.unit,
            "private": self.private,
            "composition": "planned" if self.rows is None else "gaussian, adaptive",
            "rows": self.rows,
            "steps": [
                {
                    "name": event.name,
                    "purpose": event.purpose,
                    "column": event.column,
                    "mechanism": event.mechanism,
                    "parameters": event.parameters,
                    "cost": self.cost(event),
                }
                for event in self.events
            ],
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Receipt":
        """A receipt from what `to_dict` gave."""
        events = tuple(event_from_dict(s) for s in record["steps"])
        return cls(events, Budget(**record["requested"]), record["private"], record["unit"], record["rows"])

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated DP of all events together, rounded up; None if one of them has none.

        Of events chosen on the way only the μ² are bounded beforehand, and their ρ is at most half of that.
        """
        if self.rows is not None:
            mu_squared = self._mu_squared()
            return None if mu_squared is None else round_up(mu_squared / 2)
        rho = add(event.rho for event in self.events)
        return None if rho is None else round_up(rho)

    @property
    def mu(self) -> float | None:
        """μ of Gaussian DP of all events together (up to their rounding distances), rounded up; None as for `rho`."""
        mu_squared = self._mu_squared()
        return None if mu_squared is None else nextafter(sqrt(round_up(mu_squared)), inf) if mu_squared else 0.0

    def to_dp_event(self) -> Any:
        """The events as a tree of dp-accounting's, for its accountants: in the currency in which the total was found.

        The total of events chosen on the way is that of Gaussians of the same μ, which both of its accountants know. If
        no δ was needed, each is the worst of all ε-DP mechanisms, for the PLD accountant. Otherwise they are Gaussians
        and zero-concentrated events, for the RDP accountant. An event known by its (ε, δ) only is unsupported.
        """
        from dp_accounting import dp_event

        currency: Currency = "gaussian" if self.rows else "concentrated" if self.delta else "pure"
        return dp_event.ComposedDpEvent([event.to_dp_event(currency, self.rows or 1) for event in self.events])

    def __str__(self) -> str:
        rows = [("step", "mechanism", "noise", "cost")]
        for alike in _runs(self.events):
            event, name = alike[0], alike[0].name
            noise = "" if event.noise is None else f"scale {number(event.noise)}"
            cost = cost_text(self.cost(event))
            if len(alike) > 1:
                name = f"{name} … {alike[-1].name.rsplit(' ', 1)[-1]}"
                cost += " each"
            rows.append((name, event.mechanism, noise, cost))
        lines = text_table(rows, left=4) if self.events else ["nothing was released from the data"]
        lines += [
            f"total: {epsilon_delta(self.epsilon, self.delta)} for adding or removing {self.unit}",
            f"asked: {epsilon_delta(self.budget.epsilon, self.budget.delta)}",
        ]
        if not self.private:
            lines.append("NOT PRIVATE: the noise came from a seed (random_state)")
        return "\n".join(lines)

    def _total(self) -> tuple[float, float]:
        if self.rows is None:
            return accountant.total(self.events, self.budget)
        mu_squared = self._mu_squared()
        if mu_squared is None:
            return inf, self.budget.delta
        return (
            (accountant.adaptive_cost(mu_squared, self.budget.delta), self.budget.delta) if mu_squared else (0.0, 0.0)
        )

    def _mu_squared(self) -> Fraction | None:
        mu_squared = add(event.mu_squared for event in self.events)
        return None if mu_squared is None else (self.rows or 1) ** 2 * mu_squared

    def cost(self, event: Event) -> dict[str, float]:
        """By the names of what it is counted in."""
        if self.rows is None or event.mu_squared is None:
            return event.cost()
        return {"mu squared": round_up(self.rows**2 * event.mu_squared)}


def cost_text(cost: dict[str, float]) -> str:
    """A cost with its symbols: μ² = 0.0011."""
    return ", ".join(f"{_SYMBOLS[key]} = {number(value, 4)}" for key, value in cost.items())


def _runs(events: Sequence[Event]) -> list[list[Event]]:
    """Events in order; long runs of the same purpose, kind and parameters are put together."""
    runs = [list(run) for _, run in groupby(events, lambda e: (e.purpose, e.mechanism, e.parameters))]
    return [part for run in runs for part in ([run] if len(run) > 12 else [[event] for event in run])]
