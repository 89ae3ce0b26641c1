"""A report as data: sections of text, tables and pictures. Markdown is made here, HTML in page.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TableCell:
    """A cell of a table."""

    text: str
    order: float | str | None = None  # what its column is sorted by; None comes last
    detail: tuple[str, ...] = ()  # further lines, smaller
    bold: bool = False
    flag: bool = False  # set off in colour
    title: str = ""  # shown when pointed at
    span: int = 1  # columns it takes


@dataclass(frozen=True)
class Grid:
    """A table."""

    head: list[str]
    rows: list[list[TableCell]]
    title: str = ""
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: an SVG file next to the page, and a version for narrow screens that is kept inside the page only."""

    file: str
    alt: str
    wide: bytes
    narrow: bytes


@dataclass(frozen=True)
class Code:
    """What was typed."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and what they are."""

    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: list[str]


@dataclass(frozen=True)
class Box:
    """What nobody may overlook."""

    title: str
    text: str


@dataclass(frozen=True)
class Record:
    """JSON: folded up for people, and by its `name` for programs."""

    name: str
    title: str
    text: str


Content = str | Grid | Picture | Code | Facts | Items | Box | Record  # a str is a paragraph


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Content]


@dataclass(frozen=True)
class Document:
    title: str
    lead: str  # the finding, in a paragraph
    sections: Sequence[Section]
    notice: Box | None = None  # right below the lead


def words(text: str) -> TableCell:
    """A cell that is sorted by its text."""
    return TableCell(text, order=text)


def count(value: int) -> TableCell:
    """A cell with a whole number."""
    return TableCell(f"{value:,}", order=value)


def markdown(document: Document) -> str:
    """The report as one Markdown page; pictures are links to their files."""
    head = f"# {escaped(document.title)}\n\n{escaped(document.lead)}\n"
    notice = [_block(document.notice) + "\n"] if document.notice else []
    return "\n".join([head, *notice, *map(markdown_section, document.sections)])


def markdown_section(section: Section) -> str:
    parts = [f"## {escaped(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|&~$#])", r"\\\1", " ".join(text.split()))


def _block(block: Content) -> str:
    if isinstance(block, str):
        return escaped(block)
    if isinstance(block, Code | Record):
        return "\n".join("    " + line for line in block.text.splitlines())
    if isinstance(block, Facts):
        return "\n".join(f"- {escaped(name)}: {escaped(text)}" for name, text in block.pairs)
    if isinstance(block, Items):
        return "\n".join(f"- {escaped(text)}" for text in block.texts)
    if isinstance(block, Box):
        return f"> **{escaped(block.title)}** {escaped(block.text)}"
    if isinstance(block, Picture):
        return f"![{escaped(block.alt)}]({block.file})"
    parts = [f"### {escaped(block.title)}"] if block.title else []
    parts.append("\n".join(_lines(block)))
    parts += [escaped(block.note)] if block.note else []
    return "\n\n".join(parts)


def _lines(grid: Grid) -> list[str]:
    rows = [[cell for entry in row for cell in [_cell(entry)] + [""] * (entry.span - 1)] for row in grid.rows]
    rules = [":--"] + ["--:"] * (len(grid.head) - 1)
    return ["| " + " | ".join(row) + " |" for row in [list(map(escaped, grid.head)), rules, *rows]]


def _cell(entry: TableCell) -> str:
    text = escaped(entry.text)
    return "<br>".join([f"**{text}**" if entry.bold else text, *map(escaped, entry.detail)])
