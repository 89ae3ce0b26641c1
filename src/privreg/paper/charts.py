"""The charts: times ranked first and second, data sets with R² > 0, and the budget sweep. In colours of the theme."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from privreg._format import count_of
from privreg._theme import LIGHT
from privreg.estimators.methods import FLAGSHIP, REGISTRY
from privreg.paper.datasets import published
from privreg.paper.results import SIX, Quartiles, Results, epsilon_name, podium, positive
from privreg.paper.tables import pretty
from privreg.report.charts import INK, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDE, _NARROW = 10.5, 3.3  # inches; the narrow one fits a phone
_ROW = 0.3  # inches for a bar
_SECOND = 0.45  # opacity of second places
_THEIRS, _HERE = "The paper's methods as published", "The paper's methods run here"
_ALL = "All private methods run here"
_SHARES = (
    "1: as accurate as least squares. 0: no better than a constant. −1: that much worse, or more. "
    "Dots are medians over data sets, lines quartiles."
)
_PAPER, _PUBLISHED, _OURS = "series3", "series6", REGISTRY[FLAGSHIP].colour


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
        found.append(Panel(_HERE, len(medians), podium(medians, six)))
    if len(ours) > len(six) and medians:
        found.append(Panel(_ALL, len(medians), podium(medians, ours)))
    if six and found and published(k):
        found.insert(0, Panel(_THEIRS, len(published(k)), podium(published(k), SIX)))
    return found


# ---- first and second places


@style()
def ranks_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """Stacked bars of first and second places: the paper's methods beside what it published, and all methods."""
    shown = panels(results, k)
    if not shown:
        return None
    groups = [[p for p in shown if p.title != _ALL], [p for p in shown if p.title == _ALL]]
    groups = [group for group in groups if group]
    bars = [sum(len(panel.places) for panel in group) for group in groups]
    title = f"How often each method is the best private one, and the second best, k = {k}"
    height = _ROW * (sum(bars) if narrow else max(bars)) + 0.45 * (len(bars) if narrow else 1)
    figure = _figure(title, narrow, height + (1.2 if narrow else 0.85))
    if narrow:
        axes = figure.subplots(len(groups), squeeze=False, height_ratios=bars)[:, 0]
    else:
        axes = figure.subplots(1, len(groups), squeeze=False)[0]
        layout: Any = figure.get_layout_engine()
        layout.set(wspace=0.08)  # names stay away from the numbers at their left
    for group, ax in zip(groups, axes, strict=True):
        _draw_places(ax, group)
    axes[0].plot([], [], " ", label="Full colour: best. Pale: second best.")
    _legend(axes[0], narrow)
    words = [
        f"{panel.title}, {count_of(panel.sets, 'data set')}: "
        + ", ".join(f"{m} {first} and {second}" for m, (first, second) in panel.places.items())
        for panel in shown
    ]
    return Chart(figure, f"{title}. {'. '.join(words)}.")


def _draw_places(ax: Any, group: Sequence[Panel]) -> None:
    """Rows by the last panel of the group, the best on top, with a bar for each panel: shares of its data sets."""
    last = group[-1].places
    methods = sorted(last, key=lambda m: (-last[m][0], -last[m][1], list(REGISTRY).index(m)))
    height = 0.8 / len(group)
    for j, panel in enumerate(group):
        colour = _PUBLISHED if panel.title == _THEIRS else _PAPER
        for i, method in enumerate(methods):
            where = i - 0.4 + height * (j + 0.5)
            first, second = panel.places[method]
            _draw_bar(ax, where, 0.86 * height, first / panel.sets, _colour(method, colour))
            ax.barh(
                where,
                second / panel.sets,
                0.86 * height,
                left=first / panel.sets,
                color=LIGHT[_colour(method, colour)],
                alpha=_SECOND,
            )
            _at_the_end(ax, where, f"{first} + {second}")
        label = "published" if panel.title == _THEIRS else "run here"
        _key(ax, colour, f"{label}, {count_of(panel.sets, 'data set')}")
    _rows_axis(ax, methods)
    ax.set_title("All private methods" if group[0].title == _ALL else "The paper's methods", loc="left")
    ax.set_xlim(0, 1)


# ---- data sets with R² > 0


@style()
def positive_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """On how many data sets a method is better than a constant: a bar; and as published for the same ones: a mark."""
    medians, methods = results.medians(k), results.private
    if not medians or not methods:
        return None
    theirs, ours = positive(results.published(k)), positive(medians)
    title = f"On how many of {count_of(len(medians), 'data set')} the median R² is above 0, k = {k}"
    figure = _figure(title, narrow, _ROW * len(methods) + (1.2 if narrow else 0.85))
    ax = figure.subplots()
    methods = sorted(methods, key=lambda m: -ours.get(m, 0))
    for i, method in enumerate(methods):
        value = ours.get(method, 0)
        _draw_bar(ax, i, 0.72, value / len(medians), _colour(method))
        also = ""
        if method in theirs:
            for colour, size in (("paper", 8), ("ink", 5.5)):
                place = theirs[method] / len(medians)
                ax.plot(place, i, "D", color=LIGHT[colour], markersize=size, markeredgewidth=0, clip_on=False)
            also = f" ({'' if narrow else 'published '}{theirs[method]})"
        _at_the_end(ax, i, f"{value}{also}")
    _rows_axis(ax, methods)
    ax.set_xlim(0, 1)
    if FLAGSHIP in methods:
        _key(ax, _OURS, "privreg's own method")
    _key(ax, _PAPER, "the paper's methods, run here")
    if theirs:
        ax.plot([], [], "D", color=INK, markersize=5.5, label=f"published{' (in brackets)' * narrow}, same data sets")
    _legend(ax, narrow)
    words = [f"{m} {ours.get(m, 0)}" + (f" (published {theirs[m]})" if m in theirs else "") for m in methods]
    return Chart(figure, f"{title}: {', '.join(words)}.")


