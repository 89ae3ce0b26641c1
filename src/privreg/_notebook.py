"""What a notebook shows: cards in the colours of the theme. No script, nothing from outside, every text escaped.

A card is a `div` with its own style, which applies to nothing else. It is light or dark like the reader's system, or
as JupyterLab, VS Code, Colab or the documentation are set. Where styles are removed, as on code hosts, plain
tables and paragraphs remain.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Literal, NewType

from privreg._format import one_line, shown
from privreg._theme import DARK, LIGHT, SANS, variables

Html = NewType("Html", str)  # only functions of this module make it
Tone = Literal["good", "care", "bad", "soft"]
MOST_ROWS = 30  # of a table; the rest is folded up
SHORT = 24  # letters of a cell that stay in one line
MOST_LETTERS = 2_000  # of a sentence, which may come from a file


@dataclass(frozen=True)
class Part:
    """A cell with a bar: `part` is between 0 and 1."""

    text: str
    part: float


Cell = str | Part


def card(title: str, *parts: Html, badge: tuple[Tone, str] | None = None) -> str:
    """A card with its style: all that `_repr_html_` returns."""
    mark = "" if badge is None else f' <span class="privreg-badge privreg-{badge[0]}">{_text(badge[1])}</span>'
    head = f'<div class="privreg-head"><strong>{name(title)}</strong>{mark}</div>'
    return f'<div class="privreg"><style>{_style()}</style>{head}{"".join(parts)}</div>'


def lead(text: str) -> Html:
    """The sentence that comes first."""
    return Html(f'<p class="privreg-lead">{_text(text)}</p>')


def note(text: str) -> Html:
    """A sentence that helps to read what is above it."""
    return Html(f'<p class="privreg-note">{_text(text)}</p>')


def caution(text: str, tone: Tone = "care") -> Html:
    """A sentence that must not be overlooked."""
    return Html(f'<p class="privreg-caution privreg-{tone}"><span>{_text(text)}</span></p>')


def facts(pairs: Iterable[tuple[str, str | None]]) -> Html:
    """Names and what they are. Those that are None are left out."""
    found = (f"<tr><th>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in pairs if v is not None)
    body = "".join(found)
    return Html(f'<div class="privreg-scroll"><table class="privreg-facts"><tbody>{body}</tbody></table></div>')


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], *, left: int = 1, title: str = "") -> Html:
    """A table in a box of its own, which scrolls. The first `left` columns are text, all others numbers."""
    if not rows:
        return Html("")
    label = title or head[0]
    first = _table(head, rows[:MOST_ROWS], left, label)
    if len(rows) <= MOST_ROWS:
        return first
    rest = _table(head, rows[MOST_ROWS:], left, f"{label}, continued")
    return Html(first + folded(f"{len(rows) - MOST_ROWS:,} more", rest))


def folded(title: str, *parts: Html) -> Html:
    """What is seen after a click. Nothing if there is nothing to see."""
    inside = "".join(parts)
    return Html(f"<details><summary>{_text(title)}</summary>{inside}</details>" if inside else "")


def name(text: str) -> Html:
    """A name, of which no letter changes the order of its neighbours. It breaks between its words, if it must."""
    return Html(f"<bdi>{re.sub(r'(?<=[_=])(?=[^_=])', '<wbr>', escape(shown(text)))}</bdi>")


def _text(text: str) -> str:
    """Escaped. δ = 1e-6 stays in one line, which browsers would break behind its hyphen."""
    cut = text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
    return re.sub(r"[εδ] = [\d.,e+-]{1,20}", r'<span class="privreg-whole">\g<0></span>', escape(one_line(cut)))


def _table(head: Sequence[str], rows: Sequence[Sequence[Cell]], left: int, label: str) -> Html:
    titles = "".join(f'<th scope="col"{_side(i, left)}>{_text(text)}</th>' for i, text in enumerate(head))
    body = "".join(f"<tr>{''.join(_cell(cell, i, left) for i, cell in enumerate(row))}</tr>" for row in rows)
    return Html(
        f'<div class="privreg-scroll" tabindex="0" role="group" aria-label="{escape(shown(label))}">'
        f'<table class="privreg-table"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(cell: Cell, place: int, left: int) -> str:
    if isinstance(cell, Part):
        width = 100 * min(max(cell.part, 0.0), 1.0)
        bar = f'<span class="privreg-bar"><span style="width:{width:.1f}%"></span></span>'
        return f"<td{_side(place, left)}>{_text(cell.text)}{bar}</td>"
    if place == 0 and left:
        return f'<th scope="row">{name(cell)}</th>'
    side = ' class="privreg-long"' if place < left and len(cell) > SHORT else _side(place, left)
    return f"<td{side}>{_text(cell)}</td>"


def _side(place: int, left: int) -> str:
    return "" if place < left else ' class="privreg-number"'


_DARK = '[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast", '[data-theme="dark"]', "[theme=dark]"
_LIGHT = '[data-jp-theme-light="true"]', ".vscode-light", ".vscode-high-contrast-light", '[data-theme="light"]'
# Rules name the element too, to be stronger than what notebooks have for every table and paragraph.
_RULES = """
.privreg, .privreg * { box-sizing: border-box; }
.privreg { font: 14px/1.45 SANS; color: var(--ink); background: var(--paper); border: 1px solid var(--line);
 border-radius: 6px; padding: 12px 16px; margin: 4px 0; max-width: 54rem; text-align: left; overflow-wrap: anywhere; }
