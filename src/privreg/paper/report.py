"""The report of a run: one HTML page, the same in Markdown, the big tables as files, and the charts."""

from collections import Counter
from collections.abc import Callable
from math import isclose
from pathlib import Path
from statistics import median
from typing import Any

from privreg._format import count_of
from privreg.estimators.methods import BASELINE, REFERENCE, REGISTRY, with_published_ridge
from privreg.paper import charts
from privreg.paper.datasets import COMPLETE, PARTIAL, published, tasks
from privreg.paper.results import COMPARED, SIX, Results, epsilon_name, podium, positive, ways
from privreg.paper.tables import NOT_RUN, as_csv, as_latex, grids, number, spread
from privreg.report import document
from privreg.report.charts import png, svg
from privreg.report.document import Code, Content, Document, Grid, Picture, Section, TableCell, count, words
from privreg.report.page import page


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write everything into the folder, and say which files there are now: the page comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, bytes] = {}
    report = _document(results, pictures)
    texts = {"report.html": page(report), "report.md": document.markdown(report)}
    for k in results.ks:
        table = Section(f"The paper's evaluation, k = {k}", [*setting(results), *grids(results, k)])
        texts |= {
            f"tables_k{k}.md": document.markdown_section(table),
            f"tables_k{k}.csv": as_csv(results, k),
            f"tables_k{k}.tex": as_latex(results, k),
        }
    files = {name: text.encode() for name, text in texts.items()} | pictures
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def _document(results: Results, files: dict[str, bytes]) -> Document:
    """The report as data. The files of its charts are added to `files`."""

    def drawn(k: int, name: str, draw: Callable[[Results, int, bool], charts.Chart | None]) -> list[Content]:
        wide, narrow = draw(results, k, False), draw(results, k, True)
        if wide is None or narrow is None:
            return []
        files.update({f"{name}.svg": svg(wide.figure), f"{name}.png": png(wide.figure)})
        return [Picture(f"{name}.svg", wide.alt, files[f"{name}.svg"], svg(narrow.figure))]

    parts: dict[str, list[Content]] = {"How to read this": setting(results)}
    for k in results.ks:
        pictures = drawn(k, f"ranks_k{k}", charts.ranks_chart) + drawn(k, f"positive_k{k}", charts.positive_chart)
        parts[f"Results at k = {k}"] = [*pictures, *grids(results, k)]
    if len(results.epsilons) > 1:
        k = results.ks[0]
        chart = drawn(k, "sweep", charts.sweep_chart)
        nothing = "There is nothing to compare with NonDP yet."
        parts["Other budgets"] = [*chart, sweep_grid(results, k)] if chart else [nothing]
    parts["Agreement with the paper"] = [b for k in results.ks if published(k) for b in agreement(results, k)]
    parts["Ridges of Boosted AdaSSP"] = ridges(results)
    parts["Seconds"] = [seconds(results)]
    parts["Failures"] = failures(results)
    parts["How it was run"] = how(results)
    sections = [Section(title, blocks) for title, blocks in parts.items() if blocks]
    return Document("The paper's evaluation, run by privreg", headline(results), sections)


def headline(results: Results) -> str:
    """The finding in plain words."""
    parts = [_finding(results, k) for k in results.ks if results.medians(k)]
    if not parts:
        parts = ["There is no result on a complete data set yet."]
    partial = sum(info.kind == PARTIAL for info in results.datasets.values())
    gone = [f"{len(results.missing)} are missing"] if results.missing else []
    gone += [f"{partial} are there in part only"] if partial else []
    if gone:
        parts.append(f"Of the paper's 25 data sets {' and '.join(gone)}.")
    if unfinished := _unfinished(results):
        parts.append(f"The run is not finished: {unfinished:,} trials are still to come.")
    return " ".join(parts)


def _finding(results: Results, k: int) -> str:
    """R² > 0 and first places at one k."""
    medians, theirs = results.medians(k), results.published(k)
    ours, paper = positive(medians), positive(theirs)
    private = [m for m in results.private if m in ours]
    first, *others = [m for m in private if REGISTRY[m].headline] or private or [BASELINE]
    sets = count_of(len(medians), "complete data set")
    parts = [f"{first} has a median R² above 0 on {ours[first]} of {sets}{_also(paper, first)}"]
    parts += [f"{m} on {ours[m]}{_also(paper, m)}" for m in others]
    text = f"At k = {k}, {', '.join(parts)}."
    six = [m for m in private if m in SIX]
    if len(six) == len(SIX):
        best, places = max(podium(medians, six).items(), key=lambda item: item[1])
        firsts = {m: count[0] for m, count in podium(theirs, six).items()} if theirs else {}
        text += (
            f" Of the paper's six private methods, {best} is most often the best: on {places[0]}{_also(firsts, best)}."
        )
    return text


