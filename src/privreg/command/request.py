"""A request to fit or select: checked, entered in the ledger, and carried out on a file."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from privreg.base import PrivateEstimator
from privreg.columns import Columns, choose_columns, read_levels
from privreg.files import open_file
from privreg.privacy.ledger import Ledger
from privreg.progress import stages


@dataclass(frozen=True)
class Source:
    """Which columns of which file."""

    data: Path
    target: str
    features: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    person: str | None = None
    category: list[str] = field(default_factory=list)
    categories: Path | None = None


@dataclass(frozen=True)
class Spending:
    """From which budget."""

    epsilon: Decimal
    delta: Decimal
    ledger: Path | None = None
    dataset: str | None = None


def carry_out(estimator: Any, source: Source, spending: Spending, what: str) -> Columns:
    """Fit an estimator to the file. A ledger is asked before the file is opened, and again before noise is drawn."""
    if (spending.ledger is None) != (spending.dataset is None):
        raise ValueError("--ledger and --dataset go together: a file, and the name of a data set in it")
    estimator.epsilon, estimator.delta = float(spending.epsilon), float(spending.delta)
    estimator._what = what
    estimator._people, estimator._named_by = source.person is not None, source.person
    budget = estimator._budget()
    if isinstance(estimator, PrivateEstimator):
        estimator._check_parameters(budget)
    if spending.ledger is not None:
        estimator.ledger, estimator.dataset = Ledger(spending.ledger), spending.dataset
        estimator._ask_ledger()
    with stages() as stage:
        estimator._watch = stage
        stage("looking at the columns")
        file = open_file(source.data)
        levels = read_levels(source.category, source.categories)
        columns = choose_columns(file, source.target, source.features, source.drop, source.person, levels)
        estimator.categories = columns.categories
        stage("reading the file")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a release has its own in words; a library's might tell about a value
            _fit(estimator, file, columns, stage)
    return columns


def _fit(estimator: Any, file: Any, columns: Columns, stage: Callable[[str], None]) -> None:
    person = [] if columns.person is None else [columns.person]
    table = file.read(
        [*columns.features, columns.target, *person],
        columns.categories,
        progress=lambda part: stage(f"reading the file: {part:.0%}"),
        identifiers=person,
    )
    features, target = table.select(columns.features), table[columns.target]
    stage("preparing the columns")
    if person:
        estimator.fit(features, target, groups=table[person[0]])
    else:
        estimator.fit(features, target)
