"""What a person sees of a run: a live table on a terminal, plain lines elsewhere. All of it on stderr."""

import time
from collections import Counter
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from privreg.paper.datasets import tasks
from privreg.paper.results import key_of
from privreg.paper.trials import Trial

_EVERY = 10.0  # seconds between plain lines
_LEAST = 200_000  # cells; smaller data sets take as long as this


class Watch:
    """Counts what is done and running, by method, and estimates the time left."""

    def __init__(self, jobs: int) -> None:
        self._console = Console(stderr=True)
        self._status = self._console.status("")
        self._jobs = jobs
        self._left: list[Trial] = []
        self._before = self._total = 0
        self._done: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._running: dict[tuple[Any, ...], Trial] = {}
        self._spent: Counter[str] = Counter()  # seconds by method
        self._cells: Counter[str] = Counter()  # that took these seconds
        self._last = time.monotonic()
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self._table, transient=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()
        self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def reading(self, name: str) -> None:
        """A line that goes."""
        if self._console.is_terminal:
            self._status.update(f"reading {name}")
            self._status.start()

    def plan(self, trials: list[Trial], done: int) -> None:
        """The run begins: these are to be run, so many are there already."""
        self._left, self._before, self._total = trials, done, done + len(trials)
        self._status.stop()
        self.say(f"{len(trials)} trials to run" + (f", {done} were there already" if done else ""))
        if self._console.is_terminal and trials:
            self._live.start()

    def started(self, trial: Trial) -> None:
        self._running[trial.key] = trial

    def ended(self, row: dict[str, Any]) -> None:
        trial = self._running.pop(key_of(row))
        self._done[trial.method] += 1
        self._spent[trial.method] += row["seconds"]
        self._cells[trial.method] += _cells(trial)
        if "error" in row:
            self._failed[trial.method] += 1
            self.say(f"{trial.task}, {trial.method}: {row['error']}")
        if not self._console.is_terminal and time.monotonic() - self._last > _EVERY:
            self._last = time.monotonic()
            self.say(self._line())

    def time_left(self) -> float | None:
        """Seconds, from what the methods took so far in relation to the size of the data; None before that."""
        finished = self._done.total()
        if not finished:
            return None
        overall = sum(self._spent.values()) / sum(self._cells.values())
        rate = {m: self._spent[m] / self._cells[m] for m in self._done}
        return sum(rate.get(t.method, overall) * _cells(t) for t in self._left[finished:]) / self._jobs

    def _line(self) -> str:
        left = self.time_left()
        wait = ""
        if left is not None:
            minutes, rest = divmod(int(left + 0.5), 60)
            wait = f", about {minutes} min {rest} s left" if minutes else f", about {rest} s left"
        return f"{self._before + self._done.total()} of {self._total} trials done, {len(self._running)} running{wait}"

    def _table(self) -> Table:
        table = Table("method", "done", "running", "failed", "seconds each", title=self._line(), title_style="bold")
        wanted = Counter(t.method for t in self._left)
        running = {m: [t for t in self._running.values() if t.method == m] for m in wanted}
        for method, count in wanted.items():
            done = self._done[method]
            table.add_row(
                method,
                f"{done} of {count}",
                ", ".join(f"{t.task} (trial {t.trial + 1})" for t in running[method]),
                str(self._failed[method] or ""),
                f"{self._spent[method] / done:.2f}" if done else "",
            )
        return table


def _cells(trial: Trial) -> int:
    task = tasks().get(trial.task)
    return max(task.n * task.d if task else 0, _LEAST)
