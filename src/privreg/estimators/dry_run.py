"""What a fit would do, found out without looking at a record and without spending anything."""

from dataclasses import asdict, dataclass
from typing import Any

from privreg._format import count_of, epsilon_delta, number, one_line, shortened, shown, text_table
from privreg._notebook import card, caution, lead, note, table
from privreg.data.schema import BOOLEAN, Column, Schema
from privreg.errors import BudgetRefusedError
from privreg.estimators.public_rows import FEWEST_ROWS
from privreg.estimators.settled import Public
from privreg.privacy.ledger.ledger import Ledger
from privreg.privacy.ledger.request import Request
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.ledger.why import left_for_one_more
from privreg.privacy.receipt import ONE_PERSON

FROM_PUBLIC_ROWS = (
    "Centres, spreads and correlations of columns would come from the public rows, at no cost, if at least "
    f"{FEWEST_ROWS} of them are complete."
)
TO_FIND = "determined by the fit"  # the kind of a column that only the records tell


@dataclass(frozen=True)
class LedgerOutlook:
    """What a ledger has, and would have after the fit."""

    dataset: str
    admitted: bool
    spent: float  # ε
    spent_after: float | None  # None if the fit would be refused
    room_after: float | None  # ε of one more fit by the default method, about
    room_delta: float | None = None  # the δ that it would have


@dataclass(frozen=True)
class Check:
    """What a fit would do. Nothing was read, spent or written."""

    method: str
    target: str
    columns: dict[str, str]  # kind of each, as far as it is known
    epsilon: float
    delta: float
    unit: str
    reads: bool  # whether a part of the budget goes to finding out about columns
    reading_epsilon: float | None  # that part, where it is fixed
    ledger: LedgerOutlook | None
    formula: str | None = None
    where: str | None = None
    notes: tuple[str, ...] = ()  # about the names of the columns
    rows_per_person: int | None = None  # that are used at most; None if records are protected
    public: bool = False  # whether public rows tell about the columns

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("column", "kind"), *((shown(name), kind) for name, kind in self.columns.items())]
        lines = [f"{shown(self.target)}: {shown(self.method)}", "", *text_table(rows, left=2), "", *self.sentences()]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """In IPython, where text is shown."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        refused = self.ledger is not None and not self.ledger.admitted
        return card(
            f"{shortened(self.target, 100)}: {self.method}",
            *map(caution, self.notes),
            *map(lead, self.sentences()[len(self.notes) :]),
            table(("column", "kind"), list(self.columns.items()), left=2, title="Columns"),
            note("No record was read, and nothing was spent."),
            badge=("bad", "Would be refused") if refused else ("soft", "Dry run"),
        )

    def sentences(self) -> list[str]:
        """What it would cost, and leave."""
        told = [] if self.formula is None else [f"Formula: {self.formula}"]
        told += [] if self.where is None else [f"Only records where {self.where} would be used."]
        told += [f"A fit would spend {epsilon_delta(self.epsilon, self.delta)} and protect {self._protected()}."]
        if self.reading_epsilon is not None:
            told.append(f"Of that, ε = {number(self.reading_epsilon, 4)} goes to finding out what the columns hold.")
        elif self.reads:
            told.append("A small part of that goes to finding out what the columns hold and how much is missing.")
        else:
            told.append("None of that goes to finding out what the columns hold.")
        told += [FROM_PUBLIC_ROWS] if self.public else []
        told += [] if self.ledger is None else [_ledger_sentence(self.ledger)]
        return list(map(one_line, (*self.notes, *told)))

    def _protected(self) -> str:
        """The unit of protection."""
        if self.rows_per_person is None:
            return self.unit
        verb = "is" if self.rows_per_person == 1 else "are"
        return f"{ONE_PERSON} (at most {self.rows_per_person} of their rows {verb} used)"


def _ledger_sentence(ledger: LedgerOutlook) -> str:
    name = shown(ledger.dataset)
    if ledger.spent_after is None or ledger.room_after is None:
        return f"The ledger would refuse it: {name} has already spent ε = {number(ledger.spent, 4)}."
    return (
        f"In the ledger, {name} would have spent ε = {number(ledger.spent_after, 4)} (now {number(ledger.spent, 4)}). "
        f"Left after that: {room_in_words(ledger.room_after, ledger.room_delta or 0.0)}."
    )


def kinds_of(public: Public, schema: Schema | None) -> dict[str, str]:
    """The kind of each column in a few words."""
    if schema is not None:
        return {column.name: _kind(column) for column in schema if column.name not in public.targets}
    offered = {name: column for name, column in public.columns.items() if name not in public.targets}
    return {name: TO_FIND if column is None else _kind(column) for name, column in offered.items()}


def _kind(column: Column) -> str:
    if column.left_out:
        return f"left out: {column.left_out}"
    if column.kind == BOOLEAN:
        return "yes or no"
    return f"{column.kind} with {count_of(len(column.levels), 'level')}" if column.has_levels else column.kind


def outlook(ledger: Ledger, dataset: str, request: Request) -> LedgerOutlook:
    """What a request would leave."""
    (now,) = ledger.status(dataset)
    try:
        ledger.check(dataset, request)  # what else is wrong with it, such as its unit, is raised as by a fit
    except BudgetRefusedError:
        return LedgerOutlook(dataset, False, now.spent_epsilon, None, None)
    after = now.after(request)
    room, delta = left_for_one_more(after), float(after.next_delta)
    return LedgerOutlook(dataset, True, now.spent_epsilon, after.spent_epsilon, room, delta)
