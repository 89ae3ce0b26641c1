"""A progress bar on stderr, for people who wait."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to be called with the part that is done. The bar goes when the work is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nothing
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(what, total=1.0)
        yield lambda part: progress.update(task, completed=part)


def _nothing(_part: float) -> None:
    """Nobody looks."""
