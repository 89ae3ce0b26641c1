"""The big tables: every method on every data set, with the published medians. For people, as CSV and for LaTeX."""

import csv
import io
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from math import inf

from privreg._format import count_of
from privreg.estimators.methods import BASELINE, FLAGSHIP, REGISTRY
from privreg.paper.datasets import COMPLETE, MISSING, OTHER, PARTIAL, Task, published, tasks
from privreg.paper.results import NO_FILE, NOT_ASKED, SIX, Cell, Quartiles, Results, medians_of, ranks
from privreg.report.document import Grid, TableCell, words

_PAPER, _PARTIAL = "The paper's data sets", "Partial data sets"
_ELSEWHERE = "partial: see below"
_DIFFER = "These differ from the paper's in records or columns, so they are neither ranked nor compared with it."
_PUBLISHED = "K-Tukey"  # the paper's best
NOT_RUN = TableCell("–", title="not run")
_FIELDS = (
    *("task", "name", "n", "d", "kind", "k", "epsilon", "method"),
    *("median", "q25", "q75", "seconds", "trials", "failed", "unreleased"),
    *("published", "sign_differs", "top_two"),
)
_YES = {None: None, True: "yes", False: "no"}
_PER_PAGE = 13  # data sets in one tabular, which LaTeX cannot break
_HEAD = r"""% Written by privreg. To be read with \input; with all methods the tables need a landscape page.
% Medians of the test R^2. Bold: the two best private ones of a data set. \neq: other sign than published.
% \dag: some trials failed. --: not run.
"""
_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
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

    info: Task
    scores: dict[str, Score] = field(default_factory=dict)
    remark: str = ""


def parts(results: Results, k: int, epsilon: float | None = None) -> dict[str, list[Row]]:
    """By title: rows for the paper's data sets, for parts of them, and for others. What was not asked for has none."""
    paper = []
    for task in tasks().values():
        if task.id in results.missing and task.id not in results.unusable:
            continue
        info = results.datasets.get(task.id, task)
        elsewhere = Row(replace(task, name=info.name, kind=PARTIAL), remark=_ELSEWHERE)
        paper.append(elsewhere if info.kind == PARTIAL else _row(results, info, k, epsilon))
    found = {_PAPER: paper} if paper else {}
    for kind, title in ((PARTIAL, _PARTIAL), (OTHER, "Data sets that are not in the paper")):
        if sets := [info for info in results.datasets.values() if info.kind == kind]:
            found[title] = [_row(results, info, k, epsilon) for info in sets]
    return found


def _row(results: Results, info: Task, k: int, epsilon: float | None) -> Row:
    if info.kind == MISSING:
        return Row(info, remark=f"could not be used: {results.missing[info.id]}")
    if info.d < k:
        also = " as in the paper" if info.kind == COMPLETE else ""
        return Row(info, remark=f"fewer than {k} columns, left out{also}")
    cells = results.cells(info.id, k, epsilon)
    medians = medians_of(cells)
    ranked = [] if info.kind == PARTIAL else [m for m in results.private if m in medians]
    places = ranks({m: medians[m] for m in ranked})
    scores = {}
    for m in results.methods:
        theirs = published(k).get(info.id, {}).get(m)
        differs = None
        if info.kind == COMPLETE and m in medians and theirs is not None:
            differs = (medians[m] > 0) != (theirs > 0)
        scores[m] = Score(cells.get(m), theirs, differs, places.get(m, 3) <= 2 if m in ranked else None)
    return Row(info, scores)


