"""The big tables: every method on every data set, with the published medians. As a table for people and as CSV."""

import csv
import io
from dataclasses import asdict, dataclass, field, replace
from itertools import chain

from privreg.estimators.methods import REGISTRY
from privreg.paper.catalogue import Task, published, tasks
from privreg.paper.digits import pretty
from privreg.paper.folder import COMPLETE, OTHER, PARTIAL
from privreg.paper.results import Cell, Info, Quartiles, Results, medians_of, ranks
from privreg.report.document import Grid, TableCell, words

MISSING = "missing"
_PARTIAL = "Partial data sets"
ELSEWHERE = "partial: see below"
NOT_RUN = TableCell("–", title="not run yet")
_FIELDS = (
    *("task", "name", "n", "d", "kind", "k", "epsilon", "method"),
    *("median", "q25", "q75", "seconds", "trials", "failed", "unreleased"),
    *("published", "sign_differs", "top_two"),
)


@dataclass(frozen=True)
class Score:
    """A method on a data set, as the tables show it. Without a cell it has not been run yet."""

    cell: Cell | None
    published: float | None
    differs: bool | None  # R² > 0 here and not in the paper, or the other way round; None if they are not compared
    top: bool | None  # among the two best private ones; None if it is not ranked


@dataclass(frozen=True)
class Row:
    """A data set with the scores of the methods, or a remark why there are none."""

    info: Info
    scores: dict[str, Score] = field(default_factory=dict)
    remark: str = ""


def parts(results: Results, k: int, epsilon: float | None = None) -> dict[str, list[Row]]:
    """By title: a row for each of the paper's tasks; and, if there are any, parts of its data sets, and others."""
    found = {"The paper's data sets": [_paper_row(results, task, k, epsilon) for task in tasks().values()]}
    for kind, title in ((PARTIAL, _PARTIAL), (OTHER, "Data sets that are not in the paper")):
        if sets := [info for info in results.datasets.values() if info.kind == kind]:
            found[title] = [_row(results, info, k, epsilon) for info in sets]
    return found


def grids(results: Results, k: int) -> list[Grid]:
    """The same for people."""
    note = "These differ from the paper's data sets in records or columns: not ranked, and not compared with it."
    return [
        _grid(results, f"{title}, k = {k}", rows, note if title == _PARTIAL else "")
        for title, rows in parts(results, k).items()
    ]


def as_csv(results: Results, k: int) -> str:
    """One line for each data set, method and ε in full precision; a data set without scores has one line."""
    out = io.StringIO()
    table = csv.DictWriter(out, _FIELDS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for epsilon in results.epsilons:
        first = epsilon == results.epsilon
        for row in chain.from_iterable(parts(results, k, epsilon).values()):
            table.writerows(_lines(row, k, epsilon, first))
    return out.getvalue()


def _paper_row(results: Results, task: Task, k: int, epsilon: float | None) -> Row:
    info = results.datasets.get(task.id)
    if info is None:
        return Row(Info(task.id, task.name, task.n, task.d, MISSING), remark=f"missing: {results.missing[task.id]}")
    if info.kind == PARTIAL:
        return Row(Info(task.id, info.name, task.n, task.d, PARTIAL), remark=ELSEWHERE)
    return _row(results, info, k, epsilon)


def _row(results: Results, info: Info, k: int, epsilon: float | None) -> Row:
    if info.d < k:
        also = " as in the paper" if info.kind == COMPLETE else ""
        return Row(info, remark=f"fewer than {k} columns, left out{also}")
    cells = results.cells(info.task, k, epsilon)
    medians = medians_of(cells)
    ranked = [] if info.kind == PARTIAL else [m for m in results.private if m in medians]
    places = ranks({m: medians[m] for m in ranked})
    scores = {}
    for m in results.methods:
        theirs = published(k).get(info.task, {}).get(m)
        differs = None
        if info.kind == COMPLETE and m in medians and theirs is not None:
            differs = (medians[m] > 0) != (theirs > 0)
        scores[m] = Score(cells.get(m), theirs, differs, places.get(m, 3) <= 2 if m in ranked else None)
    return Row(info, scores)


def _grid(results: Results, title: str, rows: list[Row], note: str = "") -> Grid:
    methods = results.columns
    wanted = max(run["trials"] for run in results.runs)
    lines = []
    for row in rows:
        remark = [TableCell(row.remark, span=len(methods))]
        lines.append([_data_set(row), *(remark if row.remark else [_entry(row.scores[m], wanted) for m in methods])])
    return Grid(["data set", *methods], lines, title, note)


def _data_set(row: Row) -> TableCell:
    """Task, name, n and d; a part of a data set also has those of the whole."""
    info = row.info
    if info.kind != PARTIAL or row.remark:
        return replace(words(info.label), detail=(f"n\u00a0{info.n:,}, d\u00a0{info.d:,}",))
    whole = tasks()[info.task]
    return replace(words(info.label), detail=(f"n {info.n:,} (paper {whole.n:,})", f"d {info.d:,} (paper {whole.d:,})"))


def _entry(score: Score, wanted: int) -> TableCell:
    cell = score.cell
    if cell is None:
        return NOT_RUN
    shown = spread(cell.quartiles) if cell.quartiles else TableCell("failed")
    text = shown.text + ("†" if cell.quartiles and cell.failed else "")
    detail = [*shown.detail]
    if cell.failed:
        detail.append(f"{cell.failed} of {cell.trials} failed")
    if cell.trials < wanted:
        detail.append(f"{cell.trials} of {wanted} trials")
    if score.published is not None:
        detail.append(f"paper {pretty(score.published)}" + (" ≠" if score.differs else ""))
    title = "other sign than published" if score.differs else cell.error or ""
    return TableCell(text, cell.median, tuple(detail), bool(score.top), bool(score.differs), title)


def number(value: float) -> TableCell:
    """A cell with a number in two digits."""
    return TableCell(pretty(value), value)


def spread(quartiles: Quartiles) -> TableCell:
    """The median, and below it the other two."""
    low, middle, high = quartiles
    return replace(number(middle), detail=(f"{pretty(low)} … {pretty(high)}",))


def _lines(row: Row, k: int, epsilon: float, first: bool) -> list[dict[str, object]]:
    """Lines of the CSV file. What does not depend on ε is there once; the published values belong to the first ε."""
    base: dict[str, object] = asdict(row.info) | {"k": k}
    if row.remark:
        return [base] if first and row.remark != ELSEWHERE else []
    lines = []
    for method, score in row.scores.items():
        cell, private = score.cell, REGISTRY[method].private
        if cell is None or not (first or private):
            continue
        line = base | asdict(cell) | cell.scores()
        line |= {"epsilon": epsilon if private else None, "method": method, "top_two": _yes(score.top)}
        if first and score.published is not None:
            line |= {"published": score.published, "sign_differs": _yes(score.differs)}
        lines.append(line)
    return lines


def _yes(holds: bool | None) -> str | None:
    return None if holds is None else "yes" if holds else "no"
