"""A report as one HTML page that needs nothing else: no network, no other file."""

import re
from base64 import b64encode
from html import escape
from importlib.resources import files

from privreg._format import tenths_percent
from privreg._theme import SERIES, root_style
from privreg.report.document import (
    Banner,
    Bar,
    Code,
    Content,
    Data,
    Document,
    Fact,
    Facts,
    Fold,
    Grid,
    Items,
    Picture,
    Share,
    TableCell,
)

NARROW = 760  # pixels up to which a screen gets the narrow version of a picture

_PURPOSES = ("Coefficients", "Columns", "Target", "Choosing", "Reading", "Errors", "Counting")
_COLOURS = dict(zip(_PURPOSES, SERIES, strict=True))

# What stays on one line: "δ = 1e-6", "95 %", and options of the command, which are set as code.
_WHOLE = re.compile(r"[εδ] = \d[\d.,]*(?:e-?\d+)?|\d[\d.,]* %")
_FLAG = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")

PRINTED = 30  # rows of a table, as in page.css
_PRINTED = f"Only the first {PRINTED} rows are printed; the file has all of them."

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body{kind}>
<main>
<header>
<h1>{title}</h1>
<p class="lead">{lead}</p>
</header>
{banner}<nav aria-label="Contents"><ul>
{contents}
</ul></nav>
{sections}
</main>
<script>{script}</script>
</body>
</html>
"""


def page(document: Document, *, wide: bool = False) -> str:
    """The whole page. A `wide` one has room for tables of many columns."""
    titles = [escape(section.title) for section in document.sections]
    bodies = ["\n".join(map(_block, section.blocks)) for section in document.sections]
    sections = [
        f'<section id="s{i}">\n<h2>{title}</h2>\n{body}\n</section>'
        for i, (title, body) in enumerate(zip(titles, bodies, strict=True), 1)
    ]
    return _PAGE.format(
        title=escape(document.title),
        lead=escape(document.lead),
        kind=' class="wide"' if wide else "",
        banner=banner(document.banner) + "\n" if document.banner else "",
        contents="\n".join(f'<li><a href="#s{i}">{title}</a></li>' for i, title in enumerate(titles, 1)),
        sections="\n".join(sections),
        style=root_style() + _file("page.css"),
        script=_file("page.js"),
    )


def table(grid: Grid) -> str:
    """A table that is sorted by a click on a column's name."""
    columns = [[row[i].order for row in grid.rows if i < len(row)] for i in range(len(grid.head))]
    numeric = [i > 0 and any(isinstance(order, float | int) for order in orders) for i, orders in enumerate(columns)]
    head = "".join(map(_head, grid.head, numeric))
    body = "\n".join(_row(row, numeric) for row in grid.rows)
    label = escape(grid.title or grid.head[0])
    kind = f' class="hide {" ".join(f"hide{i + 1}" for i in grid.extra)}"' if grid.extra else ""
    return (
        (f"<h3>{label}</h3>\n" if grid.title else "")
        + f'<div class="scroll" tabindex="0" role="group" aria-label="{label}">'
        + f"<table{kind}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        + (f'\n<p class="note{" long" * bool(grid.extra)}">{escape(grid.note)}</p>' if grid.note else "")
        + (f'\n<p class="note print">{_PRINTED}</p>' if len(grid.rows) > PRINTED else "")
    )


def picture(chart: Picture) -> str:
    """A chart inside the page, in the version that suits the screen."""
    wide, narrow = (f"data:image/svg+xml;base64,{b64encode(svg).decode()}" for svg in (chart.wide, chart.narrow))
    return (
        f'<figure><picture><source media="screen and (max-width: {NARROW}px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{escape(chart.alt)}"></picture></figure>'
    )


def banner(block: Banner) -> str:
    """The verdict in a box, with the facts that it rests on."""
    facts = "\n".join(map(_fact, block.facts))
    return (
        f'<section class="banner {escape(block.state)}" aria-label="Verdict">\n'
        f"<p><strong>{escape(block.word)}</strong> {_text(block.text)}</p>\n"
        f"<dl>\n{facts}\n</dl>\n{_items(block.reasons)}</section>"
    )


def _fact(fact: Fact) -> str:
    meaning = f"<small>{_text(fact.meaning)}</small>" if fact.meaning else ""
    return f"<div><dt>{escape(fact.name)}</dt><dd>{_text(fact.value)}{meaning}</dd></div>"


