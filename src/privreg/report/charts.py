"""How every chart looks and becomes a file; and the chart of a model: what its features do to the prediction."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, isfinite
from textwrap import fill
from typing import TYPE_CHECKING, Any

from privreg._format import number, shortened, shown
from privreg._theme import LIGHT, SANS, SERIES, follow_the_reader, outside_text
from privreg.report.document import Picture
from privreg.results.release import Coefficient

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20  # bars
LARGEST = 1e100  # beyond, there is nothing to draw
INK = LIGHT["ink"]
_WIDE, _NARROW = (8.4, 44), (3.3, 16)  # inches, and letters of a name; the narrow one fits a phone
_ROW = 0.3  # inches


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
                "savefig.transparent": True,
                "text.color": INK,
                "axes.labelcolor": INK,
                "axes.titlecolor": INK,
                "axes.edgecolor": LIGHT["soft"],
                "xtick.color": LIGHT["soft"],
                "ytick.color": LIGHT["soft"],
                "xtick.labelcolor": INK,
                "ytick.labelcolor": INK,
                "grid.color": LIGHT["line"],
                "axes.prop_cycle": f"cycler(color={[LIGHT[name] for name in SERIES]})",
            }
        )
        yield


@style()
def svg(figure: "Figure") -> bytes:
    """The file, in the colours of the page that shows it: light or dark, if the chart is drawn in colours of `LIGHT`.

    Letters are drawn by the browser, so one that matplotlib's font lacks is nothing to warn of.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        drawn = _file(figure, format="svg", metadata={"Date": None}).decode()
    return follow_the_reader(outside_text(drawn, r"'DejaVu Sans'[^;\"]*", lambda _: SANS.replace('"', "'"))).encode()


@style()
def png(figure: "Figure") -> bytes:
    return _file(figure, format="png", dpi=150, transparent=False)


def _file(figure: "Figure", **options: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, **options)
    return out.getvalue()


def largest(effects: Sequence[Coefficient]) -> list[Coefficient]:
    """Those to draw, the largest first. What is not determined has no size."""
    known = [(abs(e.value), e) for e in effects if e.value is not None and isfinite(e.value)]
    drawable = [(size, e) for size, e in known if all(v is None or abs(v) < LARGEST for v in (size, e.low, e.high))]
    return [e for _, e in sorted(drawable, key=lambda pair: -pair[0])][:MOST]


def effects_picture(effects: Sequence[Coefficient], axis: str) -> Picture:
    """A dot for each feature, with its interval. `effects` are as `largest` gives them; see `draw_effects`."""
    told = [f"{_row_name(e)} {number(e.value or 0.0, 3)}{_interval(e)}" for e in effects]
    wide, narrow = (svg(_effects(effects, axis, *size)) for size in (_WIDE, _NARROW))
    return Picture("effects.svg", f"{axis[:1].upper()}{axis[1:]}: {'; '.join(told)}.", wide, narrow)


@style()
def _effects(effects: Sequence[Coefficient], axis: str, width: float, letters: int) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure((width, height(effects)), layout="constrained")
    ax = figure.subplots()
    draw_effects(ax, effects, axis, letters=letters)
    ax.locator_params(axis="x", nbins=4 if width < _WIDE[0] else 8)
    return figure


def draw_effects(ax: Any, effects: Sequence[Coefficient], axis: str, *, letters: int = _WIDE[1]) -> None:
    """On axes that there are. `effects` are as `largest` gives them.

    Numbers stand above levels, each under its own heading. A dot is hollow if its interval has 0.
    """
    rows = _rows(effects, letters)
    colour, size = LIGHT["series1"], 7 if letters > 30 else 5.5
    for i, effect in enumerate(rows):
        if isinstance(effect, str):
            continue
        value, certain = effect.value or 0.0, True
        if effect.low is not None and effect.high is not None:
            ax.plot([effect.low, effect.high], [i, i], color=colour, linewidth=2, solid_capstyle="round")
            certain = effect.low > 0 or effect.high < 0
        ax.plot([value], [i], "o", color=colour, markersize=size, markeredgewidth=1.6, zorder=3)
        if not certain:
            ax.plot([value], [i], "o", color=LIGHT["paper"], markersize=size - 2.2, markeredgewidth=0, zorder=4)
    ax.axvline(0, color=LIGHT["soft"], linewidth=1, zorder=0)
    ax.xaxis.set_major_formatter(lambda value, _: number(value))
    ax.grid(axis="x", linewidth=0.6)
    ax.set_axisbelow(True)
    _name_rows(ax, _row_names(rows, letters), rows)
    ax.set_xlabel(axis if letters == _WIDE[1] else fill(axis, 44)).set_parse_math(False)  # a $ in a name is a $


def height(effects: Sequence[Coefficient]) -> float:
    """Inches for so many rows."""
    return _ROW * len(_rows(effects, 0)) + 0.8


def _rows(effects: Sequence[Coefficient], letters: int) -> list[Coefficient | str]:
    """Effects, and headings for them."""
    numbers, levels = (
        ("per standard deviation", "against the reference level") if letters > 30 else ("per SD", "vs reference")
    )
    groups = {numbers: [e for e in effects if not e.level], levels: [e for e in effects if e.level]}
    rows: list[Coefficient | str] = []
    for heading, group in groups.items():
        rows += [heading, *group] if group else []
    return rows


def _row_names(rows: Sequence[Coefficient | str], letters: int) -> list[str]:
    """Names of so many letters; longer ones, on up to three lines, where they would look alike."""
    for longest in range(letters, 3 * letters + 1):
        names = [row if isinstance(row, str) else _row_name(row, longest) for row in rows]
        if len(set(names)) == len(names):
            break
    return [_on_lines(name, ceil(len(name) / letters)) for name in names]


def _on_lines(name: str, lines: int) -> str:
    """A name in lines of the same length."""
    letters = ceil(len(name) / max(lines, 1)) or 1
    return "\n".join(name[i : i + letters] for i in range(0, len(name), letters))


def _row_name(effect: Coefficient, letters: int = 200) -> str:
    """A level with what it is compared with, if there is room for that."""
    long = f"{shown(effect.feature)} (vs {shown(effect.reference)})" if effect.reference is not None else ""
    return long if long and len(long) <= letters else shortened(effect.feature, letters)


def _name_rows(ax: Any, names: list[str], rows: Sequence[Coefficient | str]) -> None:
    """A row for each name, from the top; headings are bold."""
    ax.set_yticks(range(len(names)), names)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_parse_math(False)
        label.set_fontweight("bold" if isinstance(row, str) else "normal")
        if lines := label.get_text().count("\n"):
            label.set(fontsize=8 if lines == 1 else 6.5, linespacing=0.95)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)  # of no rows, too
    ax.tick_params(axis="y", length=0)
    ax.spines.left.set_visible(False)


def _interval(effect: Coefficient) -> str:
    if effect.low is None or effect.high is None:
        return ""
    return f" ({number(effect.low, 3)} to {number(effect.high, 3)})"
