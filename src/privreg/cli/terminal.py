"""What people see at a terminal: progress on stderr while they wait, sentences and tables on standard output.

Of a fit only the name of the stage and the time are shown, never how much of the data is done: how long each part of
it takes depends on records, and their number is secret. Where nobody looks (no terminal), no progress is shown.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from privreg._format import one_line

ENDLESS = 10**6  # columns, where the output does not go to a terminal
_BOUND = "\u00a0"  # a blank where no line ends
# "79.2 %", "ε = 1", "R² 0.651", "0.73 ± 0.01": what reads badly on two lines.
_TOGETHER = re.compile(r"(?<=[εδ]) (?==)|(?<=[εδ] =) | (?=%)| (?=±)|(?<=±) |(?<=R²) (?=[\d−])| (?=[εδ][.,:;])")


def console() -> Console:
    """Standard output. Lines are broken for a terminal, or where COLUMNS asks for it, but not in a file or a pipe."""
    out = Console(highlight=False, markup=False)  # names of columns and files may have brackets
    if out.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return out
    return Console(highlight=False, markup=False, width=ENDLESS)


def say(out: Console, text: str, style: str = "", first: str = "", then: str | None = None) -> None:
    """A sentence in lines of the terminal's width. `first` stands before the first line, `then` before others."""
    for line in lines_of(text, out.width, first, first if then is None else then):
        out.print(Text(line, style=style), no_wrap=True, overflow="ignore", crop=False)


def lines_of(text: str, width: int, first: str = "", then: str = "") -> list[str]:
    """Text in lines of at most this width. Numbers stay with their units; only a word that is too long is broken."""
    lines, line, empty = [], first, True
    text = _BOUND.join(map(one_line, text.split(_BOUND)))  # nothing in a name may forge a line
    for word in _TOGETHER.sub(_BOUND, text).split(" "):
        rest = word
        while rest:
            longer = line + rest if empty else f"{line} {rest}"
            if cell_len(longer) <= width:
                line, rest, empty = longer, "", False
            elif not empty:
                lines.append(line)
                line, empty = then, True
            else:
                part = max(len(set_cell_size(rest, max(width - cell_len(line), 1)).rstrip()), 1)
                lines.append(line + rest[:part])
                line, rest = then, rest[part:]
    return [each.replace(_BOUND, " ").rstrip() for each in (*lines, *([] if empty else [line]))]


def command_lines(command: str, width: int, indent: str = "  ") -> list[str]:
    """A command that can be copied: on one line, or on several that end in a backslash."""
    lines, rest = [indent], command.split(" --")
    for i, part in enumerate(rest):
        words = part if i == 0 else f" --{part}"
        end = 0 if i == len(rest) - 1 else 2
        if i > 0 and cell_len(lines[-1] + words) + end > width:
            lines[-1] += " \\"
            lines.append(f"{indent}    {words.lstrip()}")
        else:
            lines[-1] += words
    return lines


def bound(text: str) -> str:
    """A text that `lines_of` keeps on one line, if it fits."""
    return text.replace(" ", _BOUND)


@contextmanager
def stages(first: str = "") -> Iterator[Callable[[str], None]]:
    """Gives a function to be called with what is being done now. The line goes when the work is done."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=out, transient=True) as progress:
        task = progress.add_task(first, total=None)
        yield lambda what: progress.update(task, description=what)