# ---- other budgets


@style()
def sweep_chart(results: Results, k: int, narrow: bool = False) -> Chart | None:
    """R² divided by that of NonDP: a panel for each ε, a dot with quartiles for each method."""
    lines = {m: points for m, points in results.sweep(k).items() if len(points) > 1}
    if not lines:
        return None
    budgets = [e for e in sorted(results.epsilons) if any(e in points for points in lines.values())]
    methods = sorted(lines, key=lambda m: -sum(points[1] for points in lines[m].values()) / len(lines[m]))
    title = f"Median R² as a share of that of least squares, by ε, k = {k}"
    across = 2 if narrow else len(budgets)
    down = -(-len(budgets) // across)
    row = 0.24 if narrow else _ROW
    figure = _figure(title, narrow, down * (row * len(methods) + 0.6) + (0.8 if narrow else 0.7))
    axes = figure.subplots(down, across, squeeze=False, sharey=True, sharex=True, gridspec_kw={"wspace": 0.06}).ravel()
    for ax, epsilon in zip(axes, budgets, strict=False):
        _draw_budget(ax, {m: lines[m].get(epsilon) for m in methods}, f"ε = {epsilon_name(epsilon)}")
    small = {"fontsize": 9, "color": LIGHT["soft"], "ha": "left"}
    if free := list(axes[len(budgets) :]):  # at most one
        free[0].set_axis_off()
        free[0].text(0, 0.5, fill(_SHARES, 15), transform=free[0].transAxes, va="center", **small)
    else:
        figure.supxlabel(fill(_SHARES, 46) if narrow else _SHARES, x=0.005, **small)
    told = [f"{m} {', '.join(pretty(middle) for _, middle, _ in lines[m].values())}" for m in methods]
    over = ", ".join(epsilon_name(e) for e in budgets)
    return Chart(figure, f"{title}. At ε = {over}: {'; '.join(told)}.")


def _draw_budget(ax: Any, points: dict[str, Quartiles | None], title: str) -> None:
    for x in (-1, 0, 1):
        ax.axvline(x, color=LIGHT["soft" if x == 0 else "line"], linewidth=0.8, zorder=0)
    for i, (method, spread) in enumerate(points.items()):
        if spread is None:
            continue
        low, middle, high = spread
        colour = LIGHT[REGISTRY[method].colour]
        ax.plot([low, high], [i, i], color=colour, linewidth=2, solid_capstyle="round", alpha=_SECOND)
        size = 8 if method == FLAGSHIP else 6
        ax.plot(middle, i, "o", color=colour, markersize=size, markeredgewidth=0, clip_on=False)
    _rows_axis(ax, list(points))
    ax.set_title(title)
    ax.set_xlim(-1.12, 1.12)
    ax.set_xticks([-1, 0, 1], ["−1", "0", "1"])


# ---- what they share


def _figure(title: str, narrow: bool, height: float) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((_NARROW if narrow else _WIDE, height), layout="constrained")
    text = fill(title, 40) if narrow else title
    figure.suptitle(text, fontweight="bold", fontsize=10 if narrow else 11, x=0.005, ha="left")
    return figure


def _colour(method: str, other: str = _PAPER) -> str:
    """Our own method stands out."""
    return _OURS if method == FLAGSHIP else other


def _draw_bar(ax: Any, where: float, height: float, part: float, colour: str) -> None:
    """A part of a whole that can be seen."""
    ax.barh(where, 1, height, color=LIGHT["shade"])
    ax.barh(where, part, height, color=LIGHT[colour])


def _at_the_end(ax: Any, where: float, text: str) -> None:
    """To the right of the bars."""
    ax.annotate(text, (1, where), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center")


def _rows_axis(ax: Any, methods: Sequence[str]) -> None:
    """A row for each method, from the top; our own in bold."""
    ax.set_yticks(range(len(methods)), [REGISTRY[m].label or m for m in methods])
    for label, method in zip(ax.get_yticklabels(), methods, strict=False):  # inner panels have no names
        label.set_fontweight("bold" if method == FLAGSHIP else "normal")
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[["bottom", "left"]].set_visible(False)


def _key(ax: Any, colour: str, label: str) -> None:
    ax.plot([], [], "s", color=LIGHT[colour], label=label)


def _legend(ax: Any, narrow: bool) -> None:
    """Below the chart."""
    where = {"loc": "outside lower left", "ncols": 1 if narrow else 4}
    ax.figure.legend(*ax.get_legend_handles_labels(), **where, frameon=False, columnspacing=1, handlelength=1)
