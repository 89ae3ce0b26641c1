"""Draws the diagrams of the documentation: the steps of a fit, the layers of NIST SP 800-226, and the package's rooms.

pictures.py writes them. What stands in them is checked against the pages by tests/docs/test_drawings.py.
"""

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from privreg._theme import LIGHT

ARCHITECTURE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
POINT = 0.75  # of a pixel
Words = dict[str, Any]


def _canvas(width: int, height: int) -> tuple[Figure, Any]:
    """A figure of so many pixels, measured from the top left."""
    figure = Figure((width / 96, height / 96))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    return figure, axes


def _box(axes: Any, x: float, y: float, width: float, height: float, face: str, edge: str = "line") -> None:
    colours: dict[str, Any] = {"facecolor": LIGHT[face], "edgecolor": LIGHT[edge], "linewidth": 1}
    axes.add_patch(FancyBboxPatch((x, y), width, height, "round,pad=0,rounding_size=5", **colours))


def _text(axes: Any, x: float, y: float, text: str, pixels: float = 13.5, colour: str = "ink", **more: Any) -> None:
    axes.text(x, y, text, fontsize=pixels * POINT, color=LIGHT[colour], va="center", **more)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    look = {"arrowstyle": "-|>", "color": LIGHT[colour], "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look)


# ---- the steps of a fit


def step_words() -> Words:
    return {
        "steps": {
            "read": "what columns hold",
            "count": "how many records",
            "scale": "middle and spread",
            "choose": "which columns to use",
            "regress": "how they vary together",
            "check": "how well it fits",
        },
        "released": ["coefficients", "errors, intervals", "R²", "the schema", "the receipt"],
    }


def draw_steps(words: Words) -> Figure:
    """Table → noisy questions → model, with a line before what is released."""
    figure, axes = _canvas(580, 318)
    top, row = 52, 40
    bottom = top + row * len(words["steps"]) - 8
    _text(axes, 60, 26, "Your table", ha="center", fontweight="bold")
    _text(axes, 262, 26, "Six questions, noisy answers", ha="center", fontweight="bold")
    _text(axes, 514, 26, "Released", ha="center", fontweight="bold", colour="series1")
    _draw_table(axes, 12, top, 96, bottom - top)
    line = 424
    for i, (step, what) in enumerate(words["steps"].items()):
        y = top + row * i
        _box(axes, 138, y, 250, 32, "shade")
        _text(axes, 148, y + 16, f"{i + 1} {step}", fontweight="bold")
        _text(axes, 228, y + 16, what, 12.5, "soft")
        _arrow(axes, (108, y + 16), (137, y + 16), "series6")
        _arrow(axes, (388, y + 16), (457, y + 16), "series1")
    axes.plot([line, line], [12, bottom + 6], color=LIGHT["series2"], linewidth=1.8, linestyle=(0, (4, 3)))
    _box(axes, 458, top, 114, bottom - top, "shade", "series1")
    _text(axes, 515, top + 24, "The model", ha="center", fontweight="bold")
    for i, what in enumerate(words["released"]):
        _text(axes, 515, top + 68 + 32 * i, what, 12.5, "soft", ha="center")
    note = "Of the records, only noisy answers cross this line."
    _text(axes, line, bottom + 22, note, 12.5, "series2", ha="right")
    return figure


def _draw_table(axes: Any, x: float, y: float, width: float, height: float) -> None:
    """Rows and columns, as one draws a table."""
    rows, columns = 9, 3
    axes.add_patch(Rectangle((x, y), width, height, facecolor="none", edgecolor=LIGHT["series6"], linewidth=1.2))
    axes.add_patch(Rectangle((x, y), width, height / rows, facecolor=LIGHT["series6"], edgecolor="none"))
    for i in range(1, rows):
        axes.plot([x, x + width], [y + i * height / rows] * 2, color=LIGHT["line"], linewidth=1)
    for j in range(1, columns):
        axes.plot([x + j * width / columns] * 2, [y, y + height], color=LIGHT["line"], linewidth=1)


# ---- the layers of NIST SP 800-226


OWNERS = {"privreg does it": "series1", "shared": "series4", "yours": "series2"}


def layer_words() -> Words:
    """From the top to the bottom: whose task a layer is, and what the task is."""
    return {
        "Privacy parameters": ["shared", "you set them, privreg keeps to them"],
        "Unit of privacy": ["shared", "you name it, privreg protects it"],
        "Bias": ["shared", "privreg says what it left out; you judge"],
        "Utility": ["shared", "privreg measures it; you decide"],
        "Algorithms and correctness": ["privreg does it", "proofs, exact tests, audits"],
        "Side channels and implementation": ["shared", "arithmetic: privreg; timing: you"],
        "Trust model": ["yours", "whoever runs a fit sees the data"],
        "Data security and access control": ["yours", "accounts, encryption, backups"],
        "Data collection exposure": ["yours", "collect no more than needed"],
    }


def draw_layers(words: Words) -> Figure:
    """A pyramid of steps, with what is to do at each."""
    figure, axes = _canvas(560, 376)
    row = 36
    for i, (layer, (owner, what)) in enumerate(words.items()):
        width, y = 196 + 12.5 * i, 10 + row * i
        _box(axes, 156 - width / 2, y, width, row - 4, OWNERS[owner], OWNERS[owner])
        _text(axes, 156, y + row / 2 - 2, layer, 12.5, "paper", ha="center", fontweight="bold")
        _text(axes, 318, y + row / 2 - 2, what, 12.5)
    for i, (owner, colour) in enumerate(OWNERS.items()):
        x = 12 + 150 * i
        _box(axes, x, 346, 16, 16, colour, colour)
        _text(axes, x + 24, 354, owner, 13)
    return figure


# ---- the rooms of the package


ROOMS = (  # from the top to the bottom; a colour for each storey
    ("series1", {"cli": "parses, checks, calls the public API, prints"}),
    ("series1", {"paper": "25 data sets, runner, tables", "report": "the HTML page of a fit"}),
    ("series3", {"estimators": "one file for each public class; reading; the phases of a fit"}),
    ("series4", {"results": "release, model file", "engines": "where records are", "mechanisms": "private primitives"}),
    ("series4", {"data": "from cells to features", "privacy": "events, account, noise, receipt, ledger"}),
    ("series6", {"kernels": "exact integers in compiled code, nothing private"}),
)
GROUND = "_types  ·  _format  ·  _json  ·  _isolation  ·  errors"


def rooms_of_the_page() -> list[str]:
    """The rooms that docs/architecture.md lists."""
    table = ARCHITECTURE.read_text().partition("## The rooms")[2].partition("## ")[0]
    return re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)


