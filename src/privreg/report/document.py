"""A report as data: sections of text, tables and pictures. Markdown is made here, HTML in page.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from privreg._format import tenths_percent


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
    extra: tuple[int, ...] = ()  # columns that narrow screens do without


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
class Fact:
    """A name, its value, and what that means."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Banner:
    """What a reader sees first: the verdict, what it rests on, and why."""

    state: str  # good, care or bad
    word: str
    text: str
    facts: list[Fact]
    reasons: list[str]


@dataclass(frozen=True)
class Share:
    """A part of a whole, in tenths of a per cent."""

    name: str
    meaning: str
    tenths: int
    steps: int


@dataclass(frozen=True)
class Bar:
    """One bar that is divided into shares."""

    title: str
    shares: list[Share]


@dataclass(frozen=True)
class Fold:
    """What few readers need, folded away. Not printed."""

    title: str
    blocks: Sequence["Content"]


@dataclass(frozen=True)
class Data:
    """JSON for programs, which find it by its name. People do not see it."""

    name: str
    text: str


Content = str | Grid | Picture | Code | Facts | Items | Banner | Bar | Fold | Data  # a str is a paragraph


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Content]


@dataclass(frozen=True)
class Document:
    title: str
    lead: str  # the finding, in a paragraph
    sections: Sequence[Section]
    banner: Banner | None = None  # right below the lead


def words(text: str) -> TableCell:
    """A cell that is sorted by its text."""
    return TableCell(text, order=text)


def count(value: int) -> TableCell:
    """A cell with a whole number."""
    return TableCell(f"{value:,}", order=value)


def markdown(document: Document) -> str:
    """The report as one Markdown page; pictures are links to their files."""
    head = f"# {escaped(document.title)}\n\n{escaped(document.lead)}\n"
    banner = [_block(document.banner) + "\n"] if document.banner else []
    return "\n".join([head, *banner, *map(markdown_section, document.sections)])


def markdown_section(section: Section) -> str:
    parts = [f"## {escaped(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>|&~$#])", r"\\\1", " ".join(text.split()))


def _block(block: Content) -> str:
    if isinstance(block, str):
        return escaped(block)
    if isinstance(block, Code | Data):
        return "\n".join("    " + line for line in block.text.splitlines())
    if isinstance(block, Facts):
        return "\n".join(f"- {escaped(name)}: {escaped(text)}" for name, text in block.pairs)
    if isinstance(block, Items):
        return "\n".join(f"- {escaped(text)}" for text in block.texts)
    if isinstance(block, Banner):
        return "\n".join(_banner(block))
    if isinstance(block, Bar):
        return "\n".join(f"- {escaped(s.name)}, {escaped(s.meaning)}: {tenths_percent(s.tenths)}" for s in block.shares)
    if isinstance(block, Fold):
        return "\n\n".join([f"### {escaped(block.title)}", *map(_block, block.blocks)])
    if isinstance(block, Picture):
        return f"![{escaped(block.alt)}]({block.file})"
    parts = [f"### {escaped(block.title)}"] if block.title else []
    parts.append("\n".join(_lines(block)))
    parts += [escaped(block.note)] if block.note else []
    return "\n\n".join(parts)


def _banner(banner: Banner) -> list[str]:
    facts = (f"- {escaped(f.name)}: {escaped(f.value)}{_meaning(f)}" for f in banner.facts)
    return [
        f"**{escaped(banner.word)}:** {escaped(banner.text)}\n",
        *facts,
        *(f"- {escaped(reason)}" for reason in banner.reasons),
    ]


def _meaning(fact: Fact) -> str:
    """After the value: a sentence of its own, or what goes on with it."""
    if not fact.meaning:
        return ""
    return f" ({escaped(fact.meaning)})" if fact.meaning[0].islower() else f". {escaped(fact.meaning)}"


def _lines(grid: Grid) -> list[str]:
    rows = [[cell for entry in row for cell in [_cell(entry)] + [""] * (entry.span - 1)] for row in grid.rows]
    rules = [":--"] + ["--:"] * (len(grid.head) - 1)
    return ["| " + " | ".join(row) + " |" for row in [list(map(escaped, grid.head)), rules, *rows]]


def _cell(entry: TableCell) -> str:
    text = escaped(entry.text)
    return "<br>".join([f"**{text}**" if entry.bold else text, *map(escaped, entry.detail)])
