"""The report of one fit: a page to file and to read, made of released values and public input only."""

import json
import shlex
from os import PathLike
from typing import Any

from privreg import __version__
from privreg._format import about, count_of, epsilon_delta, number, shown
from privreg.estimators.methods import what_it_does
from privreg.estimators.regressor import ReleasedModel
from privreg.report import budget, coefficients, guarantee
from privreg.report.deployment import Context, as_json, deployment_record
from privreg.report.document import Code, Content, Document, Facts, Items, Record, Section
from privreg.report.page import page
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of

__all__ = ["Context", "deployment_record", "report_page", "write_report"]

RECORD_ID = "privreg-deployment"


def report_page(release: Release, context: Context) -> str:
    """The whole page, as HTML that needs no other file."""
    return page(document(release, context), "model.css")


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
    write_whole(path, report_page(release_of(model, target), Context(data)))


def document(release: Release, context: Context) -> Document:
    """The report as data."""
    sections = [
        Section("What was asked", _request(release, context)),
        Section("The guarantee", guarantee.blocks(release.receipt)),
        Section("Where the budget went", budget.blocks(release)),
        Section("The model", coefficients.blocks(release)),
        Section("How to predict", _predict(context)),
        Section("What to know", _know(release)),
        Section("What was not released", _withheld(release)),
        Section("Limits", _limits(release, context)),
        Section("For machines", _machines(release, context)),
    ]
    title = f"A private model of {shown(release.target)}"
    return Document(title, _lead(release, context), sections, guarantee.notice(release.receipt))


def _lead(release: Release, context: Context) -> str:
    data = f" from {shown(context.data)}" if context.data else ""
    used, offered = len(release.coefficients), len(release.columns)
    what = f"a linear model of {used} of {count_of(offered, 'feature')}" if used else "a constant, not a linear model"
    epsilon, delta = guarantee.bounds(release.receipt)
    cost = f"at ε = {number(epsilon)} and δ = {number(delta, 6)}"
    if not release.receipt.private:
        return f"{release.method} fitted {what}{data}. It was not private."
    if guarantee.is_custom(release.receipt):
        return f"{release.method} fitted {what}{data} {cost}, which protects one small model, not one record."
    whom = "person" if release.receipt.protects_people else "record"
    return f"{release.method} fitted {what}{data}, with differential privacy for every {whom} {cost}."


def _request(release: Release, context: Context) -> list[Content]:
    receipt, ledger = release.receipt, context.ledger
    pairs = [
        ("Data", shown(context.data) if context.data else "not named"),
        ("To predict", shown(release.target)),
        *([("Formula", shown(release.formula))] if release.formula else []),
        *([("Records used", f"those with {shown(release.where)}")] if release.where else []),
        (f"Columns offered ({len(release.inputs)})", ", ".join(map(shown, release.inputs)) or "none"),
        ("Method", f"{release.method}. {what_it_does(release.method)}".rstrip()),
        ("Budget", epsilon_delta(receipt.budget.epsilon, receipt.budget.delta)),
        ("Protected", guarantee.unit_words(receipt)),
    ]
    if context.person:
        pairs.append(("People named by", shown(context.person)))
    if ledger:
        pairs.append(("Ledger", _ledger(ledger)))
    pairs += [("Date", shown(str(context.date))), ("Software", f"privreg {__version__}")]
    command: list[Content] = ["The command:", Code(shown(context.command))] if context.command else []
    return [Facts(pairs), *command]


def _ledger(ledger: dict[str, Any]) -> str:
    parts = [shown(str(ledger["file"]))] if ledger.get("file") else []
    parts += [f"data set {shown(str(ledger['dataset']))}"] if ledger.get("dataset") else []
    parts += [f"entry {ledger['entry']}"] if ledger.get("entry") is not None else []
    if ledger.get("spent_epsilon") is not None and ledger.get("epsilon") is not None:
        spent, total = (number(float(ledger[key]), 6) for key in ("spent_epsilon", "epsilon"))
        parts.append(f"spent so far, with this fit: ε = {spent} of {total}")
    parts.append("it keeps a tenth of the δ that was asked for, so the fit ran with the rest")
    return ", ".join(parts)