def room_words() -> Words:
    return {name: what for _, storey in ROOMS for name, what in storey.items()}


def draw_house(words: Words) -> Figure:
    """Storeys of rooms; privacy, where noise is drawn, stands out."""
    figure, axes = _canvas(560, 460)
    height, left, whole = 50, 10, 540
    for i, (colour, storey) in enumerate(ROOMS):
        parts = [1.0] * len(storey) if "privacy" not in storey else [0.7, 1.3]
        width = (whole - 10 * (len(storey) - 1)) / len(storey)
        x, y = float(left), 10 + (height + 10) * i
        for part, name in zip(parts, storey, strict=True):
            here = "series2" if name == "privacy" else colour
            _box(axes, x, y, part * width, height, "shade", here)
            axes.add_patch(Rectangle((x, y + 6), 4, height - 12, facecolor=LIGHT[here], edgecolor="none"))
            _text(axes, x + 14, y + 17, name, 14, here, fontweight="bold")
            _text(axes, x + 14, y + 35, words[name], 12)
            x += part * width + 10
    y = 10 + (height + 10) * len(ROOMS)
    axes.plot([left, left + whole], [y + 2] * 2, color=LIGHT["soft"], linewidth=2)
    _text(axes, left + 14, y + 20, GROUND, 12.5, "soft")
    _text(axes, left, y + 50, "A room imports only from rooms below it.", 12.5)
    _text(axes, left, y + 70, "Noise is drawn in privacy and nowhere else.", 12.5, "series2")
    return figure
