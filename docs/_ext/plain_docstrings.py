"""Docstrings as they are written here, for Sphinx: code in single backticks, and "name : what it is" under a heading.

Sphinx would take single backticks for emphasis, `coef_` for a link, |x| for a substitution, and the words behind the
colon for a type.
"""

import re
from typing import Any

from sphinx.application import Sphinx

HEADINGS = ("Parameters", "Attributes", "Returns", "Raises")
_ENTRY = re.compile(r"(\S[^:]*?) : (.*)")
_CODE = re.compile(r"(`[^`]+`|\bdocs/[\w/-]+\.md\b|\btests/[\w/]+\.py\b)")


def inline(text: str) -> str:
    """One line of prose in reStructuredText: code stays code, proofs become links, nothing else has a meaning."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([|]|_(?!\w)|(?<!\*)\*(?!\*))", r"\\\1", part)
        elif part.startswith("docs/"):
            parts[i] = f":doc:`/{part.removeprefix('docs/').removesuffix('.md')}`"
        else:
            parts[i] = f"``{part.strip('`')}``"
    return "".join(parts)


def rewrite(lines: list[str]) -> list[str]:
    """The lines of a docstring, with headings and entries as rubrics and definition lists."""
    new: list[str] = []
    in_section = False
    for i, line in enumerate(lines):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        if line in HEADINGS and after.startswith("---"):
            in_section = True
            new += [f".. rubric:: {line}", ""]
        elif in_section and line.startswith("---"):
            continue
        elif in_section and (entry := _ENTRY.fullmatch(line)):
            names = ", ".join(f"``{name}``" for name in entry[1].split(", "))
            new += [names, f"    {inline(entry[2])}"]
        else:
            indent = len(line) - len(line.lstrip())
            new.append(" " * indent + inline(line.lstrip()))
    return new


def process(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = rewrite(lines)


def skip(_app: Sphinx, _what: str, name: str, member: Any, skipped: bool, _options: Any) -> bool | None:
    """Leave out what scikit-learn brings along; the page says so once."""
    if re.fullmatch(r"set_\w+_request", name) or str(getattr(member, "__module__", "")).startswith("sklearn."):
        return True
    return skipped or None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
