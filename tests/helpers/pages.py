"""Code on the pages of the documentation."""

import re
import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """Code on a page. A comment before it may say that it is run, and how: `<!-- run: exit 3 -->`."""

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

    def commands(self) -> list[tuple[list[str], list[str]]]:
        """Command lines, each with the lines of output that are quoted below it."""
        parts = re.split(r"^\$ ", joined(self.text), flags=re.MULTILINE)[1:]
        return [(shlex.split(line), quoted.splitlines()) for line, _, quoted in (p.partition("\n") for p in parts)]


def joined(text):
    """Without the line breaks after which a command goes on."""
    return text.replace("\\\n", "")


def blocks(page):
    found = re.findall(r"(?:^<!-- ([^\n]*?) -->\n)?^```(\w+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [Block(*each) for each in found]
