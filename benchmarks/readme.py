"""Writes the tables of the README and of docs/ from the files that scripts wrote, and the picture of the demo.

`make readme`. A test fails when a page and the files disagree.
"""

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import coverage_tables
import scaling_tables
from privreg.estimators.methods import FLAGSHIP, REFERENCE, REGISTRY, with_published_ridge
from privreg.paper.datasets import published
from privreg.paper.report import absent
from privreg.paper.results import COMPARED, Results, load, positive
from privreg.paper.tables import pretty

ROOT = Path(__file__).resolve().parents[1]
WIDE = ("isolet", "superconduct", "OnlineNews")


def markdown(lines: Iterable[Iterable[str]]) -> str:
    """A table, of which the second line says how columns are aligned."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def flagship_rows(name: str) -> list[dict[str, str]]:
    """Of a file that `make accuracy` writes."""
    return list(csv.DictReader((ROOT / "results" / "flagship" / name).read_text().splitlines()))


def speed_table() -> str:
    files = [ROOT / "benchmarks" / f"{name}.json" for name in ("selection", "regression")]
    results = {k: v for file in files for k, v in json.loads(file.read_text())["results"].items()}
    lines = ["| how many times faster, in one run on 2 cores | 1 thread | 2 threads |", "|---|---|---|"]
    for title, figures in results.items():
        one, two = (
            next(v for k, v in figures.items() if k.startswith("times faster") and t in k) for t in ("1 t", "2 t")
        )
        peer = next(k for k in figures if k.startswith("times faster")).removeprefix("times faster than ").split(",")[0]
        lines.append(f"| {title}, than {peer} | {one:.0f}× | {two:.0f}× |")
    return "\n".join(lines)


COLUMNS = ("NonDP", "K-Tukey", "K-Tukey-strict", FLAGSHIP)


def paper_summary() -> dict[str, Any]:
    return json.loads((ROOT / "results" / "paper" / "summary.json").read_text())


@cache
def results(name: str) -> Results:
    return load(ROOT / "results" / name)


def paper_table() -> str:
    summary = paper_summary()
    lines = [
        f"| data set | least squares, not private | K-Tukey, published | K-Tukey | K-Tukey, strict | {FLAGSHIP} |",
        "|---|---|---|---|---|---|",
    ]
    for task, row in summary["k"]["5"].items():
        exact, *private = (float(row[m]["median"]) for m in COLUMNS)
        values = [exact, published(5)[int(task)]["K-Tukey"], *private]
        lines.append(f"| {summary['data sets'][task]['name']} | " + " | ".join(map(pretty, values)) + " |")
    theirs = positive({int(t): published(5)[int(t)] for t in summary["k"]["5"]})
    exact, *counts = (summary["R² > 0"]["5"][m] for m in COLUMNS)
    cells = [f"**{n}**" for n in (exact, theirs["K-Tukey"], *counts)]
    note = absent(results("paper"), 5)
    return "\n".join([*lines, f"| **R² > 0 on** | {' | '.join(cells)} |", "", note])


def results_line() -> str:
    """On how many data sets each is better than a constant, in one sentence."""
    summary = paper_summary()
    rows = summary["k"]["5"]
    theirs = positive({int(task): published(5)[int(task)] for task in rows})["K-Tukey"]
    exact, _, strict, ours = (summary["R² > 0"]["5"][method] for method in COLUMNS)
    kept = median(float(row[FLAGSHIP]["median"]) / float(row["NonDP"]["median"]) for row in rows.values())
    return (
        f"Median test R² of ten 90/10 splits at ε = ln 3, δ = 1e-5, on the {len(rows)} of the paper's data sets that "
        f"could be rebuilt completely. R² is above 0, that is, better than a constant, on {ours} of them for "
        f"PrivateLinearRegression, {exact} for least squares, {theirs} for the paper's best method as published, and "
        f"{strict} for that method when it protects one record. The median ratio of PrivateLinearRegression's R² to "
        f"that of least squares is {kept:.2f}. It was developed on these data sets, which flatters it."
    )


LN3 = 1.0986
_PRIVATE = (FLAGSHIP, *(m for m in REGISTRY if m not in (FLAGSHIP, "NonDP", *REFERENCE)))
_TITLES = {"NonDP": "least squares, not private"} | {m: f"{m} †" for m in ("Tukey", "L-Tukey", "K-Tukey")}


def methods_table(k: str = "5") -> str:
    """On how many data sets each method is better than a constant, at each ε, and best of all at the paper's."""
    summary = paper_summary()
    here, sweep = summary["k"][k], {e: part["k"][k] for e, part in summary["sweep"].items()}
    rows = dict(sorted({**sweep, "ln 3": here}.items(), key=lambda item: LN3 if item[0] == "ln 3" else float(item[0])))
    first = [max(_PRIVATE, key=lambda method: float(row[method]["median"])) for row in here.values()]
    lines = [["method", *(f"ε = {e}" for e in rows), "best at ln 3"]]
    for method in ("NonDP", FLAGSHIP, *_PRIVATE[1:]):
        cells = [_positive(row, method) for row in rows.values()]
        best = str(first.count(method)) if method in _PRIVATE else "–"
        lines.append([_TITLES.get(method, method), *cells, best])
    lines.insert(1, ["---"] * len(lines[0]))
    return markdown(lines)


