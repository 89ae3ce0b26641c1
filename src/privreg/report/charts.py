"""How every chart looks and becomes a file; and the two of a model's report: what the features do to the prediction,
and where the budget went."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from privreg._format import number, shortened, shown, tenths_percent
from privreg.report.document import Picture
from privreg.results.release import Coefficient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20  # bars
LARGEST = 1e100  # beyond, there is nothing to draw
INK, _UP, _DOWN = "#222222", "#56a0d3", "#e69f5c"
_WIDE, _NARROW = (7.5, 34), (3.4, 16)  # inches, and letters of a name; the narrow one fits a phone
_ROW = 0.3  # inches for a bar


@contextmanager
def style() -> Iterator[None]:
    """matplotlib as it comes, whatever the user has set, and the same file from the same numbers."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.hashsalt": "privreg",
                "svg.fonttype": "none",
                "font.size": 9.5,
                "axes.titlesize": 9.5,
                "xtick.labelsize": 9,
                "ytick.labelsize": 9.5,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "text.color": INK,
            }
        )
        yield


@style()
def svg(figure: "Figure") -> bytes:
    """The file. Letters that matplotlib's font lacks are drawn by the browser, so that is nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return _file(figure, format="svg", metadata={"Date": None})


@style()
def png(figure: "Figure") -> bytes:
    return _file(figure, format="png", dpi=150)


def _file(figure: "Figure", **options: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, **options)
    return out.getvalue()


def largest(effects: Sequence[Coefficient]) -> list[Coefficient]:
    """Those to draw, the largest first. What is not determined has no size."""
    known = [(abs(e.value), e) for e in effects if e.value is not None and isfinite(e.value)]
    drawable = [(size, e) for size, e in known if all(v is None or abs(v) < LARGEST for v in (size, e.low, e.high))]
    return [e for _, e in sorted(drawable, key=lambda pair: -pair[0])][:MOST]


def effects_picture(effects: Sequence[Coefficient], what: str, how: str) -> Picture:
    """Bars to either side of 0, with intervals. `effects` are as `largest` gives them."""
    told = [f"{shown(e.feature)} {number(e.value or 0.0, 3)}{_interval(e)}" for e in effects]
    wide = svg(_effects(effects, f"{what}, {how}", *_WIDE))
    narrow = svg(_effects(effects, f"{what},\n{how}", *_NARROW))
    return Picture("effects.svg", f"{what[:1].upper()}{what[1:]}, {how}: {'; '.join(told)}.", wide, narrow)


def shares_picture(tenths: dict[str, int]) -> Picture:
    """A bar for each purpose. Shares are in tenths of a per cent."""
    told = [f"{name} {tenths_percent(value)}" for name, value in tenths.items()]
    wide, narrow = (svg(_shares(tenths, width)) for width, _ in (_WIDE, _NARROW))
    return Picture("budget.svg", f"Shares of the budget: {', '.join(told)}.", wide, narrow)


@style()
def _effects(effects: Sequence[Coefficient], axis: str, width: float, letters: int) -> "Figure":
    figure, ax = _bars(len(effects), width)
    draw_effects(ax, effects, axis, letters)
    ax.xaxis.get_major_locator().set_params(nbins=4 if width < _WIDE[0] else 8)
    return figure


def draw_effects(ax: Any, effects: Sequence[Coefficient], axis: str, letters: int = _WIDE[1]) -> None:
    """On axes that there are. `effects` are as `largest` gives them."""
    _name_rows(ax, [shortened(e.feature, letters) for e in effects])
    values = [e.value or 0.0 for e in effects]
    ax.barh(range(len(values)), values, 0.66, color=[_DOWN if v < 0 else _UP for v in values])
    for i, effect in enumerate(effects):
        if effect.low is not None and effect.high is not None:
            ax.plot([effect.low, effect.high], [i, i], color=INK, linewidth=1.3, marker="|", markersize=6)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xlabel(axis).set_parse_math(False)  # a $ in a name is a $


@style()
def _shares(tenths: dict[str, int], width: float) -> "Figure":
    figure, ax = _bars(len(tenths), width)
    _name_rows(ax, list(tenths))
    bars = ax.barh(range(len(tenths)), list(tenths.values()), 0.66, color=_UP)
    ax.bar_label(bars, list(map(tenths_percent, tenths.values())), padding=3)
    ax.set_xlim(0, 1.22 * max(tenths.values()))
    ax.set_xticks([])
    ax.spines.bottom.set_visible(False)
    return figure


def _bars(rows: int, width: float) -> tuple["Figure", Any]:
    """Axes of a size for so many rows."""
    from matplotlib.figure import Figure

    figure = Figure((width, height(rows)), layout="constrained")
    return figure, figure.subplots()


def height(rows: int) -> float:
    """Inches for so many bars."""
    return _ROW * rows + 0.8


def _name_rows(ax: Any, names: list[str]) -> None:
    """A row for each name, from the top."""
    ax.set_yticks(range(len(names)), names)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)  # of no rows, too
    ax.tick_params(axis="y", length=0)
    ax.spines.left.set_visible(False)


def _interval(effect: Coefficient) -> str:
    if effect.low is None or effect.high is None:
        return ""
    return f" ({number(effect.low, 3)} to {number(effect.high, 3)})"
