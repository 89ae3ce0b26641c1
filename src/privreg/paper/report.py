"""The report of a run: one HTML page, the same in Markdown, the big tables as files, and the charts."""

from collections.abc import Callable
from pathlib import Path

from privreg.paper import charts, sections
from privreg.paper.catalogue import published
from privreg.paper.latex import as_latex
from privreg.paper.results import Results
from privreg.paper.sweep import sweep_grid
from privreg.paper.tables import as_csv, grids
from privreg.report.document import Content, Document, Picture, Section, markdown, markdown_section
from privreg.report.page import page

Draw = Callable[[Results, int, bool], charts.Chart | None]


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write everything into the folder, and say which files there are now: the page comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, bytes] = {}
    document = _document(results, files)
    texts = {"report.html": page(document), "report.md": markdown(document)}
    for k in results.ks:
        table = Section(f"The paper's evaluation, k = {k}", [*sections.setting(results), *grids(results, k)])
        texts |= {
            f"tables_k{k}.md": markdown_section(table),
            f"tables_k{k}.csv": as_csv(results, k),
            f"tables_k{k}.tex": as_latex(results, k),
        }
    files = {name: text.encode() for name, text in texts.items()} | files
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def _document(results: Results, files: dict[str, bytes]) -> Document:
    """The report as data. The files of its charts are added to `files`."""
    parts = [Section("How to read this", sections.setting(results))]
    for k in results.ks:
        drawn = [
            _chart(results, k, f"ranks_k{k}", charts.ranks_chart, files),
            _chart(results, k, f"positive_k{k}", charts.positive_chart, files),
        ]
        parts.append(Section(f"Results at k = {k}", [*(c for c in drawn if c), *grids(results, k)]))
    if len(results.epsilons) > 1:
        k = results.ks[0]
        chart = _chart(results, k, "sweep", charts.sweep_chart, files)
        nothing = "There is nothing to compare with NonDP yet."
        blocks: list[Content] = [chart, sweep_grid(results, k)] if chart else [nothing]
        parts.append(Section("Other budgets", blocks))
    signs: list[Content] = [block for k in results.ks if published(k) for block in sections.agreement(results, k)]
    if signs:
        parts.append(Section("Agreement with the paper", signs))
    parts.append(Section("Ridges of Boosted AdaSSP", sections.ridges(results)))
    parts.append(Section("Seconds", [sections.seconds(results)]))
    if failures := sections.failures(results):
        parts.append(Section("Failures", [failures]))
    parts.append(Section("How it was run", sections.how(results)))
    return Document("The paper's evaluation, run by privreg", sections.headline(results), parts)


def _chart(results: Results, k: int, name: str, draw: Draw, files: dict[str, bytes]) -> Picture | None:
    wide, narrow = draw(results, k, False), draw(results, k, True)
    if wide is None or narrow is None:
        return None
    files |= {f"{name}.svg": charts.svg(wide.figure), f"{name}.png": charts.png(wide.figure)}
    return Picture(f"{name}.svg", wide.alt, files[f"{name}.svg"], charts.svg(narrow.figure))