def _positive(row: dict[str, Any], method: str) -> str:
    cells = [data[method] for data in row.values() if method in data]
    return str(sum(float(cell["median"]) > 0 for cell in cells)) if cells else "–"


def paper_run() -> str:
    """How long the whole evaluation took, and the agreement of signs."""
    summary = paper_summary()
    run = summary["runs"][0]
    signs = summary["signs"]["5"]
    agree, of = (sum(signs[name][m] for m in COMPARED) for name in ("agree", "of"))
    return (
        f"With a folder that has {len(run['data sets'])} of the 25 data sets, this took {run['wall seconds'] / 60:.1f} "
        f"minutes on {run['machine']['cores']} cores: {run['trials run']:,} trials of {len(run['methods'])} methods. "
        f"{agree} of {of} signs (R² > 0 or not) of {', '.join(COMPARED)} at k = 5 agree with the published ones."
    )


RIDGE, PERTURBED, VOTES, OPEN = "ridge", "perturbed features", "votes", "open"


@cache
def signs(k: int = 5) -> list[tuple[str, str, list[str]]]:
    """(method, cause, cells of the table) of every sign that differs from the paper's."""
    ours, theirs = results("paper"), results("paper-as-published")
    selection = json.loads((ROOT / "results" / "paper-as-published" / "selection.json").read_text())
    found = []
    for row in ours.signs(k)["differ"]:
        task, method, paper = row["task"], row["method"], float(row["published"])
        reference = with_published_ridge(method)
        tries = [(RIDGE, ours.cells(task, k).get(reference)), (PERTURBED, theirs.cells(task, k).get(reference))]
        medians = [(cause, cell.median) for cause, cell in tries if cell and cell.median is not None]
        others = {way: float(value) for way, value in selection.get(f"{task} {method}", {}).items()}
        medians += [(VOTES, value) for way, value in others.items() if way.startswith("votes, groups of d")]
        cause, value = next(((c, m) for c, m in medians if (m > 0) == (paper > 0)), (OPEN, None))
        text = f"{cause}: {pretty(value)}" if value is not None else OPEN
        if cause == OPEN and "without noise" in others:
            text += f" (without noise in the selection {pretty(others['without noise'])})"
        cell = ours.cells(task, k).get(method)
        spread = [pretty(q) for q in (cell.quartiles or ())[::2]] if cell else []
        cells = [ours.datasets[task].name, method, pretty(float(row["ours"])), " … ".join(spread), pretty(paper), text]
        found.append((method, cause, cells))
    return found


def signs_table() -> str:
    """Every sign that differs from the published one, and what brings the published sign back."""
    head = ["data set", "method", "privreg", "its quartiles", "published", "what brings the published sign back"]
    lines = [head, ["---"] * len(head), *(cells for *_, cells in signs())]
    return markdown(lines)


def signs_count() -> str:
    causes = Counter(cause for method, cause, _ in signs() if method in COMPARED)
    counts = ", ".join(f"{causes[c]} {c}" for c in (RIDGE, PERTURBED, VOTES, OPEN))
    return f"Of the {causes.total()} among {', '.join(COMPARED)}: {counts}."


def lost_signs(k: int = 5) -> str:
    """Signs that agree with our defaults, and no longer when it is done as in the published runs."""
    ours, theirs = results("paper"), results("paper-as-published")
    differ = {(row["task"], row["method"]) for row in ours.signs(k)["differ"]}
    found = [
        f"{row['method']} on {ours.datasets[row['task']].name} "
        f"({pretty(float(row['ours']))}, published {pretty(float(row['published']))})"
        for row in theirs.signs(k, reference=True)["differ"]
        if (row["task"], row["method"]) not in differ
    ]
    return f"The other way round, these agree with our defaults and not with the first two: {', '.join(found)}."