def _predict(context: Context) -> list[Content]:
    file = shown(context.model or "model.json")
    saved = "" if context.model else " if it was saved, for instance as model.json,"
    return [
        f"With the model file{saved} and a table of new rows that has the same columns:",
        Code(f"privreg predict {shlex.quote(file)} new-rows.csv"),
        "Or in Python:",
        Code(
            "from privreg import load_model\n\n"
            f"model = load_model({json.dumps(file, ensure_ascii=False)})\n"
            "model.predict(new_rows)  # a data frame or array with the same columns\n"
            "print(model.summary())"
        ),
        "Predictions cost no budget: they use only what has been released. A row that lacks a value the model needs "
        "gets no prediction.",
    ]


def _know(release: Release) -> list[Content]:
    texts = [*(shown(note) for note in release.notes), *(f"Warning: {shown(text)}" for text in release.warnings)]
    end = (
        "Warnings depend on released values only. What helps: more records, fewer columns, a larger ε."
        if release.warnings
        else "There are no warnings. That does not mean that the model predicts well."
    )
    return [Items(texts), end] if texts else [end]


def _withheld(release: Release) -> list[Content]:
    told = "" if release.records is None else f"; {about(release.records)} is a noisy, cautious (low) estimate"
    texts = [
        f"the exact number of records{told}",
        "the smallest and the largest value of any column"
        + ("; the ranges on this page were found with noise" if release.has_ranges else ""),
        "scores on these records without noise, such as R²: they would reveal something about them",
        "predictions for these records, and their errors",
        "which records were left out because a value was missing or not declared, and how many",
    ]
    if 0 < len(release.coefficients) < len(release.columns):
        texts.append("the coefficients of columns that were not chosen")
    return [
        "The following was withheld on purpose. Do not add it to this page by hand: it would not be protected.",
        Items(texts),
    ]


def _limits(release: Release, context: Context) -> list[Content]:
    ledger = "The ledger adds up those that use it." if context.ledger else "No ledger was used for this fit."
    within = " within the ranges shown" if release.has_ranges else ""
    errors = (
        "Standard errors assume that a linear model is true and that errors are equally large everywhere. They are too "
        "small for columns that nearly repeat each other, and for strongly skewed ones."
    )
    texts = [
        _unit_limit(release),
        f"Every further fit on the same people reveals more about them: budgets add up. {ledger}",
        "Running time is not protected, nor is a computer that others can read.",
        "Names and types of columns, declared levels and ranges, and all settings count as public.",
        f"The model is linear{within}: it has no curves and no interactions between columns.",
        *([errors] if release.has_errors else []),
        "The records themselves must still be protected: the guarantee covers this page and the model file only.",
    ]
    return [Items(texts)]


def _unit_limit(release: Release) -> str:
    receipt = release.receipt
    if guarantee.is_custom(receipt):
        return "What is protected is one small model, not one record."
    if receipt.protects_people:
        return (
            "What is protected is one person, as named by the column of people. A person with two names counts twice."
        )
    return (
        "What is protected is one record. A person with several records is protected less: with ten records, ε is ten "
        "times as large. To protect whole people, name the column that identifies them when fitting."
    )


def _machines(release: Release, context: Context) -> list[Content]:
    return [
        "The same for programs, in the format of OpenDP's Deployments Registry. What privreg cannot know (who "
        "publishes, for what purpose, in which region) is left empty for you to fill in. The part “privreg” is an "
        "addition: the receipt, the model and the notes in full.",
        Record(RECORD_ID, "Show the record", as_json(deployment_record(release, context))),
    ]
