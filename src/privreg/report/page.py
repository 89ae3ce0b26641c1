"""A report as one HTML page that needs nothing else: no network, no other file."""

import re
from base64 import b64encode
from html import escape
from importlib.resources import files

from privreg.report.document import Box, Code, Content, Document, Facts, Grid, Items, Picture, Record, TableCell

NARROW = 760  # pixels up to which a screen gets the narrow version of a picture

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
<body>
<main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
{notice}<nav aria-label="Contents"><ul>
{contents}
</ul></nav>
{sections}
</main>
<script>{script}</script>
</body>
</html>
"""


def page(document: Document, *styles: str) -> str:
    """The whole page. `styles` are further style sheets of this folder."""
    titles = [escape(section.title) for section in document.sections]
    bodies = ["\n".join(map(_block, section.blocks)) for section in document.sections]
    sections = [
        f'<section id="s{i}">\n<h2>{title}</h2>\n{body}\n</section>'
        for i, (title, body) in enumerate(zip(titles, bodies, strict=True), 1)
    ]
    return _PAGE.format(
        title=escape(document.title),
        lead=escape(document.lead),
        notice=box(document.notice) + "\n" if document.notice else "",
        contents="\n".join(f'<li><a href="#s{i}">{title}</a></li>' for i, title in enumerate(titles, 1)),
        sections="\n".join(sections),
        style="".join(map(_file, ("page.css", *styles))),
        script=_file("page.js"),
    )


def table(grid: Grid) -> str:
    """A table that is sorted by a click on a column's name."""
    columns = [[row[i].order for row in grid.rows if i < len(row)] for i in range(len(grid.head))]
    numeric = [i > 0 and any(isinstance(order, float | int) for order in orders) for i, orders in enumerate(columns)]
    head = "".join(map(_head, grid.head, numeric))
    body = "\n".join(_row(row, numeric) for row in grid.rows)
    label = escape(grid.title or "table")
    return (
        (f"<h3>{label}</h3>\n" if grid.title else "")
        + f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        + f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        + (f'\n<p class="note">{escape(grid.note)}</p>' if grid.note else "")
    )


def picture(chart: Picture) -> str:
    """A chart inside the page, in the version that suits the screen."""
    wide, narrow = (f"data:image/svg+xml;base64,{b64encode(svg).decode()}" for svg in (chart.wide, chart.narrow))
    return (
        f'<figure><picture><source media="(max-width: {NARROW}px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{escape(chart.alt)}"></picture></figure>'
    )


def box(notice: Box) -> str:
    return f'<div class="box" role="note"><strong>{escape(notice.title)}</strong> {escape(notice.text)}</div>'


def record(block: Record) -> str:
    """JSON twice: to read, and as a script element that is data. Without < nothing in it can end the element."""
    data = block.text.replace("<", "\\u003c")
    return (
        f"<details><summary>{escape(block.title)}</summary>{_code(block.text)}</details>\n"
        f'<script type="application/json" id="{escape(block.name)}">{data}</script>'
    )


def _block(block: Content) -> str:
    if isinstance(block, Grid):
        return table(block)
    if isinstance(block, Picture):
        return picture(block)
    if isinstance(block, Box):
        return box(block)
    if isinstance(block, Record):
        return record(block)
    if isinstance(block, Code):
        return _code(block.text)
    if isinstance(block, Facts):
        pairs = (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in block.pairs)
        return "<dl>\n" + "\n".join(pairs) + "\n</dl>"
    if isinstance(block, Items):
        return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in block.texts) + "\n</ul>"
    return f"<p>{escape(block)}</p>"


def _code(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


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
    """A name that may be broken between its words: after _ and before a capital letter."""
    return re.sub(r"(?<=_)(?=.)|(?<=[a-z])(?=[A-Z])", "<wbr>", escape(text))


def _file(name: str) -> str:
    return files("privreg.report").joinpath(name).read_text("utf-8")
