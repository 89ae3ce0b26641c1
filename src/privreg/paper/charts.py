"""The charts: times ranked first and second, data sets with R² > 0, and the budget sweep."""

from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from privreg.estimators.methods import FLAGSHIP, REGISTRY
from privreg.paper.datasets import published
from privreg.paper.results import SIX, Results, epsilon_name, podium, positive
from privreg.report.charts import INK, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _LIGHT, _GREY = "#0072b2", "#a6cee3", "#b8b8b8"
_WIDE, _NARROW = 9.0, 3.4  # inches; the narrow one fits a phone
_ROW = 0.3  # inches for a method


class Chart(NamedTuple):
    """A chart, and its numbers in words for those who cannot see it."""

    figure: "Figure"
    alt: str


class Panel(NamedTuple):
    """How often each method is first and second, over a number of data sets."""

    title: str
    sets: int
    places: dict[str, tuple[int, int]]


def panels(results: Results, k: int) -> list[Panel]:
    """The published ranks, ours of the same methods, and ours of all; empty before there is a result."""
    medians = results.medians(k)
    ours = results.private
    six = [m for m in ours if m in SIX]
    found = []
    if six and medians:
        title = "privreg, the paper's six" if len(six) == len(SIX) else "privreg, methods of the paper"
        found.append(Panel(title, len(medians), podium(medians, six)))
    if len(ours) > len(six) and medians:
        found.append(Panel("privreg, all private methods", len(medians), podium(medians, ours)))
    if found and published(k):
        found.insert(0, Panel("published", len(published(k)), podium(published(k), SIX)))
    return found


@style()
def ranks_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """Stacked bars of first and second places, a panel for each way of ranking."""
    shown = panels(results, k)
    if not shown:
        return None
    rows = [len(panel.places) for panel in shown]
    title = f"Times ranked first and second, k = {k}"
    if narrow:
        figure = _figure(title, _NARROW, _ROW * sum(rows) + 0.75 * len(rows) + 0.6)
        axes = figure.subplots(len(rows), squeeze=False, sharex=True, height_ratios=rows)[:, 0]
    else:
        figure = _figure(title, _WIDE, _ROW * max(rows) + 1.4)
        axes = figure.subplots(1, len(rows), squeeze=False, sharex=True)[0]
    for panel, ax in zip(shown, axes, strict=True):
        _draw_panel(ax, panel, len(panel.places) if narrow else max(rows))
        if narrow and ax is not axes[-1]:
            ax.set_xlabel("")  # they share the axis of the last one
    axes[-1].set_xlim(0, 1.05 * max(sum(p) for panel in shown for p in panel.places.values()) or 1)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    words = [
        f"{panel.title}, {panel.sets} data sets: "
        + ", ".join(f"{m} {first} and {second}" for m, (first, second) in panel.places.items())
        for panel in shown
    ]
    return Chart(figure, f"{title}. {'. '.join(words)}.")


def _draw_panel(ax: Any, panel: Panel, rows: int) -> None:
    firsts, seconds = ([places[i] for places in panel.places.values()] for i in (0, 1))
    where = range(len(firsts))
    for bars, colour in (
        (ax.barh(where, firsts, 0.72, color=_BLUE, label="first"), "white"),
        (ax.barh(where, seconds, 0.72, left=firsts, color=_LIGHT, label="second"), INK),
    ):
        ax.bar_label(bars, [f"{v:.0f}" if v else "" for v in bars.datavalues], label_type="center", color=colour)
    ax.set_title(f"{panel.title}\n{panel.sets} data sets", loc="left")
    _methods_axis(ax, panel.places, rows)


