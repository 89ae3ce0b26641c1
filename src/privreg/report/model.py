"""The report of one fit: a page to read in a minute and to file, made of released values and public input only."""

import json
import shlex
from os import PathLike
from typing import Any

from privreg import __version__
from privreg._format import about, count_of, epsilon_delta, listed, number, one_line, shown
from privreg.errors import LedgerError
from privreg.estimators.methods import what_it_does
from privreg.estimators.regressor import PrivateRegressor, ReleasedModel
from privreg.privacy.ledger.room import room_in_words
from privreg.privacy.promise import belief, bounds, broken_promise, is_custom, odds, protects
from privreg.privacy.receipt import Receipt
from privreg.privacy.spent import kept_by_ledger
from privreg.report import budget, coefficients, deployment, guarantee
from privreg.report.deployment import Context, deployment_record
from privreg.report.document import Banner, Code, Content, Data, Document, Fact, Facts, Fold, Items, Section
from privreg.report.page import page
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of
from privreg.results.verdict import not_determined, r2_interval, r2_words, records, typical_error, verdict

__all__ = ["Context", "deployment_record", "report_page", "write_report"]

RECORD_ID = "privreg-deployment"
_NOBODY = "Nobody is protected, because the guarantee does not hold: see above."
_LINE = 80  # letters of a command that stands on one line


def report_page(release: Release, context: Context) -> str:
    """The whole page, as HTML that needs no other file."""
    return page(document(release, context))


def write_report(
    model: ReleasedModel,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    data: str | None = None,
) -> None:
    """Write a report of a fitted private model as one HTML page, whole or not at all.

    `target` and `data` are names to show: of the column that is predicted, and of the data set.
    """
    write_whole(path, report_page(release_of(model, target), _context(model, data)))


def _context(model: ReleasedModel, data: str | None) -> Context:
    """What a fitted model knows beside its release. One from a file does not know whether a ledger counted the fit."""
    if not isinstance(model, PrivateRegressor) or not hasattr(model, "ledger_entry_"):
        return Context(data, ledger_known=False)
    if model.ledger is None or model.dataset is None:
        return Context(data)
    try:
        ledger = model.ledger.after(model.dataset, model.ledger_entry_)
    except LedgerError:  # its file may be elsewhere by now; what was entered stays true
        ledger = {"dataset": model.dataset, "entry": model.ledger_entry_}
    return Context(data, ledger=ledger, purpose=model.purpose, delta=float(model.delta))


def document(release: Release, context: Context) -> Document:
    """The report as data."""
    sections = [
        Section("The model", coefficients.blocks(release) + _predict(release, context)),
        Section("The guarantee", guarantee.blocks(release)),
        Section("The budget", budget.blocks(release, _asked_delta(context))),
        Section("Limits", _limits(release, context)),
        Section("Documentation", _record(release, context)),
    ]
    kind = "private model" if broken_promise(release.receipt) is None else "model"
    title = f"A {kind} of {shown(release.target)}"
    return Document(title, _lead(release, context), sections, _banner(release, context))


def _lead(release: Release, context: Context) -> str:
    data = f" to {shown(context.data)}" if context.data else ""
    return f"Fitted{data} by {release.method}, privreg {__version__}, on {shown(str(context.date))}."


def _banner(release: Release, context: Context) -> Banner:
    """The verdict, and the facts that a steward asks for first."""
    found, receipt = verdict(release), release.receipt
    holds = broken_promise(receipt) is None
    facts = [
        Fact("Protects", protects(receipt), belief(receipt) if holds else ""),
        Fact("Privacy budget", *_budget(receipt, context, _meaning(release))),
        _accuracy(release),
        *([Fact("Records used", counted, "A noisy estimate.")] if (counted := records(release)) else []),
        _features(release),
        Fact("Ledger", *_left(context)),
    ]
    text = found.text[:1].upper() + found.text[1:]
    return Banner(found.state, found.word, text, facts, [shown(reason) for reason in found.reasons])


def _meaning(release: Release) -> str:
    """Of ε and δ, where they hold, and what they do not count."""
    holds = broken_promise(release.receipt) is None
    told = [odds(release.receipt)] if holds else []
    return " ".join([*told, *([release.earlier.sentence] if release.earlier else [])])


