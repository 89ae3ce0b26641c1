"""Tables and a sentence about the coverage of intervals, from what coverage_study.py wrote; for readme.py."""

import json
from functools import cache
from pathlib import Path
from typing import Any

SUMMARY = Path(__file__).resolve().parents[1] / "results" / "coverage" / "summary.json"
CHART = "![Coverage of 95 % intervals by table](../results/coverage/chart.svg)"
NOTHING = "Not measured yet: `make coverage` does."
SHOWN = {
    "estimand": "intervals that contain their estimand",
    "estimand, resampled": "the same, sampling error included",
    "least squares": "intervals that contain plain least squares",
    "least squares, resampled": "the same, sampling error included",
    "predictions": "prediction intervals that contain a new record",
    "R²": "intervals of R² that contain it",
    "R² error": "absolute error of R²",
    "residual error": "relative error of the residual standard error",
    "not determined": "coefficients that are not determined",
    "width": "width, as a multiple of that of least squares; median of all tables",
}


@cache
def _summary() -> Any:
    return json.loads(SUMMARY.read_text()) if SUMMARY.exists() else None


def real() -> str:
    """A table for each ε with every measure, and the chart."""
    found = _summary()
    if found is None:
        return NOTHING
    fits = found["seeds"]
    lines = [f"How often 95 % intervals contain what they estimate ({fits} fits per table and ε, δ = 1e-6):", ""]
    for epsilon, here in found["epsilon"].items():
        mean = f"mean over {here['complete']} complete / all {here['tables']} tables"
        head = ["quantity", mean, "worst", "worst table"]
        rows = [head, ["---"] * len(head)]
        rows += [[title, *_cells(name, here["measures"].get(name))] for name, title in SHOWN.items()]
        lines += [f"**ε = {epsilon}**", "", '<div class="figures">', "", *map(_line, rows), "", "</div>", ""]
    return "\n".join([*lines, CHART])


def _cells(name: str, values: Any) -> tuple[str, str, str]:
    if values is None:
        return "–", "–", "–"
    worst, table = values["worst"]
    mean = f"{_short(values['complete'])} / {_short(values['all'])}"
    return _short(values["median"]) if name == "width" else mean, _short(worst), table


def simulated() -> str:
    """Coverage on simulated tables: of the estimand, and of the true coefficient."""
    found = _summary()
    if found is None:
        return NOTHING
    epsilons = list(next(iter(found["simulated"].values())))
    head = ["simulated table", *(f"ε = {e}: {what}" for e in epsilons for what in ("estimand", "truth"))]
    rows = [head, ["---"] * len(head)]
    for name, here in found["simulated"].items():
        rows.append([name, *(_short(here[e].get(what)) for e in epsilons for what in ("estimand", "truth"))])
    fits = found["seeds, simulated"]
    lead = f"Shares of the intervals that contain the estimand, and the true coefficient, in {fits} fits each:"
    return "\n".join([lead, "", *map(_line, rows)])


def line() -> str:
    """Coverage at ε = 1, in one sentence."""
    found = _summary()
    if found is None:
        return NOTHING
    here = found["epsilon"]["1"]
    measures = here["measures"]
    held, (worst, table) = measures["estimand"]["all"], measures["estimand"]["worst"]
    return (
        f"Intervals: on {here['tables']} public tables at ε = 1 and δ = 1e-6, {100 * held:.0f} % of the 95 % intervals "
        f"contain what they estimate (least squares on the clipped table); on the worst table, {table}, "
        f"{100 * worst:.0f} %. They are cautious: the median one is {measures['width']['median']:.1f} times as wide as "
        "without privacy. [Every budget](docs/measured.md#intervals)."
    )


def _short(value: float | None) -> str:
    """Shares with two digits; larger numbers with one."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 2 else f"{value:.1f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
