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


TABLES = {"paper": paper_table, "speed": speed_table, "theorem": theorem_table}


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