def _budget(receipt: Receipt, context: Context, meaning: str) -> tuple[str, str]:
    """As it was asked for, and what it means."""
    epsilon, delta = bounds(receipt)
    if (asked := _asked_delta(context)) is None or asked <= delta:
        return epsilon_delta(epsilon, delta), meaning
    return epsilon_delta(epsilon, asked), f"{meaning} {kept_by_ledger(receipt)}".strip()


def _asked_delta(context: Context) -> float | None:
    """The δ that a ledger was asked for."""
    return context.delta if context.ledger else None


def _accuracy(release: Release) -> Fact:
    told = r2_words(release)
    if told is None and r2_interval(release) is not None:
        return Fact("Accuracy", "unknown", "The noise is too large to tell.")
    if told is None:
        return Fact("Accuracy", "not measured")
    return Fact("Accuracy", told[0], f"{told[1]}. {typical_error(release) or ''}".strip())


def _features(release: Release) -> Fact:
    used, offered, hidden = len(release.coefficients), len(release.columns), len(not_determined(release))
    if not used:
        return Fact("Features", f"none of {offered} used")
    determined = "All coefficients are determined." if not hidden else f"{hidden} not determined at this budget."
    return Fact("Features", f"{used} of {offered} used", determined if release.has_errors else "")


def _left(context: Context) -> tuple[str, str]:
    """What this data set's ledger has left, and what that means."""
    if not context.ledger_known:
        return "not known", "A model file does not say whether a ledger counted the fit; privreg verify finds out."
    if not (ledger := context.ledger):
        return "not used", "Nothing was counted. Repeated fits on these records add up unseen."
    spent = ledger.get("spent_epsilon")
    if spent is None or ledger.get("epsilon") is None:
        return "used", ""
    value = f"ε = {number(float(spent), 4)} of {number(float(ledger['epsilon']), 6)} spent"
    if not {"epsilon", "delta"} <= (ledger.get("room") or {}).keys():  # an ε without its δ says nothing
        return value, ""
    room, total = float(ledger["room"]["epsilon"]), float(ledger["epsilon"])
    composed = " Together, fits cost less than the sum of their ε." if float(spent) + room > 1.005 * total else ""
    return value, f"Left: {room_in_words(room, float(ledger['room']['delta']))}.{composed}"


def _predict(release: Release, context: Context) -> list[Content]:
    file = shown(context.model or "model.json")
    saved = "" if context.model else " (if it was saved, for instance as model.json)"
    return [
        Fold(
            "How to predict with it",
            [
                f"With the model file{saved} and a table of new rows that has the same columns:",
                Code(f"privreg predict {shlex.quote(file)} new-rows.csv"),
                "Or in Python:",
                Code(
                    "from privreg import load_model\n\n"
                    f"model = load_model({json.dumps(file, ensure_ascii=False)})\n"
                    "model.predict(new_rows)  # a data frame or array with the same columns\n"
                    "print(model.summary())"
                ),
                f"Predictions cost no budget, because they use only what has been released. {_gaps(release)}",
            ],
        )
    ]


def _gaps(release: Release) -> str:
    """What happens to missing values."""
    if release.fills:
        return "Missing values in new rows are filled in as they were in the fit."
    return "A row that lacks a value the model needs gets no prediction."


def _public_limit(rows: int) -> str:
    return (
        f"{rows:,} rows were passed as public and told the scales of columns. Nothing protects them. A part of the "
        "private table would not be protected if it were passed as public."
    )


def _limits(release: Release, context: Context) -> list[Content]:
    unused = "No ledger was used for this fit." if context.ledger_known else ""
    ledger = "The ledger adds up those that use it." if context.ledger else unused
    within = " within the ranges of its columns" if release.has_ranges else ""
    errors = (
        "Intervals and p-values are for least squares on the clipped table. Some of their margins are calibrated on "
        "public tables, not proved; the interval of R² is the least reliable. A few extreme records can set "
        "the clipped and the raw table apart."
    )
    return [
        Items(
            [
                _unit_limit(release),
                f"Every further fit on the same people reveals more about them: budgets add up. {ledger}".rstrip(),
                f"{_covered(release.receipt)} The records themselves still need protection, and so does the computer. "
                "Running time is not protected.",
                "Column names and types, declared levels and ranges, and all settings count as public.",
                *([_public_limit(release.public_rows)] if release.public_rows else []),
                f"The model is linear{within}. Coefficients show associations in these records, not causes.",
                *([errors] if release.has_errors else []),
            ]
        ),
        Fold("What was not released", _withheld(release)),
    ]


