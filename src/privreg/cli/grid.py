"""Tables on the terminal, laid out when they are printed: no number is ever broken, however narrow it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

from privreg._format import shortened
from privreg.cli.terminal import ENDLESS, bound, lines_of

_EDGE, _GAP = 1, 3  # blanks before a row, and between columns
_NAME, _SHORT_NAME = 20, 10  # letters that a name has while columns can be left out instead, and the fewest
_TEXT = 14  # the narrowest column of text that wraps


@dataclass(frozen=True)
class Grid:
    """A head and rows. The first columns are set to the left, all others to the right.

    Where it is too narrow for all of it, columns named in `spare` are left out in turn; then names, which are in the
    first column, are shortened; and if that is not enough, or would make two of them alike, each row becomes a
    paragraph. The column named by `wraps` is text that may take several lines. In a file or a pipe, where no
    width is given, it is as wide as it has to be.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    spare: tuple[str, ...] = ()
    wraps: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = None if options.max_width >= ENDLESS else options.max_width
        for line, style in self.lines(width):
            yield Text(line, style=style, no_wrap=True, overflow="ignore")

    @property
    def width(self) -> int:
        """Of all columns as they are."""
        layout = self._layout(None)
        assert layout is not None
        return layout.width

    def columns(self, width: int) -> list[str]:
        """Those that there is room for."""
        layout = self._layout(None if width >= ENDLESS else width)
        return list(self.head) if layout is None else [self.head[i] for i in layout.columns]

    def lines(self, width: int | None) -> Iterator[tuple[str, str]]:
        """Lines of at most this width, each with its style."""
        layout = self._layout(width)
        if layout is None:
            assert width is not None
            yield from self._paragraphs(width)
            return
        yield self._line(layout, [self.head[i] for i in layout.columns]), "bold"
        yield " " * _EDGE + "─" * (layout.width - _EDGE), "dim"
        for row in self.rows:
            for line in self._row(layout, row):
                yield line, ""

    def _layout(self, width: int | None) -> "_Layout | None":
        """The first that fits: with all columns, with fewer, or with shorter names."""
        everything = range(len(self.head))
        if width is None:
            return self._laid_out(list(everything), None, 0)
        for least in (_NAME, _SHORT_NAME):
            for dropped in range(len(self.spare) + 1):
                columns = [i for i in everything if self.head[i] not in self.spare[:dropped]]
                layout = self._laid_out(columns, width, least)
                if layout is not None:
                    return layout
        return None

    def _laid_out(self, columns: list[int], width: int | None, least: int) -> "_Layout | None":
        """The widths of these columns, if names of `least` letters fit and stay apart."""
        texts = [[row[i] for row in (self.head, *self.rows)] for i in columns]
        widths = [max(map(cell_len, column)) for column in texts]
        if width is None:
            return _Layout(columns, widths)
        flexible = columns.index(self.head.index(self.wraps)) if self.wraps is not None else None
        needed = list(widths)
        if flexible != 0:
            needed[0] = min(widths[0], max(least, cell_len(self.head[columns[0]])))
        if flexible is not None:
            needed[flexible] = min(widths[flexible], max(_TEXT, cell_len(str(self.wraps))))
        spare = width - _Layout(columns, needed).width
        if spare < 0:
            return None
        for i in (0, flexible):  # names first
            if i is not None:
                more = min(spare, widths[i] - needed[i])
                needed[i], spare = needed[i] + more, spare - more
        names = {row[0] for row in self.rows}
        if flexible != 0 and len({shortened(name, needed[0], cell_len) for name in names}) < len(names):
            return None
        return _Layout(columns, needed)

    def _row(self, layout: "_Layout", row: Sequence[str]) -> Iterator[str]:
        """The lines of one row."""
        cells = []
        for place, i in enumerate(layout.columns):
            if self.head[i] == self.wraps:
                cells.append(lines_of(row[i], layout.widths[place]) or [""])
            else:
                cells.append([shortened(row[i], layout.widths[place], cell_len)])
        for n in range(max(map(len, cells))):
            yield self._line(layout, [cell[n] if n < len(cell) else "" for cell in cells])

    def _line(self, layout: "_Layout", cells: Sequence[str]) -> str:
        parts = []
        for i, width, cell in zip(layout.columns, layout.widths, cells, strict=True):
            blanks = " " * (width - cell_len(cell))
            parts.append(cell + blanks if i < self.left or self.head[i] == self.wraps else blanks + cell)
        return (" " * _EDGE + (" " * _GAP).join(parts)).rstrip()

    def _paragraphs(self, width: int) -> Iterator[tuple[str, str]]:
        """Each row with its name on a line of its own, and the heads beside the cells."""
        for row in self.rows:
            for line in lines_of(row[0], width, " ", "   "):
                yield line, "bold"
            told = [f"{head} {cell}" for head, cell in zip(self.head[1:], row[1:], strict=True) if cell]
            told = [bound(part) if cell_len(part) < width - 3 else part for part in told]
            for line in lines_of(", ".join(told), width, "   ", "   "):
                yield line, ""


class _Layout(NamedTuple):
    """The columns that are shown, and how wide each is."""

    columns: list[int]
    widths: list[int]

    @property
    def width(self) -> int:
        return _EDGE + sum(self.widths) + _GAP * (len(self.widths) - 1)


def grid(
    head: Sequence[str], *rows: Sequence[str], left: int = 1, spare: Sequence[str] = (), wraps: str | None = None
) -> Grid:
    """A table with the first columns to the left and all others to the right."""
    return Grid(tuple(head), tuple(map(tuple, rows)), left, tuple(spare), wraps)
