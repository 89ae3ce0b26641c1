"""What fits and selections look like in a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from privreg._format import plain_span, small
from privreg.cli.terminal import console, grid
from privreg.privacy.receipt import Receipt
from privreg.report.budget import spending
from privreg.results.release import Coefficient, Release


def show_fit(release: Release, files: dict[str, str], ledger: dict[str, Any] | None) -> None:
    """The model, what to know about it, what it cost, and where it is."""
    out = console()
    out.print(Text(f"{release.target}: {release.method}", style="bold"))
    for note in release.notes:
        out.print(Text(note))
    show_warnings(out, release.warnings)
    out.print(coefficients(release))
    if release.differences:
        out.print(differences(release))
    show_receipt(out, release.receipt)
    show_ledger(out, ledger)
    for kind, file in files.items():
        out.print(Text(f"The {kind} is in {file}."))


def show_warnings(out: Console, warnings: list[str]) -> None:
    """What may be wrong."""
    for warning in warnings:
        out.print(Text(f"Warning: {warning}", style="yellow"))


def coefficients(release: Release) -> Table:
    """The table of coefficients; columns that the method does not tell are left out."""
    errors = any(c.error is not None for c in release.coefficients)
    names = ["std. error", "95 % interval", "linear between"] if errors else []
    table = grid("feature", "coefficient", *names)
    for c in [*release.coefficients, release.intercept]:
        told = (_short(c.error, 2), plain_span(c.low, c.high), plain_span(c.linear_from, c.linear_to)) if errors else ()
        table.add_row(Text(c.feature), _short(c.value, 5), *told)
    return table


def differences(release: Release) -> Table:
    """Levels of categories, each beside the first one."""
    table = grid("level − other level", "difference", "std. error", "95 % interval")
    for c in release.differences:
        table.add_row(Text(c.feature), _short(c.value, 5), _short(c.error, 2), plain_span(c.low, c.high))
    return table


def show_receipt(out: Console, receipt: Receipt) -> None:
    """Where the budget went, and the guarantee in one sentence."""
    spent = spending(receipt)
    table = grid("budget for", "steps", "share")
    for group in spent.groups:
        table.add_row(f"{group.purpose}: {group.meaning}", str(group.events), f"{group.tenths / 10:.1f} %")
    out.print(table)
    out.print(
        f"Spent ε = {receipt.epsilon:.6g}, δ = {small(receipt.delta)} of ε = {receipt.budget.epsilon:.6g}, "
        f"δ = {small(receipt.budget.delta)}. Protected: {receipt.unit}."
    )
    if not receipt.private:
        out.print(Text("NOT PRIVATE: the noise came from a seed.", style="bold red"))


def show_ledger(out: Console, ledger: dict[str, Any] | None) -> None:
    """What is left in the ledger after a request."""
    if ledger is not None:
        out.print(
            f"Ledger: {ledger['dataset']} has spent ε = {ledger['spent_epsilon']:.4g} of {ledger['epsilon']:g} "
            f"in {_count(ledger['entries'])}. It keeps a tenth of δ for its own accounting."
        )


def show_selection(selector: Any, target: str, ledger: dict[str, Any] | None) -> None:
    """The chosen features in order, and what it cost."""
    out = console()
    out.print(Text(f"{target}: features chosen by {type(selector).__name__}", style="bold"))
    out.print(_CHOSEN_BY[type(selector).__name__])
    show_warnings(out, selector.warnings_)
    table = grid("feature", "chosen")
    ordered = bool(selector.receipt_.steps)
    for place, name in enumerate(selector.selected_features_, 1):
        table.add_row(Text(str(name)), str(place) if ordered else "")
    out.print(table)
    if ordered:
        show_receipt(out, selector.receipt_)
    else:
        out.print("There are no more columns than were asked for: all were taken, and nothing was released.")
    show_ledger(out, ledger)


_CHOSEN_BY = {
    "DPKendall": "By rank (Kendall) correlation: how often two records have the same order in a column and the target.",
    "SubLasso": "By the votes of many small models, each of a few records.",
}


def beside(c: Coefficient) -> str:
    """A coefficient with its error."""
    return _short(c.value, 4) if c.error is None else f"{c.value:.4g} ± {c.error:.2g}"


def _short(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"
