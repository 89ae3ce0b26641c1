"""The report of a run: one HTML page, the same in Markdown, the big tables as files, and the charts."""

from collections import Counter
from collections.abc import Callable
from math import isclose
from pathlib import Path
from statistics import median
from typing import Any

from privreg._format import count_of, tenths_percent
from privreg._format import number as decimal
from privreg.estimators.methods import BASELINE, FLAGSHIP, REFERENCE, REGISTRY, with_published_ridge
from privreg.paper import charts
from privreg.paper.datasets import COMPLETE, OTHER, PARTIAL, published, tasks
from privreg.paper.results import COMPARED, NO_FILE, NOT_ASKED, SIX, Results, epsilon_name, podium, positive, ways
from privreg.paper.tables import NOT_RUN, as_csv, as_latex, grids, headline_grid, number, pretty, spread
from privreg.report import document
from privreg.report.charts import png, svg
from privreg.report.document import (
    Banner,
    Code,
    Content,
    Document,
    Fact,
    Facts,
    Fold,
    Grid,
    Picture,
    Section,
    TableCell,
    count,
    words,
)
from privreg.report.page import page

_CELLS = (
    "In each cell: the median; below it the two quartiles, and the paper's median where it has one. Bold: the two best "
    "private medians of the row. ≠: another sign than published (R² > 0 or not). −∞: no model was released in half of "
    "the trials or more. †: some trials failed. –: not run."
)
_ONE_MODEL = "Tukey, L-Tukey and K-Tukey"  # with the published calibration


def write_report(results: Results, folder: Path) -> list[Path]:
    """Write everything into the folder, and say which files there are now: the page comes first."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, bytes] = {}
    report = _document(results, pictures)
    texts = {"report.html": page(report, wide=True), "report.md": document.markdown(report)}
    for k in results.ks:
        table = Section(f"The paper's evaluation, k = {k}", [setting(results), _CELLS, *grids(results, k)])
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

    parts: dict[str, list[Content]] = {}
    for k in results.ks:
        pictures = drawn(k, f"ranks_k{k}", charts.ranks_chart) + drawn(k, f"positive_k{k}", charts.positive_chart)
        parts[f"Results at k = {k}"] = [*pictures, *_tables(results, k)]
    if len(results.epsilons) > 1:
        k = results.ks[0]
        chart = drawn(k, "sweep", charts.sweep_chart)
        nothing = "There is nothing to compare with NonDP yet."
        parts["Other budgets"] = [*chart, Fold("All numbers", [sweep_grid(results, k)])] if chart else [nothing]
    parts["What was measured"] = [setting(results), Fold("What each method does", [methods(results)])]
    parts["Agreement with the paper"] = [b for k in results.ks if published(k) for b in agreement(results, k)]
    parts["Ridges of Boosted AdaSSP"] = ridges(results)
    parts["Running time"] = [seconds(results)]
    parts["Failures"] = failures(results)
    parts["How it was run"] = how(results)
    sections = [Section(title, blocks) for title, blocks in parts.items() if blocks]
    return Document("The paper's evaluation, run by privreg", lead(results), sections, banner(results))


def _tables(results: Results, k: int) -> list[Content]:
    """The short table, and the long ones folded away."""
    short, long = headline_grid(results, k), grids(results, k)
    return [short, Fold(f"Every method on every data set, k = {k}", [_CELLS, *long])] if short else [_CELLS, *long]


def lead(results: Results) -> str:
    trials = count_of(max(run["trials"] for run in results.runs), "random split")
    return (
        f"How well private linear regressions predict records they have not seen: test R² at {_budget(results)}, "
        f"medians over {trials} of each data set."
    )


def _budget(results: Results) -> str:
    return f"ε = {epsilon_name(results.epsilon)} and δ = {decimal(results.delta, 6)}"


def banner(results: Results) -> Banner:
    """The finding, what it rests on, and what to keep in mind."""
    unfinished, broken = _unfinished(results), results.failures() or results.unusable
    word = "Not finished" if unfinished else "Finished, with failures" if broken else "Finished"
    ks = [k for k in results.ks if results.medians(k)]
    text = _finding(results, ks[0]) if ks else "There is no result on a complete data set yet."
    facts = [fact for k in ks for fact in _facts(results, k)]
    return Banner(
        "care" if unfinished or broken else "good",
        word,
        text,
        [*facts, _size(results)],
        _cautions(results, unfinished),
    )


def _finding(results: Results, k: int) -> str:
    """Whose R² is above 0 at one k, the most often first."""
    medians = results.medians(k)
    ours, paper = positive(medians), positive(results.published(k))
    named = [m for m in results.private if REGISTRY[m].headline and m in ours]
    first, *others = sorted(named or [m for m in results.private if m in ours] or [BASELINE], key=lambda m: -ours[m])
    parts = [f"{first} is better than a constant on {ours[first]} of {count_of(len(medians), 'data set')}"]
    parts[0] += _also(paper, first)
    parts += [f"{m} on {ours[m]}{_also(paper, m)}" for m in others]
    return f"At k = {k}, {', '.join(parts)}. Better than a constant means a median R² above 0."


def _facts(results: Results, k: int) -> list[Fact]:
    """How much of R² is kept, and which of the paper's methods is best, at one k."""
    medians, theirs = results.medians(k), results.published(k)
    found = []
    kept = [row[FLAGSHIP] / row[BASELINE] for row in medians.values() if FLAGSHIP in row and row.get(BASELINE, 0) > 0]
    if kept and k == results.ks[0]:
        meaning = f"the median over {count_of(len(kept), 'data set')}; the lowest is {pretty(min(kept))}"
        found.append(Fact(f"R² of {FLAGSHIP} / R² of least squares", f"{median(kept):.2f}", meaning))
    six = [m for m in results.private if m in SIX]
    if len(six) == len(SIX):
        best, places = max(podium(medians, six).items(), key=lambda item: item[1])
        firsts = {m: count[0] for m, count in podium(theirs, six).items()} if theirs else {}
        value = f"{best}, on {places[0]} of {count_of(len(medians), 'data set')}{_also(firsts, best)}"
        found.append(Fact(f"Most often the best of the paper's six methods, k = {k}", value))
    return found


