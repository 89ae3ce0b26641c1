"""What the report says besides its big tables: the finding, the signs, the ridges, the seconds, and how it was run."""

from collections import Counter
from math import isclose
from statistics import median
from typing import Any

from privreg.estimators.methods import BASELINE, REFERENCE, REGISTRY, with_published_ridge
from privreg.paper.catalogue import published, tasks
from privreg.paper.charts import SIX
from privreg.paper.folder import COMPLETE, PARTIAL
from privreg.paper.results import COMPARED, Results, epsilon_name, podium, positive, ways
from privreg.paper.tables import NOT_RUN, number
from privreg.report.document import Code, Content, Grid, TableCell, count, words


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
    parts = [f"{first} has a median R² above 0 on {ours[first]} of {_sets(len(medians))}{_also(paper, first)}"]
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
    if differ := [row for row in signs["differ"] if row["method"] in COMPARED]:
        rows = [_difference(results, row, k) for row in differ]
        head = ["data set", "method", "privreg", "published", "with the published ridge"]
        blocks.append(Grid(head, rows, f"Other signs than published, k = {k}"))
    return blocks


def _difference(results: Results, row: dict[str, Any], k: int) -> list[TableCell]:
    task, method = row["task"], row["method"]
    reference = with_published_ridge(method)
    return [
        words(results.datasets[task].label),
        words(method),
        number(float(row["ours"])),
        number(float(row["published"])),
        _median(results, task, reference, k) if reference != method and reference in results.methods else TableCell(""),
    ]


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
        rows = []
        for task in results.medians(k):
            row = [words(results.datasets[task].label)]
            for name, plain in pairs:
                theirs = number(published(k)[task][plain]) if published(k) else TableCell("")
                row += [_median(results, task, plain, k), _median(results, task, name, k), theirs]
            rows.append(row)
        if rows:
            blocks += [Grid(head, rows, f"Both ridges, k = {k}", _ridge_note(results, pairs, k))]
    return blocks


def _ridge_note(results: Results, pairs: list[tuple[str, str]], k: int) -> str:
    medians = results.medians(k)
    ours, theirs = positive(medians), positive(results.published(k))
    counts = []
    for name, plain in pairs:
        paper = f", published {theirs[plain]}" if theirs else ""
        counts.append(f"{plain} {ours.get(plain, 0)}, {name} {ours.get(name, 0)}{paper}")
    return f"R² > 0, of {_sets(len(medians))}: {'; '.join(counts)}. {absent(results, k)}"


def absent(results: Results, k: int) -> str:
    """The paper's data sets that a table does not have."""
    partial = [i.name for i in results.datasets.values() if i.kind == PARTIAL]
    missing = [tasks()[t].name for t in results.missing]
    narrow = [i.name for i in results.too_narrow(k) if i.kind == COMPLETE]
    kinds = {"missing": missing, "partial": partial, f"fewer than {k} columns": narrow}
    parts = [f"{', '.join(names)} ({kind})" for kind, names in kinds.items() if names]
    return f"Not here: {'; '.join(parts)}." if parts else ""


def seconds(results: Results) -> Grid:
    """Time of fitting, by method."""
    total = results.seconds()
    everything = sum(total.values())
    rows = []
    for method in results.methods:
        each = [row["seconds"] for row in results.trials.values() if row["method"] == method]
        if each:
            share = total[method] / everything if everything else 0.0
            rows.append(
                [
                    words(method),
                    count(len(each)),
                    number(median(each)),
                    TableCell(f"{total[method]:,.1f}", total[method]),
                    TableCell(f"{share:.1%}", share),
                ]
            )
    note = f"{everything:,.1f} seconds of fitting in all, over all k and ε."
    return Grid(["method", "fits", "median seconds", "total seconds", "share"], rows, note=note)


def failures(results: Results) -> Grid | None:
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
    return Grid(["data set", "method", "k", "ε", "failed", "message"], rows) if rows else None


def how(results: Results) -> list[Content]:
    """Commands, versions and machines."""
    rows = [
        [
            words(run["started"].replace("T", " ").replace("+00:00", " UTC")),
            _optional(run, "trials run"),
            _optional(run, "wall seconds"),
            _optional(run, "jobs"),
        ]
        for run in results.runs
    ]
    commands = "\n".join(dict.fromkeys(run["command"] for run in results.runs))
    grid = Grid(["started", "trials run", "seconds", "processes"], rows, note="Without seconds: stopped, or going on.")
    machines = dict.fromkeys(f"Machine: {_pairs(run['machine'])}." for run in results.runs)
    versions = dict.fromkeys(f"Versions: {_pairs(run['versions'])}." for run in results.runs)
    return [Code(commands), grid, *machines, *versions]


def _optional(run: dict[str, Any], name: str) -> TableCell:
    return TableCell(f"{run[name]:,}", run[name]) if name in run else TableCell("–")


def _median(results: Results, task: int, method: str, k: int) -> TableCell:
    cell = results.cell(task, method, k)
    if cell is None:
        return NOT_RUN
    return TableCell("failed") if cell.median is None else number(cell.median)


def _sets(number: int) -> str:
    return f"{number} complete data set{'' if number == 1 else 's'}"


def _pairs(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())