def agreement_table() -> str:
    """Signs that agree, with our defaults and with what the published runs did."""
    ours, theirs = results("paper"), results("paper-as-published")
    lines = [["", "k", *COMPARED, "together"], ["---"] * (len(COMPARED) + 3)]
    for title, run in (("our defaults", ours), ("published ridge, perturbed features", theirs)):
        for k in run.ks:
            counts = run.signs(k, reference=run is theirs)
            agree, of = ([counts[name][m] for m in COMPARED] for name in ("agree", "of"))
            cells = [f"{a} of {b}" for a, b in zip([*agree, sum(agree)], [*of, sum(of)], strict=True)]
            lines.append([title, str(k), *cells])
    return markdown(lines)


def flagship_table() -> str:
    """On how many tables the default method beats a constant, and how much of R² it keeps."""
    folder = ROOT / "results" / "flagship"
    summary = json.loads((folder / "summary.json").read_text())["epsilon"]
    tables = list(csv.DictReader((folder / "datasets.csv").read_text().splitlines()))
    complete = sum(row["complete"] == "True" for row in tables)
    lines = [
        f"| ε | tables with R² > 0 | R² kept, {complete} complete tables | R² kept, all {len(tables)} tables "
        "| lowest median R² |",
        "|---|---|---|---|---|",
    ]
    for epsilon, row in summary.items():
        name = "ln 3" if epsilon == "1.099" else epsilon
        worst, where = row["lowest median"]
        lines.append(
            f"| {name} | {row['R² > 0']} of {row['data sets']} | {row['mean ratio, complete']:.3f} "
            f"| {row['mean ratio']:.3f} | {worst:.2f} ({where.split('_')[1]}) |"
        )
    return "\n".join(lines)


def oracle_table() -> str:
    """What the mean of R² kept would gain if what the method pays for were known for nothing."""
    rows = flagship_rows("ablations.csv")
    budgets = {"1.099": "ln 3", "0.3": "0.3", "0.1": "0.1"}
    lines = [["known for nothing", *(f"gain at ε = {name}" for name in budgets.values())], ["---"] * 4]
    for row in rows:
        kind, _, what = row["change"].partition(", not private: ")
        if kind == "ORACLE":
            gains = [f"{row[f'effect {k}']} ({row[f'least {k}']} … {row[f'most {k}']})" for k in budgets]
            lines.append([what, *gains])
    return markdown(lines).replace("-0.", "−0.")


def wide_oracle_table() -> str:
    """Tables with more columns than the data can carry at ε = ln 3, and what oracles would reach there."""
    reached = {row["data set"]: row["median 1.099"] for row in flagship_rows("datasets.csv")}
    oracles = flagship_rows("oracles.csv")
    kinds = ("exact choice of columns", "exact scales of columns", "exact choice and scales")
    lines = [["data set", "R²", *kinds], ["---"] * (len(kinds) + 2)]
    for name, own in reached.items():
        if any(part in name for part in WIDE):
            told = {r["oracle"].partition(", not private: ")[2]: r["1.099"] for r in oracles if r["data set"] == name}
            lines.append([name.split("_")[1], *(f"{float(value):.2f}" for value in (own, *(told[k] for k in kinds)))])
    return markdown(lines)


def small_budget_table() -> str:
    """On which tables a model is worse than a constant that is the mean."""
    rows = flagship_rows("small_budgets.csv")
    lines = [["ε", "data sets below −0.02", "tables of noise below −0.02"], ["---"] * 3]
    for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
        low = [row for row in rows if row["epsilon"] == epsilon and float(row["median R²"]) < -0.02]
        noise = [row for row in low if row["table"].startswith("noise")]
        named = [
            f"{row['table'].split('_')[1]} ({float(row['median R²']):.2f}, S = {row['S']})"
            for row in low
            if row not in noise
        ]
        said = [f"{row['table'].removeprefix('noise, ')} (S = {row['S']})" for row in noise]
        lines.append([epsilon, "; ".join(named) or "none", "; ".join(said) or "none"])
    return markdown(lines).replace("(-", "(−")


def small_ablation_table() -> str:
    """What each way to a target's scale is worth where data are scarce."""
    rows = flagship_rows("small_ablations.csv")
    lines = [["change", "R² on the average", "cases higher by 0.01", "lower"], ["---"] * 4]
    for row in rows:
        effect = f"{row['effect']} ({row['least']} … {row['most']})"
        lines.append([row["change"], effect, row["better"], row["worse"]])
    return markdown(lines).replace("-0.", "−0.")