@style()
def positive_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """Number of data sets with R² > 0: published and ours, over the same data sets."""
    medians, methods = results.medians(k), results.private
    if not medians or not methods:
        return None
    theirs, ours = positive(results.published(k)), positive(medians)
    title = f"Data sets with median R² > 0, k = {k}"
    figure = _figure(title, _NARROW if narrow else 0.75 * _WIDE, 1.5 * _ROW * len(methods) + 1.4)
    ax = figure.subplots()
    half = 0.38
    both = {i - half / 2: theirs[m] for i, m in enumerate(methods) if m in theirs}
    here = {i + (half / 2 if m in theirs else 0): ours.get(m, 0) for i, m in enumerate(methods)}
    for counts, colour, label in ((both, _GREY, "published"), (here, _BLUE, "privreg")):
        if counts:
            ax.bar_label(ax.barh(list(counts), list(counts.values()), half, color=colour, label=label), padding=2)
    ax.axvline(len(medians), color=INK, linewidth=1, linestyle="dashed", label=f"all {len(medians)} data sets")
    ax.set_xlim(0, 1.1 * len(medians))
    _methods_axis(ax, methods, len(methods))
    figure.legend(loc="outside lower center", ncols=3, frameon=False, columnspacing=1, handlelength=1.3)
    words = [f"{m} {ours.get(m, 0)}" + (f" (published {theirs[m]})" if m in theirs else "") for m in methods]
    return Chart(figure, f"{title}, of {len(medians)}: {', '.join(words)}.")


def _figure(title: str, width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    figure.suptitle(title, fontweight="bold", fontsize=10.5)
    return figure


def _methods_axis(ax: Any, methods: Collection[str], rows: int) -> None:
    ax.set_yticks(range(len(methods)), [REGISTRY[m].label or m for m in methods])
    ax.set_ylim(rows - 0.5, -0.5)
    ax.spines.left.set_bounds(len(methods) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("data sets")


@style()
def sweep_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """R² relative to NonDP against ε, a line for each private method."""
    budgets = sorted(results.epsilons)
    lines = {m: points for m, points in results.sweep(k).items() if len(points) > 1}
    if not lines:
        return None
    title = f"R² relative to NonDP, k = {k}"
    figure = _figure(title, _NARROW if narrow else 0.75 * _WIDE, 4.4)
    ax = figure.subplots()
    for method, points in lines.items():
        low, middle, high = zip(*points.values(), strict=True)
        colour, line = REGISTRY[method].colour, REGISTRY[method].line
        ax.plot(list(points), middle, color=colour, linestyle=line, linewidth=1.6, marker="o", markersize=4)
        if method == FLAGSHIP:
            ax.fill_between(list(points), low, high, color=colour, alpha=0.12, linewidth=0)
    ax.axhline(0, color=_GREY, linewidth=1, zorder=0)
    ax.set_xscale("log")
    # A budget that is close to its left neighbour (1, ln 3) has its name a line lower.
    lower = [e < 1.3 * before for before, e in zip([0.0, *budgets], budgets, strict=False)]
    names = ["\n" * down + epsilon_name(e) for e, down in zip(budgets, lower, strict=True)]
    ax.set_xticks(budgets, names, minor=False)
    ax.minorticks_off()
    ax.set_ylim(top=1.03)
    ax.set_xlabel("ε")
    ax.set_ylabel("R² relative to NonDP, median")
    ends = {m: list(points.values())[-1][1] for m, points in lines.items()}
    _label_ends(ax, budgets[-1], ends)
    words = ", ".join(f"{m} {end:.2f}" for m, end in ends.items())
    return Chart(figure, f"{title}, against ε. At the largest ε: {words}. All numbers are in the table below.")


def _label_ends(ax: Any, last: float, ends: dict[str, float]) -> None:
    """Names to the right of the lines."""
    bottom, top = ax.get_ylim()
    for (method, end), place in zip(ends.items(), _apart(list(ends.values()), 0.055 * (top - bottom)), strict=True):
        ax.annotate(
            REGISTRY[method].label or method,
            (last, end),
            (1.06, place),
            textcoords=("axes fraction", "data"),
            color=REGISTRY[method].colour,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": _GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4},
        )


def _apart(places: list[float], gap: float) -> list[float]:
    """The places, moved as little as needed to leave a gap between any two."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for _ in range(500):
        for lower, upper in pairwise(order):
            short = gap - (moved[upper] - moved[lower])
            if short > 0:
                moved[lower] -= short / 2
                moved[upper] += short / 2
    return moved
