"""What a fit spent: the steps, and the total recomputed from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.events import BlackBox, Event, event_from_dict, round_up

ONE_RECORD, ONE_PERSON = "one record", "one person"


@dataclass(frozen=True)
class Receipt:
    """The releases that were made, in order. `epsilon` and `delta` are recomputed from the steps on every access.

    `rows` is None for steps planned beforehand. For steps chosen on the way it is the number of records that the unit
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
                {"name": s.name, "mechanism": s.mechanism, "parameters": s.parameters, "cost": self._cost(s)}
                for s in self.events
            ],
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Receipt":
        """A receipt from what `to_dict` gave."""
        events = tuple(event_from_dict(s) for s in record["steps"])
        return cls(events, Budget(**record["requested"]), record["private"], record["unit"], record["rows"])

    def __str__(self) -> str:
        rows = [("step", "mechanism", "noise", "cost")]
        for alike in _runs(self.events):
            event, name = alike[0], alike[0].name
            noise = "" if isinstance(event, BlackBox) else f"scale {event.scale / event.grid:.6g}"
            cost = ", ".join(f"{_SYMBOL[k]} = {v:.4g}" for k, v in self._cost(event).items())
            if len(alike) > 1:
                name = f"{name} … {alike[-1].name.rsplit(' ', 1)[-1]}"
                cost += " each"
            rows.append((name, event.mechanism, noise, cost))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("─" * w for w in widths))
        if not self.events:
            lines[1:] = ["nothing was released from the data"]
        lines += [
            f"total: ε = {self.epsilon:.6g}, δ = {self.delta:g} for adding or removing {self.unit}",
            f"asked: ε = {self.budget.epsilon:.6g}, δ = {self.budget.delta:g}",
        ]
        if not self.private:
            lines.append("NOT PRIVATE: the noise came from a seed (random_state)")
        return "\n".join(lines)

    def _total(self) -> tuple[float, float]:
        if self.rows is None:
            return accountant.total(self.events, self.budget)
        spent = sum((s.mu_squared for s in self.events if s.mu_squared is not None), Fraction())
        return (
            (accountant.adaptive_cost(self.rows**2 * spent, self.budget.delta), self.budget.delta)
            if spent
            else (0.0, 0.0)
        )

    def _cost(self, event: Event) -> dict[str, float]:
        if self.rows is None or event.mu_squared is None:
            return event.cost()
        return {"mu squared": round_up(self.rows**2 * event.mu_squared)}


_SYMBOL = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu squared": "μ²"}


def _runs(events: Sequence[Event]) -> list[list[Event]]:
    """Steps in order; long runs that differ in their number only are put together."""
    runs = [list(run) for _, run in groupby(events, lambda s: (s.name.rstrip("0123456789"), s.parameters))]
    return [part for run in runs for part in ([run] if len(run) > 12 else [[event] for event in run])]