@cache
def text_summary() -> dict[str, Any]:
    return json.loads((ROOT / "results" / "text" / "summary.json").read_text())


def public_table() -> str:
    """How much of R² is kept with and without public rows."""
    summary = json.loads((ROOT / "results" / "public" / "summary.json").read_text())
    ways = ("private rows alone", "with 100 public rows", "with public rows", "all rows private")
    lines = [["ε", *ways, "R² higher by 0.01", "lower by 0.01"], ["---"] * (len(ways) + 3)]
    for epsilon, row in summary["epsilon"].items():
        kept = [f"{row[way]:.2f}" for way in ways]
        counts = [f"on {row[f'R² {way} by 0.01']} of {summary['data sets']}" for way in ("higher", "lower")]
        lines.append([epsilon, *kept, *counts])
    return markdown(lines)


def text_table() -> str:
    """Tables with text columns, beside least squares."""
    head = ["table (R package), target", "records", "columns", "text columns", "R², least squares", "R², private"]
    lines = [head, ["---"] * len(head)]
    for name, row in text_summary()["tables"].items():
        known = (f"{row['records']:,}", str(row["columns"]), str(row["text columns"]))
        private = "a constant" if row["constant"] == text_summary()["trials"] else pretty(row["private"])
        lines.append([f"{name} ({row['package']}), {row['target']}", *known, pretty(row["least squares"]), private])
    return markdown(lines)


def text_line() -> str:
    """How much of the R² of least squares is kept on tables with text columns, in one sentence."""
    rows = {name: row for name, row in text_summary()["tables"].items() if not row["constant"]}
    kept = {name: row["private"] / row["least squares"] for name, row in rows.items()}
    worst, gaps = (
        min(kept, key=lambda name: kept[name]),
        sum(r["columns with missing values"] > 0 for r in rows.values()),
    )
    return (
        f"Messier tables: on {len(kept)} CSV files with text columns, {gaps} of them with missing values, at "
        f"ε = {text_summary()['epsilon']:g} and δ = 1e-6, the median ratio of R² to that of least squares is "
        f"{median(kept.values()):.2f}; the lowest is {kept[worst]:.2f} ({worst}). "
        "[Every table](docs/measured.md#tables-with-text-columns)."
    )


def flagship_speed() -> str:
    results = json.loads((ROOT / "benchmarks" / "flagship_speed.json").read_text())["results"]
    small, large = (next(iter(results[k].items())) for k in ("n = 20,000, d = 20", "n = 500,000, d = 50"))
    ratio = results["n = 500,000, d = 50"]["times scikit-learn, 2 threads"]
    memory = results["memory, n = 500,000, d = 50"]["peak above the data / data"]
    return (
        f"On 2 cores, a fit of 20,000 rows and 20 columns takes {small[1]:.2f} s. A fit of 500,000 rows and 50 columns "
        f"takes {large[1]:.1f} s, {ratio:.1f} times as long as scikit-learn's `LinearRegression`. On top of the data, "
        f"it needs up to {memory:.1f} times the memory of the data."
    )


def command_table() -> str:
    """Seconds of a command, and of its peer in the same run."""
    results = json.loads((ROOT / "benchmarks" / "command.json").read_text())["results"]
    lines = ["| command | seconds | compared with | seconds |", "|---|---|---|---|"]
    for title, figures in results.items():
        ours = next(v for k, v in figures.items() if k in ("seconds", "seconds, status"))
        peer, theirs = next((k, v) for k, v in figures.items() if k.startswith("seconds, ") and k != "seconds, status")
        lines.append(f"| {title} | {ours:.2f} | {peer.removeprefix('seconds, ')} | {theirs:.2f} |")
    return "\n".join(lines)


def theorem_table() -> str:
    data = json.loads((ROOT / "benchmarks" / "theorem.json").read_text())
    rows = data["results"]
    epsilons = sorted({row["epsilon"] for row in rows})
    head = "| informative groups k | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |"
    lines = [head, "|---" * (len(epsilons) + 1) + "|"]
    for k in sorted({row["k"] for row in rows}):
        found = {row["epsilon"]: row["n"] for row in rows if row["k"] == k}
        lines.append(f"| {k} | " + " | ".join(f"{found[e]:,}" for e in epsilons) + " |")
    return "\n".join(lines)


