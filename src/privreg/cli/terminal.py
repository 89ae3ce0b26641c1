"""Tables in a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table

_WIDE = 120  # columns, where the output does not go to a terminal


def console() -> Console:
    """Standard output, wide enough for tables if it is not a terminal."""
    out = Console(highlight=False, markup=False)  # names of columns and files may have brackets
    return out if out.is_terminal else Console(highlight=False, markup=False, width=max(out.width, _WIDE))


def grid(*names: str) -> Table:
    """A table with the first column to the left and all others to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(names):
        table.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
    return table
