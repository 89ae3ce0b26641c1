"""Progress on stderr, for people who wait. Where nobody looks (no terminal), nothing is shown.

Of a fit only the name of the stage and the time are shown, never how much of the data is done: how long each part of
it takes depends on records, and their number is secret. A part that is done is shown for simulations only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to be called with the part that is done. The bar goes when the work is done."""
    with _line(what) as update:
        yield lambda part: update(completed=part)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Gives a function to be called with what is being done now. The line goes when the work is done."""
    with _line() as update:
        yield lambda what: update(description=what)


@contextmanager
def loading() -> Iterator[None]:
    """Says so while libraries load, which takes a second or more."""
    with stages() as stage:
        stage("loading")
        yield


@contextmanager
def _line(what: str | None = None) -> Iterator[Callable[..., None]]:
    """Gives a function that changes the line: a bar if it is said what is done, else a spinner with the time."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda **_: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns: list[Any] = [SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)]
    with Progress(*(columns if what is None else ()), console=console, transient=True) as progress:
        task = progress.add_task(what or "", total=1.0 if what else None)
        yield lambda **changes: progress.update(task, **changes)