def headline_grid(results: Results, k: int) -> Grid | None:
    """What most readers look for: least squares, our method, and the best of the paper's, on the complete data sets."""
    medians, theirs = results.medians(k), results.published(k)
    six = [m for m in SIX if m in results.private]
    alone = [m for m in results.private if REGISTRY[m].headline]
    if not medians or not (six or alone):
        return None
    first = [m for m in (BASELINE, FLAGSHIP) if m in results.methods]
    columns = {m: {t: _short(row, m) for t, row in medians.items()} for m in first}
    if theirs:
        columns[f"{_PUBLISHED}, published"] = {task: number(theirs[task][_PUBLISHED]) for task in medians}
    columns |= {m: {t: _short(row, m) for t, row in medians.items()} for m in alone if m not in first}
    extra = tuple(range(len(first) + 1, len(columns) + 1)) if six else ()
    if six:
        best = {
            task: max((m for m in six if m in row), key=row.__getitem__, default="") for task, row in medians.items()
        }
        columns["best of the paper's methods"] = {task: _short(row, best[task]) for task, row in medians.items()}
        columns["which is"] = {task: words(name) for task, name in best.items()}
    rows = [[words(results.datasets[task].label), *(column[task] for column in columns.values())] for task in medians]
    rows.append([TableCell("R² > 0 on"), *map(_above, columns.values())])
    note = (
        f"Median test R². {BASELINE} is least squares without privacy. The best of the paper's methods, run here, was "
        "picked after the fact for each data set, which flatters it."
    )
    return Grid(["data set", *columns], rows, f"Median R² on the complete data sets, k = {k}", note, extra)


def _above(cells: dict[int, TableCell]) -> TableCell:
    """Of a column: how many are above 0. Empty for one of names."""
    if any(isinstance(cell.order, str) for cell in cells.values()):
        return TableCell("")
    above = sum(isinstance(cell.order, float) and cell.order > 0 for cell in cells.values())
    return TableCell(f"{above} of {len(cells)}", bold=True)


def _short(row: dict[str, float], method: str) -> TableCell:
    return number(row[method]) if method in row else NOT_RUN


def grids(results: Results, k: int) -> list[Grid]:
    """Every method, for people."""
    methods = results.columns
    wanted = max(run["trials"] for run in results.runs)
    found = []
    for title, rows in parts(results, k).items():
        lines = []
        for row in rows:
            remark = [TableCell(row.remark, span=len(methods))] if row.remark else []
            lines.append([_data_set(row), *(remark or [_entry(row.scores[m], wanted) for m in methods])])
        notes = {_PAPER: _not_run(results), _PARTIAL: _DIFFER}
        found.append(Grid(["data set", *methods], lines, f"{title}, k = {k}", notes.get(title, "")))
    return found


def _not_run(results: Results) -> str:
    """The paper's data sets that are not part of this run."""
    without = [tasks()[t].name for t, why in results.missing.items() if why == NO_FILE]
    others = sum(why == NOT_ASKED for why in results.missing.values())
    parts = [f"no file in the folder for {', '.join(without)}"] if without else []
    parts += [f"{count_of(others, 'data set')} not asked for"] if others else []
    return f"Not in this run: {'; '.join(parts)}." if parts else ""


def _data_set(row: Row) -> TableCell:
    """Task, name, n and d; a part of a data set also has those of the whole."""
    info = row.info
    if info.kind != PARTIAL or row.remark:
        return replace(words(info.label), detail=(f"n\u00a0{info.n:,}, d\u00a0{info.d:,}",))
    whole = tasks()[info.id]
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