def _also(counts: dict[str, int], method: str) -> str:
    return f" (published: {counts[method]})" if method in counts else ""


def _unfinished(results: Results) -> int:
    """Trials that were asked for and are not there."""
    lacking: Counter[tuple[Any, ...]] = Counter()
    for run in results.runs:
        for task in map(int, run["data sets"]):
            for way in ways(run["methods"], run["k"], run["epsilon"], results.datasets[task].d):
                lacking[task, *way] = max(lacking[task, *way], run["trials"])
    lacking.subtract(key[:-1] for key in results.trials)
    return sum(max(n, 0) for n in lacking.values())


def setting(results: Results) -> list[Content]:
    """The budget, what is protected, and how to read a cell."""
    first = results.runs[0]
    trials = max(run["trials"] for run in results.runs)
    text = (
        f"Test R² on a random tenth of the records, over {trials} trials, at ε = {epsilon_name(results.epsilon)} and "
        f"δ = {results.delta:g}, seed {first['seed']}, features {'' if first['jitter'] else 'not '}jittered. "
        "Methods that do not depend on k were run once and appear in all tables."
    )
    if not (epsilon_name(results.epsilon) == "ln 3" and isclose(results.delta, 1e-5)):
        text += " The published medians are for another budget, ε = ln 3 and δ = 1e-05: compare with care."
    protects = (
        "Tukey, L-Tukey and K-Tukey use the published calibration, which protects one model; those ending in -strict "
        "protect one record, as do all others. Noise of a run with a seed comes from a seeded generator with the same "
        "law; the data are public."
    )
    legend = (
        "In each cell: the median, below it the two quartiles, and the paper's median where it has one. Bold: the two "
        "best private medians of the row. ≠: another sign than published (R² > 0 or not). −∞: no model was released "
        "in half of the trials or more. †: some trials failed. –: not run yet."
    )
    return [text, protects, legend]


def agreement(results: Results, k: int) -> list[Content]:
    """How many signs are those of the paper, and which are not."""
    signs = results.signs(k)
    agree, of = ({m: signs[key][m] for m in COMPARED} for key in ("agree", "of"))
    if not any(of.values()):
        return [f"At k = {k} there is nothing to compare yet."]
    columns = {"same sign": agree}
    if set(REFERENCE) <= set(results.methods):
        columns["with the published ridge"] = {m: results.signs(k, reference=True)["agree"][m] for m in COMPARED}
    columns["of"] = of
    counts = [[words(m), *(count(column[m]) for column in columns.values())] for m in COMPARED]
    counts.append([words("together"), *(count(sum(column.values())) for column in columns.values())])
    note = f"R² > 0 or not, on the complete data sets. {absent(results, k)}"
    blocks: list[Content] = [Grid(["method", *columns], counts, f"Signs as published, k = {k}", note)]
    rows = []
    for row in signs["differ"]:
        task, method = row["task"], row["method"]
        if method in COMPARED:
            reference = with_published_ridge(method)
            with_ridge = reference != method and reference in results.methods
            other = _median(results, task, reference, k) if with_ridge else TableCell("")
            medians = [number(float(row["ours"])), number(float(row["published"])), other]
            rows.append([words(results.datasets[task].label), words(method), *medians])
    if rows:
        head = ["data set", "method", "privreg", "published", "with the published ridge"]
        blocks.append(Grid(head, rows, f"Other signs than published, k = {k}"))
    return blocks


