"""Progress on stderr, for people who wait. Where nobody looks (no terminal), nothing is shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock


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


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Gives a function to be called with what is being done now. The line goes when the work is done."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nothing
        return
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        yield lambda what: progress.update(task, description=what)


def _nothing(_: object) -> None:
    """Nobody looks."""


class Deciles:
    """Tells how much of a pass over the data is done, in tenths.

    All ten are told, however many parts there are: what is shown must not depend on the data.
    """

    def __init__(self, what: str, watch: Callable[[str], None] | None, parts: int) -> None:
        self._what, self._watch, self._parts = what, watch, max(parts, 1)
        self._done, self._told, self._lock = 0, 0, Lock()

    def one_more(self) -> None:
        """Another part is done."""
        with self._lock:
            self._done += 1
            while self._watch is not None and self._told < 10 * self._done // self._parts:
                self._told += 1
                self._watch(f"{self._what}: {10 * self._told} %")
