"""Draws the pictures of docs/ and writes down what they show.

`python benchmarks/pictures.py` writes docs/pictures/*.svg, docs/house.svg and docs/pictures/numbers.json. Numbers come
from seeded computations on made-up tables with the estimator's own code; a test computes some of them anew. Diagrams
are in drawings.py. With `--draw`, what is written down is drawn again, and nothing is computed.
"""

import json
import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import drawings
from privreg._theme import LIGHT
from privreg._types import Float64
from privreg.data.schema import Schema
from privreg.data.tables import read_table
from privreg.engines.memory import MemoryEngine
from privreg.estimators.private_linear import fitting
from privreg.estimators.private_linear.model import WinsorisedModel
from privreg.estimators.private_linear.phases import newton
from privreg.estimators.private_linear.scales import FEATURE_LIMIT
from privreg.estimators.private_linear.schedule import COUNT, make_schedule
from privreg.estimators.private_linear.state import Setting, State
from privreg.kernels.values import BINS, FIRST_BIN, count_distances
from privreg.mechanisms.median import noisy_median, plan_median
from privreg.mechanisms.spread import noisy_histogram, plan_histogram, read_spread
from privreg.privacy.account import AdaptiveAccount
from privreg.privacy.accountant import Budget, adaptive_budget
from privreg.privacy.events import pick_epsilon
from privreg.privacy.noise import SeededNoise
from privreg.report import charts

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
DELTA = 1e-6
WIDTH = 4.6  # inches: fits a phone, and can be enlarged on a screen
BLUE, ORANGE, GREEN, GREY, INK = (LIGHT[name] for name in ("series1", "series2", "series3", "series6", "ink"))
SHADES = (  # a colour of the theme and its opacity, for each part of the budget
    *(("series6", 1.0), ("series2", 1.0), ("series7", 1.0), ("series5", 1.0), ("series5", 0.45)),
    *(("series1", 0.35), ("series1", 0.65), ("series1", 1.0), ("series4", 1.0)),
)
Numbers = dict[str, Any]


def normal_table(rows: int, columns: int, signal: float, generator: np.random.Generator) -> tuple[Float64, ...]:
    """Correlated normal columns, a target of which they explain `signal`, and the true coefficients."""
    links = 0.7 ** np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
    X = generator.normal(size=(rows, columns)) @ np.linalg.cholesky(links).T
    effects = np.random.default_rng(columns).normal(size=columns)
    effects *= sqrt(signal / float(effects @ links @ effects))
    return X, X @ effects + sqrt(1 - signal) * generator.normal(size=rows), effects


def fitted(X: Float64, y: Float64, epsilon: float, generator: np.random.Generator) -> WinsorisedModel:
    """The model of a fit with seeded noise."""
    account = AdaptiveAccount(Budget(epsilon, DELTA), SeededNoise(generator))
    return fitting.fit(account, MemoryEngine(read_table(X, Schema.numbers(X.shape[1])), y, 1), None).model


def coefficients(model: WinsorisedModel, columns: int) -> Float64:
    return np.asarray((model.in_units(columns) @ model.theta)[:columns], np.float64)


# ---- what noise does to a coefficient


def noise_numbers(trials: int = 60) -> Numbers:
    """The same table fitted many times: the first coefficient at growing budgets."""
    epsilons = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
    found: Numbers = {"epsilon": epsilons, "trials": trials, "tables": {}}
    for rows in (2_000, 50_000):
        X, y, _ = normal_table(rows, 5, 0.5, np.random.default_rng([1, rows]))
        exact = float(np.linalg.lstsq(np.column_stack([np.ones(rows), X]), y)[0][1])
        bands = []
        for i, epsilon in enumerate(epsilons):
            fits = [
                coefficients(fitted(X, y, epsilon, np.random.default_rng([2, rows, i, t])), 5)[0] for t in range(trials)
            ]
            bands.append(np.quantile(np.array(fits) / exact, [0.1, 0.5, 0.9]).tolist())
        found["tables"][str(rows)] = {"least squares": exact, "10, 50, 90 % of fits / least squares": bands}
    return found


def draw_noise(numbers: Numbers) -> Figure:
    figure, axes = _figure("More records or a larger ε, less noise", 3.6)
    for (rows, table), colour in zip(numbers["tables"].items(), (ORANGE, BLUE), strict=True):
        low, middle, high = np.array(table["10, 50, 90 % of fits / least squares"]).T
        axes.fill_between(numbers["epsilon"], low, high, color=colour, alpha=0.25, lw=0)
        axes.plot(numbers["epsilon"], middle, "o-", color=colour, ms=4, label=f"{int(rows):,} records")
    axes.axhline(1, color=INK, lw=1, ls=(0, (4, 2)), label="least squares, not private")
    axes.set_xscale("log")
    axes.set_xticks(numbers["epsilon"], [f"{e:g}" for e in numbers["epsilon"]])
    axes.minorticks_off()
    axes.set_xlabel("privacy budget ε (more privacy ← → less noise)")
    axes.set_ylabel("coefficient, relative to least squares")
    axes.legend(loc="lower right", frameon=False)
    return figure


