"""Code on the pages of the documentation, and what a page says about running it.

Every block of Python and every command is run, in the order of the page and in one folder, unless a comment on the
line before it says why not. These comments are known:

    <!-- not run: needs a cluster -->           the block is only shown, for this reason
    <!-- run by tests/docs/test_howto_r.py -->  a test of its own runs the block
    <!-- exit 3 -->                             the command ends with this exit code
    <!-- numbers may differ -->                 quoted output is compared without its numbers
    <!-- saved as levels.json -->               the text of the block becomes this file

`run` alone, or before the others (`<!-- run: exit 3 -->`), says what holds anyway. Code that a reader need not see is
in a comment, too. Lines that begin with a dollar are commands, which come first; everything else is Python:

    <!-- setup
    $ privreg demo --data mothers.csv
    -->
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

RUN = ("python", "console")
SHOWN = ("text", "json", "csv")  # no code
FENCE = re.compile(r" *(`{3,}|~{3,})([^`]*)")
COMMENT = re.compile(r" *<!-- (.+) -->")
COMMAND = re.compile(r"(\$ |privreg |pip |python3? |make |import |from \w+ import )")
DETAIL = r"(exit \d|numbers may differ|saved as [\w.-]+)"
MARK = re.compile(rf"run|(run: )?{DETAIL}(, {DETAIL})*|not run: \w.+|run by tests/[\w/]+\.py")
GENERATED = re.compile(r"end|[\w ]+: written by .*")  # where a script's text begins and ends


@dataclass(frozen=True)
class Block:
    """Code on a page, with the comment before it."""

    mark: str
    language: str
    text: str

    @property
    def exit_code(self) -> int:
        found = re.search(r"exit (\d)", self.mark)
        return int(found[1]) if found else 0

    @property
    def noisy(self) -> bool:
        return "numbers may differ" in self.mark

    @property
    def saved_as(self) -> str | None:
        found = re.search(r"saved as ([\w.-]+)", self.mark)
        return found[1] if found else None

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.mark.startswith(("not run", "run by"))

    def commands(self) -> list[tuple[list[str], list[str]]]:
        """Command lines, each with the lines of output that are quoted below it."""
        parts = re.split(r"^\$ ", joined(self.text), flags=re.MULTILINE)[1:]
        return [(shlex.split(line), quoted.splitlines()) for line, _, quoted in (p.partition("\n") for p in parts)]

    def fault(self, page: Path) -> str | None:
        """Why nobody would know whether this code works; None if all is well."""
        if self.mark and not MARK.fullmatch(self.mark):
            return f"the comment <!-- {self.mark} --> is not known"
        if self.mark.startswith("run by "):
            return self._fault_of_test(page)
        if self.language == "console" and not re.search(r"^\$ ", self.text, re.MULTILINE):
            return "a command on the console begins with a $"
        if self.mark.startswith("not run: ") or self.language in RUN:
            return None
        if not self.language:
            return "the block does not say what it is: python, console (with a $ before each command) or text"
        if self.language not in SHOWN:
            return f"code in {self.language} needs <!-- not run: reason --> or <!-- run by tests/… -->"
        if self.language == "text" and any(COMMAND.match(line) for line in self.text.splitlines()):
            return "a command or Python in a block of text: make it console or python"
        return None

    def _fault_of_test(self, page: Path) -> str | None:
        test = ROOT / self.mark.removeprefix("run by ")
        if not test.is_file():
            return f"there is no {test.relative_to(ROOT)}"
        return None if page.name in test.read_text() else f"{test.name} does not name {page.name}"


def joined(text):
    """Without the line breaks after which a command goes on."""
    return text.replace("\\\n", "")


def blocks(page):
    """All code on a page, in order; what a directive of the site holds, too."""
    return list(_found(page.read_text().splitlines(), page.name))


def _found(lines, name):
    lines, marks = iter(lines), []
    for line in lines:
        if line.strip() == "<!-- setup":
            yield from _setup(_until(lines, lambda end: end.strip() == "-->", f"{name}: setup"))
        elif comment := COMMENT.fullmatch(line):
            marks += [] if GENERATED.fullmatch(comment[1]) else [comment[1]]
            continue
        elif fence := FENCE.fullmatch(line):
            inner = _until(lines, lambda end, fence=fence[1]: end.strip() == fence, f"{name}: {line}")
            language = fence[2].strip()
            if re.match(r"\{(?!code)", language):
                yield from _found(inner, name)
            else:
                yield Block(", ".join(marks), language, _text(inner))
        marks = []


def _until(lines, ends, what):
    taken = []
    for line in lines:
        if ends(line):
            return taken
        taken.append(line)
    raise AssertionError(f"{what} has no end")


def _text(lines):
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join(f"{line[indent:]}\n" for line in lines)


def _setup(lines):
    commands = [line for line in lines if line.startswith("$ ")]
    code = [line for line in lines if not line.startswith("$ ")]
    if commands:
        yield Block("", "console", _text(commands))
    if code:
        yield Block("", "python", _text(code))