.privreg .privreg-head { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; font-size: 16px; }
.privreg .privreg-head strong { font-weight: 600; min-width: 0; }
.privreg span.privreg-badge { font-size: 12px; font-weight: 600; line-height: 1.3; padding: 2px 8px;
 border: 1px solid currentColor; border-radius: 999px; background: var(--shade); }
.privreg .privreg-good { color: var(--good); } .privreg .privreg-care { color: var(--care); }
.privreg .privreg-bad { color: var(--bad); } .privreg .privreg-soft { color: var(--soft); }
.privreg p.privreg-lead, .privreg p.privreg-note, .privreg p.privreg-caution { margin: 6px 0; padding: 0;
 font-size: 14px; line-height: 1.45; max-width: 46rem; }
.privreg p.privreg-note { color: var(--soft); font-size: 13px; }
.privreg p.privreg-caution { border-left: 3px solid currentColor; padding-left: 10px; }
.privreg p.privreg-caution > span { color: var(--ink); }
.privreg .privreg-whole { white-space: nowrap; }
.privreg div.privreg-scroll { overflow-x: auto; max-width: 100%; margin: 8px 0; }
.privreg div.privreg-scroll table { border-collapse: collapse; border: 0; margin: 0; width: auto; min-width: 0;
 max-width: none; table-layout: auto; font-size: 13px; line-height: 1.4; color: var(--ink); background: none;
 display: table; font-variant-numeric: tabular-nums; }
.privreg div.privreg-scroll table tr:nth-child(n) { background: none; border: 0; }
.privreg div.privreg-scroll table tr > :nth-child(n) { padding: 4px 18px 4px 0; border: 0; vertical-align: top;
 background: none; color: inherit; text-align: left; font-weight: 400; line-height: 1.4; white-space: normal;
 min-width: 0; max-width: 26rem; overflow-wrap: anywhere; }
.privreg div.privreg-scroll table tr > :last-child { padding-right: 0; }
.privreg div.privreg-scroll table.privreg-table thead th:nth-child(n) { color: var(--soft); vertical-align: bottom;
 border-bottom: 1px solid var(--line); overflow-wrap: normal; }
.privreg div.privreg-scroll table.privreg-table tbody tr > :nth-child(n) { border-bottom: 1px solid var(--line); }
.privreg div.privreg-scroll table.privreg-table tr:nth-child(n) > td { white-space: nowrap; }
.privreg div.privreg-scroll table.privreg-table tr:nth-child(n) > .privreg-number { text-align: right; }
.privreg div.privreg-scroll table.privreg-table tr:nth-child(n) > .privreg-long { white-space: normal;
 min-width: 12rem; }
.privreg div.privreg-scroll table.privreg-table tbody tr > th:nth-child(n) { min-width: 7rem; }
.privreg div.privreg-scroll table.privreg-facts tr > th:nth-child(n) { color: var(--soft); white-space: nowrap; }
.privreg div.privreg-scroll table.privreg-facts tr > td:nth-child(n) { max-width: 40rem; }
.privreg span.privreg-bar { display: block; width: 100%; min-width: 5rem; height: 4px; margin-top: 3px;
 border-radius: 2px; background: var(--line); overflow: hidden; }
.privreg span.privreg-bar > span { display: block; height: 100%; background: var(--series1); }
.privreg details { margin: 6px 0; }
.privreg summary { cursor: pointer; color: var(--accent); font-size: 13px; }
.privreg summary:focus-visible, .privreg div.privreg-scroll:focus-visible { outline: 2px solid var(--accent);
 outline-offset: 2px; }
@media (max-width: 500px) {
 .privreg { padding: 10px 12px; }
 .privreg div.privreg-scroll table tr > :not(:last-child) { padding-right: 10px; }
 .privreg div.privreg-scroll table.privreg-table tbody tr > th:nth-child(n) { min-width: 6rem; }
}
"""


@cache
def _style() -> str:
    """Dark on screens only: on paper every card is light."""
    light = f"{variables(LIGHT)} color-scheme: light;"
    dark = f"{variables(DARK)} color-scheme: dark;"
    told = [", ".join(f"{place} .privreg" for place in places) for places in (_DARK, _LIGHT)]
    themes = (
        f".privreg {{ {light} }}\n"
        f"@media screen {{ @media (prefers-color-scheme: dark) {{ .privreg {{ {dark} }} }}\n"
        f"{told[0]} {{ {dark} }} {told[1]} {{ {light} }} }}"
    )
    return (themes + _RULES.replace("SANS", SANS)).replace("\n ", " ")