# ---- centre and spread of a skewed column


def spread_numbers() -> Numbers:
    """A column of incomes: its private median, the noisy histogram of distances from it, and the limit read off."""
    rows, columns, budget = 20_000, 15, Budget(1.0, DELTA)
    generator = np.random.default_rng(3)
    values = np.exp(generator.normal(10, 0.9, rows))
    account = AdaptiveAccount(budget, SeededNoise(generator))
    schedule = make_schedule(rows * sqrt(account.mu_squared), columns, None)
    part = account.mu_squared / columns
    centre = noisy_median(account, plan_median("median", pick_epsilon(schedule.medians * part)), values)
    step = plan_histogram("spread", schedule.histograms * part)
    histogram = noisy_histogram(account, step, values, centre)
    spread = read_spread(histogram, step.scale / step.grid, rows, FEATURE_LIMIT)
    exact = count_distances(values, centre)
    shown = np.flatnonzero((2.0 ** (np.arange(FIRST_BIN, FIRST_BIN + BINS) / 2) >= 32) & (np.arange(BINS) < 130))
    low, high = centre - spread.limit, centre + spread.limit
    counts, edges = np.histogram(values, np.linspace(0, 200_000, 81))
    return {
        "records": rows,
        "true median": float(np.median(values)),
        "centre": centre,
        "limit": spread.limit,
        "unit": spread.unit,
        "noise of a bin": step.scale / step.grid,
        "part beyond the limit": float(((values < low) | (values > high)).mean()),
        "largest value": float(values.max()),
        "distance": (2.0 ** ((shown + FIRST_BIN) / 2)).tolist(),
        "exact": exact[shown].tolist(),
        "noisy": histogram[shown].tolist(),
        "kept": (spread.weights[shown] > 0).tolist(),
        "values": {"edges": edges.tolist(), "records": counts.tolist()},
    }


def draw_spread(numbers: Numbers) -> Figure:
    figure, (above, below) = _figure("A long tail is clipped at a private limit", 5.6, 2)
    edges, counts = np.array(numbers["values"]["edges"]) / 1000, numbers["values"]["records"]
    centre, limit = numbers["centre"] / 1000, numbers["limit"] / 1000
    above.stairs(counts, edges, fill=True, color=GREY)
    above.axvline(centre, color=BLUE)
    above.axvline(centre + limit, color=ORANGE)
    above.annotate("private median", (centre, max(counts)), (8, -4), textcoords="offset points", color=BLUE)
    above.annotate(
        "limit: values beyond\nit are clipped to it",
        (centre + limit, max(counts) * 0.75),
        (6, -8),
        textcoords="offset points",
        color=ORANGE,
    )
    above.set_xlabel("income in thousands")
    above.set_ylabel("records")
    distance, kept = np.array(numbers["distance"]), np.array(numbers["kept"])
    width = distance * (sqrt(2) - 1)
    below.bar(distance, numbers["exact"], width, align="edge", color=LIGHT["line"], label="exact counts, secret")
    for chosen, colour, label in ((kept, BLUE, "noisy counts that stand out"), (~kept, GREY, "taken for noise")):
        noisy = np.array(numbers["noisy"])[chosen]
        below.plot((distance + width / 2)[chosen], noisy, "o", ms=3.5, color=colour, label=label)
    below.axvline(numbers["limit"], color=ORANGE)
    below.set_xscale("log")
    below.set_xlabel("distance from the private median")
    below.set_ylabel("records in a bin")
    below.set_ylim(top=1.45 * max(numbers["exact"]))  # room for the legend
    below.legend(loc="upper left", frameon=False)
    return figure


# ---- three phases


def after_each_phase(X: Float64, y: Float64, epsilon: float, generator: np.random.Generator) -> list[WinsorisedModel]:
    """The models of one fit after each of its phases."""
    models: list[WinsorisedModel] = []

    def watched(setting: Setting, state: State) -> State:
        after = newton(setting, state)
        models.append(WinsorisedModel(after.target, after.terms, after.theta))
        return after

    with patch.object(fitting, "newton", watched):
        last = fitted(X, y, epsilon, generator)
    return [*models, last]


def phase_numbers(trials: int = 60) -> Numbers:
    """Root mean squared error of the coefficients of made-up tables after each phase, in standard deviations."""
    rows, columns = 20_000, 10
    found: Numbers = {"rows": rows, "columns": columns, "trials": trials, "error after phases 1, 2, 3": {}}
    sampling = []
    for i, epsilon in enumerate((0.1, 0.3, 1.0)):
        errors = []
        for t in range(trials):
            generator = np.random.default_rng([4, i, t])
            X, y, effects = normal_table(rows, columns, 0.5, generator)
            models = after_each_phase(X, y, epsilon, generator)
            errors.append([sqrt(((coefficients(m, columns) - effects) ** 2).mean()) for m in models])
            exact = np.linalg.lstsq(np.column_stack([np.ones(rows), X]), y)[0][1:]
            sampling.append(sqrt(((exact - effects) ** 2).mean()))
        found["error after phases 1, 2, 3"][f"{epsilon:g}"] = np.median(errors, axis=0).tolist()
    return found | {"error of least squares": float(np.median(sampling))}