def ridges(results: Results) -> list[Content]:
    """The BAS methods with both ridges."""
    pairs = [(name, REGISTRY[name].variant_of) for name in REFERENCE if name in results.methods]
    text = (
        "AdaSSP adds a ridge that makes the noisy XᵀX positive definite; the published runs added the noisy smallest "
        "eigenvalue itself, which is near 0 on most tables. The methods ending in -reference repeat that."
    )
    if not pairs:
        return [text, "This run has none of them; privreg paper run --methods all includes them."]
    blocks: list[Content] = [text]
    head = ["data set", *(column for name, plain in pairs for column in (plain, name, f"{plain}, paper"))]
    for k in results.ks:
        medians = results.medians(k)
        ours, theirs = positive(medians), positive(results.published(k))
        rows = [[words(results.datasets[task].label)] for task in medians]
        counts = []
        for name, plain in pairs:
            for task, row in zip(medians, rows, strict=True):
                paper = number(published(k)[task][plain]) if published(k) else TableCell("")
                row += [_median(results, task, plain, k), _median(results, task, name, k), paper]
            also = f", published {theirs[plain]}" if theirs else ""
            counts.append(f"{plain} {ours.get(plain, 0)}, {name} {ours.get(name, 0)}{also}")
        note = f"R² > 0, of {count_of(len(medians), 'complete data set')}: {'; '.join(counts)}. {absent(results, k)}"
        blocks += [Grid(head, rows, f"Both ridges, k = {k}", note)] if rows else []
    return blocks


def absent(results: Results, k: int) -> str:
    """The paper's data sets that a table does not have."""
    partial = [i.name for i in results.datasets.values() if i.kind == PARTIAL]
    missing = [tasks()[t].name for t in results.missing]
    narrow = [i.name for i in results.datasets.values() if i.kind == COMPLETE and i.d < k]
    kinds = {"missing": missing, "partial": partial, f"fewer than {k} columns": narrow}
    parts = [f"{', '.join(names)} ({kind})" for kind, names in kinds.items() if names]
    return f"Not here: {'; '.join(parts)}." if parts else ""


def seconds(results: Results) -> Grid:
    """Time of fitting, by method."""
    total = results.seconds()
    everything = sum(total.values())
    rows = []
    for method, spent in total.items():
        if each := [row["seconds"] for row in results.trials.values() if row["method"] == method]:
            share = spent / everything if everything else 0.0
            times = [number(median(each)), TableCell(f"{spent:,.1f}", spent), TableCell(f"{share:.1%}", share)]
            rows.append([words(method), count(len(each)), *times])
    note = f"{everything:,.1f} seconds of fitting in all, over all k and ε."
    return Grid(["method", "fits", "median seconds", "total seconds", "share"], rows, note=note)


def sweep_grid(results: Results, k: int) -> Grid:
    """A row for each private method, a column for each ε."""
    budgets = sorted(results.epsilons)
    rows = [
        [words(method), *(spread(points[e]) if e in points else NOT_RUN for e in budgets)]
        for method, points in results.sweep(k).items()
    ]
    note = (
        "Median R² of a method divided by that of NonDP on the same data set, kept between −1 and 1: the median over "
        "the complete data sets, and below it the quartiles. 1 means that nothing is lost."
    )
    return Grid(["method", *(f"ε = {epsilon_name(e)}" for e in budgets)], rows, f"R² relative to NonDP, k = {k}", note)


def failures(results: Results) -> list[Content]:
    """Cells with failed trials, and the last message of each."""
    rows = [
        [
            words(info.label),
            words(method),
            TableCell("any") if k is None else count(k),
            TableCell("any") if epsilon is None else TableCell(epsilon_name(epsilon), epsilon),
            TableCell(f"{cell.failed} of {cell.trials}", cell.failed),
            words(cell.error or ""),
        ]
        for info, method, k, epsilon, cell in results.failures()
    ]
    return [Grid(["data set", "method", "k", "ε", "failed", "message"], rows)] if rows else []


def how(results: Results) -> list[Content]:
    """Commands, versions and machines."""
    rows = [
        [
            words(run["started"].replace("T", " ").replace("+00:00", " UTC")),
            *(_optional(run, name) for name in ("trials run", "wall seconds", "jobs")),
        ]
        for run in results.runs
    ]
    commands = "\n".join(dict.fromkeys(run["command"] for run in results.runs))
    grid = Grid(["started", "trials run", "seconds", "processes"], rows, note="Without seconds: stopped, or going on.")
    facts = dict.fromkeys(
        f"{what.capitalize()}: {', '.join(f'{name} {value}' for name, value in run[what].items())}."
        for what in ("machine", "versions")
        for run in results.runs
    )
    return [Code(commands), grid, *facts]


def _optional(run: dict[str, Any], name: str) -> TableCell:
    return TableCell(f"{run[name]:,}", run[name]) if name in run else TableCell("–")


def _median(results: Results, task: int, method: str, k: int) -> TableCell:
    cell = results.cells(task, k).get(method)
    if cell is None:
        return NOT_RUN
    return TableCell("failed") if cell.median is None else number(cell.median)