def bar(block: Bar) -> str:
    """One bar; below it what each part of it is."""
    told = ", ".join(f"{share.name} {tenths_percent(share.tenths)}" for share in block.shares)
    parts = "".join(
        f'<i style="flex-grow: {share.tenths}; background: var(--{colour})"></i>' for share, colour in _coloured(block)
    )
    keys = "\n".join(_key(share, colour) for share, colour in _coloured(block))
    return (
        f'<figure><div class="bar" role="img" aria-label="{escape(block.title)}: {escape(told)}">{parts}</div>\n'
        f'<table class="keys"><tbody>\n{keys}\n</tbody></table></figure>'
    )


def _coloured(block: Bar) -> list[tuple[Share, str]]:
    """Each purpose has its own colour, the same on every page; one that is not known has that of the last."""
    return [(share, _COLOURS.get(share.name, SERIES[-1])) for share in block.shares]


def _key(share: Share, colour: str) -> str:
    swatch = f'<i style="background: var(--{colour})"></i>'
    steps = "1 step" if share.steps == 1 else f"{share.steps:,} steps"
    return (
        f'<tr><th scope="row">{swatch}{escape(share.name)}</th><td>{escape(share.meaning)}</td>'
        f'<td class="number">{steps}</td><td class="number">{tenths_percent(share.tenths)}</td></tr>'
    )


def _block(block: Content) -> str:
    if isinstance(block, Grid):
        return table(block)
    if isinstance(block, Picture):
        return picture(block)
    if isinstance(block, Banner):
        return banner(block)
    if isinstance(block, Bar):
        return bar(block)
    if isinstance(block, Fold):
        inner = "\n".join(map(_block, block.blocks))
        return f"<details><summary>{escape(block.title)}</summary>\n{inner}\n</details>"
    if isinstance(block, Data):  # without < nothing in it can end the element
        data = block.text.replace("<", "\\u003c")
        return f'<script type="application/json" id="{escape(block.name)}">{data}</script>'
    if isinstance(block, Code):
        return _code(block.text)
    if isinstance(block, Facts):
        pairs = (f"<div><dt>{escape(name)}</dt><dd>{_text(text)}</dd></div>" for name, text in block.pairs)
        return '<dl class="facts">\n' + "\n".join(pairs) + "\n</dl>"
    if isinstance(block, Items):
        return _items(block.texts)
    return f"<p>{_text(block)}</p>"


def _text(text: str) -> str:
    """A sentence, escaped."""
    whole = _WHOLE.sub(r'<span class="whole">\g<0></span>', escape(text))
    return _FLAG.sub(r'<code class="whole">\g<0></code>', whole)


def _items(texts: list[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{_text(text)}</li>" for text in texts) + "\n</ul>\n" if texts else ""


def _code(text: str) -> str:
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _head(name: str, number: bool) -> str:
    kind = ' class="number"' if number else ""
    return f'<th scope="col" aria-sort="none"{kind}><button type="button">{_breakable(name)}</button></th>'


def _row(entries: list[TableCell], numeric: list[bool]) -> str:
    first, *others = entries
    label = f'<th scope="row"{_order(first)}>{_breakable(first.text)}{_details(first)}</th>'
    return f"<tr>{label}{''.join(map(_cell, others, numeric[1:]))}</tr>"


def _cell(entry: TableCell, number: bool) -> str:
    kinds = {"span": entry.span > 1, "number": number and entry.span == 1, "best": entry.bold, "flag": entry.flag}
    attributes = {
        "class": " ".join(name for name, holds in kinds.items() if holds),
        "colspan": str(entry.span) if entry.span > 1 else "",
        "title": entry.title,
    }
    written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
    tag = "strong" if entry.bold else "span"
    return f"<td{written}{_order(entry)}><{tag}>{escape(entry.text)}</{tag}>{_details(entry)}</td>"


def _order(entry: TableCell) -> str:
    """What the script sorts by."""
    if entry.order is None:
        return ""
    if isinstance(entry.order, str):
        return f' data-text="{escape(entry.order)}"'
    return f' data-number="{str(entry.order).replace("inf", "Infinity")}"'  # as JavaScript writes it


def _details(entry: TableCell) -> str:
    return "".join(f"<small>{escape(line)}</small>" for line in entry.detail)


def _breakable(text: str) -> str:
    """A name that may be broken between its words: after _ and =, and before a capital letter."""
    return re.sub(r"(?<=[_=])(?=.)|(?<=[a-z])(?=[A-Z])", "<wbr>", escape(text))


def _file(name: str) -> str:
    return files("privreg.report").joinpath(name).read_text("utf-8")