def _also(counts: dict[str, int], method: str) -> str:
    return f" (published: {counts[method]})" if method in counts else ""


def _size(results: Results) -> Fact:
    """How many data sets there are."""
    kinds = Counter(info.kind for info in results.datasets.values())
    names = {COMPLETE: "complete", PARTIAL: "in part", OTHER: "not in the paper"}
    sets = ", ".join(f"{kinds[kind]} {name}" for kind, name in names.items() if kinds[kind])
    without = [tasks()[t].name for t, why in results.missing.items() if why == NO_FILE]
    gone = f"; there was no file for {', '.join(without)}" if 0 < len(without) < 6 else ""
    return Fact("Data sets", sets or "none", f"of the paper's {len(tasks())}{gone}")


def _cautions(results: Results, unfinished: int) -> list[str]:
    """What to keep in mind."""
    found = []
    if unfinished:
        found.append(f"The run is not finished: {count_of(unfinished, 'trial')} still to come.")
    if broken := results.failures():
        found.append(f"Trials failed, of {count_of(len({m for _, m, *_ in broken}), 'method')}: see Failures.")
    if results.unusable:
        found.append(f"{count_of(len(results.unusable), 'data set')} could not be used: see Failures.")
    if FLAGSHIP in results.methods and any(info.kind != OTHER for info in results.datasets.values()):
        found.append(f"{FLAGSHIP} was developed on these data sets, so its figures are somewhat optimistic.")
    if any(m.endswith("Tukey") for m in results.methods):
        found.append(f"{_ONE_MODEL} protect one model, as published. The others protect one record.")
    return found


def _unfinished(results: Results) -> int:
    """Trials that were asked for and are not there."""
    lacking: Counter[tuple[Any, ...]] = Counter()
    for run in results.runs:
        for task in map(int, run["data sets"]):
            for way in ways(run["methods"], run["k"], run["epsilon"], results.datasets[task].d):
                lacking[task, *way] = max(lacking[task, *way], run["trials"])
    lacking.subtract(key[:-1] for key in results.trials)
    return sum(max(n, 0) for n in lacking.values())


