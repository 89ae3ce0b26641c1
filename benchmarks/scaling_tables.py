"""Tables of docs/scaling.md, from what scaling.py and sampling.py measured; and what they predict for larger tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np

_FOLDER = Path(__file__).resolve().parent
ROWS, COLUMNS, WORKERS, CHOSEN = 10**9, 1000, 100, 50  # of the prediction
THREADS = 2  # that the measurements used
PASSES = {"complete": 1, "median": 2, "spread": 1}  # over the columns


def _load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text())
    return found


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def fits() -> str:
    """Whole fits, and where their time goes."""
    results = {k: v for k, v in _load("scaling")["results"].items() if "nanoseconds per row and column" in v}
    names = [
        "seconds", "reading, all passes (s)", "ranking columns (s)", "counting pairs (s)", "everything else (s)",
        "peak resident memory (MB)", "times (reading once + counting)", "times (all reading + counting)",
    ]  # fmt: skip
    head = [
        "fit", "seconds", "reading", "ranking", "counting", "everything else", "peak memory, MB", "ratio, reading once",
        "ratio, all reading",
    ]  # fmt: skip
    for figures in results.values():
        reading = figures["reading, all passes (s)"] + figures["counting pairs (s)"]
        figures["times (all reading + counting)"] = figures["seconds"] / reading
    rows = [[name.replace(", d = 30", ""), *(_digits(figures[n]) for n in names)] for name, figures in results.items()]
    return _table(head, rows)


def ratios() -> str:
    """How time and memory grow, in sentences."""
    results = _load("scaling")["results"]
    growth = next(v for k, v in results.items() if k.startswith("growth"))
    worst = max(growth, key=lambda name: growth[name])
    (dask,) = (v for k, v in results.items() if k.startswith("Dask"))
    peak = max(v.get("peak resident memory (MB)", 0) for v in results.values())
    return (
        f"From 3 to 30 million rows, the time per row and column grows by a factor of at most {growth[worst]:.2f} "
        f"({worst.partition(', per')[0]}). Peak memory is at most {peak:,.0f} MB. Two single-threaded Dask workers "
        f"take {dask['times out of core']:.2f} times as long as two threads."
    )


def costs() -> str:
    """Nanoseconds per row of each stage, measured alone."""
    details = _load("scaling")["details"]
    stages = {k.removeprefix("stages, "): v for k, v in details.items() if k.startswith("stages")}
    fitted = details["nanoseconds per row, fitted"]
    rows = [
        [
            name.replace("label", "target"),
            *(_digits(1e9 * f[name] / f["rows"]) if name in f else "–" for f in stages.values()),
            _digits(fitted[name]),
        ]
        for name in fitted
    ]
    return _table(["nanoseconds per row, 2 threads", *stages, "model"], rows)


def prediction() -> str:
    """Stages on a cluster: bytes read, seconds if nothing but this work is done, and memory of a worker."""
    model = _load("scaling")["details"]["nanoseconds per row, fitted"]
    each = {name: ns * 1e-9 * THREADS * ROWS / WORKERS for name, ns in model.items()}  # seconds, one thread a worker
    square = _square_cost(model)
    column, table = 8 * ROWS, 8 * ROWS * COLUMNS
    rows = [
        ["complete?", table, each["complete?, a column"] * COLUMNS, 0.2],
        ["target", 4 * column, 4 * each["label, a pass"], 0.2],
        [f"ranks, {COLUMNS:,} columns", table, each["rank and count, a column"] * COLUMNS, 28e-9 * ROWS],
        [f"pairs again, {COLUMNS:,} columns", 0, each["count, a column ranked before"] * COLUMNS, 16e-9 * ROWS],
        [f"medians of {CHOSEN} columns", 2 * CHOSEN * column, each["median, a column"] * CHOSEN, 0.2],
        [f"spreads of {CHOSEN} columns", CHOSEN * column, each["spread, a column"] * CHOSEN, 0.2],
        [f"three phases, {CHOSEN} columns", 3 * CHOSEN * column, 3 * square(CHOSEN) * ROWS / WORKERS, 0.2],
        [f"three phases, {COLUMNS:,} columns", 3 * table, 3 * square(COLUMNS) * ROWS / WORKERS, 0.5],
    ]
    cells = [[str(name), _bytes(size), _time(seconds), f"{memory:.1f} GB"] for name, size, seconds, memory in rows]
    return _table(["stage", "data read", "time", "memory of a worker"], cells)


def _square_cost(model: dict[str, float]) -> Any:
    """Seconds of one thread per row and phase, as a quadratic in the width, through the measured widths."""
    measured = {int(k.split(", ")[1].split()[0]): v for k, v in model.items() if k.startswith("products and gradient,")}
    widths = np.array(sorted(measured))
    values = np.array([measured[w] for w in widths]) * 1e-9 * THREADS
    design = np.column_stack([widths, widths.astype(float) ** 2])
    linear, square = np.maximum(np.linalg.lstsq(design / values[:, None], np.ones(len(widths)), rcond=None)[0], 0)
    return lambda width: linear * width + square * width**2


def samples() -> str:
    """What choosing on samples costs."""
    results = _load("sampling")["results"]
    rows = []
    for name, figures in results.items():
        n, epsilon, part = (piece.split(" = ")[1] for piece in name.split(", ", 2))
        size = "all" if part == "1" else f"{100 * float(part):g} %"
        found, score, seconds = figures.values()
        rows.append([n, epsilon, size, f"{found:g}", f"{score:.3f}", f"{seconds:.2f}"])
    head = ["records", "ε", "sample", "chosen, of the ten columns that matter", "R²", "seconds, whole fit"]
    return _table(head, rows)


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _bytes(size: float) -> str:
    return f"{size / 1e12:.1f} TB" if size >= 1e12 else f"{size / 1e9:.0f} GB"


def _time(seconds: float) -> str:
    return (
        f"{seconds / 3600:.1f} h"
        if seconds >= 5400
        else f"{seconds / 60:.0f} min"
        if seconds >= 90
        else f"{seconds:.0f} s"
    )
