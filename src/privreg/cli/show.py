"""What fits and selections look like in a terminal: the answer first, then what it rests on, what it cost, and files.

Everything comes from a `Release` or a receipt, so nothing but released values can be shown.
"""

import re
from typing import Any

from rich.console import Console

from privreg._format import about, count_of, listed, number, part_of, shown, supported, tenths_percent
from privreg.cli.grid import Grid, grid
from privreg.cli.terminal import bound, console, say
from privreg.estimators.dry_run import TO_FIND
from privreg.estimators.schema_notes import origin_notes
from privreg.privacy.budget_use import budget_use
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.promise import State, broken_promise, in_words, protected
from privreg.privacy.receipt import Receipt
from privreg.privacy.spent import spent
from privreg.results.release import Release, range_note
from privreg.results.summary import SHRUNK
from privreg.results.tables import coefficient_cells, joint_cells, texts, with_error
from privreg.results.verdict import r2_interval, tells_nothing, verdict

STYLES: dict[State, str] = {"good": "bold green", "care": "bold yellow", "bad": "bold red"}
_REASON: dict[State, str] = {"good": "", "care": "yellow", "bad": "red"}
_SPARE = ("z", "P>|z|", "std err")  # columns of coefficients that go where it is narrow: the interval says most
_FEW = 3  # joint tests that are shown without being asked for
_CLIPPED = "Coefficients estimate least squares with all values clipped to their ranges."


def show_fit(
    release: Release,
    files: dict[str, str],
    ledger: dict[str, Any] | None,
    *,
    delta: float | None = None,
    verbose: bool = False,
) -> None:
    """May the model be used, its coefficients, what to know about them, what they cost, and where they are.

    `delta` is the δ that was asked of the ledger, here and below: a fit runs with a part of it.
    """
    out = console()
    show_verdict(out, release)
    out.print()
    if release.coefficients:
        out.print(coefficient_grid(release))
        out.print()
    tests = [] if release.statistics is None else release.statistics.joint_tests
    if release.statistics is not None and tests and (verbose or len(tests) <= _FEW):
        out.print(grid(*texts(joint_cells(release.statistics))))
        out.print()
    for note in _notes(release, verbose):
        say(out, note)
    show_cost(out, release.receipt, ledger, "fits", delta=delta, verbose=verbose)
    show_files(out, files)


def show_verdict(out: Console, release: Release) -> None:
    """The verdict in one sentence, and the reasons for it."""
    found = verdict(release)
    say(out, headline(release), STYLES[found.state])
    for reason in found.reasons:
        say(out, _typed(reason), _REASON[found.state], "- ", "  ")


def headline(release: Release) -> str:
    """The verdict with the name of the target before it, and R² where it is known."""
    found, target = verdict(release), shown(release.target)
    told = found.text.replace(f" in {target}.", ".").removesuffix(".")
    told = told[:1].upper() + told[1:]
    word = found.word if found.word.isupper() else found.word[:1].lower() + found.word[1:]
    ends, fit = r2_interval(release), release.statistics
    if ends is None or fit is None or tells_nothing(ends) or broken_promise(release.receipt) is not None:
        return f"{target}: {word}. {told}."
    r2, low, high = (supported(value, fit.r2_error) for value in (fit.r2, *ends))
    return f"{target}: {word}. {told} (R² {r2}, 95 % interval {low} to {high})."


def coefficient_grid(release: Release) -> Grid:
    """The coefficients; the same cells as in a report."""
    return grid(*texts(coefficient_cells(release)), spare=_SPARE)


def _notes(release: Release, verbose: bool) -> list[str]:
    """How many features and records, what levels are compared with, and what coefficients estimate."""
    fit, ends, notes = release.statistics, release.prediction_range, list(release.notes)
    if fit is not None and fit.residual_error is not None:
        notes[1:1] = [f"Residual standard error {with_error(fit.residual_error, fit.residual_error_se)}."]
    if ends is not None and not verbose:
        notes = [note for note in notes if note != range_note(ends)]
    if fit is not None and fit.r2 is not None and not release.together:
        notes += [_CLIPPED, SHRUNK] if fit.shrunk else [_CLIPPED]
    return [*notes, f"Method: {release.method}."] if verbose else notes


def show_warnings(out: Console, warnings: list[str]) -> None:
    """What may be wrong."""
    for warning in warnings:
        say(out, _typed(warning), _REASON["care"], "- ", "  ")


def _typed(text: str) -> str:
    """With options as they are typed, and not as in Python: `missing="fill" (--missing fill)`."""
    return re.sub(r'\w+="\w+" \((--[\w -]+)\)', r"\1", text)


def show_cost(
    out: Console,
    receipt: Receipt,
    ledger: dict[str, Any] | None,
    again: str,
    *,
    delta: float | None = None,
    verbose: bool = False,
) -> None:
    """What was spent, in one line, and what the ledger says about it. `again` are what would add up unseen."""
    if verbose and receipt.events:
        out.print()
        show_receipt(out, receipt)
        out.print()
    kept = None if ledger is None or delta is None else (delta, again.removesuffix("s"))
    say(out, privacy_line(receipt, kept), "" if receipt.private else STYLES["bad"])
    if verbose and receipt.events and broken_promise(receipt) is None:
        say(out, in_words(receipt))
    if ledger is not None:
        say(out, ledger_line(ledger))
    elif receipt.events:
        say(out, f"Not counted: no ledger was given (--ledger), so repeated {again} on these records add up unseen.")


