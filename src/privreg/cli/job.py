"""What `privreg fit` or `privreg select` is to do, as typed."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """The options of a command, by their names. Light: `check` looks at them before anything heavy is loaded.

    Lists of columns are as typed: what a comma means depends on the names of the columns.
    """

    command: str
    data: Path
    target: str
    epsilon: Decimal
    delta: Decimal
    method: str
    k: int | str
    features: list[str] | None = None
    drop: list[str] | None = None
    category: list[str] | None = None
    categories: Path | None = None
    person: str | None = None
    rows_per_person: int = 1
    max_rows_for_selection: int | None = None
    engine: str = "auto"
    scheduler: str | None = None
    out: Path | None = None
    report: Path | None = None
    force: bool = False
    ledger: Path | None = None
    dataset: str | None = None
    yes: bool = False
    as_json: bool = False
