"""Tables in a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 120  # columns, where the output does not go to a terminal


def console() -> Console:
    """Standard output, wide enough for tables if it is not a terminal."""
    out = Console(highlight=False, markup=False)  # names of columns and files may have brackets
    return out if out.is_terminal else Console(highlight=False, markup=False, width=max(out.width, _WIDE))


def grid(head: Sequence[str], *rows: Sequence[str], left: int = 1) -> Table:
    """A table with the first columns to the left and all others to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