def privacy_line(receipt: Receipt, asked: tuple[float, str] | None = None) -> str:
    """What was spent, and whom that protects. `asked`: the δ that a ledger was asked for, and what ran with a part."""
    if not receipt.events:
        return "Privacy: nothing was released from the data, so nothing was spent."
    told = f"spent {spent(receipt, *(asked or ()))}"
    if not receipt.private:
        return f"Privacy: none, because the noise came from a seed. With fresh noise: {told}."
    return f"Privacy: {told}; protects {protected(receipt)}."


def show_receipt(out: Console, receipt: Receipt) -> None:
    """Where the budget went."""
    rows = [
        (f"{group.purpose}: {group.meaning}", str(group.events), tenths_percent(group.tenths))
        for group in budget_use(receipt).groups
    ]
    out.print(grid(("budget for", "steps", "share"), *rows, wraps="budget for"))


def ledger_line(ledger: dict[str, Any]) -> str:
    """What is left in the ledger after a request."""
    used = f"ε = {number(ledger['spent_epsilon'], 4)} of {number(ledger['epsilon'], 6)}"
    entries = count_of(ledger["entries"], "entry", "entries")
    left = room_in_words(ledger["room"]["epsilon"], ledger["room"]["delta"])
    return f"Ledger: {shown(ledger['dataset'])} has spent {used} in {entries}. Left: {left}."


def show_files(out: Console, files: dict[str, str], done: str = "Wrote") -> None:
    """What was written, in one line."""
    if files:
        say(out, f"{done} {' and '.join(f'the {kind} to {file}' for kind, file in files.items())}.")


def show_check(found: Any, files: dict[str, str], *, verbose: bool = False) -> None:
    """What a fit would do."""
    out = console()
    refused = found.ledger is not None and not found.ledger.admitted
    state: State = "bad" if refused else "good"
    word = "the ledger would refuse this fit" if refused else "ready to fit"
    say(out, f"{shown(found.target)}: {word} ({found.method}). No record was read, nothing was spent.", STYLES[state])
    out.print()
    kinds = dict[str, list[str]]()
    for name, kind in found.columns.items():
        kinds.setdefault(kind, []).append(name)
    if verbose:
        out.print(grid(("column", "kind"), *((shown(name), kind) for name, kind in found.columns.items()), left=2))
        out.print()
    else:
        for kind, names in kinds.items():
            word = "type found out by the fit" if kind == TO_FIND else kind
            say(out, f"{word[:1].upper()}{word[1:]} ({count_of(len(names), 'column')}): {listed(names, 12)}.")
    for sentence in found.sentences():
        say(out, sentence)
    if found.ledger is None:
        say(out, "It would not be counted: no ledger was given (--ledger).")
    if files:
        say(out, f"It would write {' and '.join(f'the {kind} to {file}' for kind, file in files.items())}.")


def show_schema(
    reader: Any,
    out_file: Any,
    ledger: dict[str, Any] | None,
    *,
    delta: float | None = None,
    verbose: bool = False,
) -> None:
    """What each column holds, what is left out, and what it cost."""
    out, schema = console(), reader.schema_
    used = sum(not column.left_out for column in schema)
    source = "" if schema.records is None else f", from about {about(schema.records)} records"
    say(
        out,
        f"{used} of {count_of(len(schema.columns), 'column')} can be used{source}.",
        STYLES["good" if used else "bad"],
    )
    show_warnings(out, reader.warnings_)
    out.print()
    rows = []
    for column in schema:
        known = column.counts or [0.0] * len(column.levels)
        shares = [
            bound(f"{shown(str(level))} {part_of(count, schema.records)}".rstrip())
            for level, count in zip(column.levels, known, strict=True)
        ]
        missing = "" if column.n_missing is None else part_of(column.n_missing, schema.records)
        kind = column.kind + (" (decimal comma)" if column.mark == "," else "")
        rows.append((shown(column.name), "left out" if column.left_out else kind, missing, ", ".join(shares)))
    head = ("column", "kind", "missing", "levels (share)")
    out.print(grid(head, *rows, left=2, wraps="levels (share)"))
    out.print()
    say(out, "Shares are noisy estimates.")
    show_cost(out, reader.receipt_, ledger, "readings", delta=delta, verbose=verbose)
    if out_file is not None:
        say(out, f"Wrote the schema to {out_file}. Use it with privreg fit --schema {out_file}.")


def show_selection(
    selector: Any,
    target: str,
    ledger: dict[str, Any] | None,
    *,
    delta: float | None = None,
    verbose: bool = False,
) -> None:
    """The chosen features in order, and what it cost."""
    out, chosen, receipt = console(), [shown(str(f)) for f in selector.selected_features_], selector.receipt_
    if receipt.chose:
        say(out, f"{shown(target)}: {count_of(len(chosen), 'feature')}, in the order they were chosen.", STYLES["good"])
    else:
        say(out, f"{shown(target)}: there are no more columns than were asked for, so all were taken.", STYLES["care"])
    show_warnings(out, selector.warnings_)
    out.print()
    for i, name in enumerate(chosen, 1):
        say(out, name, "", f" {i:>{len(str(len(chosen)))}}. " if receipt.chose else " - ", "    ")
    out.print()
    if receipt.chose:
        say(out, _CHOSEN_BY[type(selector).__name__])
    for told in origin_notes(selector.schema_):
        say(out, told)
    show_cost(out, receipt, ledger, "selections", delta=delta, verbose=verbose)


_CHOSEN_BY = {
    "DPKendall": (
        "Chosen by rank (Kendall) correlation: how often two records are in the same order by a column and by the "
        "target."
    ),
    "SubLasso": "Chosen by the votes of many small models, each fitted to a few records.",
}
