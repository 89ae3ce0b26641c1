"""Writes the README's tables from the JSON files that the benchmarks wrote, and the picture of the demo.

`make readme`. A test fails when the README and the files disagree.
"""

import io
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def speed_table() -> str:
    files = [ROOT / "benchmarks" / f"{name}.json" for name in ("selection", "regression")]
    results = {k: v for file in files for k, v in json.loads(file.read_text())["results"].items()}
    lines = ["| measured in one run on 2 cores | 1 thread | 2 threads |", "|---|---|---|"]
    for title, figures in results.items():
        one, two = (
            next(v for k, v in figures.items() if k.startswith("times faster") and t in k) for t in ("1 t", "2 t")
        )
        peer = next(k for k in figures if k.startswith("times faster")).removeprefix("times faster than ").split(",")[0]
        lines.append(f"| {title}, against {peer} | {one:.0f}× | {two:.0f}× |")
    return "\n".join(lines)


def paper_table() -> str:
    summary = json.loads((ROOT / "benchmarks" / "paper_methods.json").read_text())["summary"]
    ours, published = summary["R² > 0, ours"], summary["R² > 0, published"]
    lines = [
        "| R² > 0 on how many of 17 | as published | privreg | privreg, one record protected |",
        "|---|---|---|---|",
    ]
    for method in published:
        strict = ours.get(f"{method}, strict", ours[method] if method != "NonDP" else "not private")
        lines.append(f"| {method} | {published[method]} | {ours[method]} | {strict} |")
    return "\n".join(lines)


def flagship_table() -> str:
    summary = json.loads((ROOT / "results" / "flagship" / "summary.json").read_text())["epsilon"]
    lines = [
        "| ε | R² > 0 | part of R² kept, 17 complete | all 22 | lowest median R² |",
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


def flagship_speed() -> str:
    results = json.loads((ROOT / "benchmarks" / "flagship_speed.json").read_text())["results"]
    small, large = (next(iter(results[k].items())) for k in ("n = 20,000, d = 20", "n = 500,000, d = 50"))
    ratio = results["n = 500,000, d = 50"]["times scikit-learn, 2 threads"]
    memory = results["memory, n = 500,000, d = 50"]["peak above the data / data"]
    return (
        f"A fit of 20,000 rows and 20 columns takes {small[1]:.2f} s on 2 cores, one of 500,000 rows and 50 columns "
        f"{large[1]:.1f} s, which is {ratio:.1f} times scikit-learn's `LinearRegression`, and {memory:.1f} times the "
        "memory of the data (`make bench` writes `benchmarks/flagship_speed.json`)."
    )


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


TABLES = {
    "flagship": flagship_table,
    "flagship speed": flagship_speed,
    "paper": paper_table,
    "speed": speed_table,
    "theorem": theorem_table,
}


def render(text: str) -> str:
    """The text with every marked table made anew."""
    for name, table in TABLES.items():
        head, rest = re.split(f"(?<=<!-- {name}: written by benchmarks/readme.py) ", text)
        marker, _, after = rest.partition(" -->\n")
        text = f"{head} {marker} -->\n{table()}\n<!-- end -->{after.partition('<!-- end -->')[2]}"
    return text


def picture() -> str:
    """The demo's real output as SVG, without the web font that rich would link to."""
    from rich.console import Console

    from privreg.demo import run

    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    run(console)
    svg = console.export_svg(title="privreg demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "DejaVu Sans Mono")


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(render(readme.read_text()))
    (ROOT / "docs" / "demo.svg").write_text(picture())


if __name__ == "__main__":
    main()
