"""The report of one fit: a page to file and to read, made of released values and public input only."""

import json
import shlex
from os import PathLike
from typing import Any

from privreg import __version__
from privreg._format import count_of, epsilon_delta, number, shown
from privreg.estimators.loaded import LoadedModel
from privreg.estimators.methods import about
from privreg.estimators.regressor import PrivateRegressor
from privreg.estimators.select_then_regress import SelectThenRegress
from privreg.report import budget, coefficients, guarantee
from privreg.report.context import Context
from privreg.report.deployment import as_json, deployment_record
from privreg.report.document import Code, Content, Document, Facts, Items, Record, Section
from privreg.report.page import page
from privreg.results.outputs import write_whole
from privreg.results.release import Release, release_of

__all__ = ["Context", "deployment_record", "report_page", "write_report"]

_NOTHING = Context()
RECORD_ID = "privreg-deployment"


def report_page(release: Release, asked: Context = _NOTHING) -> str:
    """The whole page, as HTML that needs no other file."""
    return page(document(release, asked), "model.css")


def write_report(
    model: PrivateRegressor | SelectThenRegress | LoadedModel,
    path: str | PathLike[str],
    *,
    target: str | None = None,
    data: str | None = None,
) -> None:
    """Write a report of a fitted private model as one HTML page, whole or not at all.

    `target` and `data` are names to show: of the column that is predicted, and of the data set.
    """
    write_whole(path, report_page(release_of(model, target), Context(data)))


def document(release: Release, asked: Context) -> Document:
    """The report as data."""
    sections = [
        Section("What was asked", _asked(release, asked)),
        Section("The guarantee", guarantee.blocks(release.receipt)),
        Section("Where the budget went", budget.blocks(release)),
        Section("The model", coefficients.blocks(release)),
        Section("How to predict", _predict(asked)),
        Section("What to know", _know(release)),
        Section("What was not released", _withheld(release)),
        Section("Limits", _limits(release, asked)),
        Section("For machines", _machines(release, asked)),
    ]
    title = f"A private model of {shown(release.target)}"
    return Document(title, _lead(release, asked), sections, guarantee.notice(release.receipt))


def _lead(release: Release, asked: Context) -> str:
    data = f" from {shown(asked.data_name)}" if asked.data_name else ""
    used, offered = len(release.coefficients), len(release.columns)
    what = f"a linear model of {used} of {count_of(offered, 'column')}" if used else "a constant, not a linear model"
    epsilon, delta = guarantee.bounds(release.receipt)
    cost = f"at ε = {number(epsilon)} and δ = {number(delta, 6)}"
    if not release.receipt.private:
        return f"{release.method} fitted {what}{data}. It was not private."
    if guarantee.is_custom(release.receipt):
        return f"{release.method} fitted {what}{data} {cost}, which protects one small model, not one record."
    whom = "person" if release.receipt.protects_people else "record"
    return f"{release.method} fitted {what}{data}, with differential privacy for every {whom} {cost}."


def _asked(release: Release, asked: Context) -> list[Content]:
    receipt, ledger = release.receipt, asked.ledger_entry
    pairs = [
        ("Data", shown(asked.data_name) if asked.data_name else "not named"),
        ("To predict", shown(release.target)),
        (f"Columns offered ({len(release.columns)})", ", ".join(map(shown, release.columns)) or "none"),
        ("Method", f"{release.method}. {about(release.method)}".rstrip()),
        ("Budget", epsilon_delta(receipt.budget.epsilon, receipt.budget.delta)),
        ("Protected", guarantee.unit_words(receipt)),
    ]
    if asked.person:
        pairs.append(("People named by", shown(asked.person)))
    if ledger:
        pairs.append(("Ledger", _ledger(ledger)))
    pairs += [("Date", shown(asked.day)), ("Software", f"privreg {__version__}")]
    command: list[Content] = ["The command:", Code(shown(asked.command_line))] if asked.command_line else []
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


def _predict(asked: Context) -> list[Content]:
    file = shown(asked.model_name)
    saved = "" if asked.model else " if it was saved, for instance as model.json,"
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
        "Predictions cost no budget: they use what is released already. A row in which a value is missing that the "
        "model needs gets no prediction.",
    ]


def _know(release: Release) -> list[Content]:
    texts = [*(shown(note) for note in release.notes), *(f"Warning: {shown(text)}" for text in release.warnings)]
    found: list[Content] = [Items(texts)] if texts else []
    if release.warnings:
        found.append(
            "Warnings are decided from released values only. What helps: more records, fewer columns, a larger ε."
        )
    else:
        found.append(
            "There are no warnings. That does not mean that the model predicts well: how well was not measured."
        )
    return found


def _withheld(release: Release) -> list[Content]:
    estimate = (
        "the exact number of records"
        if release.records is None
        else f"the exact number of records; {number(release.records, 3)} is an estimate with noise, rather too low "
        "than too high"
    )
    texts = [
        estimate,
        "the smallest and the largest value of any column"
        + ("; the ranges on this page were found with noise" if coefficients.has_ranges(release) else ""),
        "R² or any other score on these records: a score without noise would tell about them",
        "predictions for these records, and how far off they are",
        "which records were left out because a value was missing or not declared, and how many",
        "columns that were not chosen: nothing is known about their coefficients" if _some_left(release) else "",
    ]
    return [
        "The following was not released, on purpose. Do not add it to this page by hand: it would not be protected.",
        Items([text for text in texts if text]),
    ]


def _some_left(release: Release) -> bool:
    return 0 < len(release.coefficients) < len(release.columns)


def _limits(release: Release, asked: Context) -> list[Content]:
    kept = (
        "The ledger keeps count of those that use it."
        if asked.ledger
        else "No ledger was used for this fit, so nothing kept count."
    )
    texts = [
        _unit_limit(release),
        f"Every further fit on the same people adds to what may be learned about them: budgets add up. {kept}",
        "How long the computation took is not protected, nor is a computer that others can read.",
        "Names and types of columns, declared levels of categories, and all settings count as public.",
        "The model is linear"
        + (" within the ranges shown" if coefficients.has_ranges(release) else "")
        + ": bends, and columns that work only together, are not in it.",
        "Standard errors assume that a linear model is true and that errors are of equal size everywhere. They are too "
        "small for columns that nearly repeat each other, and for strongly skewed ones."
        if any(c.error is not None for c in release.coefficients)
        else "",
        "Whoever keeps the records must still protect them: the guarantee is about this page and the model file only.",
    ]
    return [Items([text for text in texts if text])]


def _unit_limit(release: Release) -> str:
    receipt = release.receipt
    if guarantee.is_custom(receipt):
        return "What is protected is one small model, not one record."
    if receipt.protects_people:
        return (
            "What is protected is one person, as named by the column of people. A person with two names counts twice."
        )
    return (
        "What is protected is one record. A person with several records is protected less: with ten records, ε counts "
        "ten times. Naming the column of people when fitting protects whole people."
    )


def _machines(release: Release, asked: Context) -> list[Content]:
    return [
        "The same in a form that programs read, in the words of OpenDP's Deployments Registry. What privreg cannot "
        "know (who publishes, what for, which region) is left empty for you to fill in. The part “privreg” is ours: "
        "the receipt, the model and the notes in full.",
        Record(RECORD_ID, "Show the record", as_json(deployment_record(release, asked))),
    ]