def audit_line() -> str:
    """What the last `make audit` found, in one paragraph."""
    files = [ROOT / "results" / "audit" / f"{name}.json" for name in ("replay", "mutants", "blackbox")]
    replay, mutants, blackbox = (json.loads(file.read_text()) for file in files)
    caught = sum(bool(bug["caught by"]) for bug in mutants["bugs"])
    above = sum(row["bound"] > row["epsilon"] for row in blackbox["rows"])
    return (
        f"The last `make audit` replayed {replay['pairs']:,} fits on a neighbouring table and found "
        f"{len(replay['wrong']) or 'no'} undeclared differences, caught {caught} of {len(mutants['bugs'])} injected "
        f"privacy bugs, and measured {len(blackbox['rows'])} lower bounds on ε from {blackbox['runs']:,} outputs on "
        f"each side, {above or 'none'} of them above the claim."
    )


def looks_table() -> str:
    """Facts about the pages that people see, measured with a browser."""
    facts = json.loads((ROOT / "docs" / "looks" / "facts.json").read_text())
    heads = list(next(iter(facts.values())))
    lines = [["page", *heads], ["---"] * (len(heads) + 1)]
    lines += [[title, *(f"{value:,}" for value in row.values())] for title, row in facts.items()]
    return markdown(lines)


TABLES = {
    "results line": results_line,
    "paper": paper_table,
    "paper run": paper_run,
    "methods": methods_table,
    "signs": signs_table,
    "signs count": signs_count,
    "agreement": agreement_table,
    "lost signs": lost_signs,
    "flagship": flagship_table,
    "flagship speed": flagship_speed,
    "oracles": oracle_table,
    "wide oracles": wide_oracle_table,
    "small budgets": small_budget_table,
    "small ablations": small_ablation_table,
    "coverage": coverage_tables.real,
    "coverage of simulated tables": coverage_tables.simulated,
    "coverage line": coverage_tables.line,
    "public": public_table,
    "text": text_table,
    "text line": text_line,
    "commands": command_table,
    "speed": speed_table,
    "theorem": theorem_table,
    "audit": audit_line,
    "looks": looks_table,
    "scaling fits": scaling_tables.fits,
    "scaling ratios": scaling_tables.ratios,
    "scaling costs": scaling_tables.costs,
    "scaling prediction": scaling_tables.prediction,
    "sampling": scaling_tables.samples,
}
PAGES = (
    "README.md",
    "docs/compare.md",
    "docs/howto/public-rows.md",
    "docs/looks.md",
    "docs/measured.md",
    "docs/paper-differences.md",
    "docs/paper-evaluation.md",
    "docs/scaling.md",
)


def render(text: str) -> str:
    """The text with every marked table made anew."""

    def anew(match: re.Match[str]) -> str:
        return f"{match[1]}\n{TABLES[match[2]]()}\n<!-- end -->"

    return re.sub(
        r"(<!-- ([\w ]+): written by benchmarks/readme\.py .*? -->)\n.*?<!-- end -->", anew, text, flags=re.DOTALL
    )


def picture() -> str:
    """The demo's real output as SVG, in the colours of the theme, without the web font that rich would link to."""
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme

    from privreg._theme import LIGHT, MONO, follow_the_reader
    from privreg.cli.demo import DELTA, EPSILON, MEANING, TARGET, show_demo
    from privreg.datasets import load_mothers
    from privreg.estimators.private_linear.estimator import PrivateLinearRegression

    def rgb(name: str) -> tuple[int, int, int]:
        red, green, blue = bytes.fromhex(LIGHT[name].removeprefix("#"))
        return red, green, blue

    ansi = [rgb(name) for name in ("ink", "bad", "good", "care", "accent", "series4", "series3", "soft")]
    theme = TerminalTheme(rgb("shade"), rgb("ink"), ansi, ansi)
    console = Console(record=True, width=84, file=io.StringIO(), force_terminal=True, highlight=False)
    table = load_mothers()
    model = PrivateLinearRegression(EPSILON, DELTA).fit(table.select(list(MEANING)), table[TARGET])
    show_demo(console, model, table)
    svg = console.export_svg(title="privreg demo", theme=theme, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", MONO).replace("rgba(255,255,255,0.35)", LIGHT["line"])
    return follow_the_reader(svg)


def main() -> None:
    for page in PAGES:
        (ROOT / page).write_text(render((ROOT / page).read_text()))
    if "--pages" not in sys.argv:
        (ROOT / "docs" / "demo.svg").write_text(picture())


if __name__ == "__main__":
    main()
