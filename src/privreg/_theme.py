"""Colours and type, chosen once for everything that people look at: reports, charts, notebooks and the documentation.

Every colour has a name and two values, for light and for dark. Text in any of the named colours can be read on
`paper` and on `shade` (contrast of at least 4.5, tested).
"""

import re
from collections.abc import Callable

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1d2229",
    "soft": "#555e69",
    "line": "#d3d9e0",
    "shade": "#f3f6f8",
    "accent": "#0a5ca8",
    "good": "#17744a",
    "care": "#855600",
    "bad": "#b3261c",
    "series1": "#2a6bb1",
    "series2": "#b54d14",
    "series3": "#0b7577",
    "series4": "#7758a6",
    "series5": "#86630b",
    "series6": "#626a77",
    "series7": "#b3427a",
}
DARK = {
    "paper": "#14181d",
    "ink": "#e7e9ec",
    "soft": "#a5aeb9",
    "line": "#3a424c",
    "shade": "#1f252c",
    "accent": "#80b8f1",
    "good": "#5fc892",
    "care": "#e2b553",
    "bad": "#ff9d93",
    "series1": "#6ea8e6",
    "series2": "#f09a5c",
    "series3": "#4fc0c2",
    "series4": "#b59ce0",
    "series5": "#d9b24a",
    "series6": "#9aa3b0",
    "series7": "#e889b5",
}
SERIES = [name for name in LIGHT if name.startswith("series")]
SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'


def variables(colours: dict[str, str]) -> str:
    """The colours as custom properties of a style sheet."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


def root_style(root: str = ":root") -> str:
    """Light, or dark where the reader's system is. On paper always light."""
    return (
        f"{root} {{ color-scheme: light dark; --sans: {SANS}; --mono: {MONO}; {variables(LIGHT)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ {root} {{ {variables(DARK)} }} }}\n"
    )


def outside_text(svg: str, pattern: str, new: Callable[[re.Match[str]], str]) -> str:
    """A chart with what matches replaced in tags and style sheets. Text is left alone: it has names from the data.

    A < or > that is text is escaped in a chart, so that these only begin and end tags.
    """
    markup = r"<style\b[^<>]*>[^<]*</style>|<[^<>]*>"
    return re.sub(markup, lambda found: re.sub(pattern, new, found.group()), svg)


def follow_the_reader(svg: str) -> str:
    """A chart drawn in the light colours, as one that turns dark with the page that shows it."""
    names = {value: f"var(--{name})" for name, value in LIGHT.items()}
    svg = outside_text(svg, "|".join(LIGHT.values()), lambda found: names[found.group()])
    start = svg.index(">", svg.index("<svg")) + 1
    return f"{svg[:start]}\n<style>{root_style('svg')}</style>{svg[start:]}"