def setting(results: Results) -> Facts:
    """The measure, the budget, and what is protected."""
    first = results.runs[0]
    budget = f"{_budget(results)}."
    if not (epsilon_name(results.epsilon) == "ln 3" and isclose(results.delta, 1e-5)):
        budget += " The published medians are for another budget, ε = ln 3 and δ = 1e-5: compare with care."
    pairs = [
        (
            "R²",
            "On a random tenth of the records, which the fit did not see. 1 is perfect, 0 is no better than a "
            "constant, and below 0 is worse than a constant.",
        ),
        ("Budget", budget),
        (
            "k",
            "How many features a method selects. Methods that do not depend on k were run once and appear in all "
            "tables.",
        ),
        (
            "Protected",
            f"{_ONE_MODEL} use the published calibration, which protects one model. Those ending in -strict, "
            "and all other private methods, protect one record.",
        ),
        (
            "Noise",
            f"From a seeded generator with the same law as the private one (seed {first['seed']}), so that the run can "
            f"be repeated: the data are public. Features were {'' if first['jitter'] else 'not '}jittered.",
        ),
    ]
    return Facts(pairs)


def methods(results: Results) -> Grid:
    """What each method does."""
    about = {m: REGISTRY[m].about for m in results.methods if not REGISTRY[m].variant_of}
    about |= {
        "…-strict": "The same, calibrated to protect one record.",
        "…-reference": "The same, with the ridge of the published runs.",
    }
    ending = tuple(m.rpartition("-")[2] for m in results.methods)
    rows = [[words(m), words(text)] for m, text in about.items() if m[0] != "…" or m.rpartition("-")[2] in ending]
    return Grid(["method", "what it does"], rows)


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
    note = (
        "On how many of the complete data sets the median R² is above 0 both here and in the paper, or in neither. "
        f"{absent(results, k)}"
    )
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
        blocks.append(Fold(f"Where the signs differ, k = {k} ({len(rows)})", [Grid(head, rows)]))
    return blocks


def ridges(results: Results) -> list[Content]:
    """The BAS methods with both ridges."""
    pairs = [(name, REGISTRY[name].variant_of) for name in REFERENCE if name in results.methods]
    text = (
        "AdaSSP adds a ridge that makes the noisy XᵀX positive definite. The published runs added the noisy smallest "
        "eigenvalue itself, which is near 0 on most tables. The methods ending in -reference do the same."
    )
    if not pairs:
        return [text, "They are not in this run; privreg paper run --methods all includes them."]
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
        if rows:
            sets = count_of(len(medians), "complete data set")
            blocks.append(f"At k = {k}, the median R² is above 0 on this many of {sets}: {'; '.join(counts)}.")
            blocks.append(Fold(f"Both ridges on every data set, k = {k}", [Grid(head, rows, note=absent(results, k))]))
    return blocks


def absent(results: Results, k: int) -> str:
    """The paper's data sets that a table does not have."""
    partial = [i.name for i in results.datasets.values() if i.kind == PARTIAL]
    missing = [tasks()[t].name for t, why in results.missing.items() if why != NOT_ASKED]
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
            times = [
                number(median(each)),
                TableCell(f"{spent:,.1f}", spent),
                TableCell(tenths_percent(round(1000 * share)), share),
            ]
            rows.append([words(method), count(len(each)), *times])
    note = f"{everything:,.1f} seconds of fitting in total, over all k and ε."
    return Grid(["method", "fits", "median seconds", "total seconds", "share"], rows, note=note, extra=(4,))


def sweep_grid(results: Results, k: int) -> Grid:
    """A row for each private method, a column for each ε."""
    budgets = sorted(results.epsilons)
    rows = [
        [words(method), *(spread(points[e]) if e in points else NOT_RUN for e in budgets)]
        for method, points in results.sweep(k).items()
    ]
    note = (
        "A method's median R² divided by that of NonDP on the same data set, and clipped to −1 … 1: the median over "
        "the complete data sets, and below it the quartiles. 1: as accurate as least squares."
    )
    return Grid(["method", *(f"ε = {epsilon_name(e)}" for e in budgets)], rows, f"R² relative to NonDP, k = {k}", note)


def failures(results: Results) -> list[Content]:
    """Data sets that could not be used, and cells with failed trials with the last message of each.

    A data set that nobody asked for, or that is not in the folder, is no failure.
    """
    unusable = [[words(tasks()[task].label), words(why)] for task, why in results.unusable.items()]
    found: list[Content] = [Grid(["data set", "why"], unusable, "Data sets that could not be used")] if unusable else []
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
    return (
        [*found, Grid(["data set", "method", "k", "ε", "failed", "last message"], rows, "Trials that failed")]
        if rows
        else found
    )


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
    grid = Grid(
        ["started", "trials run", "seconds", "processes"],
        rows,
        note="A run without seconds was stopped, or is still running.",
    )
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
