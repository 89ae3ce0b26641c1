"""What fits and selections look like in a terminal."""

from typing import Any

from rich.console import Console
from rich.text import Text

from privreg._format import about, number, part_of, shown, tenths_percent
from privreg.cli.terminal import console, grid
from privreg.privacy.receipt import Receipt
from privreg.report.budget import budget_use
from privreg.results.release import Release
from privreg.results.summary import budget_line, estimand, fit_lines
from privreg.results.tables import coefficient_cells, joint_cells, texts


def show_fit(release: Release, files: dict[str, str], ledger: dict[str, Any] | None) -> None:
    """The model, what to know about it, what it cost, and where it is."""
    out = console()
    out.print(Text(f"{release.target}: {release.method}", style="bold"))
    for note in [*release.notes, *fit_lines(release), *estimand(release)]:
        out.print(Text(note))
    show_warnings(out, release.warnings)
    out.print(grid(*texts(coefficient_cells(release))))
    if release.statistics is not None and release.statistics.joint_tests:
        out.print(grid(*texts(joint_cells(release.statistics))))
    show_receipt(out, release.receipt)
    show_ledger(out, ledger)
    for kind, file in files.items():
        out.print(Text(f"The {kind} is in {file}."))


def show_warnings(out: Console, warnings: list[str]) -> None:
    """What may be wrong."""
    for warning in warnings:
        out.print(Text(f"Warning: {warning}", style="yellow"))


def show_receipt(out: Console, receipt: Receipt) -> None:
    """Where the budget went, and the guarantee in one sentence."""
    spent = budget_use(receipt)
    rows = [
        (f"{group.purpose}: {group.meaning}", str(group.events), tenths_percent(group.tenths)) for group in spent.groups
    ]
    out.print(grid(("budget for", "steps", "share"), *rows))
    out.print(Text(budget_line(receipt), style="" if receipt.private else "bold red"))


def show_ledger(out: Console, ledger: dict[str, Any] | None) -> None:
    """What is left in the ledger after a request."""
    if ledger is not None:
        entries = "1 entry" if ledger["entries"] == 1 else f"{ledger['entries']:,} entries"
        out.print(
            f"Ledger: {ledger['dataset']} has spent ε = {number(ledger['spent_epsilon'], 4)} of "
            f"{number(ledger['epsilon'], 6)} in {entries}. It keeps a tenth of δ for its own accounting."
        )


def show_check(found: Any, files: dict[str, str]) -> None:
    """What a fit would do."""
    out = console()
    out.print(Text(f"{found.target}: {found.method}, a dry run", style="bold"))
    out.print(grid(("column", "kind"), *((shown(name), kind) for name, kind in found.columns.items()), left=2))
    for sentence in found.sentences():
        out.print(sentence)
    for kind, file in files.items():
        out.print(Text(f"The {kind} would be written to {file}."))
    out.print("No record was read, and nothing was spent.")


def show_schema(reader: Any, out_file: Any, ledger: dict[str, Any] | None) -> None:
    """What each column holds, what is left out, and what it cost."""
    out, schema = console(), reader.schema_
    records = "" if schema.records is None else f", from about {about(schema.records)} records"
    out.print(Text(f"{len(schema.columns)} columns{records}", style="bold"))
    rows = []
    for column in schema:
        known = column.counts or [0.0] * len(column.levels)
        shares = [
            f"{shown(str(level))} {part_of(count, schema.records)}"
            for level, count in zip(column.levels, known, strict=True)
        ]
        missing = "" if column.n_missing is None else part_of(column.n_missing, schema.records)
        kind = column.kind + (" (decimal comma)" if column.mark == "," else "")
        rows.append((shown(column.name), "left out" if column.left_out else kind, missing, ", ".join(shares)))
    out.print(grid(("column", "kind", "missing", "levels (share)"), *rows, left=2))
    show_warnings(out, reader.warnings_)
    show_receipt(out, reader.receipt_)
    show_ledger(out, ledger)
    if out_file is not None:
        out.print(Text(f"The schema is in {out_file}. Use it with privreg fit --schema {out_file}."))


def show_selection(selector: Any, target: str, ledger: dict[str, Any] | None) -> None:
    """The chosen features in order, and what it cost."""
    out = console()
    out.print(Text(f"{target}: features chosen by {type(selector).__name__}", style="bold"))
    out.print(_CHOSEN_BY[type(selector).__name__])
    show_warnings(out, selector.warnings_)
    ordered = bool(selector.receipt_.steps)
    places = [(shown(str(f)), str(i) if ordered else "") for i, f in enumerate(selector.selected_features_, 1)]
    out.print(grid(("feature", "chosen"), *places))
    if ordered:
        show_receipt(out, selector.receipt_)
    else:
        out.print("There are no more columns than were asked for: all were taken, and nothing was released.")
    show_ledger(out, ledger)


_CHOSEN_BY = {
    "DPKendall": "By rank (Kendall) correlation: how often two records have the same order in a column and the target.",
    "SubLasso": "By the votes of many small models, each of a few records.",
}
