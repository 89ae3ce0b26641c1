"""What was asked for, as typed. Light: `check` looks at it before anything that takes long is loaded."""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from privreg.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class TableOptions:
    """Which columns of which file. Lists are as typed: what a comma means depends on the names of the columns."""

    data: Path
    target: str
    features: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    person: str | None = None
    category: list[str] = field(default_factory=list)
    categories: Path | None = None
    engine: str = "auto"
    scheduler: str | None = None


@dataclass(frozen=True)
class BudgetOptions:
    """From which budget."""

    epsilon: Decimal
    delta: Decimal
    ledger: Path | None = None
    dataset: str | None = None

    def options(self) -> dict[str, Any]:
        """As an estimator takes it."""
        ledger = None if self.ledger is None else Ledger(self.ledger)
        budget = {"epsilon": float(self.epsilon), "delta": float(self.delta)}
        return budget | {"ledger": ledger, "dataset": self.dataset}


@dataclass(frozen=True)
class MethodOptions:
    """What kind of model."""

    method: str = "auto"
    k: int | str = "auto"
    rows_per_person: int = 1
    max_rows_for_selection: int | None = None


@dataclass(frozen=True)
class OutputOptions:
    """Where the model and the report go, and whether they may replace files."""

    out: Path | None = None
    report: Path | None = None
    force: bool = False

    def places(self) -> dict[str, Path | None]:
        """By the names of the options."""
        return {"--out": self.out, "--report": self.report}
