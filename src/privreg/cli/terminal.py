"""What people see at a terminal: progress on stderr while they wait, and tables on standard output.

Of a fit only the name of the stage and the time are shown, never how much of the data is done: how long each part of
it takes depends on records, and their number is secret. A part that is done is shown for simulations only. Where
nobody looks (no terminal), no progress is shown.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to be called with the part that is done. The bar goes when the work is done."""
    with _line(what, 1.0) as update:
        yield lambda part: update(completed=part)


@contextmanager
def stages(first: str = "") -> Iterator[Callable[[str], None]]:
    """Gives a function to be called with what is being done now. The line goes when the work is done."""
    with _line(first, None) as update:
        yield lambda what: update(description=what)


@contextmanager
def _line(what: str, total: float | None) -> Iterator[Callable[..., None]]:
    """Gives a function that changes the line: a bar if there is a total, else a spinner with the time."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield lambda **_: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns: list[Any] = [SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)]
    with Progress(*(columns if total is None else ()), console=out, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda **changes: progress.update(task, **changes)