def as_csv(results: Results, k: int) -> str:
    """One line for each data set, method and ε in full precision; a data set without scores has one line."""
    out = io.StringIO()
    table = csv.DictWriter(out, _FIELDS, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for epsilon in results.epsilons:
        first = epsilon == results.epsilon
        for row in chain.from_iterable(parts(results, k, epsilon).values()):
            table.writerows(_csv_lines(row, k, epsilon, first))
    return out.getvalue()


def _csv_lines(row: Row, k: int, epsilon: float, first: bool) -> list[dict[str, object]]:
    """Lines of the CSV file. What does not depend on ε is there once; the published values belong to the first ε."""
    base: dict[str, object] = asdict(row.info) | {"task": row.info.id, "k": k}
    if row.remark:
        return [base] if first and row.remark != _ELSEWHERE else []
    lines = []
    for method, score in row.scores.items():
        cell, private = score.cell, REGISTRY[method].private
        if cell is None or not (first or private):
            continue
        line = base | asdict(cell) | cell.scores()
        line |= {"epsilon": epsilon if private else None, "method": method, "top_two": _YES[score.top]}
        if first and score.published is not None:
            line |= {"published": score.published, "sign_differs": _YES[score.differs]}
        lines.append(line)
    return lines


def as_latex(results: Results, k: int) -> str:
    """Tables for any class, without packages."""
    text = _HEAD
    for title, rows in parts(results, k).items():
        text += "" if title == _PAPER else f"\n\\bigskip\\noindent {title}:\n\n"
        pages = [rows[i : i + _PER_PAGE] for i in range(0, len(rows), _PER_PAGE)]
        text += "\n\\medskip\n\n".join(_tabular(results.columns, page) for page in pages)
    return text


def _escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return " ".join(text.split()).translate(_SPECIAL)


def _tabular(methods: list[str], rows: list[Row]) -> str:
    broken = {m: REGISTRY[m].label.replace("\n", r"\\") for m in methods if REGISTRY[m].label}
    head = [rf"\shortstack{{\strut {broken[m]}}}" if m in broken else m for m in methods]
    lines = [
        r"\noindent{\scriptsize\setlength{\tabcolsep}{3pt}%",
        rf"\begin{{tabular}}{{ll{'r' * len(methods)}}}",
        r"\hline",
        _tex_line(["data set", "", *head]),
        r"\hline\noalign{\smallskip}",
    ]
    for row in rows:
        lines.append("\n".join(map(_tex_line, _tex_cells(row, methods))) + "[2pt]")  # space after a data set
    return "\n".join([*lines, r"\hline", r"\end{tabular}}", ""])


def _tex_cells(row: Row, methods: list[str]) -> list[list[str]]:
    """Of the lines of a data set."""
    name = _escaped(row.info.label)
    size = f"$n={row.info.n}$, $d={row.info.d}$"
    if row.remark:
        return [[name, "", rf"\multicolumn{{{len(methods)}}}{{l}}{{{_escaped(row.remark)}}}"], [size]]
    medians, quartiles, published = zip(*(_texts(row.scores[m]) for m in methods), strict=True)
    lines = [[name, "median", *medians], [size, "quartiles", *quartiles]]
    if row.info.kind == PARTIAL:
        whole = tasks()[row.info.id]
        return [*lines, [f"of $n={whole.n}$, $d={whole.d}$", "paper", *published]]
    return [*lines, ["", "paper", *published]] if any(published) else lines


def _tex_line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _texts(score: Score) -> tuple[str, str, str]:
    """The median, the other quartiles, and the published median."""
    cell = score.cell
    mark = r"\neq" if score.differs else ""
    paper = "" if score.published is None else f"${latex(score.published)}{mark}$"
    if cell is None or cell.quartiles is None:
        return "--" if cell is None else "failed", "", paper
    low, middle, high = map(latex, cell.quartiles)
    number = f"${middle}$" + (r"\dag" if cell.failed else "")
    return rf"\textbf{{\boldmath{number}}}" if score.top else number, rf"{{\tiny ${low}, {high}$}}", paper


def plain(value: float) -> str:
    """R² in two significant digits, as the paper prints it, in ASCII: 0.73, -3.4, -820, and -4.5e4 from 10,000 on."""
    if value == 0 or abs(value) == inf:
        return f"{value + 0:g}"
    text = f"{value:.1e}"
    mantissa, exponent = text.split("e")
    size = int(exponent)
    return f"{float(text):.{max(1 - size, 0)}f}" if -4 <= size < 4 else f"{mantissa}e{size}"


def pretty(value: float) -> str:
    """For people: with a real minus sign, and −∞."""
    return plain(value).replace("-", "−").replace("inf", "∞")


def latex(value: float) -> str:
    """For LaTeX's math mode. Powers of ten are written with an e to save room."""
    return plain(value).replace("inf", r"\infty").replace("e", r"\mathrm{e}")
