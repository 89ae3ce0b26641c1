"""What a fit spent: the steps, and the total recomputed from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from privreg.privacy import accountant
from privreg.privacy.accountant import Budget
from privreg.privacy.steps import BlackBox, Step, round_up, step_from_dict

ONE_RECORD, ONE_PERSON = "one record", "one person"


@dataclass(frozen=True)
class Receipt:
    """The releases that were made, in order. `epsilon` and `delta` are recomputed from the steps on every access.

    `rows` is None for steps planned beforehand. For steps chosen on the way it is the number of records that the unit
    of privacy may own, and the total is that of their μ².
    """

    steps: tuple[Step, ...]
    budget: Budget
    private: bool
    unit: str = ONE_RECORD
    rows: int | None = None

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
                for s in self.steps
            ],
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Receipt":
        """A receipt from what `to_dict` gave."""
        steps = tuple(step_from_dict(s) for s in record["steps"])
        return cls(steps, Budget(**record["requested"]), record["private"], record["unit"], record["rows"])

    def __str__(self) -> str:
        rows = [("step", "mechanism", "noise", "cost")]
        for alike in _runs(self.steps):
            step, name = alike[0], alike[0].name
            noise = "" if isinstance(step, BlackBox) else f"scale {step.scale / step.grid:.6g}"
            cost = ", ".join(f"{_SYMBOL[k]} = {v:.4g}" for k, v in self._cost(step).items())
            if len(alike) > 1:
                name = f"{name} … {alike[-1].name.rsplit(' ', 1)[-1]}"
                cost += " each"
            rows.append((name, step.mechanism, noise, cost))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("─" * w for w in widths))
        if not self.steps:
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
            return accountant.total(self.steps, self.budget)
        spent = sum((s.mu_squared for s in self.steps if s.mu_squared is not None), Fraction())
        return (
            (accountant.adaptive_cost(self.rows**2 * spent, self.budget.delta), self.budget.delta)
            if spent
            else (0.0, 0.0)
        )

    def _cost(self, step: Step) -> dict[str, float]:
        if self.rows is None or step.mu_squared is None:
            return step.cost()
        return {"mu squared": round_up(self.rows**2 * step.mu_squared)}


_SYMBOL = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu squared": "μ²"}


def _runs(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps in order; long runs that differ in their number only are put together."""
    runs = [list(run) for _, run in groupby(steps, lambda s: (s.name.rstrip("0123456789"), s.parameters))]
    return [part for run in runs for part in ([run] if len(run) > 12 else [[step] for step in run])]
