"""Progress on stderr, for people who wait. Where nobody looks (no terminal), nothing is shown.

Of a fit only the name of the stage and the time are shown, never how much of the data is done: how long each part of
it takes depends on records, and their number is secret. A part that is done is shown for simulations only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to be called with the part that is done. The bar goes when the work is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nothing
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda part: progress.update(task, completed=part)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Gives a function to be called with what is being done now. The line goes when the work is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nothing
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        yield lambda what: progress.update(task, description=what)


@contextmanager
def loading() -> Iterator[None]:
    """Says so while libraries load, which takes a second or more."""
    with stages() as stage:
        stage("loading")
        yield


def _nothing(_: object) -> None:
    """Nobody looks."""
