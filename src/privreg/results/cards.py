"""A fitted model, and its summary, in a notebook."""

from privreg._format import epsilon_delta, shortened
from privreg._notebook import Html, card, caution, facts, folded, lead, note, table
from privreg.privacy.receipt_card import promise, spending
from privreg.privacy.spent import kept_by_ledger
from privreg.results.release import Release
from privreg.results.summary import budget_line, estimand, fit_lines
from privreg.results.tables import coefficient_cells, joint_cells, texts
from privreg.results.verdict import accuracy, verdict

_SHORT = ("feature", "coef", "std err", "95 % interval")  # of the coefficients; the summary has the rest


def model_card(release: Release, asked: float | None = None) -> str:
    """May it be used, what was promised, and the coefficients. `asked` is the δ that a ledger was asked for."""
    found = verdict(release)
    model, notes = (release.notes[0], release.notes[1:]) if release.notes else (None, [])
    return card(
        _title(release),
        lead(f"{found.text[0].upper()}{found.text[1:]}"),
        *map(caution, found.reasons),
        facts([("Accuracy", accuracy(release)), ("Model", model), *promise(release.receipt), _asked(release, asked)]),
        *_coefficients(release),
        *map(note, notes),
        folded("What the coefficients mean", *map(note, estimand(release))),
        folded("Where the budget went", *spending(release.receipt)),
        badge=(found.state, found.word),
    )


def summary_card(release: Release) -> str:
    """What the printed summary has."""
    found = verdict(release)
    return card(
        _title(release),
        *map(lead, [*release.notes[:1], *fit_lines(release)]),
        _table(texts(coefficient_cells(release)), "Coefficients"),
        *_joint_tests(release),
        *map(note, [*estimand(release), *release.notes[1:]]),
        *map(caution, release.warnings),
        note(budget_line(release.receipt)),
        badge=(found.state, found.word),
    )


def _asked(release: Release, delta: float | None) -> tuple[str, str | None]:
    budget = release.receipt.budget
    if delta is None or delta <= budget.delta:
        return "Asked for", None
    return "Asked for", f"{epsilon_delta(budget.epsilon, delta)}. {kept_by_ledger(release.receipt)}"


def _title(release: Release) -> str:
    return f"{shortened(release.target, 100)}: {release.method}"


def _coefficients(release: Release) -> list[Html]:
    if not release.coefficients:
        return []
    cells = [{k: cell for k, cell in row.items() if k in _SHORT} for row in coefficient_cells(release)]
    return [_table(texts(cells), "Coefficients")]


def _joint_tests(release: Release) -> list[Html]:
    told = release.statistics
    return [] if told is None or not told.joint_tests else [_table(texts(joint_cells(told)), "Joint tests")]


def _table(rows: list[tuple[str, ...]], title: str) -> Html:
    head, *body = rows
    return table(head, body, title=title)