def _unit_limit(release: Release) -> str:
    receipt = release.receipt
    if is_custom(receipt):
        return "What is protected is one small model, not one record." if receipt.private else _NOBODY
    if broken_promise(receipt) is not None:
        return _NOBODY
    if receipt.protects_people:
        return (
            "What is protected is one person, as named by the column of people. A person with two names counts twice."
        )
    return (
        "What is protected is one record. A person with several records is protected less: with ten records, ε is ten "
        "times as large, and δ grows much more. To protect whole people, name the column that identifies them when "
        "fitting (--person)."
    )


def _covered(receipt: Receipt) -> str:
    """Whether this page may be shared."""
    if broken_promise(receipt) is None:
        return "The guarantee covers this page and the model file."
    return "No guarantee for one record covers this page and the model file: protect them as you protect the records."


def _withheld(release: Release) -> list[Content]:
    told = "" if release.records is None else f"; {about(release.records)} is a noisy estimate"
    texts = [
        f"the exact number of records{told}",
        "the smallest and the largest value of any column"
        + ("; the ranges on this page were found with noise" if release.has_ranges else ""),
        "scores on these records without noise, such as the exact R²",
        "predictions for these records, and their errors",
        "which values are missing or not declared, in which records, and exactly how many",
    ]
    if 0 < len(release.coefficients) < len(release.columns):
        texts.append("the coefficients of columns that were not chosen")
    return [
        "The following was withheld on purpose. Do not add it to this page by hand: it would not be protected.",
        Items(texts),
    ]


def _record(release: Release, context: Context) -> list[Content]:
    """What was asked, and the same for programs."""
    record = deployment_record(release, context)
    text = deployment.as_json(record)
    return [
        Facts(_asked(release, context)),
        *([Code(_on_lines(one_line(context.command)))] if context.command else []),
        "The same information in the format of the OpenDP Deployments Registry, for programs. Fill in the fields that "
        "privreg cannot know:",
        deployment.missing_fields(record),
        Fold("The record as YAML, to register", [Code(deployment.as_yaml(deployment.to_register(record)))]),
        Fold("The record as JSON, with the receipt and the model", [Code(text)]),
        Data(RECORD_ID, text),
    ]


def _on_lines(command: str) -> str:
    """A long command with an option on each line."""
    return command if len(command) <= _LINE else command.replace(" --", " \\\n    --")


def _asked(release: Release, context: Context) -> list[tuple[str, str]]:
    receipt, ledger = release.receipt, context.ledger
    used, offered = len(release.coefficients), len(release.columns)
    model = f"linear, with {used} of {count_of(offered, 'feature')}" if used else "a constant"
    return [
        ("Data", shown(context.data) if context.data else "not named"),
        ("Target", shown(release.target)),
        *([("Formula", shown(release.formula))] if release.formula else []),
        *([("Records used", f"those with {shown(release.where)}")] if release.where else []),
        (f"Columns offered ({len(release.inputs)})", listed(release.inputs, 30) or "none"),
        ("Model", model),
        ("Method", f"{release.method}. {what_it_does(release.method)}".rstrip()),
        *([("Purpose", shown(context.purpose))] if context.purpose else []),
        ("Budget", ". ".join(filter(None, _budget(receipt, context, "")))),
        ("Protected", protects(receipt)),
        *([("People named by", shown(context.person))] if context.person else []),
        *([("Ledger", _ledger(ledger))] if ledger else []),
        ("Date", shown(str(context.date))),
        ("Software", f"privreg {__version__}"),
    ]


def _ledger(ledger: dict[str, Any]) -> str:
    parts = [shown(str(ledger["file"]))] if ledger.get("file") else []
    parts += [f"data set {shown(str(ledger['dataset']))}"] if ledger.get("dataset") else []
    parts += [f"entry {ledger['entry']}"] if ledger.get("entry") is not None else []
    return ", ".join(parts)
