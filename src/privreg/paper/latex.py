"""The big tables for LaTeX: for each data set a line of medians, one of quartiles, and one of published medians."""

from privreg.estimators.methods import REGISTRY
from privreg.paper.catalogue import tasks
from privreg.paper.digits import latex
from privreg.paper.folder import PARTIAL
from privreg.paper.results import Results
from privreg.paper.tables import Row, Score, parts

_PER_PAGE = 13  # data sets in one tabular, which LaTeX cannot break
_SPACE = "[2pt]"  # after a data set
_HEAD = r"""% Written by privreg. To be read with \input; with all methods the tables need a landscape page.
% Medians of the test R^2. Bold: the two best private ones of a data set. \neq: other sign than published.
% \dag: some trials failed. --: not run yet.
"""
_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


def as_latex(results: Results, k: int) -> str:
    """Tables for any class, without packages."""
    first, *others = parts(results, k).items()
    text = _HEAD + _tabulars(results.columns, first[1])
    for title, rows in others:
        text += f"\n\\bigskip\\noindent {title}:\n\n{_tabulars(results.columns, rows)}"
    return text


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return " ".join(text.split()).translate(_SPECIAL)


def _tabulars(methods: list[str], rows: list[Row]) -> str:
    pages = [rows[i : i + _PER_PAGE] for i in range(0, len(rows), _PER_PAGE)]
    return "\n\\medskip\n\n".join(_tabular(methods, page) for page in pages)


def _tabular(methods: list[str], rows: list[Row]) -> str:
    broken = {m: REGISTRY[m].label.replace("\n", r"\\") for m in methods if REGISTRY[m].label}
    head = [rf"\shortstack{{\strut {broken[m]}}}" if m in broken else m for m in methods]
    lines = [
        r"\noindent{\scriptsize\setlength{\tabcolsep}{3pt}%",
        rf"\begin{{tabular}}{{ll{'r' * len(methods)}}}",
        r"\hline",
        _line(["data set", "", *head]),
        r"\hline\noalign{\smallskip}",
    ]
    for row in rows:
        lines += _lines(row, methods)
    return "\n".join([*lines, r"\hline", r"\end{tabular}}", ""])


def _lines(row: Row, methods: list[str]) -> list[str]:
    name = escaped(row.info.label)
    size = f"$n={row.info.n}$, $d={row.info.d}$"
    if row.remark:
        remark = rf"\multicolumn{{{len(methods)}}}{{l}}{{{escaped(row.remark)}}}"
        return [_line([name, "", remark]), _line([size]) + _SPACE]
    medians, quartiles, published = zip(*(_texts(row.scores[m]) for m in methods), strict=True)
    lines = [_line([name, "median", *medians]), _line([size, "quartiles", *quartiles])]
    whole = tasks()[row.info.task] if row.info.kind == PARTIAL else None
    if whole or any(published):
        of = f"of $n={whole.n}$, $d={whole.d}$" if whole else ""
        lines.append(_line([of, "paper", *published]))
    return [*lines[:-1], lines[-1] + _SPACE]


def _line(cells: list[str]) -> str:
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