def draw_phases(numbers: Numbers) -> Figure:
    figure, axes = _figure("Each phase is more precise than the last", 3.5)
    places = np.arange(1, 4)
    for (epsilon, errors), colour in zip(
        numbers["error after phases 1, 2, 3"].items(), (ORANGE, BLUE, GREEN), strict=True
    ):
        axes.plot(places, errors, "o-", color=colour)
        axes.annotate(f"ε = {epsilon}", (3, errors[-1]), (7, -3), textcoords="offset points", color=colour)
    axes.axhline(numbers["error of least squares"], color=INK, lw=1, ls=(0, (4, 2)))
    axes.annotate(
        "least squares, not private", (1, numbers["error of least squares"]), (0, 4), textcoords="offset points"
    )
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_yticks([0.01, 0.02, 0.05, 0.1], ["0.01", "0.02", "0.05", "0.1"])
    axes.set_xticks(places, [f"after phase {p}" for p in places])
    axes.set_xlim(0.75, 3.6)
    axes.set_ylabel("error of a coefficient")
    return figure


# ---- where the budget goes


def budget_numbers() -> Numbers:
    """Parts of the budget for tables of 20 columns, ε = 1."""
    shares = {}
    for rows in (150, 500, 2_000, 20_000):
        schedule = make_schedule(rows * sqrt(adaptive_budget(Budget(1.0, DELTA))), 20, None)
        shares[str(rows)] = {
            "counting": COUNT + schedule.recount,
            "target": schedule.look + schedule.target + schedule.mean_at_end,
            "choosing columns": schedule.selection,
            "columns' scales": schedule.medians + schedule.histograms,
            "clips": sum(schedule.lengths),
            **{f"phase {i}": part for i, part in enumerate(schedule.phases, 1)},
            "R², errors": 2 * schedule.quality,
        }
    return {"columns": 20, "epsilon": 1.0, "delta": DELTA, "shares": shares}


def draw_budget(numbers: Numbers) -> Figure:
    figure, axes = _figure("With few records, the target takes most of the budget", 3.7)
    shares = numbers["shares"]
    names = list(next(iter(shares.values())))
    left = np.zeros(len(shares))
    for name, (colour, opacity) in zip(names, SHADES, strict=True):
        parts = np.array([share[name] for share in shares.values()]) * 100
        axes.barh(range(len(shares)), parts, left=left, color=LIGHT[colour], alpha=opacity, label=name)
        left += parts
    axes.set_yticks(range(len(shares)), [f"{int(rows):,}" for rows in shares])
    axes.invert_yaxis()
    axes.set_ylabel("records")
    axes.set_xlabel("% of the budget")
    axes.set_xlim(0, 100)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, columnspacing=1, handlelength=1.3)
    return figure


DIAGRAMS = {
    "steps": (drawings.step_words, drawings.draw_steps),
    "layers": (drawings.layer_words, drawings.draw_layers),
}
PICTURES: dict[str, tuple[Callable[[], Numbers], Callable[[Numbers], Figure]]] = {
    "noise": (noise_numbers, draw_noise),
    "spread": (spread_numbers, draw_spread),
    "phases": (phase_numbers, draw_phases),
    "budget": (budget_numbers, draw_budget),
    **DIAGRAMS,
}
HOUSE = FOLDER.parent / "house.svg"


def rounded(value: Any) -> Any:
    """Numbers with six digits: what processors may disagree about is not written down."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _figure(title: str, height: float, rows: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.suptitle(title, fontsize=10, fontweight="bold")
    return figure, figure.subplots(rows)


def svg(draw: Callable[[Numbers], Figure], numbers: Numbers) -> bytes:
    """The picture of these numbers in colours that follow the page, the same bytes each time."""
    with charts.style():
        return charts.svg(draw(numbers))


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / "numbers.json"
    written = json.loads(file.read_text()) if "--draw" in sys.argv else {}
    known = {name: written[name] for name in written if name not in DIAGRAMS}
    numbers = {name: known.get(name) or rounded(compute()) for name, (compute, _) in PICTURES.items()}
    text = json.dumps({"matplotlib": mpl.__version__, **numbers}, indent=1, ensure_ascii=False)
    file.write_text(text + "\n")
    for name, (_, draw) in PICTURES.items():
        (FOLDER / f"{name}.svg").write_bytes(svg(draw, numbers[name]))
    HOUSE.write_bytes(svg(drawings.draw_house, drawings.room_words()))


if __name__ == "__main__":
    main()
