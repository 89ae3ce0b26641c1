"""A formula in a line of text stays with what touches it: a bracket, a comma, or the rest of a word such as -DP.

A browser takes the formula for a picture, and would begin a line with the comma behind it.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def keep_together(_app: Sphinx, doctree: nodes.document) -> None:
    for formula in [*doctree.findall(nodes.math)]:
        parent, whole = formula.parent, nodes.inline(classes=["unbroken"])
        at = parent.index(formula)
        before, after = (_text(parent, at - 1, r"\S*$"), _text(parent, at + 1, r"^\S*"))
        if not before and not after:
            continue
        formula.replace_self(whole)
        whole += [nodes.Text(before), formula, nodes.Text(after)]
        for place, left in ((at + 1, slice(len(after), None)), (at - 1, slice(0, -len(before) or None))):
            if 0 <= place < len(parent) and isinstance(parent[place], nodes.Text):
                parent[place] = nodes.Text(parent[place].astext()[left])


def _text(parent: nodes.Element, at: int, pattern: str) -> str:
    """What the text at a place of the parent begins or ends with."""
    found = 0 <= at < len(parent) and isinstance(parent[at], nodes.Text)
    return match[0] if found and (match := re.search(pattern, parent[at].astext())) else ""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True}
